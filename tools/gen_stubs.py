"""Write what type checkers and editors cannot see in the code: adjoint/_methods.pyi, the methods and operators that the op registry gives
to Tensor, and adjoint/__init__.pyi, the names of the package itself, most of which are generated or imported when first used.

Parameters are those that `inspect` shows; results what the annotations say, and where they say nothing, the reference (adjoint/_reference).
`python tools/gen_stubs.py` writes the files, `--check` only says whether they are up to date.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import adjoint  # noqa: E402
from adjoint import _reference as reference  # noqa: E402
from adjoint._compiled_members import member_in_python  # noqa: E402
from adjoint._methods import OpMethods  # noqa: E402
from adjoint.ops._generated import OpForm, SpreadForm  # noqa: E402
from adjoint.ops._registry import FUNCTIONS, Op  # noqa: E402

STUB = ROOT / "adjoint" / "_methods.pyi"
MODULE_STUB = ROOT / "adjoint" / "__init__.pyi"
LATER: dict[str, str] = vars(adjoint)["_NAMES"]  # what is imported when first used: names by their modules,
PACKAGES: frozenset[str] = vars(adjoint)["_PACKAGES"]  # and packages
# The classes of the package's constants, by the names that they have in the stub.
KINDS = {"dtype": ("_dtype", "_DType"), "layout": ("_layout", "_Layout"), "memory_format": ("_layout", "_MemoryFormat"),
         "Generator": ("_sampling", "_Generator")}  # fmt: skip
HEADER = '''\
"""The methods that the op registry adds to Tensor. Written by tools/gen_stubs.py: do not edit."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

from ._tensor import Tensor

class OpMethods:
    __slots__ = ()
'''
MODULE_HEADER = '''\
"""adjoint: automatic differentiation with PyTorch's API. Written by tools/gen_stubs.py: do not edit."""

from collections.abc import Sequence
from typing import Any, NamedTuple, overload
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
    text = str(inspect.unwrap(fn).__annotations__.get("return", "Any")).removeprefix("builtins.")
    if text in ("dtype", "Size"):
        return "_DType" if text == "dtype" else text
    return "Tensor" if text in ("Array", "Tensor") else annotation(text) if text in RESULTS else told_result(fn)


TENSORS = re.compile(r"(a|an|one) (new |real |complex |symmetric )?(tensor|vector|matrix|view|number|signal)\b(?!;)")


def told_result(fn: Callable[..., Any]) -> str:
    """What the reference says of the result; `Tensor | NAME` where it depends on `dim`."""
    name = getattr(fn.__doc__, "name", "")
    returns = reference.describe(name).returns if name else ""
    if named := re.search(r"(one number; )?(?:a named tuple )?`\((\w+(?:, \w+)*)\)`", returns):
        fields = f"_{'__'.join(named[2].split(', '))}"
        return f"Tensor | {fields}" if named[1] else fields if "named tuple" in returns else "tuple[Tensor, ...]"
    if re.match(r"a tuple (of (tensors|views)\b|with a tensor|`\()", returns):
        return "tuple[Tensor, ...]"
    if "or a tuple" in returns or "a tuple for" in returns:
        return "Any"
    return "Tensor" if TENSORS.match(returns) or returns == "the tensor itself" else "Any"


def definitions(name: str, parameters: str, made: str, indent: str, words: str = "") -> Iterator[str]:
    """The definition of a function, or of both its forms where the result depends on `dim`. `words` are a comment, or what it does."""
    body = words if words.startswith("\n") else f" ...{words}"
    if "Tensor | _" not in made:
        yield wrapped(f"{indent}def {name}({parameters}) -> {made}:{body}")
        return
    without = re.sub(r"\bdim: [^,]*", "dim: None = None", parameters)
    along = re.sub(r"\bdim: [^,]*", f"dim: {'_int'}", parameters)
    forms = [(without, "Tensor"), (along, made.removeprefix("Tensor | "))]
    if "other: " in parameters:
        first = parameters.partition(",")[0]
        forms.append((f"{first}, other: Tensor", "Tensor"))
    for given, kind in forms:
        yield f"{indent}@overload\n" + wrapped(f"{indent}def {name}({given}) -> {kind}:{body}")


def named_tuples(body: str) -> list[str]:
    """The classes of named results that a stub speaks of."""
    return [
        f"class {name}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in name[1:].split("__"))
        for name in sorted(set(re.findall(r"-> (_[a-zA-Z_]+):", body)) - {f"_{name}" for name in (*BUILTINS, "DType")})
    ]


def members() -> Iterator[str]:
    for name in sorted(vars(OpMethods)):
        value = member_in_python(name)  # a compiled one that took its place has no annotations
        if isinstance(value, property):
            yield f"    @property\n    def {name}(self) -> Tensor: ..."
        elif callable(value):
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            made = "Self" if re.fullmatch(r"__i(?!nvert)\w+__", name) else result(value)
            yield from definitions(name, own(parameters(value)), made, "    ", ignore)


def wrapped(line: str) -> str:
    """A definition that is too long, with its parameters on lines of their own."""
    if len(line.partition("\n")[0]) <= WIDTH:
        return line
    head, _, rest = line.partition("(")
    parameters, _, tail = rest.rpartition(") ->")
    indent = " " * 8
    whole = parameters.replace(" = ", "\0=\0").replace(": ", ":\0")  # is not divided between lines
    rows = textwrap.wrap(whole, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join([f"{head}(", *(row.replace("\0", " ") for row in rows), f"{' ' * (len(head) - len(head.lstrip()))}) ->{tail}"])


def text() -> str:
    body = "\n".join(members())
    aliases = [f"_{name} = {name}" for name in sorted(BUILTINS) if re.search(rf"\b_{name}\b", body)]
    before = "\n".join([*aliases, "", *named_tuples(body), "class OpMethods"])
    return f"{HEADER.replace('class OpMethods', before)}{body}\n"


# ---- the package --------------------------------------------------------------------------------------------------------------------


@cache
def defined_in(module: str) -> frozenset[str]:
    """The names that a module's source defines or imports where a type checker sees it."""
    spec = find_spec(module)
    tree = ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8")) if spec is not None else ast.Module([], [])
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and not is_registered(node)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {target.id for target in ast.walk(node) if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)}
    return frozenset(found)


def is_registered(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator makes another function of it, of which nothing is known."""
    return any("composite" in ast.unparse(each) or ast.unparse(each).startswith("op") for each in node.decorator_list)


def export(name: str, value: Any) -> Iterator[str]:
    """A name of the package in its stub."""
    home = str(getattr(value, "__module__", "")).removeprefix("adjoint").removeprefix(".")
    if name in LATER and name in defined_in(f"adjoint.{LATER[name]}"):
        home = LATER[name]
    if isinstance(value, ModuleType):
        yield f"from . import {name} as {name}"
    elif isinstance(value, FunctionType) and (value in FUNCTIONS.values() or name not in defined_in(f"adjoint.{home}")):
        made = result(value).replace("Self", "Tensor")
        words = (value.__doc__ or "")[:].partition("\n\n")[0].replace("\\", "\\\\")
        yield from definitions(name, parameters(value), made, "", f'\n    """{words}"""' if words else "")
    elif isinstance(value, FunctionType | type) and home and name in defined_in(f"adjoint.{home}"):
        yield f"from .{home} import {name} as {name}"
    elif type(value).__module__.startswith("adjoint.") and not isinstance(value, type):
        yield f"{name}: {KINDS[type(value).__name__][1]}"
    else:
        kind = {float: "_float", str: "str", type(None): "None"}.get(type(value), "Any")
        yield f"{name}: {'type[TypedStorage]' if name.endswith('Storage') else kind}"


def own_modules() -> set[str]:
    """The modules that the package itself imports. Others are among its names as soon as somebody imports them."""
    tree = ast.parse(Path(str(adjoint.__file__)).read_text(encoding="utf-8"))
    return {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module is None for alias in node.names}


def module_text() -> str:
    names = sorted({*dir(adjoint), *PACKAGES})
    own = own_modules()
    lines: list[str] = []
    for name in names:
        shown = not name.startswith("_") or name in ("__version__", *LATER, *PACKAGES)
        if not shown or name == "annotations":
            continue
        if name in PACKAGES:
            lines.append(f"from . import {name} as {name}")
        elif not isinstance(value := getattr(adjoint, name), ModuleType) or name in own:
            lines += export(name, value)
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    body = "\n".join(rest)
    aliases = [f"from .{home} import {kind} as {alias}" for kind, (home, alias) in KINDS.items() if re.search(rf"\b{alias}\b", body)]
    aliases += [f"from builtins import {name} as _{name}" for name in sorted(BUILTINS)]
    return "\n".join([MODULE_HEADER.rstrip("\n"), "", *imports, *aliases, "", *named_tuples(body), body, ""])


def main(arguments: Sequence[str]) -> int:
    stale = False
    for path, wanted in ((STUB, text()), (MODULE_STUB, module_text())):
        if "--check" not in arguments:
            path.write_text(wanted, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != wanted:
            print(f"adjoint/{path.name} is not what the code gives: run python tools/gen_stubs.py")
            stale = True
    if "--check" in arguments and not stale:
        print("Stubs: adjoint/_methods.pyi and adjoint/__init__.pyi are up to date.")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
