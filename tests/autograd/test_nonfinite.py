"""The table of patterns: each is recognised, has a rewrite, and is the one that its programs show."""

from __future__ import annotations

import warnings

import pytest

import adjoint as ad
from adjoint.autograd.nonfinite import PATTERNS
from adjoint.utils.checkpoint import checkpoint
from tests.autograd.nan_programs import NAN_PROGRAMS, leaf

EXAMPLES = [(pattern, program) for pattern, programs in NAN_PROGRAMS.items() for program in programs]


def anomaly(program):
    with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        program(ad).backward()
    return caught.value


def test_every_pattern_has_a_program():
    assert {pattern.name for pattern in PATTERNS} == set(NAN_PROGRAMS)


@pytest.mark.parametrize(("pattern", "program"), EXAMPLES, ids=[pattern for pattern, _ in EXAMPLES])
def test_pattern_is_recognised(pattern, program):
    error = anomaly(program)
    advice = next(p.advice for p in PATTERNS if p.name == pattern)
    assert error.pattern == pattern
    assert error.fix.startswith(advice.split("{op}")[0])
    assert "{" not in error.fix


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda x: ad.where(x > 0, ad.where(x > 0, x, 1.0).sqrt(), 0.0).sum(),
        lambda x: ad.linalg.vector_norm(x * 0),
        lambda x: (x + 1e-12).sqrt().sum(),
        lambda x: ad.log_softmax(x * 200, 0).sum(),
        lambda x: ad.nn.functional.logsigmoid(x - 200).sum(),
        lambda x: ad.logsumexp(x * 1000, 0),
        lambda x: ((x - 1).clamp(-1 + 1e-6, 1 - 1e-6).acos() * 0).sum(),
        lambda x: x[:1].std(correction=0),
        lambda x: (ad.logit(x, eps=1e-6) * 0).sum(),
    ],
)
def test_the_rewrites_have_finite_gradients(rewritten):
    x = leaf(ad, 0.0, 1.0)
    with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly():
        rewritten(x).backward()
    assert x.grad.isfinite().all()


def test_values_are_described():
    error = anomaly(lambda t: (leaf(t, 0.0, 4.0, float("inf")).sqrt() * t.tensor([0.0, 1.0, 1.0])).sum())
    lines = str(error).splitlines()
    assert "  gradient that came in: float32 [3] from 0 to 1, 1 zero" in lines
    assert "  its result: float32 [3] from 0 to 2, 1 zero, 1 inf" in lines
    assert "  gradient that went out: float32 [3] from 0 to 0.25, 1 zero, 1 nan" in lines


def test_the_expression_is_marked():
    error = anomaly(lambda t: (leaf(t, 0.0).sqrt() * 0).sum())
    lines = str(error).splitlines()
    place = next(n for n, line in enumerate(lines) if "recorded" in line)
    marks = lines[place + 1]
    assert lines[place][marks.index("^") : len(marks)] == "leaf(t, 0.0).sqrt()"


def test_first_infinity_is_named():
    def program(torch):
        x = leaf(torch, 0.0)
        y = x * 1
        z = y * 0
        return z.sqrt().sum()  # its gradient is inf; the nan comes one node later

    error = anomaly(program)
    assert "Function 'MulBackward0'" in str(error)
    assert error.sites["first inf, from SqrtBackward0"].line == program.__code__.co_firstlineno + 4


def test_first_nan_of_the_forward_pass_is_named():
    def program(torch):
        x = leaf(torch, 0.0)
        y = x / torch.zeros(1) * x
        return (y * x).sum()

    error = anomaly(program)
    assert any(role.startswith("first nan of the forward pass") for role in error.sites)


def test_what_a_checkpoint_keeps_is_not_taken_from_it():
    x = leaf(ad, 0.0, 1.0)
    error = anomaly(lambda t: (checkpoint(lambda y: (y * 2).sqrt(), x, use_reentrant=False) * t.tensor([0.0, 1.0])).sum())
    assert "Function 'SqrtBackward0' returned nan values" in str(error)
