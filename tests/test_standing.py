"""Names that are refused or inert say so where they are defined."""

import ast
from pathlib import Path

import pytest

from adjoint._standing import inert, refused, standing_of

ROOT = Path(__file__).resolve().parent.parent
ALSO_IN_PYTORCH = {"fallthrough_kernel"}  # stands for no kernel, and is not there to be called


def test_a_refused_function_raises_whatever_it_is_called_with():
    @refused("there is no such thing here; write that instead")
    def f(x):
        return x

    with pytest.raises(NotImplementedError, match="write that instead"):
        f(1, 2, three=3)
    assert f.__name__ == "f"
    assert standing_of(f) == ("refused", "there is no such thing here; write that instead", NotImplementedError)


def test_a_refused_class_raises_when_it_is_made_and_says_why_as_its_help():
    @refused("there is no GPU", AssertionError)
    class Stream:
        pass

    with pytest.raises(AssertionError, match="no GPU"):
        Stream()
    assert isinstance(Stream, type)
    assert Stream.__doc__ == "Refused: there is no GPU"
    assert standing_of(Stream).error is AssertionError


def _only_raises(function, refusing):
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1:
        return False
    call = body[0].value if isinstance(body[0], ast.Expr) else None
    return isinstance(body[0], ast.Raise) or (isinstance(call, ast.Call) and ast.unparse(call.func) in refusing)


def _unmarked(path):
    """Public functions that do nothing but raise, and classes that cannot be made, without a mark that says so."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    refusing = {function.name for function in functions if _only_raises(function, ())}
    making = [
        (node.name, child) for node in tree.body if isinstance(node, ast.ClassDef)
        for child in node.body if isinstance(child, ast.FunctionDef) and child.name == "__init__"
    ]  # fmt: skip
    for name, function in [*((function.name, function) for function in functions), *making]:
        public = name not in ALSO_IN_PYTORCH and not name.startswith(("_", "refuse"))
        if public and _only_raises(function, refusing) and not function.decorator_list:
            yield f"{path.relative_to(ROOT)}:{function.lineno} {name}"


def test_whatever_only_raises_is_marked_as_refused():
    """`python -m adjoint check` would say yes to it otherwise."""
    folder = ROOT / "adjoint"
    files = [f for f in folder.rglob("*.py") if not any(part.startswith("_") for part in f.relative_to(folder).with_suffix("").parts[:-1])]
    public = [f for f in files if (not f.stem.startswith("_") or f.stem == "__init__") and f.parent.name not in ("exercises", "lab")]
    assert len(public) > 100
    assert not [line for file in public for line in _unmarked(file)]


def test_an_inert_class_is_known_and_one_derived_from_it_is_the_users():
    @inert("nothing is compiled")
    class Inert:
        pass

    class Mine(Inert):
        pass

    assert standing_of(Inert) == ("inert", "nothing is compiled", NotImplementedError)
    assert standing_of(Mine) is None
    assert standing_of(3) is None
