"""The API reference as Markdown pages, made from what `help` shows: `python tools/reference.py docs/reference`.

`--examples` runs the examples of adjoint/_reference/*.txt and writes down what they print, to be read before it is committed;
`--missing` lists the public names that are not yet described in full.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import adjoint  # noqa: E402
from adjoint import _reference as reference  # noqa: E402
from adjoint.ops._registry import Op  # noqa: E402

SOURCE = "../source"  # where tools/docs.py puts a listing of each file, with an anchor for each line
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\n## |\Z)", re.MULTILINE | re.DOTALL)


INDEX = """\
# API reference

Every name is described as `help` shows it, and the tests run the examples. They begin with

```python
import adjoint as ad
import adjoint.nn.functional as F
from adjoint import func, nn, optim
```
"""


# ---- examples -----------------------------------------------------------------------------------------------------------------------


def namespace() -> dict[str, Any]:
    """What every example may use without importing it."""
    names = {"ad": adjoint, "nn": adjoint.nn, "F": adjoint.nn.functional, "optim": adjoint.optim, "func": adjoint.func}
    return {"__name__": "example", **names}


def with_output(example: str, known: dict[str, Any] | None = None) -> str:
    """An example with what it prints now."""
    lines: list[str] = []
    known = namespace() if known is None else known
    for part in doctest.DocTestParser().get_examples(example):
        first, *rest = part.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(part.source, "<example>", "single"), known)
            except Exception as error:
                print(f"Traceback (most recent call last):\n    ...\n{type(error).__name__}: {str(error).splitlines()[0]}")
        lines += printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
    return "\n".join(lines)


def fill_examples(paths: Sequence[Path]) -> None:
    for path in paths:
        text = path.read_text(encoding="utf-8")
        filled = EXAMPLE.sub(lambda match: with_output(match[0]), text)
        if filled != text:
            path.write_text(filled, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")


# ---- what is missing ----------------------------------------------------------------------------------------------------------------


def missing(space: str) -> Iterator[tuple[str, str]]:
    """The names of a namespace that lack a description of a parameter, or an example, with what they lack."""
    for name in reference.names_of(space):
        told = reference.describe(name)
        lacks = told.undescribed + (["an example"] if ">>>" not in told.example + told.words else [])
        if lacks:
            yield name, ", ".join(lacks)


# ---- pages --------------------------------------------------------------------------------------------------------------------------


@cache
def source_of(name: str) -> tuple[str, int] | None:
    """The file and line of a name: for an op, of its declaration."""
    value = reference.resolved(name)
    op = getattr(value, "op", None)
    rules = op.named_rules() if isinstance(op, Op) else ()  # a class may have an attribute of that name
    codes = [inspect.unwrap(rule).__code__ for _, rule in rules]
    value = inspect.unwrap(value)
    try:
        if codes and not inspect.isfunction(value):
            path, line = codes[0].co_filename, codes[0].co_firstlineno
        else:
            path, line = str(inspect.getsourcefile(value)), inspect.getsourcelines(value)[1]
    except (TypeError, OSError):
        return (codes[0].co_filename, codes[0].co_firstlineno) if codes else None
    try:
        return Path(path).relative_to(ROOT).as_posix(), line
    except ValueError:
        return None


def anchor(name: str) -> str:
    return name.replace(".", "-").lower() + ("-in-place" if name.endswith("_") else "")


def markdown(name: str) -> Iterator[str]:
    told = reference.describe(name)
    shown = name.rpartition(".")[2].replace("_", "\\_")
    if name not in reference.entries() and told.words.startswith(reference.IN_PLACE):  # there is nothing more to say of it
        yield f"#### {shown} {{ #{anchor(name)} }}"
        yield in_markdown(told.words)
        yield f"```pycon\n{told.example}\n```"
        return
    yield f"### {shown} {{ #{anchor(name)} }}"
    prefix = f"ad.{name.rpartition('.')[0]}.".replace("..", ".")
    yield f"```text\n{prefix}{told.signature}\n```"
    yield in_markdown(told.words)
    if told.parameters:
        yield "\n".join(f"- `{parameter}`: {text}" for parameter, text in told.parameters if text)
    if told.returns:
        yield f"**Returns** {told.returns}."
    if told.raises:
        yield "\n".join(["**Raises**", "", *(re.sub(r"^(\w+):", r"- `\1`:", text) for text in told.raises)])
    if told.derivative:
        rules = [f"- `{at}`: `{rule}`" for at, rule in told.derivative]
        yield "\n".join(["**Gradients**, from the gradient `g` of the result:", "", *rules])
    if told.example:
        yield f"```pycon\n{told.example}\n```"
    if (place := source_of(name)) is not None:
        yield f"[Source: {place[0]}, line {place[1]}]({SOURCE}/{place[0]}.html#L-{place[1]})"


def in_markdown(words: str) -> str:
    """A docstring, with its examples as blocks."""
    return re.sub(r"^>>> .*?(?=\n\n|\Z)", lambda match: f"```pycon\n{match[0]}\n```", words, flags=re.MULTILINE | re.DOTALL)


def aliases(name: str) -> list[str]:
    """Other names of the same function in the same namespace."""
    space, _, own = name.rpartition(".")
    home = reference.resolved(space) if space else adjoint
    value = reference.resolved(name)
    return [other for other in dir(home) if other != own and getattr(home, other, None) is value and not other.startswith("_")]


def write_pages(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    index = [INDEX]
    every = [name for space in reference.SPACES for name in reference.names_of(space)]
    listed: set[str] = set()
    for page in reference.pages().values():
        here = [name for name in page.entries if name in every or inspect.isfunction(reference.resolved(name))]
        here += [name for name in every if name not in here and name.endswith("_") and name[:-1] in page.entries]
        here.sort(key=str.lower)
        listed.update(here)
        parts = [f"# {page.title}", *page.common.notes]
        for name in here:
            parts += markdown(name)
            if also := aliases(name):
                parts.append("Also: " + ", ".join(f"`{other}`" for other in also))
        (folder / f"{page.name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        index += [f"## [{page.title}]({page.name}.md)", ""]
        index += [", ".join(f"[{name}]({page.name}.md#{anchor(name)})".replace("_]", "\\_]") for name in here), ""]
    rest = [name for name in every if name not in listed]
    if rest:
        parts = ["# Other names", *(part for name in rest for part in markdown(name))]
        (folder / "other.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        index += ["## [Other names](other.md)", "", ", ".join(f"[{name}](other.md#{anchor(name)})" for name in rest), ""]
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    if "--examples" in arguments:
        chosen = [reference.FOLDER / f"{name}.txt" for name in arguments if not name.startswith("-")]
        fill_examples(chosen or [path for path in sorted(reference.FOLDER.glob("*.txt")) if path.stem != "common"])
        return 0
    if "--missing" in arguments:
        for space in reference.SPACES:
            lacking = list(missing(space))
            print(f"{space or 'adjoint'}: {len(lacking)} of {len(reference.names_of(space))}")
            if "-v" in arguments:
                for name, lacks in lacking:
                    print(f"  {name}: {lacks}")
        return 0
    write_pages(Path(arguments[0]) if arguments else ROOT / "docs" / "reference")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
