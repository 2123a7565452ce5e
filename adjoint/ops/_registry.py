"""The op registry. An op is declared once, and everything else is derived from the declaration:

    mul = elementwise("mul", np.multiply, operators=("__mul__", "__rmul__"), inplace_operator="__imul__",
                      input=lambda g, other: g * other,
                      other=lambda g, input: g * input)

- The forward is plain NumPy code on arrays. Arguments annotated `Array` are tensors, all others are parameters.
- A rule per input, under the input's name, gives its gradient from `g`, that of the output. The names in its signature say what it needs,
  and just that is saved: inputs, `out` (the result), parameters, and `<input>_shape` / `<input>_dtype` where the values are not needed.
  Rules are NumPy code too, so they run on arrays in an ordinary backward and on Tensors under `create_graph`.
- For complex values a holomorphic op's rules stand as they are: the gradient is `conj(rule(conj(g)))` in PyTorch's convention. An op
  that is linear, or only moves elements, is holomorphic unless it says otherwise; others say `holomorphic=True`, or False if their rules
  give that gradient themselves. An op that says nothing has no gradients of complex values, and who asks for one is told so.
- Forward mode is derived: ELEMENTWISE applies the rules to the tangents, LINEAR the op itself, MULTILINEAR the op to one tangent at a time,
  REDUCTION sums the tangents with the weights that the rule gives for a gradient of ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from .._layer import Pending
from .._layout import laid_out, like_images
from .._methods import OpMethods
from ..autograd.regions import PARTIAL
from ._rules import contiguous

Array = Any  # a NumPy array or anything that behaves like one; in a forward's signature it marks a tensor argument
ConstantArray = Any  # marks one for which the joint rule has no gradient
Held = Any  # marks a parameter that holds arrays: a node that keeps it is freed by a backward pass, like one that keeps a tensor
Rule = Callable[..., Any]

# How forward mode follows from the declaration.
ELEMENTWISE, LINEAR, MULTILINEAR, REDUCTION = "elementwise", "linear", "multilinear", "reduction"

# How a batch is handed to the op as it is; see _batching.py.
LEADING, ALONG, FOLDED, REDUCED = "leading", "along", "folded", "reduced"
DYNAMIC = "dynamic"  # not at all: the shape of the result depends on values

# What happens to the dtypes of the inputs before the forward sees them.
COMMON = "common"  # PyTorch's promotion
RANKED = "ranked"  # promotion of operands that get one rank first: beside one with dimensions, one without counts as much
FLOAT = "float"  # promotion, and integers become the default floating dtype
KEEP = "keep"  # nothing

# What is said of a tensor given as `out=` that has another dtype than the result, by functions that do not convert.
SAME = "Expected out tensor to have dtype {wanted_type}, but got {given_type} instead"
FOUND = "Found dtype {given} but expected {wanted}"

OPS: dict[str, Op] = {}  # every op by its name
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # what `adjoint` exports: ops and composites


class Op:
    """One declared operation."""

    def __init__(
        self,
        name: str,
        impl: Callable[..., Any],
        rules: dict[str, Rule],
        *,
        joint: Rule | None = None,
        jvp: str | Rule | None = None,
        promote: str = KEEP,
        broadcasts: bool = False,
        view: bool = False,
        several: bool = False,
        scalars: bool | str = False,
        holomorphic: bool | None = None,
        nodes: str | dict[str, str] | None = None,
        edges: tuple[int, ...] = (),
        differentiable: bool = True,
        warns: bool = True,
        floats: bool = True,
        wide: bool | None = None,
        exact: bool = False,
        check: Callable[..., None] | None = None,
        converts: bool = False,
        same: str = "",
        adopts: bool = False,
        overlap: str | None = None,
        pending: bool = False,
        batch: str | Rule | None = None,
        along: str = "",
        images: tuple[str, ...] = (),
        like: tuple[str, ...] = (),
        narrow: bool = False,
        sparse: bool = False,
    ) -> None:
        self.name = name
        self.impl = impl
        self._read_signature()
        self.rules = rules
        self.joint = joint
        self.jvp = jvp
        self.promote = promote
        self.broadcasts = broadcasts  # inputs of different shapes are broadcast, and the engine sums their gradients back
        self.view = view
        self.several = several  # returns a tuple
        self.scalars = scalars  # Python numbers may stand for tensors: for any but not for all; for the named one; or for "all"
        self.nodes = nodes or f"{camel(name)}Backward0"
        self.edges = edges  # the order in which a node of all inputs shows their edges, where PyTorch's is another
        self.differentiable = differentiable
        self.warns = warns and not view and not isinstance(impl, np.ufunc)  # NumPy may warn, so the forward runs muted (_quiet.py)
        self.narrow = narrow or view  # 8-bit and packed numbers are welcome: they are moved, and not computed with
        self.holomorphic = (self.narrow or jvp in (LINEAR, MULTILINEAR) or None) if holomorphic is None else holomorphic
        self.floats = floats  # float32 and float64 are welcome; otherwise there is no fast path
        # Whether half precision is computed in single precision, as in PyTorch: forward and rules get float32 arrays instead. Sums with
        # weights are, unless they have a `dtype=` to be computed in, and whatever works element by element.
        sums = jvp == REDUCTION and "dtype" not in self.params
        self.wide = sums or (broadcasts and promote != KEEP) if wide is None else wide
        self.exact = exact  # a number as the second operand beside half precision is taken as it is; others are rounded to that first
        self.check = check  # refuses operands other than float32 and float64, which are always welcome
        self.batch = batch  # how `vmap` runs it on batches, where that does not follow from the rest; see _batching.py
        # The kernel along an axis that computes it, as "family.name"; see _compiled.py. To its forward, half precision is nothing special.
        self.along = along
        self.widens = self.wide and not along
        # Inputs that are images: if the strides of one look like channels last, so do those of the results. See Note [Memory formats].
        self.images = images
        # Inputs whose strides decide on those of the result, the first one first, in what works element by element.
        self.like = like or (self.inputs if broadcasts else ())
        self._validate()
        if along:
            self.impl = in_row_order(impl)
        # What is said of an `out=` of another dtype; nothing where it may have one: where operands are promoted, or sums have their own.
        converts = converts or promote != KEEP or not {"dtype", "correction"}.isdisjoint(self.params)
        self.same = same or ("" if converts and not adopts else SAME)
        self.overlap = (PARTIAL if broadcasts else "") if overlap is None else overlap  # what may not be written while it is read
        self.pending = pending  # takes arrays that are pending as they are; of other views see Pending in _layer.py
        self.adopts = adopts  # computes in the dtype of `out=`, unless another one is asked for
        self.kernels: dict[str, Any] = {}  # by which inputs are tensors; see _compiled.py
        self.places = tuple(self.args.index(name) for name in self.inputs)  # of the inputs among the arguments
        # Factors of its inputs, which may stand before them; see _general.factors_last.
        positional = self.args[: len(self.args) - len(self.keywords)]
        self.factors = tuple(name for name in ("beta", "alpha", "value") if name in positional and name not in self.inputs)
        self.indexed = "indices" in self.params  # parameters that may hold tensors: those of `x[...]`
        self.sparse = sparse  # takes sparse arrays as they are; of other ops on sparse tensors see sparse/_forms.py
        self.recorder: Callable[..., Any] | None = None  # the function for Tensors inside `func.grad`; see func/_recorded.py
        self.served: set[np.dtype[Any]] = set()  # dtypes besides the usual ones that have come along, for which there is a fast path now
        self.generators: list[Callable[[], None]] = []
        self.namespaces: list[dict[str, Any]] = []  # the globals of its functions
        from ._codegen import Variants

        self.variants = Variants(self)  # the node classes, by which inputs are tensors and which require grad

    def _read_signature(self) -> None:
        impl = self.impl
        self.sequence = False  # the first argument is a sequence of tensors
        self.optional: frozenset[str] = frozenset()
        self.constant: frozenset[str] = frozenset()
        self.held: frozenset[str] = frozenset()
        self.keywords: tuple[str, ...] = ()
        self.defaults: tuple[Any, ...] | None = None
        self.keyword_defaults: dict[str, Any] | None = None
        self.varargs = False
        if isinstance(impl, np.ufunc):
            self.args: tuple[str, ...] = ("input", "other")[: impl.nin]
            self.inputs = self.args
            return
        code = impl.__code__
        positional = code.co_varnames[: code.co_argcount]
        self.keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.args = positional + self.keywords
        self.defaults = impl.__defaults__
        self.keyword_defaults = impl.__kwdefaults__
        notes = impl.__annotations__
        self.inputs = tuple(name for name in self.args if "Array" in str(notes.get(name, "")))
        self.optional = frozenset(name for name in self.inputs if "None" in str(notes[name]))
        self.constant = frozenset(name for name in self.inputs if "ConstantArray" in str(notes[name]))
        self.held = frozenset(name for name in self.args if "Held" in str(notes.get(name, "")))
        self.sequence = bool(self.inputs) and "Sequence" in str(notes[self.inputs[0]])
        self.varargs = bool(positional) and "varargs" in str(notes.get(positional[-1], "")).lower()

    def _validate(self) -> None:
        if not self.differentiable:
            if self.rules or self.joint:
                raise TypeError(f"op {self.name!r} is declared not differentiable and has rules")
            return
        if not self.rules and self.joint is None:
            raise TypeError(f"op {self.name!r} has no rule; say differentiable=False if it has no derivative by nature")
        if self.jvp is None:
            raise TypeError(f"op {self.name!r} has no forward-mode rule")
        known = {"g", "out", "needs", *self.args}
        known |= {f"{name}_{what}" for name in self.inputs for what in ("shape", "dtype")}
        for name, rule in self.named_rules():
            if name and name not in self.inputs:
                wanted = f"annotate it: def {self.name}({name}: Array, ...)" if name in self.args else f"the forward has {list(self.args)}"
                raise TypeError(f"op {self.name!r}: there is a rule for {name!r}, which is no tensor argument of the forward; {wanted}")
            unknown = set(parameters(rule)) - known
            if unknown:
                raise TypeError(f"op {self.name!r}: rule for {name!r} names {sorted(unknown)}, which is not among {sorted(known)}")

    def named_rules(self) -> Iterable[tuple[str, Rule]]:
        yield from self.rules.items()
        if self.joint is not None:
            yield "", self.joint

    def default_values(self) -> dict[str, Any]:
        """The parameters that have defaults."""
        positional = self.args[: len(self.args) - len(self.keywords)]
        defaults = self.defaults or ()
        return dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True)) | (self.keyword_defaults or {})

    def regenerate(self) -> None:
        """Write the functions of the op again, for the dtypes and kernels it has now."""
        for generate in self.generators:
            generate()

    def use_kernels(self, kinds: str) -> None:
        """Let the functions and nodes of the op call the kernels it has for these kinds of inputs."""
        for namespace in self.namespaces:
            namespace[f"kernel_{kinds}"] = self.kernels[kinds].forward
        self.variants.use_kernels(kinds)

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(name for name in self.args if name not in self.inputs)

    def node_name(self, kinds: str) -> str:
        """PyTorch's name for the node, which may depend on which arguments are tensors."""
        return self.nodes if isinstance(self.nodes, str) else self.nodes.get(kinds, self.nodes["default"])

    def differentiates(self, name: str) -> bool:
        return name in self.rules or (self.joint is not None and name not in self.constant)

    def call(self, values: dict[str, Any]) -> Any:
        """The forward on arrays, by argument name."""
        cut = len(self.args) - len(self.keywords)
        return self.impl(
            *(values[name] for name in self.args[:cut]), **{name: values[name] for name in self.args[cut:]}
        )

    def in_layout(self, result: Any, arrays: Sequence[Any]) -> Any:
        """A result of the forward on arrays, in memory as Note [Memory formats] says."""
        if self.images:
            return like_images(result, [x for name, x in zip(self.inputs, arrays, strict=True) if name in self.images])
        return laid_out(result, [arrays[self.inputs.index(name)] for name in self.like]) if self.like else result

    def on(self, operands: list[Any], values: dict[str, Any]) -> Any:
        """The op on other Tensors with the same parameters."""
        given = {**values, self.inputs[0]: operands} if self.sequence else {**values, **dict(zip(self.inputs, operands, strict=True))}
        cut = len(self.args) - len(self.keywords)
        return self.function(*(given[name] for name in self.args[:cut]), **{name: given[name] for name in self.args[cut:]})

    def view_of(self, base: Any, params: tuple[Any, ...]) -> Any:
        """The view of another base: an array for an array, a Tensor for a Tensor."""
        if isinstance(base, OpMethods):
            return self.function(base, *params)
        if base.__class__ is Pending and not self.pending:
            made = self.impl(base.array, *params)
            return tuple(map(base.like, made)) if self.several else base.like(made)
        return self.impl(base, *params)

    function: Callable[..., Any]
    inplace_function: Callable[..., Any]

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.args)})>"


def in_row_order(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward whose results lie in memory in the order of their indices, as its kernel writes them, however the input lies there."""

    @wraps(forward)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        return contiguous(forward(*args, **kwargs))

    return ordered


def parameters(rule: Rule) -> tuple[str, ...]:
    code = rule.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def camel(name: str) -> str:
    """`log1p` is Log1P: a digit ends a word too."""
    return "".join(part.title() for part in name.strip("_").split("_"))


def register(
    op: Op,
    *,
    operators: tuple[str, ...] = (),
    inplace: bool = False,
    inplace_operator: str | None = None,
    aliases: tuple[str, ...] = (),
    out: bool = True,
    method: bool = True,
    function: bool = True,
    doc: str | None = None,
) -> Callable[..., Any]:
    """Make the public function of an op and attach it wherever it belongs."""
    from ._codegen import lazy_function
    from ._inplace import inplace_function, operator_inplace

    fn = lazy_function(op, out=out and not op.view and not op.several)
    fn.__doc__ = doc or op.impl.__doc__ if not isinstance(op.impl, np.ufunc) else doc
    op.function = fn
    fn.op = op  # type: ignore[attr-defined]
    fn.asks = True  # type: ignore[attr-defined]  # see _overriding.py
    OPS[op.name] = op
    for name in (op.name, *aliases):
        if function:
            FUNCTIONS[name] = fn
        if method:
            setattr(OpMethods, name, fn)
    if operators:
        operator = lazy_function(op, out=False, operator=True)  # without keyword arguments the call is faster
        operator.asks = True  # type: ignore[attr-defined]  # see _overriding.py
        for name in operators:
            setattr(OpMethods, name, operator)
    if inplace:
        changing = inplace_function(op)
        fn.inplace = changing  # type: ignore[attr-defined]
        for name in (op.name, *aliases):
            if method:
                setattr(OpMethods, f"{name}_", changing)
            if function:
                FUNCTIONS[f"{name}_"] = changing
        if inplace_operator:
            setattr(OpMethods, inplace_operator, operator_inplace(op))
    return fn


_OP_OPTIONS = set(parameters(Op.__init__)) | set(Op.__init__.__kwdefaults__ or ())


def _declare(name: str, impl: Callable[..., Any], options: dict[str, Any], registration: dict[str, Any]) -> Callable[..., Any]:
    op_options = {key: options.pop(key) for key in list(options) if key in _OP_OPTIONS}
    return register(Op(name, impl, options, **op_options), **registration)


def elementwise(
    name: str,
    impl: Callable[..., Any],
    *,
    operators: tuple[str, ...] = (),
    inplace: bool = True,
    inplace_operator: str | None = None,
    aliases: tuple[str, ...] = (),
    method: bool = True,
    function: bool = True,
    doc: str | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Declare an op that acts on each element by itself, broadcasting its inputs. Rules go by the inputs' names."""
    registration = dict(
        operators=operators, inplace=inplace, inplace_operator=inplace_operator, aliases=aliases, method=method, function=function, doc=doc
    )
    settings = {"promote": COMMON, "broadcasts": True, "scalars": True, **options}
    if settings.get("differentiable", True):
        settings.setdefault("jvp", ELEMENTWISE)
    return _declare(name, impl, settings, registration)


def op(
    name: str | None = None,
    *,
    operators: tuple[str, ...] = (),
    inplace: bool = False,
    inplace_operator: str | None = None,
    aliases: tuple[str, ...] = (),
    out: bool = True,
    method: bool = True,
    function: bool = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an op by decorating its forward. Rules go by the inputs' names."""
    registration = dict(
        operators=operators, inplace=inplace, inplace_operator=inplace_operator, aliases=aliases, out=out, method=method, function=function
    )

    def declare(impl: Callable[..., Any]) -> Callable[..., Any]:
        return _declare(name or impl.__name__, impl, dict(options), registration)

    return declare


def composite(
    *names: str, method: bool = True, function: bool = True, operators: tuple[str, ...] = (), direct: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function written with ops: it needs no rules. Exported, and made a method of Tensor, under its own name and the given ones.

    What is exported as a function refuses arguments that are no tensors, and so does a method for its further ones, unless the arguments
    go `direct`ly to ops, which do so themselves."""

    def export(fn: Callable[..., Any]) -> Callable[..., Any]:
        assert isinstance(fn, FunctionType)
        from ._generated import arguments_of, public, tensors_among

        called = names or (fn.__name__,)
        positional, keywords, _ = arguments_of(fn)
        tensors = tensors_among(fn)
        outside = fn if direct or not tensors else public(fn, called[0])
        if "dim" in (*positional, *keywords) and "axis" not in keywords:
            fn = outside  # which takes NumPy's names: as a method too
        elif outside is not fn:
            outside.__module__ = "adjoint"  # where it is found by its name
        for name in called:
            if function:
                FUNCTIONS[name] = outside
            if method:
                setattr(OpMethods, name, outside if len(tensors) > 1 and name[0] != "_" else fn)
        for name in operators:
            setattr(OpMethods, name, fn)
        return fn

    return export
