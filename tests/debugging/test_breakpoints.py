"""Where the debugger stops."""

import inspect

import pytest

import adjoint as ad
from adjoint.debugging.breakpoints import FORMS, BreakpointError, parse
from tests.debugging.test_session import session_of, walk


@pytest.mark.parametrize("text", [*FORMS, " grad > 1e-3 ", "param:encoder.*.weight", "line:src/model.py:3"])
def test_forms(text):
    assert parse(text).text == text.strip()


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "none of the forms"), ("nan!", "none of the forms"), ("grad>many", "many is no number"), ("line:", "nothing is no line"),
     ("line:model.py", "model.py is no line"), ("node:", "name is missing"), ("param:", "name is missing")],
)  # fmt: skip
def test_other_texts_are_refused_with_the_list_of_forms(text, why):
    with pytest.raises(BreakpointError, match=why) as caught:
        parse(text)
    assert all(form in str(caught.value) for form in FORMS)


def stops(loss, *breakpoints):
    session = session_of(loss, *breakpoints)
    seen = walk(session.go_on)
    return [(event.kind, session.plan.name_of(event.target) if event.node is None else event.node.name()) for event in seen]


def test_nan_stops_where_it_is_born_and_only_there():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    assert stops((x.exp().sub(1).sqrt() * 0).sum(), "nan") == [("applied", "SqrtBackward0")]


def test_nan_that_a_sum_of_infinities_gives():
    x = ad.tensor(1.0, requires_grad=True)
    inf = ad.tensor(float("inf"))
    y = x * 2
    assert stops(y * inf - y * inf, "nan") == [("incoming", "MulBackward0")]


def test_nan_that_comes_from_outside_stops_at_the_first_node():
    x = ad.tensor([1.0], requires_grad=True)
    session = session_of(x * 2, "nan", grad_tensors=ad.tensor([float("nan")]))
    assert session.go_on().kind == "incoming" and session.go_on() is None


def test_inf_and_large_gradients():
    x = ad.tensor(0.0, requires_grad=True)
    assert stops(x.sqrt() * 3, "inf") == [("applied", "SqrtBackward0")]
    y = ad.tensor(1.0, requires_grad=True)
    assert stops(y.exp() * 50 * 3, "grad>100") == [("applied", "MulBackward0")]
    assert stops(y.exp() * 50 * 3, "grad>1e6") == []


def test_lines():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    here = inspect.currentframe().f_lineno
    y = x.exp()
    loss = (y * 2).sum()
    assert stops(loss, f"line:{here + 1}") == [("incoming", "ExpBackward0")]
    loss = (x.exp() * 2).sum()
    names = ("SumBackward0", "MulBackward0", "ExpBackward0")
    assert stops(loss, f"line:test_breakpoints.py:{here + 4}") == [("incoming", name) for name in names]
    assert not parse(f"line:other.py:{here + 1}").reaches(session_of(loss).plan)
    assert parse(f"line:debugging/test_breakpoints.py:{here + 4}").reaches(session_of(loss).plan)


def test_nodes_and_parameters():
    model = ad.nn.Sequential(ad.nn.Linear(2, 2), ad.nn.Linear(2, 1))
    loss = model(ad.ones(1, 2)).sum()
    assert stops(loss, "param:1.bias", "node:SumBackward0") == [("incoming", "SumBackward0"), ("ready", "model.1.bias")]
    loss = model(ad.ones(1, 2)).sum()
    assert [name for _, name in stops(loss, "param:*.weight")] == ["model.1.weight", "model.0.weight"]
    x = ad.tensor(1.0, requires_grad=True)
    assert stops(x * 2, "param:x") == [("ready", "x")]
    session = session_of(x * 2)
    assert [parse(text).reaches(session.plan) for text in ("node:MulBackward0", "node:Mul", "param:x", "param:y", "nan")] == [
        True, False, True, False, True,
    ]  # fmt: skip


def test_breakpoints_come_and_go():
    x = ad.tensor(1.0, requires_grad=True)
    session = session_of(x.exp() * 2, "node:MulBackward0")
    assert session.go_on().node.name() == "MulBackward0"
    assert session.add("node:ExpBackward0") == 2
    assert session.delete(1).text == "node:MulBackward0"
    with pytest.raises(RuntimeError, match=r"there is no breakpoint 7\n  fix: one of \[2\]"):
        session.delete(7)
    assert session.go_on().node.name() == "ExpBackward0"
    session.back()
    assert session.go_on().node.name() == "ExpBackward0"  # breakpoints hold in what happens again from memory
    assert session.go_on() is None
