"""Recurrent layers and cells, by values worked out here."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import _serving, nn
from adjoint.nn.utils import rnn
from adjoint.ops import _fused_recurrence

LAYERS: dict[str, Any] = {"LSTM": nn.LSTM, "GRU": nn.GRU, "RNN": nn.RNN, "RELU": partial(nn.RNN, nonlinearity="relu")}
CELLS: dict[str, Any] = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell, "RNN": nn.RNNCell, "RELU": partial(nn.RNNCell, nonlinearity="relu")}


@pytest.fixture
def compiled(monkeypatch):
    """Layers are compiled, which is how it is; without llvmlite they run on NumPy all the same."""


@pytest.fixture
def stepwise(monkeypatch):
    monkeypatch.setattr(_fused_recurrence, "serves", lambda *arrays: False)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_step(kind, x, h, c, w_ih, w_hh, b_ih, b_hh):
    """A step by its definition."""
    a, b = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if kind == "LSTM":
        i, f, g, o = np.split(a + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if kind == "GRU":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, axis=-1), np.split(b, 3, axis=-1)
        z = sigmoid(az + bz)
        return (1 - z) * np.tanh(an + sigmoid(ar + br) * bn) + z * h, c
    return (np.tanh(a + b) if kind == "RNN" else np.maximum(a + b, 0)), c


def numbers(parameters):
    return [p.detach().numpy() for p in parameters]


def states_of(result):
    """The output and all states of a layer, as a flat list."""
    out, states = result
    return [out, *(states if isinstance(states, tuple) else (states,))]


# ---- values -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["compiled", "stepwise"])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_its_steps(kind, mode, request):
    request.getfixturevalue(mode)
    layer = LAYERS[kind](3, 7, dtype=ad.float64)
    x, h, c = ad.randn(5, 4, 3, dtype=ad.float64), ad.randn(1, 4, 7, dtype=ad.float64), ad.randn(1, 4, 7, dtype=ad.float64)
    out, states = layer(x, (h, c) if kind == "LSTM" else h)
    state, memory = h[0].numpy(), c[0].numpy()
    for step in range(5):
        state, memory = one_step(kind, x[step].numpy(), state, memory, *numbers(layer.parameters()))
        np.testing.assert_allclose(out[step].detach().numpy(), state, rtol=1e-12, atol=1e-14)
    last = states if kind == "LSTM" else (states,)
    for ours, wanted in zip(last, (state, memory), strict=False):
        np.testing.assert_allclose(ours[0].detach().numpy(), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_is_one_step(kind):
    cell = CELLS[kind](3, 4, dtype=ad.float64)
    x = ad.randn(2, 3, dtype=ad.float64)
    state, memory = one_step(kind, x.numpy(), np.zeros((2, 4)), np.zeros((2, 4)), *numbers(cell.parameters()))
    found = cell(x)
    found = found if kind == "LSTM" else (found,)
    for ours, wanted in zip(found, (state, memory), strict=False):
        np.testing.assert_allclose(ours.detach().numpy(), wanted, rtol=1e-12)
    alone = cell(x[1])
    np.testing.assert_allclose((alone[0] if kind == "LSTM" else alone).detach().numpy(), state[1], rtol=1e-12)


@pytest.mark.parametrize("kind", LAYERS)
def test_directions(kind):
    """Backwards is forwards on the reversed sequence."""
    both = LAYERS[kind](3, 4, bidirectional=True, dtype=ad.float64)
    one = LAYERS[kind](3, 4, dtype=ad.float64)
    one.load_state_dict({name.removesuffix("_reverse"): value for name, value in both.state_dict().items() if name.endswith("_reverse")})
    x = ad.randn(5, 2, 3, dtype=ad.float64)
    np.testing.assert_allclose(both(x)[0][..., 4:].detach().numpy(), one(x.flip(0))[0].flip(0).detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
def test_memory_order_does_not_matter(kind, options):
    layer = LAYERS[kind](3, 4, dtype=ad.float64, **options)
    first = LAYERS[kind](3, 4, batch_first=True, dtype=ad.float64, **options)
    first.load_state_dict(layer.state_dict())
    x = ad.randn(5, 2, 3, dtype=ad.float64)
    for ours, wanted in zip(states_of(first(x.transpose(0, 1))), states_of(layer(x)), strict=True):
        wanted = wanted.transpose(0, 1) if wanted.shape[0] == 5 else wanted
        np.testing.assert_allclose(ours.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)


def test_unbatched():
    layer = nn.LSTM(3, 4, num_layers=2, dtype=ad.float64)
    x = ad.randn(5, 3, dtype=ad.float64)
    out, (h, c) = layer(x)
    batched, _ = layer(x.unsqueeze(1))
    assert out.shape == (5, 4) and h.shape == c.shape == (2, 4)
    np.testing.assert_allclose(out.detach().numpy(), batched[:, 0].detach().numpy())
    again, _ = layer(x, (h, c))
    assert again.shape == (5, 4)


@pytest.mark.parametrize("mode", ["compiled", "stepwise"])
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_is_each_sequence_by_itself(kind, bidirectional, mode, request):
    request.getfixturevalue(mode)
    layer = LAYERS[kind](3, 5, num_layers=2, bidirectional=bidirectional, dtype=ad.float64)
    sequences = [ad.randn(n, 3, dtype=ad.float64) for n in (2, 5, 1, 4)]
    out, states = layer(rnn.pack_sequence(sequences, enforce_sorted=False))
    for number, (sequence, found) in enumerate(zip(sequences, rnn.unpack_sequence(out), strict=True)):
        wanted, last = layer(sequence)
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-11, atol=1e-13)
        for ours, theirs in zip(states_of((out, states))[1:], states_of((wanted, last))[1:], strict=True):
            np.testing.assert_allclose(ours[:, number].detach().numpy(), theirs.detach().numpy(), rtol=1e-11, atol=1e-13)


# ---- derivatives --------------------------------------------------------------------------------------------------------------------


SIZES = [(1, 3, 4, 5), (4, 7, 3, 8), (3, 1, 2, 16), (5, 13, 6, 17), (2, 2, 1, 1)]  # steps, samples, inputs, units


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [ad.float32, ad.float64], ids=str)
@pytest.mark.parametrize("kind", LAYERS)
def test_compiled_and_stepwise_agree(kind, dtype, size, monkeypatch):
    """In values and all gradients, for both memory orders and directions."""
    steps, samples, inputs, units = size
    for batch_first in (False, True):
        layer = LAYERS[kind](inputs, units, batch_first=batch_first, bidirectional=True, dtype=dtype)
        shape = (samples, steps) if batch_first else (steps, samples)
        x, h, c = ad.randn(*shape, inputs, dtype=dtype), ad.randn(2, samples, units, dtype=dtype), ad.randn(2, samples, units, dtype=dtype)
        given = [t.requires_grad_() for t in ((x, h, c) if kind == "LSTM" else (x, h))]
        found = []
        for serves in (_serving.serves, lambda *arrays: False):
            monkeypatch.setattr(_fused_recurrence, "serves", serves)
            results = states_of(layer(x, (h, c) if kind == "LSTM" else h))
            loss = sum((result * result).sum() for result in results)
            found.append([*(r.detach() for r in results), *ad.autograd.grad(loss, [*given, *layer.parameters()])])
        tolerance = {"rtol": 2e-4, "atol": 2e-5} if dtype is ad.float32 else {"rtol": 1e-10, "atol": 1e-12}
        for ours, wanted in zip(*found, strict=True):
            np.testing.assert_allclose(ours.numpy(), wanted.numpy(), **tolerance)


@pytest.mark.parametrize("mode", ["compiled", "stepwise"])
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_of_a_layer(kind, mode, request):
    request.getfixturevalue(mode)
    layer = LAYERS[kind](2, 3, dtype=ad.float64)
    x = ad.randn(3, 2, 2, dtype=ad.float64).requires_grad_()
    weights = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    function = getattr(ad, {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh", "RELU": "rnn_relu"}[kind])
    zeros = ad.zeros(1, 2, 3, dtype=ad.float64)

    def run(x, *weights):
        return function(x, (zeros, zeros) if kind == "LSTM" else zeros, list(weights), True, 1, 0.0, False, False, False)

    assert ad.autograd.gradcheck(run, (x, *weights))
    assert ad.autograd.gradgradcheck(run, (x, *weights))


def test_gradients_where_only_some_are_wanted(compiled):
    layer = nn.GRU(3, 4)
    x = ad.randn(5, 2, 3)
    whole = ad.autograd.grad(layer(x)[0].sum(), list(layer.parameters()))
    layer.weight_ih_l0.requires_grad_(False)
    layer.bias_hh_l0.requires_grad_(False)
    some = ad.autograd.grad(layer(x)[0].sum(), [layer.weight_hh_l0, layer.bias_ih_l0])
    assert ad.equal(some[0], whole[1]) and ad.equal(some[1], whole[2])


@pytest.mark.parametrize("mode", ["compiled", "stepwise"])
@pytest.mark.parametrize("kind", LAYERS)
def test_results_may_be_changed(kind, mode, request):
    """What backward needs is not in the memory of the results."""
    request.getfixturevalue(mode)
    layer = LAYERS[kind](3, 4)
    x = ad.randn(5, 2, 3)
    wanted = ad.autograd.grad(sum(r.sum() for r in states_of(layer(x))), list(layer.parameters()))
    results = states_of(layer(x))
    loss = sum(r.sum() for r in results)
    with ad.no_grad():
        for result in results:
            result.mul_(100.0)
    for ours, theirs in zip(ad.autograd.grad(loss, list(layer.parameters())), wanted, strict=True):
        assert ad.equal(ours, theirs)


def test_backward_twice(compiled):
    layer = nn.LSTM(3, 4)
    loss = layer(ad.randn(5, 2, 3))[0].sum()
    first = ad.autograd.grad(loss, list(layer.parameters()), retain_graph=True)
    second = ad.autograd.grad(loss, list(layer.parameters()))
    assert all(ad.equal(a, b) for a, b in zip(first, second, strict=True))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        ad.autograd.grad(loss, list(layer.parameters()))


def test_biases_have_gradients_of_their_own(compiled):
    layer = nn.LSTM(3, 4)
    layer(ad.randn(5, 2, 3))[0].sum().backward()
    layer.bias_ih_l0.grad.zero_()
    assert layer.bias_hh_l0.grad.abs().sum() > 0


def test_changing_an_input_before_backward_is_noticed():
    layer = nn.GRU(3, 4)
    h = ad.randn(1, 2, 4, requires_grad=True) * 1.0
    x = ad.randn(5, 2, 3)
    out, _ = layer(x, h)
    x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("kind", LAYERS)
def test_threads_do_not_matter(kind, compiled):
    layer = LAYERS[kind](40, 70)
    x = ad.randn(20, 37, 40)
    found = []
    for threads in (1, 2, 3):
        before = ad.get_num_threads()
        ad.set_num_threads(threads)
        try:
            out, _ = layer(x)
            found.append([out, *ad.autograd.grad((out * out).sum(), list(layer.parameters()))])
        finally:
            ad.set_num_threads(before)
    for others in found[1:]:
        assert all(ad.equal(a, b) for a, b in zip(found[0], others, strict=True))


# ---- the modules --------------------------------------------------------------------------------------------------------------------


def test_names_and_shapes_of_parameters():
    layer = nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    one = {"weight_ih": (20, 3), "weight_hh": (20, 2), "bias_ih": (20,), "bias_hh": (20,), "weight_hr": (2, 5)}
    two = {**one, "weight_ih": (20, 4)}
    wanted = {f"{name}_l{k}{s}": shape for k, part in ((0, one), (1, two)) for s in ("", "_reverse") for name, shape in part.items()}
    assert shapes == wanted and list(shapes) == list(wanted)
    assert [[w.shape for w in part] for part in layer.all_weights] == [list(one.values())] * 2 + [list(two.values())] * 2
    assert all(abs(p).max() <= 5**-0.5 for p in layer.parameters())
    layer.flatten_parameters()


def test_copies_are_independent():
    layer = nn.GRU(3, 4)
    other = copy.deepcopy(layer)
    with ad.no_grad():
        other.weight_ih_l0.zero_()
    x = ad.randn(5, 2, 3)
    assert not ad.equal(layer(x)[0], other(x)[0])
    assert other.all_weights[0][0] is other.weight_ih_l0


def test_dropout_is_between_layers_only_in_training():
    ad.manual_seed(0)
    layer = nn.GRU(3, 4, num_layers=2, dropout=0.5)
    x = ad.randn(5, 2, 3)
    assert not ad.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert ad.equal(layer(x)[0], layer(x)[0])


@pytest.mark.parametrize("kind", LAYERS)
def test_half_precision(kind):
    layer = LAYERS[kind](3, 4, num_layers=2, bidirectional=True)
    x = ad.randn(5, 2, 3)
    wanted = layer(x)[0].detach()
    layer.to(ad.float16)
    found = layer(x.half())[0]
    assert found.dtype is ad.float16
    np.testing.assert_allclose(found.detach().float().numpy(), wanted.numpy(), atol=5e-3)
    found.sum().backward()
    assert layer.weight_ih_l0.grad.dtype is ad.float16


def test_meta():
    out, (h, c) = nn.LSTM(3, 4, proj_size=2, batch_first=True, device="meta")(ad.empty(5, 2, 3, device="meta"))
    assert out.device.type == "meta" and (out.shape, h.shape, c.shape) == ((5, 2, 2), (1, 5, 2), (1, 5, 4))


def test_no_samples():
    out, h = nn.GRU(3, 4)(ad.empty(5, 0, 3))
    assert out.shape == (5, 0, 4) and h.shape == (1, 0, 4)


def test_no_grad_and_inference_mode(compiled):
    layer = nn.LSTM(3, 4)
    x = ad.randn(5, 2, 3)
    wanted = layer(x)[0]
    for mode in (ad.no_grad, ad.inference_mode):
        with mode():
            out = layer(x)[0]
        assert not out.requires_grad and ad.equal(out, wanted)


def zeros(*shape):
    return ad.zeros(*shape)


ERRORS = [
    (ValueError, "^LSTM: Expected input to be 2D or 3D, got 4D instead", lambda: nn.LSTM(3, 4)(zeros(2, 2, 2, 3))),
    (RuntimeError, r"^input.size\(-1\) must be equal to input_size. Expected 3, got 7", lambda: nn.GRU(3, 4)(zeros(5, 2, 7))),
    (ValueError, r"^RNN input dtype \(torch.float64\) does not match weight dtype", lambda: nn.GRU(3, 4)(zeros(5, 2, 3).double())),
    (RuntimeError, "^For unbatched 2-D input, hx and cx should also be 2-D", lambda: nn.LSTM(3, 4)(zeros(5, 3), (zeros(1, 1, 4),) * 2)),
    (RuntimeError, "^For batched 3-D input, hx should also be 3-D but got 2-D tensor", lambda: nn.GRU(3, 4)(zeros(5, 2, 3), zeros(1, 4))),
    (RuntimeError, r"^Expected hidden\[0\] size \(1, 2, 4\), got \[1", lambda: nn.LSTM(3, 4)(zeros(5, 2, 3), (zeros(1, 3, 4),) * 2)),
    (RuntimeError, r"^Expected hidden\[1\] size", lambda: nn.LSTM(3, 4)(zeros(5, 2, 3), (zeros(1, 2, 4), zeros(1, 2, 5)))),
    (RuntimeError, r"^Expected hidden size \(1, 2, 4\), got \[2, 2, 4\]", lambda: nn.GRU(3, 4)(zeros(5, 2, 3), zeros(2, 2, 4))),
    (RuntimeError, "^Expected sequence length to be larger than 0 in RNN", lambda: nn.GRU(3, 4)(zeros(0, 2, 3))),
    (RuntimeError, "^input must have 2 dimensions, got 3", lambda: nn.GRU(3, 4)(rnn.PackedSequence(zeros(3, 2, 3), ad.tensor([2, 1])))),
    (ValueError, "^Unknown nonlinearity 'x'", lambda: nn.RNN(3, 4, nonlinearity="x")),
    (ValueError, r"^dropout should be a number in range \[0, 1\]", lambda: nn.LSTM(3, 4, dropout=2.0)),
    (ValueError, r"^dropout should be a number in range \[0, 1\]", lambda: nn.LSTM(3, 4, dropout=True)),
    (ValueError, "^proj_size has to be smaller than hidden_size", lambda: nn.LSTM(3, 4, proj_size=4)),
    (ValueError, "^proj_size should be a positive integer", lambda: nn.LSTM(3, 4, proj_size=-1)),
    (ValueError, "^proj_size argument is only supported for LSTM", lambda: nn.GRU(3, 4, proj_size=2)),
    (TypeError, "^hidden_size should be of type int, got: float", lambda: nn.LSTM(3, 4.0)),
    (ValueError, "^hidden_size must be greater than zero", lambda: nn.LSTM(3, 0)),
    (ValueError, "^num_layers must be greater than zero", lambda: nn.LSTM(3, 4, 0)),
    (ValueError, "^LSTMCell: Expected input to be 1D or 2D, got 3D instead", lambda: nn.LSTMCell(3, 4)(zeros(1, 2, 3))),
    (ValueError, r"^LSTMCell: Expected hx\[0\] to be 1D or 2D, got 3D", lambda: nn.LSTMCell(3, 4)(zeros(2, 3), (zeros(1, 2, 4),) * 2)),
    (ValueError, "^GRUCell: Expected hidden to be 1D or 2D, got 3D instead", lambda: nn.GRUCell(3, 4)(zeros(2, 3), zeros(1, 2, 4))),
    (RuntimeError, "^Input batch size 2 doesn't match hidden0 batch size 3", lambda: nn.RNNCell(3, 4)(zeros(2, 3), zeros(3, 4))),
    (RuntimeError, "^hidden1 has inconsistent hidden_size: got 5", lambda: nn.LSTMCell(3, 4)(zeros(2, 3), (zeros(2, 4), zeros(2, 5)))),
]


@pytest.mark.parametrize(("kind", "message", "call"), ERRORS, ids=[message for _, message, _ in ERRORS])
def test_errors(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


def test_a_nonlinearity_that_does_not_exist():
    cell = nn.RNNCell(3, 4)
    cell.nonlinearity = "foo"
    with pytest.raises(RuntimeError, match=r"^Unknown nonlinearity: foo"):
        cell(zeros(2, 3))


def test_dropout_without_layers_to_drop_between():
    with pytest.warns(UserWarning, match="^dropout option adds dropout after all but last recurrent layer"):
        nn.LSTM(3, 4, dropout=0.5)


@pytest.mark.parametrize(
    ("sizes", "samples", "words"),
    [
        ([3, 3, 3], 3, r"start \(0\) \+ length \(9\) exceeds dimension size \(6\)"),
        ([2, 2, 2], 3, r"The size of tensor a \(3\) must match the size of tensor b \(2\)"),
        ([4, 1, 1], 3, r"The size of tensor a \(3\) must match the size of tensor b \(4\)"),
        ([3, -1, 4], 3, r"narrow\(\): length must be non-negative"),
        ([3, 2, 1], 2, r"The size of tensor a \(2\) must match the size of tensor b \(3\)"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_batch_sizes_that_the_data_do_not_have(compiled, sizes, samples, words, monkeypatch):
    if not compiled:
        monkeypatch.setattr(_fused_recurrence, "serves", lambda *arrays: False)
    weights = [ad.ones(2, 2), ad.ones(2, 2), ad.ones(2), ad.ones(2)]
    with pytest.raises(RuntimeError, match=words):
        ad.rnn_tanh(ad.ones(6, 2), ad.tensor(sizes), ad.zeros(1, samples, 2), weights, True, 1, 0.0, False, False)


@pytest.mark.parametrize("wrong", [0, 1, 2, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_weights_that_do_not_fit_together(compiled, wrong, monkeypatch):
    if not compiled:
        monkeypatch.setattr(_fused_recurrence, "serves", lambda *arrays: False)
    weights = [ad.ones(6, 2), ad.ones(6, 2), ad.ones(6), ad.ones(6)]
    weights[wrong] = weights[wrong][:4]
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(4\) must match the size of tensor b \(6\)"):
        ad.gru(ad.ones(5, 3, 2), ad.zeros(1, 3, 2), weights, True, 1, 0.0, False, False, False)
