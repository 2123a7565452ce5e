"""What the reference says of every public name: for `help`, for editors and for the site. It is loaded when somebody asks.

Nothing that the code knows is written down again. Arguments come from the signature, the first words from the docstring, the derivative
from the op's rules. The pages beside this module (`*.txt`) add the rest:

    # The title of a page
    prefix: nn.                                  the names on this page are `nn.Linear`, ...
    input: the tensor                            a parameter, described once for all functions of the page

    ## clamp
    Words that are added to those of the docstring.
    min: the lower bound                         a parameter of this function
    returns: a tensor of the same shape
    raises: RuntimeError: where neither bound is given
    >>> ad.clamp(ad.tensor([-2.0, 0.5]), min=0.0)
    tensor([0.0000, 0.5000])

`common.txt` describes the parameters that mean the same everywhere. `python tools/reference.py --examples` runs the examples and writes
down what they print.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, MethodDescriptorType, ModuleType
from typing import Any

from ..ops._generated import Doc
from ._rules import rules_of

FOLDER = Path(__file__).parent
PARAMETER = re.compile(r"(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*): (.+)")
IN_PLACE = "In-place form of `"
# The pages in the order in which one would learn of them; others follow.
ORDER = (
    "creation", "random", "storage", "tensor_methods", "sparse", "sparse_methods", "pointwise", "comparison", "reductions", "shapes",
    "indexing", "linear_algebra",
    "linalg", "fft", "spectral", "special", "gradients", "autograd", "func", "nn_modules", "nn_activations", "nn_convolution",
    "nn_normalization", "nn_sequences", "nn_losses", "functional_activations", "functional_convolution", "functional_layers",
    "functional_losses", "layers_at_top", "optim", "optim_schedulers", "settings",
)  # fmt: skip


@dataclass
class Entry:
    """What a page says of one name."""

    notes: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: list[str] = field(default_factory=list)
    example: str = ""


@dataclass
class Page:
    name: str
    title: str = ""
    prefix: str = ""
    common: Entry = field(default_factory=Entry)
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass
class Description:
    """All that is known of one name, in the order in which it is told."""

    name: str
    signature: str
    words: str
    parameters: list[tuple[str, str]]
    returns: str
    raises: list[str]
    derivative: list[tuple[str, str]]
    example: str
    undescribed: list[str]  # parameters that nobody has described


# ---- the pages ----------------------------------------------------------------------------------------------------------------------


def parse(name: str, text: str) -> Page:
    page = Page(name)
    entry = page.common
    for block in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        head, _, rest = block.partition("\n")
        if head.startswith("## "):
            entry = page.entries[page.prefix + head[3:].strip()] = Entry()
        else:
            page.title = head.removeprefix("# ")
        body, prompt, example = rest.partition(">>> ")
        entry.example = (prompt + example).strip()
        for line in re.sub(r"\n  +", " ", body).splitlines():
            described = PARAMETER.fullmatch(line)
            if described is None:
                entry.notes += [line] if line.strip() else []
            elif described[1] == "prefix":
                page.prefix = described[2]
            elif described[1] == "returns":
                entry.returns = described[2]
            elif described[1] == "raises":
                entry.raises.append(described[2])
            else:
                entry.parameters.update(dict.fromkeys(described[1].replace("*", "").split(", "), described[2]))
    return page


@cache
def pages() -> dict[str, Page]:
    """Every page by its name."""
    place = {name: number for number, name in enumerate(ORDER)}
    names = sorted((path.stem for path in FOLDER.glob("*.txt")), key=lambda name: (place.get(name, len(ORDER)), name))
    return {name: parse(name, (FOLDER / f"{name}.txt").read_text(encoding="utf-8")) for name in names if name != "common"}


@cache
def common() -> Entry:
    """The parameters that mean the same everywhere."""
    return parse("common", (FOLDER / "common.txt").read_text(encoding="utf-8")).common


@cache
def entries() -> dict[str, tuple[Page, Entry]]:
    return {name: (page, entry) for page in pages().values() for name, entry in page.entries.items()}


def base_of(name: str) -> str:
    """The function of which this is the in-place form."""
    return name[:-1] if name.endswith("_") else name


def found(name: str) -> tuple[Page, Entry] | None:
    """The entry of a name; for an in-place form that has none, what follows from that of the other form."""
    if name in entries():
        return entries()[name]
    base = base_of(name)
    words = getattr(resolved(name), "__doc__", "") or ""
    if base != name and base in entries() and words[:].startswith(IN_PLACE):
        page, entry = entries()[base]
        return page, Entry([], entry.parameters, "", [], in_place_example(base, entry.example))
    return None


def in_place_example(name: str, example: str) -> str:
    """The last call of an example, as a method that changes its tensor: `x.sin_()`."""
    *before, call = re.split(r"^(?=>>> )", example, flags=re.MULTILINE)
    match = re.match(rf">>> (?:ad|F)\.{re.escape(name.rpartition('.')[2])}\((.*)\)\n(.*)", call, re.DOTALL)
    if match is None:
        return ""
    given, printed = match[1], match[2]
    depth = 0
    end = len(given)
    for place, letter in enumerate(given):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            end = place
            break
    first, others = given[:end], given[end + 1 :].strip()
    space, _, own = name.rpartition(".")
    change = f"x.{own}_({others})"
    if space or not hasattr(resolved("Tensor"), f"{own}_"):
        change = f"{'F' if space else 'ad'}.{own}_({', '.join(filter(None, ['x', others]))})"
    return "".join(before) + f">>> x = {first}\n>>> {change}\n{printed}"


# ---- one name -----------------------------------------------------------------------------------------------------------------------


@cache
def resolved(name: str) -> Any:
    import adjoint

    value: Any = adjoint
    for part in name.split("."):
        value = getattr(value, part)
    if isinstance(value, MethodDescriptorType) and name.startswith("Tensor."):
        from .._compiled_members import member_in_python

        return member_in_python(part)  # a compiled one has no signature
    return value


def parameters_of(value: Any) -> list[inspect.Parameter]:
    """The parameters that a caller gives; none where there is no signature."""
    try:
        given = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return []
    return [p for p in given if p.name != "self" and not p.name.startswith("_")]


class Named:
    """A default that is shown by its name: `relu` instead of `<function relu at 0x...>`."""

    def __init__(self, value: Any) -> None:
        self.name = value.__name__

    def __repr__(self) -> str:
        return str(self.name)


def signature_text(name: str, parameters: list[inspect.Parameter]) -> str:
    plain = []
    for p in parameters:
        default = Named(p.default) if isinstance(p.default, FunctionType | ModuleType) else p.default
        plain.append(p.replace(annotation=p.empty, default=default))
    return f"{name.rpartition('.')[2]}{inspect.Signature(plain)}"


def returned(value: Any, op: Any, page: Page) -> str:
    """What follows from the declaration about the result."""
    told: str = page.common.returns
    if op is None or op.function is not value:
        note = str(getattr(inspect.unwrap(value), "__annotations__", {}).get("return", ""))
        plain: dict[str, str] = {"bool": "True or False", "int": "a whole number", "None": "nothing", "str": "a text"}
        return plain.get(note, told)
    if op.several:
        return "a tuple of tensors" + (", which are views of `input`" if op.view else "")
    if op.view:
        return "a view of `input`: it shares its memory"
    shape = "of the shape to which the inputs broadcast" if len(op.inputs) > 1 else f"of the shape of `{op.inputs[0]}`"
    return f"a tensor {shape}" if op.broadcasts else told


def raised(value: Any, op: Any, names: list[str], in_place: bool) -> list[str]:
    """What follows from the declaration about errors."""
    told = []
    if op is not None and op.broadcasts and len(op.inputs) > 1:
        told.append("RuntimeError: where the shapes cannot be broadcast")
    if "dim" in names:
        told.append("IndexError: where `dim` names a dimension that is not there")
    if in_place:
        told.append("RuntimeError: where the tensor is a leaf that requires grad; write inside `with ad.no_grad():`")
        told.append("RuntimeError: where its dtype cannot hold the result, or its shape would have to grow")
    return told


def describe(name: str) -> Description:
    from ..ops._registry import OPS

    value = resolved(name)
    page, entry = found(name) or (Page("common"), Entry())
    words: str = (getattr(value, "__doc__", None) or "")[:]
    in_place = words.startswith(IN_PLACE)
    op = getattr(value, "op", None) or OPS.get(base_of(name))
    given = parameters_of(value)
    described, undescribed = [], []
    for parameter in given:
        known = (entry.parameters, page.common.parameters, common().parameters)
        told = next((texts[parameter.name] for texts in known if parameter.name in texts), "")
        described.append((parameter.name, told))
        undescribed += [] if told else [parameter.name]
    words = "\n\n".join([inspect.cleandoc(words), *(["\n".join(entry.notes)] if entry.notes else [])])
    is_class = isinstance(value, type)
    returns = "" if is_class else entry.returns or ("the tensor itself, changed" if in_place else returned(value, op, page))
    raises = entry.raises + ([] if is_class else raised(value, op, [p.name for p in given], in_place))
    shown = signature_text(name, given)
    return Description(name, shown, words, described, returns, raises, rules_of(op) if op else [], entry.example, undescribed)


def sections(told: Description) -> Iterator[str]:
    yield told.words
    if told.parameters:
        yield "\n".join(["Args:", *(f"    {name}: {text}" for name, text in told.parameters if text)])
    if told.returns:
        yield f"Returns:\n    {told.returns}"
    if told.raises:
        yield "\n".join(["Raises:", *(f"    {text}" for text in told.raises)])
    if told.derivative:
        yield "\n".join(["Gradients, from the gradient `g` of the result:", *(f"    {name}: {rule}" for name, rule in told.derivative)])
    if told.example:
        yield "Example:\n" + "".join(f"    {line}\n" for line in told.example.splitlines())


def text_of(name: str) -> str:
    """The docstring of a name, whole."""
    return "\n\n".join(section.rstrip() for section in sections(describe(name)) if section.strip())


# ---- what there is ------------------------------------------------------------------------------------------------------------------

SPACES = ("", "Tensor", "nn", "nn.functional", "optim", "optim.lr_scheduler", "autograd", "func", "linalg", "fft", "special")


def names_of(space: str) -> list[str]:
    """The public functions and classes of a namespace, under the names by which they are described: once each."""
    import adjoint

    home: Any = resolved(space) if space else adjoint
    named: dict[str, None] = {}
    for name in dir(home):
        if name.startswith("_") or name in getattr(home, "_PACKAGES", ()):
            continue
        value = getattr(home, name)
        if isinstance(value, FunctionType | type) and isinstance(value.__doc__, Doc):
            named[value.__doc__.name] = None
    return [name for name in named if name.rpartition(".")[0] == space]
