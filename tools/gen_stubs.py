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
from adjoint.ops._generated import OpForm, SpreadForm  # noqa: E402
from adjoint.ops._registry import Op  # noqa: E402

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


def parameters(fn: Callable[..., Any]) -> str:
    """The parameters of a function as `inspect` shows them, with the annotations that the code has."""
    given = list(inspect.signature(fn).parameters.values())
    notes = inspect.unwrap(fn).__annotations__ if inspect.isfunction(inspect.unwrap(fn)) else {}
    texts: list[str] = []
    for place, each in enumerate(given):
        if each.kind is each.KEYWORD_ONLY and not any(other.kind in (other.VAR_POSITIONAL, other.KEYWORD_ONLY) for other in given[:place]):
            texts.append("*")
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            texts.append(f"{'*' if each.kind is each.VAR_POSITIONAL else '**'}{each.name}: Any")
        else:
            texts.append(parameter(each.name, notes.get(each.name, "Any"), each.default))
    if isinstance(getattr(fn, "__wrapped__", None), SpreadForm):
        texts.append("**named: Any")  # the sizes, as one argument
    return ", ".join(texts)


def own(text: str) -> str:
    """The parameters of a method: the first one is the tensor itself, and `out` is for functions."""
    text = re.sub(r", out: Any = None(?=, \w|$)", "", re.sub(r", \*, out: Any = None$", "", text))
    first, comma, rest = text.partition(", ")
    return text if first.startswith("*") else f"self{comma}{rest}"


def result(fn: Callable[..., Any]) -> str:
    op = getattr(fn, "op", None)
    if (fn.__doc__ or "")[:].startswith("In-place form of `"):
        return "Self"
    if isinstance(op, Op):
        return "tuple[Tensor, ...]" if op.several else "Tensor"
    if isinstance(getattr(fn, "__wrapped__", None), OpForm):  # an operator, or an in-place form under another name
        return "Tensor"
    text = str(inspect.unwrap(fn).__annotations__.get("return", "Any"))
    return "Tensor" if text in ("Array", "Tensor") else annotation(text) if text in RESULTS else "Any"


def method(name: str, fn: Callable[..., Any]) -> str:
    made = "Self" if re.fullmatch(r"__i(?!nvert)\w+__", name) else result(fn)
    return f"({own(parameters(fn))}) -> {made}"


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
    indent = " " * 8
    rows = textwrap.wrap(parameters, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
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
