"""Recurrent layers with adjoint and with PyTorch: initial weights, outputs, gradients, dropout, state, printed forms, messages."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint import _serving
from adjoint.ops import _fused_recurrence

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)
X = rng.standard_normal((4, 6, 3))


def combinations():
    for name in ("LSTM", "GRU", "RNN"):
        for layers, bias, first, both, projection, dropout in itertools.product(
            (1, 2), (False, True), (False, True), (False, True), (0, 2) if name == "LSTM" else (0,), (0.0, 0.4)
        ):
            options = dict(num_layers=layers, bias=bias, batch_first=first, bidirectional=both, dropout=dropout)
            if projection:
                options["proj_size"] = projection
            yield name, options
    yield "RNN", dict(nonlinearity="relu", num_layers=2)


def made(name, options, dtype="float64"):
    """The same layer of both libraries, from the same seed."""
    layers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lib in LIBRARIES:
            lib.manual_seed(3)
            layers.append(getattr(lib.nn, name)(3, 5, dtype=getattr(lib, dtype), **options))
    return layers


def tensors(value):
    """All tensors in nested tuples, without None."""
    if isinstance(value, tuple):
        return [tensor for item in value for tensor in tensors(item)]
    return [] if value is None else [value]


def check(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **(tolerance or {"rtol": 1e-9, "atol": 1e-11}))


def run(lib, layer, call):
    """Outputs, and the gradients of a loss of all of them."""
    x = lib.tensor(X, requires_grad=True)
    lib.manual_seed(5)
    results = tensors(call(lib, layer, x))
    loss = sum((r * r).sum() for r in results if r.is_floating_point())
    layer.zero_grad()
    loss.backward()
    return results, [x.grad, *(p.grad for p in layer.parameters())]


def on_batch(lib, layer, x):
    return layer(x)


def on_packed(lib, layer, x):
    lengths = [2, 3, 1, 4] if layer.batch_first else [2, 3, 1, 4, 2, 3]
    rnn = lib.nn.utils.rnn
    out, states = layer(rnn.pack_padded_sequence(x, lengths, layer.batch_first, enforce_sorted=False))
    return *out, *rnn.pad_packed_sequence(out), states


def on_single(lib, layer, x):
    return layer(x[0])


def with_states(lib, layer, x):
    shape = (2 if layer.bidirectional else 1) * layer.num_layers, x.shape[0 if layer.batch_first else 1]
    states = tuple(
        lib.tensor(np.random.default_rng(1).standard_normal((*shape, n))) for n in (layer.proj_size or layer.hidden_size, layer.hidden_size)
    )
    return layer(x, states if layer.mode == "LSTM" else states[0])


CASES = list(combinations())


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name} {[*options.values()]}" for name, options in CASES])
def test_layers(name, options, monkeypatch):
    ours, theirs = made(name, options)
    assert repr(ours) == repr(theirs)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    for key, value in ours.state_dict().items():
        assert np.array_equal(value.numpy(), state[key].numpy()), key
    for call in (on_batch, on_packed, on_single, with_states):
        wanted = run(torch, theirs, call)
        for serves in (_serving.serves, lambda *arrays: False):  # compiled, and step by step
            monkeypatch.setattr(_fused_recurrence, "serves", serves)
            found = run(ad, ours, call)
            check(found[0], wanted[0])
            check(found[1], wanted[1])


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_single_precision(name):
    ours, theirs = made(name, dict(num_layers=2, bidirectional=True), "float32")
    a, b = (tensors(layer(lib.tensor(X).float())) for lib, layer in zip(LIBRARIES, (ours, theirs), strict=True))
    check(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_state_goes_both_ways(name):
    ours, theirs = made(name, dict(num_layers=2))
    lib_state = {key: torch.tensor(value.numpy()) * 2 for key, value in ours.state_dict().items()}
    theirs.load_state_dict(lib_state)
    ours.load_state_dict({key: ad.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    check(tensors(ours(ad.tensor(X))), tensors(theirs(torch.tensor(X))))


CELLS = [("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {}), ("RNNCell", dict(nonlinearity="relu")), *(
    (name, dict(bias=False)) for name in ("LSTMCell", "GRUCell", "RNNCell")
)]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), CELLS, ids=str)
def test_cells(name, options, monkeypatch):
    ours, theirs = made(name, options)
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    for x in (X[0], X[0, 0]):
        for serves in (_serving.serves, lambda *arrays: False):
            monkeypatch.setattr(_fused_recurrence, "serves", serves)
            found = []
            for lib, cell in zip(LIBRARIES, (ours, theirs), strict=True):
                given = lib.tensor(x, requires_grad=True)
                state = cell(given, cell(given))  # two steps
                cell.zero_grad()
                sum((s * s).sum() for s in tensors(state)).backward()
                found.append([*tensors(state), given.grad, *(p.grad for p in cell.parameters())])
            check(*found)


MESSAGES = {
    "dims": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(2, 2, 2, 3)),
    "size": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(5, 2, 7)),
    "dtype": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(5, 2, 3).double()),
    "unbatched hx": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(5, 3), (lib.zeros(1, 1, 4),) * 2),
    "batched hx": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(5, 2, 3), lib.zeros(1, 4)),
    "hx": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(5, 2, 3), (lib.zeros(1, 3, 4),) * 2),
    "cx": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(5, 2, 3), (lib.zeros(1, 2, 4), lib.zeros(1, 2, 5))),
    "hidden": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(5, 2, 3), lib.zeros(2, 2, 4)),
    "no steps": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(0, 2, 3)),
    "packed hidden": lambda lib: lib.nn.GRU(2, 4)(lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(4, 3, 2), [4, 3, 1]), lib.zeros(1, 2, 4)),
    "nonlinearity": lambda lib: lib.nn.RNN(3, 4, nonlinearity="x"),
    "dropout": lambda lib: lib.nn.LSTM(3, 4, dropout=2.0),
    "proj_size": lambda lib: lib.nn.LSTM(3, 4, proj_size=4),
    "negative proj_size": lambda lib: lib.nn.LSTM(3, 4, proj_size=-1),
    "proj_size of a GRU": lambda lib: lib.nn.GRU(3, 4, proj_size=2),
    "hidden_size": lambda lib: lib.nn.LSTM(3, 4.0),
    "no hidden": lambda lib: lib.nn.LSTM(3, 0),
    "no layers": lambda lib: lib.nn.LSTM(3, 4, 0),
    "cell dims": lambda lib: lib.nn.LSTMCell(3, 4)(lib.zeros(1, 2, 3)),
    "cell hx": lambda lib: lib.nn.GRUCell(3, 4)(lib.zeros(2, 3), lib.zeros(1, 2, 4)),
    "cell size": lambda lib: lib.nn.GRUCell(3, 4)(lib.zeros(2, 5)),
    "cell batch": lambda lib: lib.nn.RNNCell(3, 4)(lib.zeros(2, 3), lib.zeros(3, 4)),
    "cell hidden": lambda lib: lib.nn.LSTMCell(3, 4)(lib.zeros(2, 3), (lib.zeros(2, 4), lib.zeros(2, 5))),
    "cell state of one": lambda lib: lib.nn.GRUCell(3, 4)(lib.zeros(2, 3), lib.zeros(4)),
    "cell dtype": lambda lib: lib.nn.GRUCell(3, 4)(lib.zeros(2, 3).double()),
    "unsorted": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(4, 3, 2), [2, 3, 4]),
    "length 0": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(4, 3, 2), [4, 3, 0]),
    "lengths": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(4, 3, 2), [4, 3]),
    "empty": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(0, 3, 2), [1, 1, 1]),
    "no sequences": lambda lib: lib.nn.utils.rnn.pad_sequence([]),
    "not iterable": lambda lib: lib.nn.utils.rnn.pad_sequence(3),
    "side": lambda lib: lib.nn.utils.rnn.pad_sequence([lib.zeros(3)], padding_side="foo"),
    "PackedSequence": lambda lib: lib.nn.utils.rnn.PackedSequence(lib.zeros(3)),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name):
    with pytest.raises(Exception) as theirs:
        MESSAGES[name](torch)
    with pytest.raises(type(theirs.value), match="^" + re.escape(str(theirs.value)[:60])):
        MESSAGES[name](ad)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[4, 3, 1], [2, 4, 4]])
def test_packed_sequences_print_alike(lengths, batch_first):
    x = X[:4, :3, :2] if not batch_first else X[:3, :4, :2]
    shown = []
    for lib in LIBRARIES:
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_padded_sequence(lib.tensor(x), lengths, batch_first=batch_first, enforce_sorted=False)
        padded = rnn.pad_packed_sequence(packed, batch_first=batch_first, padding_value=-1.0, total_length=5)
        shown.append(repr((packed, padded, rnn.unpack_sequence(packed), packed.float(), rnn.pad_sequence(lib.tensor(x).unbind()))))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [{}, dict(num_layers=2, dropout=0.5), dict(bidirectional=True), dict(batch_first=True), dict(bidirectional=True, batch_first=True)],
    ids=str,
)  # fmt: skip
def test_the_last_nodes_have_pytorchs_names(kind, dtype, settings):
    found = []
    for library in (ad, torch):
        layer = getattr(library.nn, kind)(3, 4, **settings).to(getattr(library, dtype))
        out, last = layer(library.ones(5, 2, 3, dtype=getattr(library, dtype)))
        states = last if isinstance(last, tuple) else (last,)
        found.append([out.grad_fn.name(), *(state.grad_fn.name() for state in states)])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("settings", [{}, {"bidirectional": True}, {"num_layers": 2, "dropout": 0.2}])
def test_dropout_after_a_layer_drops_the_same_elements(kind, settings):
    results = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        layer = getattr(lib.nn, kind)(3, 4, batch_first=True, **settings)
        out = layer(lib.tensor(X, dtype=lib.float32))[0]
        results.append((out.stride(), lib.nn.functional.dropout(out, 0.5).detach().numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5, atol=1e-6)
