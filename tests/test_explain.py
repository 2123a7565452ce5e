"""`ad.explain`: every cause is found, with the line that is to blame, in words and in HTML."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad
from adjoint._explain import NO_HISTORY, Explanation
from adjoint.autograd.causes import ADVICE, Cause
from adjoint.autograd.kept import _told
from adjoint.autograd.node import RECENT_CUTS, RETURNED_NONE

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def nothing_of_other_tests():
    RECENT_CUTS.clear()
    RETURNED_NONE.clear()
    _told.clear()


class Doubled(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.round()
        ctx.mark_non_differentiable(y)
        return x * 2, y

    @staticmethod
    def backward(ctx, g, _):
        return None


def leaf():
    return ad.tensor([1.0, 2.0], requires_grad=True)


CASES: dict = {}


def shows(cause, where=None):
    """`where`: what stands on the line that is to be named first."""

    def add(case):
        CASES[case.__name__] = case, cause, where
        return case

    return add


@shows(Cause.DETACH, "y = (x * 2).detach()")
def detached_and_computed_on():
    x = leaf()
    y = (x * 2).detach()
    return ad.explain((y * 3 + 1).exp().sum())


@shows(Cause.DETACH, "y.detach_()")
def detached_in_place():
    y = leaf() * 2
    y.detach_()
    return ad.explain(y.sum())


@shows(Cause.DETACH, "y = x.detach()")
def view_of_what_was_detached():
    x = leaf()
    y = x.detach()
    return ad.explain(y[0])


@shows(Cause.DETACH, "part = x.detach()")
def joined_with_what_was_detached():
    x = leaf()
    part = x.detach()
    return ad.explain(ad.cat([ad.ones(2), part]).sum())


@shows(Cause.DATA, "y = (x * 2).data")
def through_data():
    x = leaf()
    y = (x * 2).data
    return ad.explain(y + 1)


@shows(Cause.NO_GRAD, "with ad.no_grad():")
def in_no_grad():
    x = leaf()
    with ad.no_grad():
        y = x * 2
    return ad.explain((y + 1).sum())


@shows(Cause.NO_GRAD, "@ad.no_grad()")
def in_a_decorated_function():
    @ad.no_grad()
    def f(x):
        return x * 2

    return ad.explain(f(leaf()))


@shows(Cause.NO_GRAD, "ad.set_grad_enabled(False)")
def after_turning_grad_off():
    x = leaf()
    ad.set_grad_enabled(False)
    try:
        y = x * 2
    finally:
        ad.set_grad_enabled(True)
    return ad.explain(y)


@shows(Cause.NO_GRAD, "with ad.no_grad():")
def view_made_in_no_grad():
    x = leaf()
    with ad.no_grad():
        y = x[0]
    return ad.explain(y)


@shows(Cause.INFERENCE_MODE)
def in_inference_mode():
    with ad.inference_mode():
        y = leaf() * 2
    return ad.explain(y)


@shows(Cause.INTEGERS, "y = (x * 2).long()")
def made_whole():
    x = leaf()
    y = (x * 2).long()
    return ad.explain(y.float().mean())


@shows(Cause.NO_DERIVATIVE, "right = (x > 1).float()")
def compared():
    x = leaf()
    right = (x > 1).float()
    return ad.explain(right.mean())


@shows(Cause.NO_DERIVATIVE, "y = x.argmax().float()")
def argmax_taken():
    x = leaf()
    y = x.argmax().float()
    return ad.explain(y)


@shows(Cause.REWRAPPED, "y = ad.tensor([x.sum(), x.mean()])")
@pytest.mark.filterwarnings("ignore")
def tensors_wrapped_again():
    x = leaf()
    y = ad.tensor([x.sum(), x.mean()])
    return ad.explain(y.mean())


@shows(Cause.VALUE_TAKEN, "value = x.sum().item()")
def number_taken():
    x = leaf()
    value = x.sum().item()
    return ad.explain(ad.tensor(value) * 2)


@shows(Cause.VALUE_TAKEN, "array = x.detach().numpy()")
def array_taken():
    x = leaf()
    array = x.detach().numpy()
    return ad.explain(ad.from_numpy(array).sum())


@shows(Cause.NON_DIFFERENTIABLE_OUTPUT, "_, y = Doubled.apply(x)")
def output_marked():
    x = leaf()
    _, y = Doubled.apply(x)
    return ad.explain(y * 2)


@shows(Cause.CONSTANT)
def nothing_requires_grad():
    return ad.explain((ad.ones(2) * 2)[0].view(1).sum())


@shows(Cause.FROZEN)
def frozen_parameter():
    return ad.explain(ad.nn.Linear(2, 1).requires_grad_(False).weight)


@shows(Cause.NOT_A_LEAF, "y = x * 2")
def computed():
    x = leaf()
    y = x * 2
    y.sum().backward()
    return ad.explain(y)


@shows(Cause.REPLACED_LEAF, "w = w - 0.1 * w.grad")
def leaf_replaced():
    w = leaf()
    w.sum().backward()
    w = w - 0.1 * w.grad
    return ad.explain(w)


@shows(Cause.NO_BACKWARD_YET, "y = leaf() * 2")
def kept_but_not_yet_there():
    y = leaf() * 2
    y.retain_grad()
    return ad.explain(y)


@shows(Cause.NOT_FINITE)
def gradient_of_a_root_at_zero():
    x = ad.tensor([0.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()
    return ad.explain(x)


@shows(Cause.NOT_REACHED)
def leaf_that_nobody_used():
    leaf().sum().backward()
    return ad.explain(leaf())


@shows(Cause.SET_TO_NONE)
def gradient_dropped():
    x = leaf()
    x.sum().backward()
    ad.optim.SGD([x], lr=0.1).zero_grad()
    return ad.explain(x)


@shows(Cause.FUNCTION_RETURNED_NONE, "loss = (Doubled.apply(x)[0] * x.detach()).sum()")
def function_without_gradient():
    x = leaf()
    loss = (Doubled.apply(x)[0] * x.detach()).sum()
    loss.backward()
    return ad.explain(loss, {"x": x}).parameters["x"]


@shows(Cause.ZERO)
def dead_relu():
    x = leaf()
    (x - 5).relu().sum().backward()
    return ad.explain(x)


@shows(Cause.HAS_GRADIENT)
def all_is_well():
    x = leaf()
    x.sum().backward()
    return ad.explain(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_cause_and_line(name):
    case, cause, where = CASES[name]
    found = case()
    assert found.cause is cause
    assert (found.site.text if found.site is not None else None) == where
    assert found.message in str(found)
    assert "{" not in found.message + found.advice


def test_each_block_without_recording_is_told_from_the_others():
    x = leaf()
    with ad.no_grad():
        first = x * 2  # the block before is guilty
    with ad.no_grad():
        x * 3
    after = ad.explain(first).site
    assert after.text == "with ad.no_grad():" and after.line == first_line_of("with ad.no_grad():", "first = x * 2")

    @ad.no_grad()
    def decorated():
        with ad.set_grad_enabled(False):
            inner = x * 4
        return x * 5, inner

    outer, inner = decorated()
    assert ad.explain(outer).site.text == "@ad.no_grad()" and ad.explain(inner).site.text == "with ad.set_grad_enabled(False):"


def first_line_of(text, following):
    lines = Path(__file__).read_text().splitlines()
    return next(i + 1 for i, line in enumerate(lines) if line.strip() == text and lines[i + 1].strip().startswith(following))


def test_parameters_that_were_never_reached_are_not_said_to_have_lost_a_gradient():
    encoder, decoder = ad.nn.Linear(2, 2), ad.nn.Linear(2, 1)
    optimizer = ad.optim.SGD([*encoder.parameters(), *decoder.parameters()], 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        decoder.zero_grad()
        hidden = encoder(ad.ones(4, 2)).detach()  # the cut
        loss = decoder(hidden).sum()
        loss.backward()
        optimizer.step()
    ad.ones(1, requires_grad=True).detach()  # after the pass, and so without a part in it; yet it may be in that of the next
    found = ad.explain(encoder.weight)
    assert found.cause is Cause.NOT_REACHED and found.site.text.endswith("# the cut") and "leave the cut out" in found.advice
    reach = ad.explain(loss, ad.nn.Sequential(encoder, decoder))
    assert sorted(reach.parameters) == ["0.bias", "0.weight"] and reach.sites["cut by detach()"].text.endswith("# the cut")
    loss = decoder(hidden).sum()
    loss.backward()
    loss = decoder(hidden).sum()
    loss.backward()
    assert ad.explain(encoder.weight).site is None  # what was cut off two passes ago had no part in the last one


def test_backward_of_a_loss_that_was_only_declared_to_require_grad():
    weights = ad.ones(3, requires_grad=True)
    predicted = (weights * 2).argmax().float()  # no derivative
    loss = (predicted - 1) ** 2
    loss.requires_grad = True
    with pytest.warns(UserWarning, match=r"to no other: its history was cut off by argmax\(\), tests/test_explain.py:") as told:
        loss.backward()
    assert "such as softmax for argmax" in str(told[0].message)
    part = (weights * 2).detach().requires_grad_()  # where a program goes on with the gradient by hand: nothing is said
    part.sum().backward()
    (weights * 2).backward(part.grad)


def test_copies_say_that_gradients_do_not_flow_back():
    weights = ad.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor.*Neither leads gradients back to sourceTensor; use it as it is"):
        ad.tensor(weights * 2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"rather than torch.tensor\(sourceTensor\)\.$"):
        ad.tensor(ad.ones(3))


class ExpTwice(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        t = x.exp()
        ctx.t = t
        return t * t

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.t * ctx.t


class SavesIntermediate(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        t = x.exp()
        ctx.save_for_backward(t)
        return t * t

    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * 2 * t * t


class Clipped(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = (x > 0).float()
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        return g * ctx.mask


class FirstOnly(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, None


@shows(Cause.KEPT_ON_CTX, "ctx.t = t")
def computed_from_what_a_function_kept():
    x = leaf()
    with pytest.warns(UserWarning, match="through which no gradient flows"):
        (g,) = ad.autograd.grad(ExpTwice.apply(x).sum(), x, create_graph=True)
    return ad.explain(g.sum())


@shows(Cause.CHECKPOINT, "y = checkpoint(layer, ad.ones(1, 2), use_reentrant=True)")
def checkpointed():
    from adjoint.utils.checkpoint import checkpoint

    layer = ad.nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="None of the inputs"):
        y = checkpoint(layer, ad.ones(1, 2), use_reentrant=True)
    return ad.explain(y.sum())


@shows(Cause.NO_CREATE_GRAPH, "(g,) = ad.autograd.grad((x**3).sum(), x)")
def computed_from_a_gradient():
    x = leaf()
    (g,) = ad.autograd.grad((x**3).sum(), x)
    return ad.explain(g.pow(2).sum())


@shows(Cause.ACCUMULATED, "(x * 2).sum().backward()  # again and again")
def added_up():
    x = leaf()
    for _ in range(3):
        (x * 2).sum().backward()  # again and again
    return ad.explain(x)


@shows(Cause.FUNCTION_RETURNED_NONE, "loss = FirstOnly.apply(x, y * 2).sum()")
def below_a_function_that_returned_none_and_saved_nothing():
    x, y = leaf(), leaf()
    loss = FirstOnly.apply(x, y * 2).sum()
    loss.backward()
    assert ad.explain(loss, [x, y]).parameters["[1]"].cause is Cause.FUNCTION_RETURNED_NONE
    assert "from FirstOnly.backward" in ad.explain(loss, [x, y]).advice
    return ad.explain(y)


def test_how_many_passes_were_added_up():
    assert "added up over 3 backward passes" in added_up().message
    x = leaf()
    for _ in range(2):  # zeroed in place: each pass is the first one
        if x.grad is not None:
            x.grad.zero_()
        (x * 2).sum().backward()
        assert ad.explain(x).cause is Cause.HAS_GRADIENT
    (x * 2).sum().backward()
    assert "added up over 2 backward passes" in ad.explain(x).message


def test_an_error_names_what_a_function_kept():
    x = leaf()
    with pytest.warns(UserWarning, match=r"ExpTwice.backward is differentiated, and ctx.t keeps .* \(tests/test_explain.py:\d+\)"):
        (g,) = ad.autograd.grad(ExpTwice.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"ctx.t on line \d+ keeps an intermediate result: ctx.save_for_backward the inputs"):
        g.sum().backward()
    with pytest.warns(UserWarning, match=r"ctx.save_for_backward\(...\) keeps an intermediate result of SavesIntermediate.forward"):
        ad.autograd.grad((SavesIntermediate.apply(x) ** 2).sum(), x, create_graph=True)


def test_masks_on_ctx_lose_nothing():
    x = leaf()
    (g,) = ad.autograd.grad((Clipped.apply(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_explanations_name_parameters_and_variables():
    model = ad.nn.Sequential(ad.nn.Linear(2, 2), ad.nn.ReLU())
    assert ad.explain(model[0].weight).message.startswith("model.0.weight (float32 [2, 2]) has no gradient")
    frozen = ad.ones(3)
    assert ad.explain(frozen).message.startswith("frozen (float32 [3]) requires no grad")


def test_advice_calls_adjoint_what_the_program_calls_it():
    x = leaf()
    x.grad = ad.tensor([float("nan"), 1.0])
    assert "ad.autograd.set_detect_anomaly(True)" in ad.explain(x).advice


def test_every_cause_has_a_case_and_advice():
    assert {cause for _, cause, _ in CASES.values()} == set(Cause) == set(ADVICE)
    assert set(NO_HISTORY) < set(Cause)


def test_text_shows_lines_and_advice():
    lines = str(detached_and_computed_on()).splitlines()
    assert lines[0] == "This tensor (float32 []) requires no grad: detach() cut its history off."
    assert lines[1].startswith("  cut  tests/test_explain.py:") and lines[1].endswith("   y = (x * 2).detach()")
    assert lines[1][lines[2].index("^") : len(lines[2])] == "(x * 2).detach()"
    assert lines[3].startswith("  fix: detach() on line ")


def test_html_is_escaped():
    found = in_no_grad()
    found.message = "<script>alert(1)</script> & more"
    found.parameters = {"<b>": found.__class__.__new__(Explanation)}
    found.parameters["<b>"].message = "a < b"
    html = found._repr_html_()
    assert "<script>" not in html and "<b>:" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html
    assert "<code>&lt;b&gt;</code>: a &lt; b" in html
    assert "<code>with ad.no_grad():</code>" in html


def test_first_backward_is_told_from_none():
    script = "import adjoint as ad; x = ad.ones(1, requires_grad=True); print(ad.explain(x).cause.name)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "NO_BACKWARD_YET"


def test_parameters_that_a_loss_does_not_reach():
    model = ad.nn.Sequential(ad.nn.Linear(2, 2), ad.nn.Linear(2, 1))
    hidden = model[0](ad.ones(1, 2)).detach()
    loss = model[1](hidden).sum()
    found = ad.explain(loss, model)
    assert list(found.parameters) == ["0.weight", "0.bias"]
    assert {e.cause for e in found.parameters.values()} == {Cause.NOT_REACHED}
    assert found.sites["cut by detach()"].text == "hidden = model[0](ad.ones(1, 2)).detach()"
    assert "detach() on line" in found.advice
    assert "0.weight: " in str(found) and "2 of 4 parameters" in str(found)


def test_all_parameters_reached():
    model = ad.nn.Linear(2, 1)
    found = ad.explain(model(ad.ones(1, 2)).sum(), model)
    assert found.cause is Cause.HAS_GRADIENT
    assert found.parameters == {}


def test_frozen_parameters_are_named():
    model = ad.nn.Sequential(ad.nn.Linear(2, 2), ad.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    found = ad.explain(model(ad.ones(1, 2)).sum(), model)
    assert {name: e.cause for name, e in found.parameters.items()} == {"0.weight": Cause.FROZEN, "0.bias": Cause.FROZEN}


def test_loss_without_history_reaches_nothing():
    model = ad.nn.Linear(2, 1)
    with ad.no_grad():
        loss = model(ad.ones(1, 2)).sum()
    found = ad.explain(loss, model)
    assert found.cause is Cause.NO_GRAD
    assert list(found.parameters) == ["weight", "bias"]


def test_parameters_by_place():
    x, y = leaf(), leaf()
    assert list(ad.explain(x.sum(), [x, y]).parameters) == ["[1]"]
    assert list(ad.explain(x.sum(), y).parameters) == ["tensor"]


def test_a_leaf_made_of_the_loss_shows_the_cut():
    x = leaf()
    loss = x.detach().sum()
    loss.requires_grad_()  # the fix that does not help
    found = ad.explain(loss, [x])
    assert found.parameters["[0]"].cause is Cause.NOT_REACHED
    assert found.sites["cut by detach()"].text == "loss = x.detach().sum()"


def test_errors_carry_the_cause():
    y = leaf().detach().sum()
    with pytest.raises(RuntimeError, match=r"detach\(\) on line \d+ cut the graph") as caught:
        y.backward()
    assert caught.value.cause is Cause.DETACH
    assert caught.value.sites["cut"].text == "y = leaf().detach().sum()"


def test_only_tensors_are_explained():
    with pytest.raises(TypeError, match=r"explain\(\): argument 'tensor' \(position 1\) must be Tensor, not float"):
        ad.explain(1.0)


def test_a_cut_keeps_no_tensor_alive():
    import weakref

    x = leaf() * 2
    gone = weakref.ref(x)
    y = x.detach() * 2
    del x
    assert gone() is None
    assert y._fn.kind == "detach"
