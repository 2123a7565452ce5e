"""Write adjoint/_methods.pyi: the methods and operators that the op registry gives to Tensor, for type checkers and editors.

`python tools/gen_stubs.py` writes the file, `--check` only says whether it is up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import adjoint  # noqa: E402, F401  (fills the registry)
from adjoint._methods import OpMethods  # noqa: E402
from adjoint.ops._registry import OPS, Op  # noqa: E402

STUB = ROOT / "adjoint" / "_methods.pyi"
HEADER = '''\
"""The methods that the op registry adds to Tensor. Written by tools/gen_stubs.py: do not edit."""

from collections.abc import Sequence
from typing import Any, Self

from ._tensor import Tensor

class OpMethods:
    __slots__ = ()
'''
WIDTH = 140
UNARY = frozenset({"__abs__", "__invert__", "__neg__", "__pos__"})
# Annotations that mean the same in the stub; all others become Any.
SIMPLE = re.compile(r"(int|float|bool|str|None|Sequence\[int\]|tuple\[int, \.\.\.\]| \| )+")
RESULTS = frozenset({"Tensor", "int", "bool", "str", "tuple[int, ...]", "None"})
# Names that hide a builtin inside the class body, where methods such as `float` and `int` live.
BUILTINS = frozenset({"bool", "float", "int"})


def annotation(text: Any) -> str:
    text = str(text)
    if not SIMPLE.fullmatch(text):
        return "Any"
    return re.sub(r"\b(bool|float|int)\b", r"_\1", text)


def default(value: Any) -> str:
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and abs(value) < 1e300):
        return repr(value)
    return "..."


def parameter(name: str, note: Any, value: Any = inspect.Parameter.empty) -> str:
    kind = annotation(note)
    if value is inspect.Parameter.empty:
        return f"{name}: {kind}"
    if value is None and kind != "Any" and "None" not in kind:
        kind += " | None"
    return f"{name}: {kind} = {default(value)}"


def op_parameters(op: Op) -> str:
    """The arguments of an op after the first, which is the tensor itself."""
    if not hasattr(op.impl, "__code__"):
        return "".join(f", {name}: Any" for name in op.args[1:])
    signature = inspect.signature(op.impl)
    texts = []
    positional = op.args[: len(op.args) - len(op.keywords)]
    for name in op.args[1:]:
        given = signature.parameters[name]
        note = "Any" if name in op.inputs else given.annotation
        if op.varargs and name == positional[-1]:
            texts.append(f"*{name}: Any")
            continue
        if name in op.keywords and "*" not in texts and not op.varargs:
            texts.append("*")
        texts.append(parameter(name, note, given.default))
    if "dim" in op.args:
        texts += ([] if "*" in texts or op.varargs else ["*"]) + ["axis: Any = ..."]
    return "".join(f", {text}" for text in texts)


def function_parameters(fn: Callable[..., Any]) -> str:
    texts: list[str] = []
    star = False
    given_to = list(inspect.signature(fn, follow_wrapped=False).parameters.values())
    for given in given_to[0 if given_to[0].kind is given_to[0].VAR_POSITIONAL else 1 :]:  # without the tensor itself
        if given.kind is given.VAR_POSITIONAL:
            texts.append(f"*{given.name}: Any")
            star = True
        elif given.kind is given.VAR_KEYWORD:
            texts.append(f"**{given.name}: Any")
        else:
            if given.kind is given.KEYWORD_ONLY and not star:
                texts.append("*")
                star = True
            texts.append(parameter(given.name, given.annotation, given.default))
    return "".join(f", {text}" for text in texts)


def composite_parameters(fn: Callable[..., Any]) -> str:
    """The same of a composite, with `axis` for its `dim`."""
    texts = function_parameters(fn)
    if "dim" not in inspect.signature(fn, follow_wrapped=False).parameters:
        return texts
    star = "" if ", *" in texts else ", *"
    return f"{texts}{star}, axis: Any = ..."


def result(note: Any) -> str:
    text = str(note)
    if text in ("Array", "Tensor"):
        return "Tensor"
    return annotation(text) if text in RESULTS else "Any"


def inplace_op(name: str) -> Op | None:
    """The op of which `name` is the derived in-place form."""
    if not name.endswith("_") or name.startswith("_"):
        return None
    base = getattr(OpMethods, name[:-1], None)
    op = getattr(base, "op", None) or OPS.get(name[:-1])
    return op if isinstance(op, Op) else None


def method(name: str, fn: Callable[..., Any]) -> str:
    op = getattr(fn, "op", None)
    generated = fn.__code__.co_filename.startswith("<adjoint ") or fn.__code__.co_name == "_stub"
    if op is not None:
        parameters = op_parameters(op) if generated else function_parameters(fn)
        return f"(self{parameters}) -> {'tuple[Tensor, ...]' if op.several else 'Tensor'}"
    in_place = fn.__doc__ == f"In-place form of `{fn.__name__[:-1]}`."
    if in_place and fn.__code__.co_name in ("changing", "_stub") and (op := inplace_op(fn.__name__)) is not None:  # derived, not written
        return "(self, other: Any) -> Self" if name.startswith("__") else f"(self{op_parameters(op)}) -> Self"
    if name in UNARY:
        return "(self) -> Tensor"
    made = "Self" if in_place else result(fn.__annotations__.get("return", "Any"))
    if hasattr(fn, "__wrapped__"):  # a composite that takes NumPy's names as well
        return f"(self{composite_parameters(fn.__wrapped__)}) -> {made}"
    if generated:  # an operator
        return "(self, other: Any) -> Tensor"
    return f"(self{function_parameters(fn)}) -> {made}"


def members() -> Iterator[str]:
    for name, value in sorted(vars(OpMethods).items()):
        if isinstance(value, property):
            yield f"    @property\n    def {name}(self) -> Tensor: ..."
        elif callable(value):
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            yield wrapped(f"    def {name}{method(name, value)}: ...{ignore}")


def wrapped(line: str) -> str:
    """A definition that is too long, with its parameters on lines of their own."""
    if len(line) <= WIDTH:
        return line
    head, _, rest = line.partition("(")
    parameters, _, tail = rest.rpartition(") ->")
    rows = textwrap.wrap(parameters, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    return "\n".join([f"{head}(", *rows, f"    ) ->{tail}"])


def text() -> str:
    body = "\n".join(members())
    aliases = [f"_{name} = {name}" for name in sorted(BUILTINS) if re.search(rf"\b_{name}\b", body)]
    header = HEADER.replace("class OpMethods", "\n".join([*aliases, "", "class OpMethods"]) if aliases else "class OpMethods")
    return f"{header}{body}\n"


def main(arguments: Sequence[str]) -> int:
    wanted = text()
    if "--check" not in arguments:
        STUB.write_text(wanted, encoding="utf-8")
        return 0
    if STUB.exists() and STUB.read_text(encoding="utf-8") == wanted:
        print("Stubs: adjoint/_methods.pyi is up to date.")
        return 0
    print("adjoint/_methods.pyi is not what the op registry gives: run python tools/gen_stubs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
