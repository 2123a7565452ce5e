"""What is asked of `ad.blame`: losses, parameters and gradients, before and after a graph was freed; and that asking changes nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adjoint as ad
from adjoint import nn
from adjoint._blame import Cause
from adjoint.utils.checkpoint import checkpoint

INF, NAN = float("inf"), float("nan")


def roots_of(x):
    return (x + x).sqrt().sum()


def model_and_loss(rows=((1.0, 2.0), (0.0, 0.0))):
    model = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False))
    loss = model(ad.tensor(rows)).square().sqrt().sum()
    return model, loss


# ---- what is asked ------------------------------------------------------------------------------------------------------------------


def test_parameters_are_named_by_their_model():
    model, loss = model_and_loss()
    found = ad.blame(loss)
    assert found.cause is Cause.BACKWARD and found.samples == (1,)
    assert set(found.parameters) == {f"model.{name}" for name, _ in model.named_parameters()}


@pytest.mark.parametrize("keep", [True, False])
def test_a_parameter_and_its_gradient_lead_to_the_loss(keep):
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    loss = roots_of(x)
    loss.backward(retain_graph=keep)
    for asked in (loss, x, x.grad):
        found = ad.blame(asked)
        assert found.pattern == "sqrt(0)" and found.samples == (0,) and found.site.text == "return (x + x).sqrt().sum()"
        assert found.parameters == ("x",)


@pytest.mark.parametrize(
    ("at", "function", "pattern"),
    [(1.0, ad.asin, "acos or asin of ±1"), (0.0, ad.sqrt, "sqrt(0)"), (1.0, ad.acosh, "acosh(1)")],
)
def test_an_edge_is_seen_in_a_freed_graph(at, function, pattern):
    x = ad.tensor([at + 0.5, at] if function is ad.acosh else [0.5, at], requires_grad=True)
    loss = function(x).sum()
    loss.backward()
    found = ad.blame(loss)
    assert found.cause is Cause.BACKWARD and found.pattern == pattern and found.samples == (1,) and found.parameters == ("x",)


def test_leaves_that_are_unchanged_tell_what_a_freed_graph_computed():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    loss = (x * x.log()).sum()
    loss.backward()
    found = ad.blame(loss)
    assert found.cause is Cause.FORWARD and found.pattern == "log(0)" and found.parameters == ("x",)


def test_variables_of_the_program_tell_what_a_freed_graph_computed():
    model = nn.Linear(2, 1, bias=False)
    norms = model(ad.tensor([[0.0, 0.0], [1.0, 2.0]])).square()
    loss = norms.sqrt().sum()
    loss.backward()
    found = ad.blame(loss)
    assert found.pattern == "sqrt(0)" and found.samples == (0,)


def test_a_freed_graph_whose_values_are_gone_names_candidates_and_what_to_write():
    model, loss = model_and_loss()
    loss.backward()
    found = ad.blame(loss)
    assert found.cause is Cause.NOT_KEPT and found.pattern == ""
    assert found.sites["candidate 1"].text == "loss = model(ad.tensor(rows)).square().sqrt().sum()"
    assert found.sites["freed"].text == "loss.backward()"
    assert "retain_graph=True" in found.advice and "ad.blame.recording()" in found.advice
    assert set(found.parameters) == {f"model.{name}" for name, _ in model.named_parameters()}


def test_values_that_were_overwritten_are_not_taken_for_what_they_were():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    loss = roots_of(x)
    loss.backward()
    with ad.no_grad():
        x += 1
    found = ad.blame(loss)
    assert found.cause is Cause.NOT_KEPT and found.sites["candidate 1"].text == "return (x + x).sqrt().sum()"


def test_data_in_sight_is_named_when_the_graph_is_gone():
    model = nn.Linear(2, 1)
    batch = ad.tensor([[1.0, 2.0], [NAN, 1.0]])
    mask = ad.full((2,), -INF)
    loss = model(batch).sum()
    loss.backward()
    found = ad.blame(loss)
    assert found.cause is Cause.DATA and "batch" in found.message and found.samples == (1,)
    assert mask.isinf().all()  # which is in sight too, and legal


def test_a_parameter_that_is_spoilt_says_so():
    model, loss = model_and_loss(((1.0, 2.0),))
    with ad.no_grad():
        model[0].weight[0, 0] = INF
    del loss
    found = ad.blame(model[0].weight)
    assert found.cause is Cause.PARAMETER and found.parameters == ("model.0.weight",) and "recording" in found.advice


def test_a_gradient_without_a_loss_in_sight():
    def train(model):
        model(ad.tensor([[0.0, 0.0]])).square().sqrt().sum().backward()

    model = nn.Linear(2, 1, bias=False)
    train(model)
    found = ad.blame(model.weight.grad)
    assert found.cause is Cause.NOT_KEPT and found.parameters == ("model.weight",) and found.ranges["gradient"].bad == 2


def test_tensors_without_history():
    assert not ad.blame(ad.ones(2)) and not ad.blame(ad.tensor([1, 2])) and not ad.blame(ad.ones(1, requires_grad=True))
    found = ad.blame(ad.tensor([1.0, NAN]))
    assert found.cause is Cause.NOT_KEPT and found.samples == (1,)


def test_others_are_refused():
    with pytest.raises(TypeError, match=r"blame\(\): argument 'tensor' \(position 1\) must be Tensor, not list"):
        ad.blame([1.0])
    seen = []
    ad.func.grad(lambda x: seen.append(ad.blame(x.log().sum())) or x.sum())(ad.zeros(2))
    assert seen[0].cause is Cause.NOT_KEPT and "transforms" in seen[0].message


# ---- healthy programs ---------------------------------------------------------------------------------------------------------------


def masked_attention():
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), ad.randn(2, 5, 8)
    return layer(x, x, x, attn_mask=ad.triu(ad.full((5, 5), -INF), 1))[0].square().mean()


def masked_log_softmax():
    scores = ad.randn(3, 4, requires_grad=True).masked_fill(ad.tensor([True, False, False, False]), -INF)
    return -ad.log_softmax(scores, 1)[:, 2].mean()


def infinity_as_a_bound():
    return ad.minimum(ad.randn(3, requires_grad=True), ad.full((3,), INF)).sum()


@pytest.mark.parametrize("compute", [masked_attention, masked_log_softmax, infinity_as_a_bound])
def test_infinities_that_do_no_harm_are_not_blamed(compute):
    assert not ad.blame(compute())
    assert not ad.blame.replay(compute)
    with ad.blame.recording() as record:
        compute().backward()
    assert record.first is None and record.passes == 1


# ---- asking changes nothing ---------------------------------------------------------------------------------------------------------


def test_gradients_and_the_graph_are_as_before():
    x = ad.tensor([0.0, 1.0, 4.0], requires_grad=True)
    y = x * 1
    y.retain_grad()
    loss = y.sqrt().sum()
    x.grad = ad.ones(3)
    assert ad.blame(loss).pattern == "sqrt(0)"
    assert x.grad.tolist() == [1.0, 1.0, 1.0] and y.grad is None
    loss.backward()
    assert x.grad.tolist() == [INF, 1.5, 1.25] and y.grad.tolist() == [INF, 0.5, 0.25]


def test_a_checkpoint_can_be_asked_and_differentiated_afterwards():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    loss = checkpoint(lambda t: (t * 2).sqrt(), x, use_reentrant=False).sum()
    assert ad.blame(loss).pattern == "sqrt(0)"
    loss.backward()
    assert x.grad.isinf().tolist() == [True, False]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.layer(x.view(-1, 2, 4))[0][:, -1])


MODELS = {
    "dense": lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 2)),
    "convolutional": lambda: nn.Sequential(
        nn.Unflatten(1, (2, 2, 2)), nn.Conv2d(2, 4, 2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(4, 2)
    ),
    "recurrent": Recurrent,
    "attending": lambda: nn.Sequential(
        nn.Unflatten(1, (2, 4)), nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(8, 2)
    ),
}


def train(make_model, steps=3):
    ad.manual_seed(0)
    model = make_model()
    optimizer = ad.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ad.randn(16, 8)), ad.randint(0, 2, (16,)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses + [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("kind", MODELS)
def test_results_under_a_recording_are_equal_to_the_last_bit(kind):
    plain = train(MODELS[kind])
    with ad.blame.recording() as record:
        recorded = train(MODELS[kind])
    assert record.first is None and record.passes == 3
    assert plain[:3] == recorded[:3]
    assert all(ad.equal(a, b) for a, b in zip(plain[3:], recorded[3:], strict=True))


def test_a_replay_leaves_random_numbers_and_gradients_alone():
    x = ad.tensor([1.0, 0.0], requires_grad=True)

    def step():
        loss = ((x * ad.rand(2)).sqrt()).sum()
        loss.backward()
        return loss

    ad.manual_seed(3)
    state = ad.get_rng_state()
    expected = ad.rand(2)
    found = ad.blame.replay(step, rng_state=state)
    assert found.pattern == "sqrt(0)" and found.parameters == ("x",) and x.grad is None
    ad.set_rng_state(state)
    assert ad.equal(ad.rand(2), expected)
    after = ad.get_rng_state()
    ad.blame.replay(step)
    assert ad.equal(ad.get_rng_state(), after)


def test_who_does_not_ask_has_not_loaded_it():
    code = (
        "import sys, adjoint as ad; x = ad.ones(2, requires_grad=True); x.log().sum().backward(); "
        "assert not any(name.startswith('adjoint._blame') for name in sys.modules); ad.blame; assert 'adjoint._blame' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- a loop under a recording -----------------------------------------------------------------------------------------------------------


def diverge(model, steps=6):
    optimizer = ad.optim.SGD(model.parameters(), lr=1e20)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(ad.ones(4, 2)) - 1).square().mean()
        loss.backward()
        optimizer.step()
    return loss


def test_the_first_bad_step_is_known_when_the_parameters_are_spoilt():
    model = nn.Linear(2, 1)
    with ad.blame.recording() as record:
        loss = diverge(model)
    assert model.weight.isnan().all()
    assert record.first.pattern == "learning rate too high" and record.first_pass == 1
    assert record.first.site.text == "loss = (model(ad.ones(4, 2)) - 1).square().mean()"
    assert str(ad.blame(model.weight)) == str(record.first)
    assert ad.blame(loss).pattern == "bad parameter"


def test_a_state_that_is_spoilt_once_does_not_keep_all_that_followed():
    with ad.blame.recording() as record:
        state = ad.tensor([0.0]).log()
        for _ in range(2500):
            state = state + 1
        (ad.ones(1, requires_grad=True) * state).sum().backward()
    assert record.first.pattern == "log(0)" and record.first.site.text == "state = ad.tensor([0.0]).log()"
    assert record.observer.step_of(state).depth <= 1001


def test_a_backward_pass_that_cannot_be_run_any_more():
    w = ad.ones(2, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    with ad.no_grad():
        w += 1
    found = ad.blame(loss)
    assert found.cause is Cause.NOT_KEPT and found.sites["changed"].text == "w += 1" and "recording" in found.advice


def test_transforms_under_a_recording():
    with ad.blame.recording() as record:
        assert ad.func.grad(lambda x: x.sqrt().sum())(ad.tensor([0.0, 1.0])).tolist() == [INF, 0.5]
        assert ad.func.vmap(lambda x: x.log())(ad.tensor([0.0, 1.0])).tolist() == [-INF, 0.0]
    assert record.first is None  # inside transforms there are no parameters to blame anything for


def test_a_profiler_beside_a_recording_sees_the_backward_pass():
    x = ad.tensor([0.0], requires_grad=True)
    with ad.profiler.profile() as profile, ad.blame.recording() as record:
        x.sqrt().sum().backward()
    assert record.first.pattern == "sqrt(0)"
    assert any("SqrtBackward0" in event.name for event in profile.events())


def test_integers_and_packed_numbers_are_no_trouble():
    with ad.blame.recording() as record:
        counts = ad.zeros(3, dtype=ad.int64)
        counts.add_(1)
        counts.scatter_add_(0, ad.tensor([0, 1]), ad.tensor([1, 1]))
        (ad.ones(3, requires_grad=True) * counts).sum().backward()
    assert record.first is None and counts.tolist() == [2, 2, 1]


def test_a_result_without_history_is_known_too():
    with ad.blame.recording(), ad.no_grad():
        score = (ad.tensor([0.0, 1.0]).log() * ad.tensor([0.0, 1.0])).sum()
    found = ad.blame(score)
    assert found.pattern == "log(0)" and found.samples == (0,)


# ---- how it looks -----------------------------------------------------------------------------------------------------------------------


def test_text_and_html():
    p = ad.tensor([[0.5, 0.5], [0.0, 1.0]], requires_grad=True)
    found = ad.blame((p * p.log()).sum())
    lines = str(found).splitlines()
    assert lines[0] == "The loss is nan: log made inf, of which mul made nan (log(0))."
    assert lines[1].startswith("  born        tests/blame/test_asking.py:") and lines[2].strip("^ ") == ""
    assert "  input       float32 [2, 2] from 0 to 1, 1 zero" in lines and "  samples     1" in lines and "  reached     p" in lines
    assert lines[-1] == "  write: p.clamp(min=1e-12).log()"
    assert repr(found).startswith("<blame FORWARD log(0): The loss is nan")
    page = found._repr_html_()
    assert page.startswith("<div><b>log(0)</b>") and "<pre>p.clamp(min=1e-12).log()</pre>" in page and "<td>samples</td>" in page
    assert found.ranges["input"].minimum == 0 and found.ranges["result"].bad == 1


def test_growth_is_told_by_line():
    w, h = nn.Parameter(ad.eye(2) * 3), ad.ones(2, 2)
    for _ in range(30):
        h = h @ w
    found = ad.blame(h.mean())
    assert found.cause is Cause.EXPLODING and found.site.text == "h = h @ w" and found.parameters == ("w",)
    assert "which ran 30 times, made it" in found.message and "e+14 times larger" in found.message
