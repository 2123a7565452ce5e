"""Recurrent layers."""

from __future__ import annotations

import math
from typing import Any

from .._creation import empty, zeros
from .._site import warn
from .._tensor import Parameter, Tensor
from . import _recurrent, init
from .module import Module
from .utils.rnn import PackedSequence

CELLS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}
BLOCKS = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}  # of rows in the weights, one for each gate

Shape = tuple[int, int, int]


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What recurrent layers have in common. `mode` says which one it is."""

    proj_size = 0  # of layers that were pickled before there were projections

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_options(dropout)
        self._all_weights: list[list[str]] = []
        directions = 2 if bidirectional else 1
        rows, shown = BLOCKS[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, input_size if layer == 0 else shown * directions), "weight_hh": (rows, shown)
                }  # fmt: skip
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_options(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if self.dropout > 0 and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
                f"but got dropout={dropout} and num_layers={self.num_layers}"
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in CELLS:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_flat_weights": self._flat_weights}  # which PyTorch expects in a pickle

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    def flatten_parameters(self) -> None:
        """Nothing to do: that is about the memory of graphics cards."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return text + "".join(f", {name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value)

    # ---- checks -----------------------------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse data of another dtype or size than the layer's."""
        dtype = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}), or convert "
                f"model: model.to({input.dtype})"
            )
        wanted = 2 if batch_sizes is not None else 3
        if input.ndim != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}\n"
                f"  fix: {type(self).__name__}(input_size={input.shape[-1]}, hidden_size={self.hidden_size})"
            )

    def _state_shape(self, input: Tensor, batch_sizes: Tensor | None, units: int) -> Shape:
        samples = int(batch_sizes[0]) if batch_sizes is not None else input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), samples, units

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> Shape:
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Shape, msg: str = "Expected hidden size {}, got {}") -> None:
        if hx.shape != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states of the samples in another order."""
        return hx if permutation is None else apply_permutation(hx, permutation)

    def _check_dims(self, hx: Any, batched: bool) -> None:
        if hx.ndim != (3 if batched else 2):
            which = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {which} input, hx should also be {3 if batched else 2}-D but got {hx.ndim}-D tensor")

    def _first_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    # ---- computing --------------------------------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The states of the last layer at each step, and the last states of all layers."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.ndim not in (2, 3):
            tensor = "tensor " if self.mode.startswith("RNN") else ""
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D {tensor}instead")
        batched = input.ndim == 3
        dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_dims(hx, batched)
        if not batched:
            input = input.unsqueeze(dim)
            hx = None if hx is None else self._each(hx, lambda x: x.unsqueeze(1))
        if hx is None:
            hx = self._first_states(input, None)
        self.check_forward_args(input, hx, None)
        states = hx if isinstance(hx, tuple | list) else (hx,)
        out, last = _recurrent.run_batch(
            CELLS[self.mode], input, tuple(states), self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        after = last if len(last) > 1 else last[0]
        return (out, after) if batched else (out.squeeze(dim), self._each(after, lambda x: x.squeeze(1)))

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data, batch_sizes, order, order_back = input
        hx = self._first_states(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        states = hx if isinstance(hx, tuple | list) else (hx,)
        out, last = _recurrent.run_packed(
            CELLS[self.mode], data, batch_sizes, tuple(states), self._flat_weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional,
        )  # fmt: skip
        return PackedSequence(out, batch_sizes, order, order_back), self.permute_hidden(last if len(last) > 1 else last[0], order_back)

    @staticmethod
    def _each(states: Any, change: Any) -> Any:
        return tuple(map(change, states)) if isinstance(states, tuple | list) else change(states)


class RNN(RNNBase):
    """Layers of `h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`, or with relu.

    >>> import adjoint as ad
    >>> out, h = ad.nn.RNN(3, 5, num_layers=2)(ad.ones(7, 4, 3))
    >>> out.shape, h.shape
    (torch.Size([7, 4, 5]), torch.Size([2, 4, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int | None = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Layers of gated recurrent units.

    >>> import adjoint as ad
    >>> out, h = ad.nn.GRU(3, 5, batch_first=True)(ad.ones(4, 7, 3))
    >>> out.shape, h.shape
    (torch.Size([4, 7, 5]), torch.Size([1, 4, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        _refuse_projection(proj_size)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


def _refuse_projection(proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Layers of long short-term memory.

    >>> import adjoint as ad
    >>> out, (h, c) = ad.nn.LSTM(3, 5, bidirectional=True)(ad.ones(7, 4, 3))
    >>> out.shape, h.shape, c.shape
    (torch.Size([7, 4, 10]), torch.Size([2, 4, 5]), torch.Size([2, 4, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> Shape:
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else tuple(apply_permutation(x, permutation) for x in hx)

    def _check_dims(self, hx: Any, batched: bool) -> None:
        wanted, given = 3 if batched else 2, (hx[0].ndim, hx[1].ndim)
        if given != (wanted, wanted):
            which = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {which} input, hx and cx should also be {wanted}-D but got ({given[0]}-D, {given[1]}-D) tensors")

    def _first_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shapes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        return tuple(zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes)


# ---- single steps -------------------------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What layers of a single step have in common."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_dims(self, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            if tensor.ndim not in (1, 2):
                raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {tensor.ndim}D instead")

    def _zeros(self, input: Tensor) -> Tensor:
        return input.new_zeros((*input.shape[:-1], self.hidden_size))

    @property
    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """One step of `RNN`."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zeros(input) if hx is None else hx
        self._check_dims(input=input, hidden=hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        step = _recurrent.rnn_tanh_cell if self.nonlinearity == "tanh" else _recurrent.rnn_relu_cell
        return step(input, hx, *self._weights)


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zeros(input) if hx is None else hx
        self._check_dims(input=input, hidden=hx)
        return _recurrent.gru_cell(input, hx, *self._weights)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: the new state and cell.

    >>> import adjoint as ad
    >>> h, c = ad.nn.LSTMCell(3, 5)(ad.ones(4, 3))
    >>> h.shape, c.shape
    (torch.Size([4, 5]), torch.Size([4, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input=input)
        if hx is None:
            hx = self._zeros(input), self._zeros(input)
        self._check_dims(**{"hx[0]": hx[0], "hx[1]": hx[1]})
        return _recurrent.lstm_cell(input, hx, *self._weights)
