"""Recurrent layers and single steps, called as the functions behind the modules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import adjoint.nn  # noqa: F401  (its ops enter the registry with it)

from . import ErrorSample, Make, Sample, error_samples, samples


def weights(
    make: Make, blocks: int, inputs: int, units: int, biases: bool, layers: int, directions: int, shown: int = 0
) -> list[np.ndarray]:
    made = []
    for layer in range(layers):
        for _ in range(directions):
            width = inputs if layer == 0 else (shown or units) * directions
            made += [make(blocks * units, width), make(blocks * units, shown or units)]
            made += [make(blocks * units), make(blocks * units)] if biases else []
            made += [make(shown, units)] if shown else []
    return made


def options(biases: bool, layers: int, both: bool, *batch_first: bool) -> tuple[object, ...]:
    return (biases, layers, 0.0, True, both, *batch_first)


def calls(make: Make, blocks: int, cells: bool) -> Iterator[Sample]:
    def states(*shape: int) -> object:
        return (make(*shape), make(*shape)) if cells else make(*shape)

    yield Sample(make(3, 2, 2), states(1, 2, 3), weights(make, blocks, 2, 3, True, 1, 1), *options(True, 1, False, False))
    yield Sample(make(2, 3, 2), states(4, 2, 2), weights(make, blocks, 2, 2, True, 2, 2), *options(True, 2, True, True))
    yield Sample(make(3, 2, 2), states(2, 2, 3), weights(make, blocks, 2, 3, False, 1, 2), *options(False, 1, True, False))
    sizes = np.array([3, 2, 1])
    yield Sample(make(6, 2), sizes, states(2, 3, 2), weights(make, blocks, 2, 2, True, 1, 2), *options(True, 1, True))


@samples("recurrent_layer", ours="lstm", torch="lstm")
def lstm(make: Make) -> Iterator[Sample]:
    yield from calls(make, 4, True)
    projected = (make(1, 2, 2), make(1, 2, 3))
    yield Sample(make(3, 2, 2), projected, weights(make, 4, 2, 3, True, 1, 1, shown=2), *options(True, 1, False, False))


@samples("gru", ours="gru")
def gru(make: Make) -> Iterator[Sample]:
    yield from calls(make, 3, False)


@samples("rnn_tanh", ours="rnn_tanh")
def rnn_tanh(make: Make) -> Iterator[Sample]:
    yield from calls(make, 1, False)


@samples("rnn_relu", ours="rnn_relu")
def rnn_relu(make: Make) -> Iterator[Sample]:
    yield from calls(make, 1, False)


@samples("lstm_cell", "lstm_step", ours="lstm_cell", torch="lstm_cell")
def lstm_cell(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), (make(2, 2), make(2, 2)), make(8, 3), make(8, 2), make(8), make(8))
    yield Sample(make(3), (make(2), make(2)), make(8, 3), make(8, 2)).not_in_torch()  # there only the module takes a single sample


@samples("gru_cell", ours="gru_cell")
def gru_cell(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 2), make(6, 3), make(6, 2), make(6), make(6))
    yield Sample(make(3), make(2), make(6, 3), make(6, 2)).not_in_torch()  # there only the module takes a single sample


@samples("rnn_tanh_cell", ours="rnn_tanh_cell")
def rnn_tanh_cell(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 2), make(2, 3), make(2, 2), make(2), make(2))


@samples("rnn_relu_cell", ours="rnn_relu_cell")
def rnn_relu_cell(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 2), make(2, 3), make(2, 2), make(2), make(2))


@error_samples("recurrent_layer")
def bad_lstm(make: Make) -> Iterator[ErrorSample]:
    given = weights(make, 4, 2, 3, True, 1, 1)
    state = make(1, 2, 3)
    yield ErrorSample(RuntimeError, "^lstm expects two hidden states", make(3, 2, 2), (state,), given, *options(True, 1, False, False))
    yield ErrorSample(
        RuntimeError, r"^mat1 and mat2 shapes cannot be multiplied \(6x5 and 2x12\)", make(3, 2, 5), (state, state), given,
        *options(True, 1, False, False),
    )  # fmt: skip
    yield ErrorSample(
        RuntimeError, "^mat1 and mat2 must have the same dtype, but got Float and Double", make(3, 2, 2, dtype="float32"), (state, state),
        given, *options(True, 1, False, False),
    ).not_in_torch()  # PyTorch notices only that its library for CPUs refuses the weights  # fmt: skip


@error_samples("gru_cell")
def bad_gru_cell(make: Make) -> Iterator[ErrorSample]:
    wrong = "^Input batch size 2 doesn't match hidden0 batch size 3"
    yield ErrorSample(RuntimeError, wrong, make(2, 3), make(3, 2), make(6, 3), make(6, 2))
    yield ErrorSample(RuntimeError, "^input has inconsistent input_size: got 4 expected 3", make(2, 4), make(2, 2), make(6, 3), make(6, 2))
