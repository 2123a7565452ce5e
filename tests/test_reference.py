"""The reference: every public name has its parameters described and an example, which runs here; and `help` shows it."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import warnings

import pytest

import adjoint as ad
from adjoint import _reference as reference
from adjoint.ops._generated import Doc
from tools import reference as tool

# The names that still lack a description of a parameter, or an example. The list may only become shorter.
OPEN: frozenset[str] = frozenset()

SPACES = {space: reference.names_of(space) for space in reference.SPACES}
PAGES = sorted(reference.pages())


def run(name: str, example: str) -> None:
    test = doctest.DocTestParser().get_doctest(example, tool.namespace(), name, None, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is said of functions that have successors
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("space", SPACES)
def test_every_name_is_described(space, capsys):
    lacking = {name: lacks for name, lacks in tool.missing(space) if name not in OPEN}
    with capsys.disabled():
        print(f"\n{space or 'adjoint'}: {len(dict(tool.missing(space)))} of {len(SPACES[space])} names lack descriptions or an example")
    assert lacking == {}


def test_the_list_of_what_is_open_is_true():
    assert {name for space in SPACES for name, _ in tool.missing(space)} == OPEN


def test_there_is_an_entry_for_names_only():
    """No page speaks of what does not exist, or of parameters that a function does not have."""
    wrong = []
    for name, (_, entry) in reference.entries().items():
        given = {parameter.name for parameter in reference.parameters_of(reference.resolved(name))}
        wrong += [f"{name}: {parameter}" for parameter in entry.parameters if parameter not in given]
    assert wrong == []


def test_what_pages_describe_for_all_is_used():
    unused = []
    for page in reference.pages().values():
        names = {p.name for name in page.entries for p in reference.parameters_of(reference.resolved(name))}
        unused += [f"{page.name}: {parameter}" for parameter in page.common.parameters if parameter not in names]
    assert unused == []


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    state = ad.get_rng_state()
    for name, entry in reference.pages()[page].entries.items():
        if entry.example:
            run(name, entry.example)
    ad.set_rng_state(state)


def test_derived_examples():
    """Those of in-place forms, which follow from the other forms, and those in docstrings."""
    for name in [name for names in SPACES.values() for name in names if name not in reference.entries()]:
        run(name, reference.describe(name).example)


def test_a_wrong_example_is_noticed():
    with pytest.raises(AssertionError):
        run("sin", ">>> ad.sin(ad.tensor([0.0]))\ntensor([1.])")


# ---- what `help` and `inspect` show -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("sin", "(input, *, out=None)"),
        ("sin_", "(input)"),
        ("add_", "(input, other)"),
        ("cumsum", "(input, dim, *, dtype=None, out=None, axis=...)"),
        ("cumsum_", "(input, dim, *, dtype=None, axis=...)"),
        ("split_with_sizes", "(input, split_sizes, dim=0, *, axis=...)"),
        ("reshape", "(input, *shape)"),
        ("permute_copy", "(input, *dims, out=None)"),
        ("unsafe_chunk", "(input, chunks, dim=0, *, axis=...)"),
        ("nn.functional.relu_", "(input)"),
        ("poisson", "(input, generator=None)"),
        ("as_tensor", "(data, dtype=None, device=None)"),
    ],
)
def test_signatures_are_true(name, signature):
    shown = reference.signature_text("f", reference.parameters_of(reference.resolved(name)))
    assert shown == f"f{signature}"


def test_a_signature_is_the_same_after_the_first_call():
    before = inspect.signature(ad.cosh)
    ad.cosh(ad.zeros(1))
    assert inspect.signature(ad.cosh) == before
    assert set(inspect.signature(ad.cosh, follow_wrapped=False).parameters) == set(before.parameters)


def test_signatures_of_ops_bind_what_the_functions_take():
    """The signature that `inspect` shows has the parameters of the code that is generated."""
    from adjoint._overriding import generate_code

    wrong = []
    for name in SPACES[""]:
        fn = getattr(ad, name)
        if inspect.isfunction(fn) and fn.__code__.co_name == "_stub":
            generate_code(fn)
            if set(inspect.signature(fn, follow_wrapped=False).parameters) != set(inspect.signature(fn).parameters):
                wrong.append(name)
    assert wrong == []


def test_methods_show_the_same():
    assert str(inspect.signature(ad.Tensor.sin)) == "(input, *, out=None)"
    assert str(inspect.signature(ad.zeros(1).sin_)) == "()"


def test_help_shows_it():
    shown = pydoc.render_doc(ad.sin, renderer=pydoc.plaintext)
    for part in ("sin(input, *, out=None)", "The sine.", "input: angles in radians", "g * np.cos(input)", ">>> ad.sin(ad.tensor("):
        assert part in shown
    assert set(inspect.signature(ad.randn_like).parameters) >= {"input", "generator", "dtype", "memory_format"}
    assert "in_features: " in str(ad.nn.Linear.__doc__)


def test_a_docstring_is_short_until_somebody_reads_it():
    words = ad.sin.__doc__
    assert isinstance(words, Doc) and words[:] == "The sine."
    assert inspect.getdoc(ad.sin) == str(words) == "\n".join(words.splitlines())
    assert "Example:" in words.strip() and words.split()[:2] == ["The", "sine."]


def test_source_and_rules_are_found():
    assert (tool.source_of("sin") or "")[0] == "adjoint/ops/transcendental.py"
    assert (tool.source_of("nn.Linear") or "")[0] == "adjoint/nn/linear.py"
    assert reference.describe("mul").derivative == [("input", "g * other"), ("other", "g * input")]


# ---- the pages of the site ----------------------------------------------------------------------------------------------------------


def test_pages_of_the_site(tmp_path):
    tool.write_pages(tmp_path)
    index = (tmp_path / "index.md").read_text()
    every = "".join(path.read_text() for path in tmp_path.glob("*.md"))
    for names in SPACES.values():
        for name in names:
            assert f"#{tool.anchor(name)})" in index and f"#{tool.anchor(name)} }}" in every, name
