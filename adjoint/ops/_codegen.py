"""Generated code: the fast path of each op.

Calling an op must cost about a microsecond, so each op gets one Python function with nothing in it that the op does not need. The text is
made when the op is first called. For `mul` it reads, shortened:

    def mul(input, other, *, out=None):
        if out is None and (mode_ := get_mode()) < 2:
            if input.__class__ is Tensor or input.__class__ is Parameter:
                a_input = input._data
                dtype_ = a_input.dtype
                if dtype_ is F32 or dtype_ is F64:
                    if other.__class__ is Tensor or other.__class__ is Parameter:
                        a_other = other._data
                        if a_other.dtype is dtype_:
                            result = impl(a_input, a_other)
                            ...                                          # wrap it, record a node if either input requires grad
                            return made
                    elif ...                                             # a Python number
                elif dtype_ is I64 or dtype_ is BOOL: ...                # the same without a node
        return general(OP, (input, other), out)                          # everything else: _general.py

An op that takes a sequence of tensors (`cat`) has one node class, whose nodes hold an edge for each of them; of an op with several results
(`split`) nodes know how many there are. What both need at run time is in `_several.py`. The classes are made in `_node_classes.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from .._layer import marked, ordinary
from .._layout import laid_out, like_images
from .._quiet import NAMELESS, mute, unmute
from .._site import USER_FILES, user_frame
from .._state import get_mode, tick
from .._tensor import Parameter, Tensor
from ..autograd.node import LEAF, UNRECORDED, Cut, Node, VersionCounter
from ..autograd.saved import (
    SavedOutput,
    check_input,
    input_tensor,
    output_array,
    output_tensor,
    refuse_inference,
    saved_by,
)
from ..autograd.views import NO_GRAD, ORDINARY, SEVERAL, View, counter_of, cut_of, no_derivative
from ._compiled import attach, expect, muted
from ._generated import UNSET, OpForm, function_from, generated_when_called, left_open, missing, numpy_names, renaming
from ._precision import in_single, is_half, rounded
from ._registry import FLOAT, KEEP, Op, parameters
from ._rules import broadcast_restore, conjugate, restored
from ._several import edges_of, first_of, outputs, plain_arrays, view, views

_NAMESPACE: dict[str, Any] = {
    "BOOL": np.dtype("bool"), "F32": np.dtype("float32"), "F64": np.dtype("float64"), "I64": np.dtype("int64"), "LEAF": LEAF,
    "NO_GRAD": NO_GRAD, "ORDINARY": ORDINARY, "SEVERAL": SEVERAL,
    "Parameter": Parameter, "SavedOutput": SavedOutput, "Tensor": Tensor, "USER_FILES": USER_FILES, "VersionCounter": VersionCounter,
    "View": View, "broadcast_restore": broadcast_restore, "check_input": check_input, "conjugate": conjugate, "counter_of": counter_of,
    "edges_of": edges_of, "first_of": first_of, "get_mode": get_mode, "getframe": sys._getframe, "asarray": np.asarray,
    "generic": np.generic,
    "input_tensor": input_tensor, "mute": mute, "ordinary": ordinary, "ndarray": np.ndarray, "new": object.__new__,
    "output_array": output_array, "output_tensor": output_tensor, "outputs": outputs, "plain_arrays": plain_arrays,
    "refuse_inference": refuse_inference, "restored": restored, "rounded": rounded, "saved_by": saved_by, "tick": tick, "Cut": Cut,
    "UNRECORDED": UNRECORDED,
    "UNSET": UNSET, "cut_of": cut_of, "missing": missing, "laid_out": laid_out, "like_images": like_images,
    "unmute": unmute, "user_frame": user_frame, "view": view, "views": views, **NAMELESS,
}  # fmt: skip


def lazy_function(op: Op, *, out: bool, operator: bool = False) -> Callable[..., Any]:
    """The public function of an op. It replaces its own code with the generated one when it is first called."""
    namespace: dict[str, Any] = {}

    def generate() -> None:
        text = function_text(op, out)
        use_variants(op, text, namespace)
        for kinds, kernels in op.kernels.items():
            namespace[f"kernel_{kinds}"] = kernels.forward
        if op.served:
            namespace.update({f"DT_{dtype.name}": dtype for dtype in op.served}, single_impl=in_single(muted(op), op.widens))
        made = function_from(text, op.name, namespace)
        fn.__defaults__ = (UNSET,) * len(opened(op)) + (op.defaults or ())
        fn.__kwdefaults__ = (op.keyword_defaults or {}) | dict.fromkeys(numpy_names(op.args), UNSET) | ({"out": None} if out else {})
        fn.__code__ = made.__code__  # last: another thread may be calling the function right now

    def generate_first() -> None:
        from ._general import general, operator_call
        from ._recording import restore_of

        namespace.update(
            _NAMESPACE, OP=op, impl=op.impl, general=operator_call if operator else general, sizes=sizes,
            restore_of=restore_of, NO_DERIVATIVE=no_derivative(op.name),
        )  # fmt: skip
        if op.along and not op.generators:
            attach(op)
        generate()
        op.generators.append(generate)
        op.namespaces.append(namespace)

    fn = generated_when_called(op.name, namespace, generate_first)
    fn.__wrapped__ = OpForm(op, out)  # type: ignore[attr-defined]
    return fn


def sizes(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """`view(2, 3)` and `view((2, 3))` mean the same."""
    if len(values) == 1 and isinstance(values[0], tuple | list):
        return tuple(values[0])
    return values


# ---- the function -------------------------------------------------------------------------------------------------------------------


def signature(op: Op, out: bool) -> str:
    positional = op.args[: len(op.args) - len(op.keywords)]
    if op.varargs:
        positional = (*positional[:-1], "*" + positional[-1])
    keywords = [*op.keywords, *numpy_names(op.args)] + ["out"] * out
    star = ["*"] if keywords and not op.varargs else []
    return ", ".join([*positional, *star, *keywords])


def opened(op: Op) -> tuple[str, ...]:
    """Its arguments that Python does not ask for; see _generated.py."""
    return () if op.varargs else left_open(op.args[: len(op.args) - len(op.keywords)], op.defaults)


def function_text(op: Op, out: bool) -> str:
    lines = [f"def {op.name}({signature(op, out)}):", *renaming(op.name, op.args, opened(op))]
    if op.varargs:
        name = op.args[-1 - len(op.keywords)]
        lines.append(f" {name} = sizes({name})")
    lines += fast_path(op, out)
    lines.append(f" return {general_call(op, out)}")
    return "\n".join(lines)


def nested_function(op: Op, forward: Callable[..., Any], layer: type, arrays_of: Callable[[Any], Any]) -> Callable[..., Any]:
    """The same function for Tensors that hold layers of one level: `forward` runs the op one level down, the rest is recorded as usual."""
    from ._general import generally

    first = op.inputs[0]
    lines = [f"def {op.name}({', '.join(op.args)}):", " if (mode_ := get_mode()) < 2:"]
    if op.sequence:
        lines += [f"  if (a_{first} := arrays_of({first})) is not None:", *indented(3, body(op, "T", NESTED))]
    else:
        lines += [f"  if {is_tensor(first)} and ((dtype_ := (a_{first} := {first}._data).dtype) is F32 or dtype_ is F64):"]
        lines += indented(3, choice(op, NESTED))
    text = "\n".join([*lines, f" return {general_call(op, False)}"])
    same = {name: marked(_NAMESPACE[name]) for name in ("F32", "F64")}
    namespace = dict(
        _NAMESPACE, OP=op, impl=forward, general=generally, ndarray=layer, arrays_of=arrays_of, NO_DERIVATIVE=no_derivative(op.name), **same
    )
    use_variants(op, text, namespace)
    return function_from(text, op.name, namespace)


def use_variants(op: Op, text: str, namespace: dict[str, Any]) -> None:
    """Let a function find the node classes that its text names, which are made when the first node is."""

    def make_first(key: str) -> Node:
        cls = namespace[f"{op.name}_{key}"] = op.variants[key]
        return cls()

    for key in re.findall(rf"node = {op.name}_(\w+)\(\)", text):
        namespace[f"{op.name}_{key}"] = op.variants[key] if key in op.variants else partial(make_first, key)


def general_call(op: Op, out: bool) -> str:
    everything = ", ".join(op.args) + ","
    return f"general(OP, ({everything}){', out' if out else ''})"


def is_tensor(name: str) -> str:
    return f"({name}.__class__ is Tensor or {name}.__class__ is Parameter)"


def fast_path(op: Op, out: bool) -> list[str]:
    """Tensors of one floating dtype, in ordinary grad or no_grad mode; a Python number as the last input, or None as the last ones.
    Integers and truth values too, where the op takes them and leaves their dtype alone; they have no history."""
    first = op.inputs[0]
    ordinary = f"{'out is None and ' if out else ''}(mode_ := get_mode()) < 2{' and ordinary(indices)' if 'indices' in op.params else ''}"
    if op.sequence:
        return [f" if {ordinary} and (a_{first} := plain_arrays({first})) is not None:", *indented(2, body(op, "T"))]
    lines = [f" if {ordinary}:", f"  if {is_tensor(first)}:", f"   a_{first} = {first}._data", f"   dtype_ = a_{first}.dtype"]
    test = "if"
    for sort, names in dtypes_by_sort(op).items():
        lines += [f"   {test} {' or '.join(f'dtype_ is {name}' for name in names)}:", *indented(4, choice(op, sort))]
        test = "elif"
    if op.scalars in (True, "all") and len(op.inputs) == 2 and op.floats and not isinstance(op.impl, np.ufunc):
        second = op.inputs[1]
        lines += [f"  elif ({first}.__class__ is float or {first}.__class__ is int) and {is_tensor(second)}:"]
        lines += [f"   a_{second} = {second}._data", f"   dtype_ = a_{second}.dtype"]
        lines += ["   if dtype_ is F32 or dtype_ is F64:", *indented(4, body(op, "ST"))]
    return lines if test == "elif" else []


# How dtypes are treated: as usual; without history; computed in another precision; with conjugate gradients; by a level below.
USUAL, WHOLE, HALF, COMPLEX, NESTED = "", "w", "h", "c", "n"


def dtypes_by_sort(op: Op) -> dict[str, list[str]]:
    """The dtypes that have a fast path. Those that few programs use get one when the first tensor of them has come along."""
    found: dict[str, list[str]] = {USUAL: ["F32", "F64"] if op.floats else []}
    found[WHOLE] = [name for name in ("I64", "BOOL") if takes(op, _NAMESPACE[name])]
    for dtype in sorted(op.served, key=str):
        if not takes(op, dtype) or dtype in (_NAMESPACE["I64"], _NAMESPACE["BOOL"]):
            continue
        if dtype.kind in "iu":
            found[WHOLE].append(f"DT_{dtype.name}")
        elif not op.floats:
            continue
        elif dtype.kind == "c" and op.holomorphic is not None and (op.broadcasts != (op.promote == KEEP) or chooses(op)):
            found.setdefault(COMPLEX, []).append(f"DT_{dtype.name}")
        elif is_half(dtype) and (op.broadcasts != (op.promote == KEEP) or op.wide):
            found.setdefault(HALF if op.wide else USUAL, []).append(f"DT_{dtype.name}")
    return {sort: names for sort, names in found.items() if names}


def chooses(op: Op) -> bool:
    """Whether an op takes elements as they are, where a mask says so."""
    return op.broadcasts and op.promote == KEEP and not all(map(op.differentiates, op.inputs))


def takes(op: Op, dtype: np.dtype[Any]) -> bool:
    """Whether an op computes with such tensors as they are."""
    if op.promote == FLOAT and dtype.kind in "iub":
        return False
    try:
        if op.check is not None:
            op.check(*[np.zeros((), dtype)] * len(op.inputs))
    except (RuntimeError, TypeError):
        return False
    return True


def choice(op: Op, sort: str) -> list[str]:
    """What to do for each kind of the other inputs."""
    others = op.inputs[1:]
    if not others:
        return body(op, "T", sort)
    lines: list[str] = []
    for kinds in ways(op):
        given = [name for name, kind in zip(others, kinds[1:], strict=True) if kind == "T"]
        rest = others[len(given) :]
        if op.scalars and rest and sort == WHOLE and not isinstance(op.impl, np.ufunc):
            continue  # which gets a number as an array
        numbers = "({0}.__class__ is float or {0}.__class__ is int)"
        if sort == WHOLE:
            numbers = "{0}.__class__ is int and (dtype_ is I64 or (dtype_ is not BOOL and 0 <= {0} < 128))"  # others may wrap around
        tests = [*map(is_tensor, given), *((numbers if op.scalars else "{0} is None").format(name) for name in rest)]
        lines.append(f"{'elif' if lines else 'if'} {' and '.join(tests)}:")
        lines += [f" a_{name} = {name}._data" for name in given]
        if sort == HALF and op.scalars and not op.exact:
            lines += [f" {name} = rounded({name}, dtype_)" for name in rest]
        same = [f"a_{name}.dtype is dtype_" if needs_same_dtype(op, name) else f"a_{name}.__class__ is ndarray" for name in given]
        lines += [f" if {' and '.join(same) or 'True'}:", *indented(2, body(op, kinds, sort))]
    return lines


def ways(op: Op) -> list[str]:
    """The kinds of inputs, tensors or not, that the fast path serves: first of all, tensors."""
    count = len(op.inputs)
    if op.scalars:
        return ["T" * count, "TS"] if count == 2 else ["T" * count]
    absent = next((n for n, name in enumerate(reversed(op.inputs)) if name not in op.optional), count)
    return ["T" * (count - n) + "S" * n for n in range(absent + 1)]


def needs_same_dtype(op: Op, name: str) -> bool:
    """Whether an input takes part in promotion, or in a product with a gradient; an index or a mask has its own dtype."""
    return op.promote != KEEP or op.differentiates(name)


def indented(by: int, lines: list[str]) -> list[str]:
    return [" " * by + line for line in lines]


def tuple_of(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"


def body(op: Op, kinds: str, sort: str = USUAL) -> list[str]:
    """Compute, wrap and record. Whole numbers are not recorded."""
    tensors = dict(zip(op.inputs, kinds, strict=True))
    value = {name: f"a_{name}" if tensors.get(name) == "T" else name for name in op.args}
    cut = len(op.args) - len(op.keywords)
    call = ", ".join([value[name] for name in op.args[:cut]] + [f"{name}={value[name]}" for name in op.args[cut:]])
    lines = computed(op, call, kinds, sort)
    if not op.several and not op.view:
        lines += ["if result.__class__ is not ndarray:", " if isinstance(result, generic): result = asarray(result)"]
        if op.factors and sort != NESTED:  # which are tensors, if the result is one
            lines += [f" elif result.__class__ is Tensor: return {general_call(op, False)}"]
        lines += ["made = new(Tensor)", "made._data = result", "made._vc = None"]
    differentiable = [name for name, kind in tensors.items() if kind == "T" and op.differentiates(name)]
    if sort == WHOLE or not differentiable:
        return lines + finished(op, why_unrecorded(op, kinds, "" if differentiable else "NO_DERIVATIVE"))
    lines.append("if mode_:")
    for name in differentiable:
        if op.sequence:
            lines.append(f" f_{name} = edges_of({name})")
        else:
            lines += [f" f_{name} = {name}._fn", f" if f_{name} is not None and not f_{name}.direct: f_{name} = f_{name}.resolve({name})"]
    lines += indented(1, record(op, kinds, differentiable, sort))
    recorded = ["node.seq = tick()", "node.hooks = None"]
    if op.several:
        recorded.append("node.outputs = len(result)")
    broadcast = [name for name, kind in tensors.items() if kind == "T"]
    if sort == COMPLEX and op.broadcasts:
        recorded.append(f"node.restore = restore_of(OP, {tuple_of(op.inputs)}, result, node.input_slots)")
    elif op.broadcasts and len(broadcast) > 1:
        equal = " == ".join(f"a_{name}.shape" for name in broadcast)
        shapes = ", ".join(f"a_{name}.shape" if kind == "T" else "None" for name, kind in tensors.items())
        recorded.append(f"node.restore = None if {equal} else broadcast_restore(node, ({shapes}), result.shape, dtype_)")
    else:
        recorded.append("node.restore = None")
    recorded += [
        "frame = getframe(1)",
        "code = frame.f_code",
        "if code.co_filename not in USER_FILES:",
        " frame = user_frame(frame)",
        " code = frame.f_code",
        "node.code = code",
        "node.offset = frame.f_lasti",
    ]
    lines += [" if node is not None:", *indented(2, recorded)] if op.view or op.several else indented(1, recorded)
    return [*lines, *indented(1, finished(op, "node")), *finished(op, why_unrecorded(op, kinds, "UNRECORDED.cut"), "NO_GRAD")]


def finished(op: Op, node: str, creation: str = "") -> list[str]:
    """Give the results their history and return them. What may be done with a view depends on how it was made."""
    creation = creation or ("SEVERAL" if op.several else "ORDINARY")
    base = op.inputs[0]
    params = tuple_of(op.params)
    if op.several:
        parts = f"counter_of({base}), first_of(OP, len(result)), {params}, result"
        return [f"return views({base}, {parts}, {creation}, {node})" if op.view else f"return outputs(result, {node})"]
    if op.view:
        return [f"return view({base}, OP, {params}, result, {node}, {creation})"]
    return [f"made._fn = {node}", "return made"]


def why_unrecorded(op: Op, kinds: str, why: str = "") -> str:
    """The history of a result that is not recorded: None, unless one of the inputs has or had one. `why`: what is to blame whatever
    their history; without it, what cut off that of the inputs."""
    names = [name for name, kind in zip(op.inputs, kinds, strict=True) if kind == "T"]
    if op.view or op.several or not names:
        return "None"
    if op.sequence:
        return f"cut_of(*{names[0]})" if why else f"None if f_{names[0]} is None else cut_of(*{names[0]})"
    if why:
        return " or ".join(f"{name}._fn and {why}" for name in names)
    constant = [f"((f_ := {name}._fn) is None or f_.__class__ is View and (f_ := f_.base._fn) is None)" for name in names]
    return f"None if {' and '.join(constant)} else f_ if f_.__class__ is Cut else UNRECORDED.cut"


def computed(op: Op, call: str, kinds: str, sort: str) -> list[str]:
    """Run the forward: by a kernel if there is one, else muted where NumPy may warn. Where shapes do not broadcast, or NumPy does not
    take numbers of a kind, the general path finds the words for it."""
    if sort == NESTED:
        return [f"result = impl({call})"]
    if op.warns:
        lines = ["token = mute()", f"try: result = impl({call})", "finally: unmute(token)"]
    else:
        lines = [f"result = impl({call})"]
    if sort in (WHOLE, COMPLEX):
        refused = "(TypeError, ValueError, OverflowError)" if op.broadcasts else ""
    else:
        refused = "ValueError" if op.broadcasts and kinds.count("T") > 1 else ""
    kernels = expect(op, kinds)
    kind_of = dict(zip(op.inputs, kinds, strict=True))
    values = ", ".join(f"a_{name}" if kind_of.get(name) == "T" else name for name in op.args)
    if kernels is not None and kernels.forward is not None:
        lines = [f"result = kernel_{kinds}({values})"]
    elif sort == HALF:
        lines = [f"result = single_impl({values})"]
    if op.images or (op.like and not (op.broadcasts and kernels is not None and kernels.forward is not None)):
        lines.append(in_layout(op, [name for name in op.images or op.like if kind_of[name] == "T"]))
    if refused:
        lines = ["try:", *indented(1, lines), f"except {refused}: return {general_call(op, False)}"]
    return lines


def in_layout(op: Op, tensors: list[str]) -> str:
    """Lay a result out as Note [Memory formats] says. If what decides is contiguous, it is as it should be."""
    contiguous = " and ".join(f"a_{name}.flags.c_contiguous" for name in (tensors if op.images else tensors[:1]))
    lay = "like_images" if op.images else "laid_out"
    return f"if not ({contiguous}): result = {lay}(result, {tuple_of(f'a_{name}' for name in tensors)})"


MANY = 3  # inputs; of more, too many nodes would have to be made ready for whichever of them require grad


def record(op: Op, kinds: str, differentiable: list[str], sort: str) -> list[str]:
    """Make the node for whichever inputs require grad; `node` is None where none does."""
    if len(differentiable) > MANY:
        lines = record_any(op, kinds, differentiable, sort)
    else:
        lines = record_each(op, kinds, differentiable, sort)
    if op.view or op.several:
        return [*lines, "else: node = None"]
    return [*lines, f"else: made._fn = {why_unrecorded(op, kinds)}; return made"]


def suffix_of(op: Op, sort: str) -> str:
    """How the names of node classes end, for elements of a sort whose rules are other ones."""
    return sort if sort == HALF or (op.holomorphic and not op.sequence and sort != NESTED) else ""


def record_any(op: Op, kinds: str, differentiable: list[str], sort: str) -> list[str]:
    """One way for all, which looks for the class of the node and for what that wants to keep."""
    needs = " | ".join(f"(f_{name} is not None) << {op.inputs.index(name)}" for name in differentiable)
    layout = saved_names(op, differentiable)
    values = ", ".join(f"'{name}': {saved_value(op, name)}" for name in layout)
    return [
        f"if needs := {needs}:",
        *([" made._vc = VersionCounter()"] if "out" in layout else []),
        f" node = OP.variants[f'{kinds}{{needs}}{suffix_of(op, sort)}']()",
        f" node.next = tuple([f for f in {tuple_of(f'f_{name}' for name in differentiable)} if f is not None])",
        f" node.saved = saved_by(node, {{{values}}})",
    ]


def record_each(op: Op, kinds: str, differentiable: list[str], sort: str) -> list[str]:
    """One way for each combination of inputs."""
    lines: list[str] = []
    for mask in range(2 ** len(differentiable) - 1, 0, -1):
        needing = [name for bit, name in enumerate(differentiable) if mask >> bit & 1]
        tests = [f"f_{name} is {'not ' if name in needing else ''}None" for name in differentiable]
        if op.sequence:
            tests = [f"f_{needing[0]}"]
        layout = saved_names(op, needing)
        lines.append(f"{'if' if not lines else 'elif'} {' and '.join(tests)}:")
        for name in layout:
            if name in op.inputs and name not in needing and kinds[op.inputs.index(name)] == "T":
                lines.append(f" if {name}._vc is not None: refuse_inference({name})")
        bits = sum(1 << op.inputs.index(name) for name in needing)
        lines.append(f" node = {op.name}_{kinds}{bits}{suffix_of(op, sort)}()")
        lines.append(f" node.next = {f'f_{needing[0]}' if op.sequence else tuple_of(f'f_{name}' for name in needing)}")
        lines.append(f" node.saved = {tuple_of(saved_value(op, name) for name in layout)}")
        if "out" in layout:
            lines.insert(len(lines) - 1, " made._vc = VersionCounter()")
    return lines


def saved_value(op: Op, name: str) -> str:
    """How a saved value is written when the node is made."""
    if name == "out":
        return "SavedOutput(result, made._vc)"
    for of in op.inputs:
        if name == f"{of}_shape":
            return f"tuple([a.shape for a in a_{of}])" if op.sequence else f"a_{of}.shape"
        if name == f"{of}_dtype":
            return f"a_{of}.dtype"
    return name


def saved_names(op: Op, needing: list[str]) -> list[str]:
    """What the rules of the inputs in question name in their signatures, each once."""
    rules = [op.joint] if op.joint is not None else [op.rules[name] for name in needing]
    names: dict[str, None] = {}
    for rule in rules:
        names.update(dict.fromkeys(parameters(rule)))
    return [name for name in names if name not in ("g", "needs")]


class Variants(dict[str, type[Node]]):
    """The node classes of an op, made when first needed. The key "TS1" means: a tensor and a number, input 0 requires grad; "TS1c" the
    same for complex values, "TS1h" for half precision."""

    def __init__(self, op: Op) -> None:
        self.op = op

    def __missing__(self, key: str) -> type[Node]:
        from ._node_classes import make_node_class

        kinds = "".join(letter for letter in key if letter in "TS")
        bits = int(key.rstrip("ch")[len(kinds) :])
        self[key] = made = make_node_class(self.op, kinds, bits, conj=key.endswith("c"), half=key.endswith("h"))
        self.use_kernels(kinds)
        return made

    def use_kernels(self, kinds: str) -> None:
        """Let the nodes for these kinds of inputs call the compiled rules."""
        kernels = self.op.kernels.get(kinds)
        for key, cls in self.items():
            if kernels is not None and key.rstrip("0123456789ch") == kinds:
                for name, rule in kernels.rules.items():
                    cls.apply.__globals__[f"array_rule_{name}"] = rule
