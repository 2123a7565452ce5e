"""`ad.blame(loss, parameters)`: a gradient, divided among the terms of the loss."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint import nn
from adjoint._blame import Cause


def model_and_terms():
    ad.manual_seed(0)
    model = nn.Linear(3, 2)
    fit = (model(ad.randn(5, 3)) - 1).square().mean()
    penalty = model.weight.square().sum()
    return model, fit, penalty


def norms_of(terms, weights, parameter):
    gradients = [w * ad.autograd.grad(term, parameter, retain_graph=True)[0] for term, w in zip(terms, weights, strict=True)]
    return [g.norm().item() for g in gradients]


@pytest.mark.parametrize(
    ("add_up", "weights"),
    [
        (lambda fit, penalty: fit + 0.1 * penalty, (1.0, 0.1)),
        (lambda fit, penalty: fit - penalty / 10, (1.0, -0.1)),
        (lambda fit, penalty: (fit + penalty) * 2, (2.0, 2.0)),
        (lambda fit, penalty: ad.stack([fit, penalty]).sum(), (1.0, 1.0)),
        (lambda fit, penalty: sum([fit, penalty]), (1.0, 1.0)),
        (lambda fit, penalty: -(fit + penalty).view(1).mean(), (-1.0, -1.0)),
    ],
)
def test_shares_are_those_of_the_terms(add_up, weights):
    model, fit, penalty = model_and_terms()
    loss = add_up(fit, penalty)
    found = ad.blame(loss, model)
    expected = norms_of((fit, penalty), weights, model.weight)
    terms = {term.site.text.split(" = ")[0]: term for term in found.terms["weight"]}
    assert set(terms) == {"fit", "penalty"} and not found
    assert [terms[name].norm for name in ("fit", "penalty")] == pytest.approx(expected, rel=1e-5)
    assert [terms[name].share for name in ("fit", "penalty")] == pytest.approx([n / sum(expected) for n in expected], rel=1e-5)
    assert [term.site.text.split(" = ")[0] for term in found.terms["bias"]] == ["fit"]
    loss.backward()  # the graph is there, and no gradient was added
    assert model.weight.grad.norm() <= sum(expected) + 1e-5


def test_terms_that_pull_apart():
    x = ad.tensor([1.0, 1.0], requires_grad=True)
    up = (3 * x).sum()
    down = x.sum()
    (strong, weak) = ad.blame(up - down, {"x": x}).terms["x"]
    assert strong.share == pytest.approx(0.75) and not strong.against
    assert weak.share == pytest.approx(0.25) and weak.against


def test_terms_of_one_line_are_told_together():
    x = ad.tensor([1.0], requires_grad=True)
    loss = sum((x * k).sum() for k in (1, 2, 3))
    (term,) = ad.blame(loss, [x]).terms["[0]"]
    assert term.share == 1.0 and term.norm == pytest.approx(6.0)


def test_a_product_is_one_term():
    x = ad.tensor([2.0], requires_grad=True)
    found = ad.blame(((x + 1) * x).sum(), {"x": x})
    assert found.message == "The loss is no sum: it has one term." and len(found.terms["x"]) == 1


def test_a_term_that_is_not_finite_is_seen():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    bad = (x.sqrt() * 0).sum()
    good = x.sum()
    found = ad.blame(bad + good, {"x": x})
    assert found.terms["x"][0].site.text == "bad = (x.sqrt() * 0).sum()" and "not finite of x" in str(found)


def test_a_freed_graph_says_what_to_write():
    model, fit, penalty = model_and_terms()
    loss = fit + penalty
    loss.backward()
    found = ad.blame(loss, model)
    assert found.cause is Cause.NOT_KEPT and "before backward()" in found.advice and found.terms == {}


def test_text():
    model, fit, penalty = model_and_terms()
    text = str(ad.blame(fit + 0.1 * penalty, model))
    assert text.startswith("The loss is the sum of 2 terms, from 2 lines.\n  sum ")
    assert "% of weight" in text and "penalty = model.weight.square().sum() (|g| " in text
