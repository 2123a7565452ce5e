"""Recurrent networks as functions: layers on top of each other, in one direction or both, with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from .._state import GRAD, get_mode
from .._tensor import Tensor
from ..ops._cells import CELLS
from ..ops._generated import publish
from ..ops._precision import is_half
from ..ops._recurrence import Steps, gates_of
from ..ops.join import cat, stack
from ..ops.lstm_step import lstm_step
from ..ops.matmul import linear
from ..ops.recurrent import Kept, check_products, recurrent_layer
from ._dropout import dropout as dropped

# ---- which rows belong to which step ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def steps_of_batch(length: int, samples: int, batch_first: bool, reverse: bool) -> Steps:
    starts = tuple(step if batch_first else step * samples for step in range(length))
    return Steps(starts[::-1] if reverse else starts, (samples,) * length, length if batch_first else 1)


@lru_cache(maxsize=256)
def steps_of_packed(batch_sizes: tuple[int, ...], reverse: bool) -> Steps:
    starts = (0, *accumulate(batch_sizes[:-1]))
    return Steps(starts[::-1], batch_sizes[::-1], 1) if reverse else Steps(starts, batch_sizes, 1)


# ---- layers -------------------------------------------------------------------------------------------------------------------------

States = tuple[Tensor, ...]  # the hidden states, for an LSTM with its cells: (layers * directions, samples, units)


def run_layer(cell: str, rows: Tensor, states: States, weights: Sequence[Tensor | None], steps: Steps) -> tuple[Tensor, ...]:
    """One layer in one direction: its rows, and the last states. The weights are w_ih, w_hh, b_ih, b_hh and w_hr."""
    if is_half(rows._data.dtype):  # stored in 16 bits, computed in 32
        found = run_layer(cell, rows.float(), tuple(map(single, states)), tuple(map(single, weights)), steps)
        return tuple(x.to(rows.dtype) for x in found)
    hx, cx = states if len(states) == 2 else (*states, None)
    *own, projection = weights
    return recurrent_layer(rows, hx, *own, cx, projection, cell, steps, Kept())  # type: ignore[no-any-return]


def single(x: Any) -> Any:
    return None if x is None else x.float()


def run_layers(
    cell: str, rows: Tensor, states: States, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    steps: Sequence[Steps],
) -> tuple[Tensor, States]:  # fmt: skip
    """The rows after the last layer, and the last states. `steps` has an entry for each direction."""
    each = len(params) // (num_layers * len(steps))  # parameters of one layer in one direction
    last: list[States] = []
    for layer in range(num_layers):
        shown = []
        for direction in steps:
            number = len(last)
            own = params[number * each : (number + 1) * each]
            biases = own[2:4] if has_biases else (None, None)
            projection = own[-1] if each in (3, 5) else None
            out, *after = run_layer(cell, rows, tuple(x[number] for x in states), (*own[:2], *biases, projection), direction)
            shown.append(out)
            last.append(tuple(after))
        rows = shown[0] if len(shown) == 1 else cat(shown, 1)
        if dropout and layer < num_layers - 1:
            rows = dropped(rows, dropout)
    return rows, tuple(map(stack, zip(*last, strict=True)))


def run_batch(
    cell: str, input: Tensor, states: States, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, States]:  # fmt: skip
    if input.ndim != 3:
        raise RuntimeError(f"input must have 3 dimensions, got {input.ndim}")
    length, samples = input.shape[:2][:: -1 if batch_first else 1]
    if length == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    probability = dropout if train else 0.0
    turned = batch_first and train  # then dropout, here and later, draws its numbers in the order of PyTorch, which computes step by step
    if turned:
        input = input.transpose(0, 1)
    steps = [steps_of_batch(length, samples, batch_first and not turned, reverse) for reverse in (False, True)[: 1 + bidirectional]]
    rows = input.reshape(length * samples, input.shape[2])
    out, last = run_layers(cell, rows, states, params, has_biases, num_layers, probability, steps)
    out = out.view(*input.shape[:2], out.shape[1])
    out = out.transpose(0, 1) if turned else out
    name_as_in_pytorch(out, cell == "lstm", bidirectional, batch_first, len(params[-1].shape) == 2 and has_biases)
    return out, last


def run_packed(
    cell: str, data: Tensor, batch_sizes: Tensor, states: States, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, States]:  # fmt: skip
    if data.ndim != 2:
        raise RuntimeError(f"input must have 2 dimensions, got {data.ndim}")
    sizes = tuple(batch_sizes.tolist())
    data = data[: sum(sizes)]
    steps = [steps_of_packed(sizes, reverse) for reverse in (False, True)[: 1 + bidirectional]]
    out, last = run_layers(cell, data, states, params, has_biases, num_layers, dropout if train else 0.0, steps)
    rename(out, "CatBackward0")
    return out, last


def name_as_in_pytorch(out: Tensor, lstm: bool, bidirectional: bool, batch_first: bool, projected: bool) -> None:
    """Give the last node the name of PyTorch's, which has a fused layer for an LSTM in single precision."""
    if batch_first:
        rename(out, "TransposeBackward0" if lstm else "TransposeBackward1")
    elif bidirectional:
        rename(out, "CatBackward0")
    else:
        fused = lstm and not projected and out._data.dtype.itemsize == 4
        rename(out, "MkldnnRnnLayerBackward0" if fused else "StackBackward0")


def rename(out: Tensor, name: str) -> None:
    node = out.grad_fn
    if node is not None:
        kind: Any = type(node)
        node.__class__ = renamed(kind, name)


@lru_cache
def renamed(kind: Any, name: str) -> type[Any]:
    return type(name, (kind,), {"__slots__": ()})


def lstm(input: Tensor, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or for packed sequences
    `lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`."""
    packed = isinstance(args[0], Tensor)
    states = args[1] if packed else args[0]
    if len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    if packed:
        out, last = run_packed("lstm", input, args[0], tuple(states), *args[2:])
    else:
        out, last = run_batch("lstm", input, tuple(states), *args[1:])
    return out, last[0], last[1]


def _single(cell: str, input: Tensor, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    if isinstance(args[1], Tensor):
        out, last = run_packed(cell, input, args[0], (args[1],), *args[2:])
    else:
        out, last = run_batch(cell, input, (args[0],), *args[1:])
    return out, last[0]


def gru(input: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    """`gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or for packed sequences
    `gru(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`."""
    return _single("gru", input, args)


def rnn_tanh(input: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    """The same arguments as `gru`, for a layer with tanh."""
    return _single("rnn_tanh", input, args)


def rnn_relu(input: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    """The same arguments as `gru`, for a layer with relu."""
    return _single("rnn_relu", input, args)


# ---- single steps -------------------------------------------------------------------------------------------------------------------


def _step(
    cell: str, input: Tensor, states: States, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> dict[str, Tensor]:
    """The new state and cell, by ordinary ops, or by the one that an LSTM has for what follows the products."""
    alone = input.ndim == 1
    if alone:
        input, states = input.unsqueeze(0), tuple(x.unsqueeze(0) for x in states)
    kind = CELLS[cell]
    _check_step(input, states, w_ih, w_hh, len(kind.input_gates))
    from_input, from_state = linear(input, w_ih, b_ih), linear(states[0], w_hh, b_hh)
    if cell == "lstm" and get_mode() <= GRAD and input._data.dtype.char in "fd" and states[1]._data.dtype is input._data.dtype:
        after = dict(zip(("state", "cell"), lstm_step(from_input + from_state, states[1], []), strict=True))
    else:
        after = kind.forward(*gates_of(kind, from_input, from_state, _parts), *states)
    return {name: x.squeeze(0) for name, x in after.items()} if alone else after


def _parts(x: Tensor, count: int) -> tuple[Tensor, ...]:
    """Equal parts of the columns, each contiguous, as kernels want them."""
    return (x,) if count == 1 else x.view(x.shape[0], count, x.shape[1] // count).transpose(0, 1).contiguous().unbind(0)


def _check_step(input: Tensor, states: States, w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    x, of_input, of_state = input._data, w_ih._data, w_hh._data
    rows = gates * of_state.shape[-1]
    if not of_input.shape[0] == of_state.shape[0] == rows:
        name, found = ("weight_hh", of_state.shape[0]) if of_input.shape[0] == rows else ("weight_ih", of_input.shape[0])
        raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {rows}, but got {found}")
    if x.shape[1] != of_input.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {of_input.shape[1]}")
    for number, state in enumerate(states):
        shape = state._data.shape
        if x.shape[0] != shape[0]:
            raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{number} batch size {shape[0]}")
        if shape[1:] != of_state.shape[1:]:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {shape[1]}, expected {of_state.shape[1]}")
    check_products((x, of_input), (states[0]._data, of_state))


def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the new state and cell."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    after = _step("lstm", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return after["state"], after["cell"]


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a GRU."""
    return _step("gru", input, (hx,), w_ih, w_hh, b_ih, b_hh)["state"]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a layer with tanh."""
    return _step("rnn_tanh", input, (hx,), w_ih, w_hh, b_ih, b_hh)["state"]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a layer with relu."""
    return _step("rnn_relu", input, (hx,), w_ih, w_hh, b_ih, b_hh)["state"]


publish(globals(), "", ("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"))
