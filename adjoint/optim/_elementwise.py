"""Optimizers whose update treats every element by itself, which is all of them but LBFGS.

Such an optimizer declares its state and one formula: from a parameter's element, its gradient's and its state's to what becomes of them.
The formula is plain NumPy code. It runs on Tensors where the step itself is to be differentiated (`differentiable=True`), and it is traced
into one compiled pass over all parameters where that pays (`_kernels/updates.py`). What it computes with besides are numbers, new in each
step; what decides between forms of a formula is its variant.

Note [Plans]
A formula of a dozen NumPy calls costs several microseconds however small the array, and on a large array every call is a trip to main
memory. So for NumPy parameters and their state are brought to a good size first. Small parameters of one group are joined: their state
lives in common flat arrays, of which the tensors in `optimizer.state` are views, and the formula runs once for all of them. Large ones are
worked through in blocks that fit into the cache. A compiled pass needs none of that: it has a table of where everything is. Either is
written down in a plan, which is kept for as long as the step finds the same arrays: whoever replaces a state tensor, loads a checkpoint or
freezes a layer changes what is found, and a new plan is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain
from math import sqrt
from operator import attrgetter
from sys import modules
from typing import Any, ClassVar

import numpy as np

from .._dtype import default_numpy
from .._quiet import mute, unmute
from .._site import Site, StepSite, here, make_tuple
from .._state import GRAD, swap_bits
from .._tensor import Tensor, wrap
from ..autograd.node import INFERENCE_TENSOR
from ..autograd.views import check_writable, counter_of
from ..ops.complex_view import view_as_real
from ._checks import check_devices
from .optimizer import Group, Optimizer

BLOCK = 1 << 14  # elements; a dozen such arrays fit into a CPU's second-level cache

Array = Any
_data = attrgetter("_data")


class Elementwise(Optimizer):
    """The base class of these optimizers."""

    scalars: ClassVar[dict[str, float]] = {"step": 0.0}  # state that is one number per parameter, and how it begins

    def buffers(self, group: Group) -> dict[str, float]:
        """State in the shape of the parameter, and how it begins."""
        raise NotImplementedError

    def variant(self, group: Group, fresh: bool) -> tuple[Any, ...]:
        """What decides between forms of the formula. `fresh` says that the buffers are new."""
        raise NotImplementedError

    def numbers(self, group: Group, scalars: dict[str, float]) -> tuple[Any, ...]:
        """The numbers that the formula takes in this step."""
        raise NotImplementedError

    @staticmethod
    def formula(variant: tuple[Any, ...], numbers: Any, param: Array, grad: Array, *buffers: Array) -> tuple[Array, ...]:
        """What becomes of the parameter and the buffers."""
        raise NotImplementedError

    def update(self, group: Group, scalars: dict[str, float], fresh: bool, param: Array, grad: Array, *buffers: Array) -> None:
        """Compute the formula and overwrite the parameter and the buffers."""
        overwrite((param, *buffers), self.formula(self.variant(group, fresh), self.numbers(group, scalars), param, grad, *buffers))

    def takes_sparse(self, group: Group) -> bool:
        """Whether the formula for a sparse gradient has to be computed only where that has values; refused where it is none."""
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead\n"
            "  fix: optim.SparseAdam for the tables, or nn.Embedding(sparse=False)"
        )

    def advance(self, group: Group, scalars: dict[str, Array]) -> None:
        """Bring the scalars to this step, in place."""
        if "step" in scalars:
            scalars["step"] += 1

    def finish(self, group: Group, scalars: dict[str, Array]) -> None:
        """Bring the scalars to the end of this step, in place."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self._plans: dict[int, Plan] = {}
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for entries in self.state.values():
            self._number_scalars(entries)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. A `closure` computes the loss again and returns it."""
        loss = None
        if closure is not None:
            loss = with_grad(closure)
        site = make_tuple(StepSite, here())
        token = mute()
        try:
            for number, group in enumerate(self.param_groups):
                params = [param for param in group["params"] if param._grad is not None]
                if "adjoint.sparse" in modules:  # otherwise no gradient is sparse
                    params = modules["adjoint.sparse"].step_sparse(self, group, params, numeric)
                if "adjoint.distributed.tensor" in modules:  # otherwise no parameter is divided over processes
                    params = modules["adjoint.distributed.tensor"].step_parts(self, number, group, params, site)
                if params:
                    self._step_group(number, group, params, site)
        finally:
            unmute(token)
        return loss

    def _step_group(self, number: int, group: Group, params: list[Tensor], site: Site) -> None:
        plan = self._plans.get(number)
        if plan is None or not plan.fits(self, group, params) or group.get("differentiable"):
            check_devices(group, params)
            if group.get("differentiable") or not can_join(params):
                self._step_tensors(group, params)
                return
            for param in params:
                check_writable(param, False)
            plan = self._plans[number] = Plan(self, group, params)
        plan.run(self, group, site)

    def _step_tensors(self, group: Group, params: list[Tensor]) -> None:
        """The same with Tensors, one parameter at a time, recorded if the step is to be differentiated."""
        bits = swap_bits(GRAD, GRAD if group.get("differentiable") else 0)
        try:
            for param in params:
                fresh = self.prepare(param, group)
                state = self.state.get(param, {})
                scalars = {name: value if (value := state[name]).requires_grad else value._data for name in self.scalars}
                self.advance(group, scalars)
                # The formula's operands may be needed for its derivative, so they are not overwritten.
                before = [param.clone(), *(state[name] for name in self.buffers(group))]
                after = [param, *(buffer.clone() for buffer in before[1:])]
                state.update(zip(self.buffers(group), after[1:], strict=True))
                numbers = self.numbers(group, {name: number_of(value) for name, value in scalars.items()})
                operands = map(as_real, (before[0], param._grad, *before[1:]))
                overwrite(map(as_real, after), self.formula(self.variant(group, fresh), numbers, *operands))
                self.finish(group, scalars)
        finally:
            swap_bits(GRAD, bits)

    def prepare(self, param: Tensor, group: Group) -> bool:
        """Make the state of a parameter that has none; say whether its buffers are new."""
        if not self.scalars and not self.buffers(group):
            return False
        state = self.state[param]
        missing = [name for name in self.buffers(group) if state.get(name) is None]
        for name, value in self.initial_scalars(group).items():
            state.setdefault(name, value)
        self._number_scalars(state)
        for name in missing:
            value = self.buffers(group)[name]
            state[name] = wrap(np.full_like(param._data, complex(value, value) if param.is_complex() else value))
        return bool(missing)

    def _number_scalars(self, state: Any) -> None:
        """Make tensors of the scalars in a parameter's state, which are plain numbers in old checkpoints."""
        for name in self.scalars:
            if isinstance(value := state.get(name) if isinstance(state, dict) else None, int | float):
                state[name] = wrap(np.full((), value, scalar_dtype()))

    def initial_scalars(self, group: Group) -> dict[str, float]:
        return self.scalars


class Plan:
    """How to update the parameters of a group; see Note [Plans]."""

    def __init__(self, optimizer: Elementwise, group: Group, params: list[Tensor]) -> None:
        packs: dict[Any, list[Tensor]] = {}
        for param in params:
            fresh = optimizer.prepare(param, group)
            for name in optimizer.buffers(group):
                if (shape := optimizer.state[param][name]._data.shape) != param._data.shape:
                    raise mismatch(param._data.shape, shape)
            packs.setdefault(pack_key(optimizer, group, param, fresh), []).append(param)
        self.names = list(optimizer.buffers(group))
        self.packs = [pack for key, some in packs.items() for pack in make_packs(optimizer, some, self.names, key[0])]
        self.found = identities(params, optimizer.state)
        # Held, so that the identities mean these arrays for as long as the plan lives.
        self.held = [tensor._data for tensor in tensors_of(params, optimizer.state)]

    def fits(self, optimizer: Elementwise, group: Group, params: list[Tensor]) -> bool:
        """Whether the step finds the arrays that this plan was made for, and needs no others."""
        if identities(params, optimizer.state) != self.found or list(optimizer.buffers(group)) != self.names:
            return False
        return all(pack.together() for pack in self.packs)

    def run(self, optimizer: Elementwise, group: Group, site: Site) -> None:
        group = numeric(group)
        for pack in self.packs:
            pack.run(optimizer, group)
            for param in pack.params:
                if param._vc is not INFERENCE_TENSOR:
                    counter_of(param).bump(site)


def tensors_of(params: list[Tensor], state: Any) -> list[Tensor]:
    """Parameters, and the tensors in their state."""
    found = chain(params, *[state[param].values() for param in params if param in state])
    return [tensor for tensor in found if isinstance(tensor, Tensor)]


def identities(params: list[Tensor], state: Any) -> list[int]:
    """What the arrays of `tensors_of` are known by."""
    try:
        return list(map(id, map(_data, chain(params, *[state[param].values() for param in params if param in state]))))
    except AttributeError:  # somebody keeps other things in the state
        return list(map(id, map(_data, tensors_of(params, state))))


def pack_key(optimizer: Elementwise, group: Group, param: Tensor, fresh: bool) -> tuple[Any, ...]:
    """Parameters with the same key can be updated together."""
    state = optimizer.state.get(param, {})
    data = param._data
    dtypes = [data.dtype, *(state[name]._data.dtype for name in (*optimizer.scalars, *optimizer.buffers(group)))]
    numbers = [state[name]._data.item() for name in optimizer.scalars]
    return fresh, *dtypes, *numbers


def make_packs(optimizer: Elementwise, params: list[Tensor], names: list[str], fresh: bool) -> Iterator[Pack | CompiledPack]:
    """Packs for parameters with the same key: one compiled pass over all, or for NumPy one for each large one and one for the rest."""
    arrays = [param._data for param in params]
    if compiles():
        columns = [[optimizer.state[param][name]._data for param in params] for name in names]
        if all(is_plain(array, arrays[0].dtype) for column in (arrays, *columns) for array in column):
            yield CompiledPack(optimizer, params, columns, fresh)
            return
    yield from (Pack(optimizer, [param], names, fresh) for param in params if param._data.size > BLOCK)
    if small := [param for param in params if param._data.size <= BLOCK]:
        yield Pack(optimizer, small, names, fresh)


def is_plain(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a compiled pass can go over an array."""
    return dtype.char in "fd" and array.dtype is dtype and array.flags.c_contiguous and array.flags.writeable


@cache
def compiles() -> bool:
    from .._kernels import updates

    return updates.available()


@cache
def compiled_pass(cls: Any, variant: tuple[Any, ...], buffers: int, numbers: int) -> Any:
    """The pass of an optimizer; the gradient, its second argument, is only read."""
    from .._kernels import updates

    return updates.Pass(cls.__name__, partial(cls.formula, variant), 2 + buffers, numbers, reads=[1])


class CompiledPack:
    """Parameters that one compiled pass updates, and their state."""

    def __init__(self, optimizer: Elementwise, params: list[Tensor], columns: list[list[Array]], fresh: bool) -> None:
        from .._kernels import updates

        self.params = params
        self.fresh = fresh
        self.scalars = {name: joined([optimizer.state[param][name] for param in params]) for name in optimizer.scalars}
        arrays = [param._data for param in params]
        self.count = len(columns)
        self.blocks = updates.Blocks([arrays, arrays, *columns], changing=1)

    def together(self) -> bool:
        """Whether the parameters are still at the same step, which somebody may have changed."""
        return all_equal(self.scalars)

    def run(self, optimizer: Elementwise, group: Group) -> None:
        gradients = [param._grad._data for param in self.params]  # type: ignore[union-attr]
        if not self.blocks.point(1, gradients):
            dtype = self.params[0]._data.dtype
            gradients = [np.require(gradient_of(param), dtype, ("C", "A")) for param in self.params]
            self.blocks.point(1, gradients)
        optimizer.advance(group, self.scalars)
        scalars = {name: array.item(0) for name, array in self.scalars.items()}
        numbers = np.array(optimizer.numbers(group, scalars), np.float64)
        cls: Any = type(optimizer)
        update = compiled_pass(cls, optimizer.variant(group, self.fresh), self.count, len(numbers))
        self.blocks.run(update, numbers)
        optimizer.finish(group, self.scalars)
        self.fresh = False


class Pack:
    """Parameters that are updated together by NumPy, and their state."""

    def __init__(self, optimizer: Elementwise, params: list[Tensor], names: list[str], fresh: bool) -> None:
        states = [optimizer.state.get(param, {}) for param in params]
        self.params = params
        self.fresh = fresh
        self.arrays = [param._data for param in params]
        self.scalars = {name: joined([state[name] for state in states]) for name in optimizer.scalars}
        self.buffers = [real(joined([state[name] for state in states])) for name in names]
        first = self.arrays[0]
        # A large parameter is worked on where it is; otherwise the values are copied into a common array and back.
        self.in_place = len(params) == 1 and first.size > BLOCK and first.flags.c_contiguous
        if self.in_place:
            self.values = real(first.reshape(-1))
        else:
            size = sum(array.size for array in self.arrays)
            values, grads = np.empty(size, first.dtype), np.empty(size, first.dtype)
            self.value_parts = list(zip(self.arrays, parts(values, self.arrays), strict=True))
            self.grad_parts = list(parts(grads, self.arrays))
            self.values, self.grads = real(values), real(grads)

    def together(self) -> bool:
        """Whether the parameters are still at the same step, which somebody may have changed."""
        return all_equal(self.scalars)

    def run(self, optimizer: Elementwise, group: Group) -> None:
        gradients = [gradient_of(param) for param in self.params]
        optimizer.advance(group, self.scalars)
        numbers = {name: array.item(0) for name, array in self.scalars.items()}
        if self.in_place:
            grads = real(np.ascontiguousarray(gradients[0]).reshape(-1))
            for start in range(0, len(self.values), BLOCK):
                block = slice(start, start + BLOCK)
                buffers = [buffer[block] for buffer in self.buffers]
                optimizer.update(group, numbers, self.fresh, self.values[block], grads[block], *buffers)
        else:
            for array, part in self.value_parts:
                part[...] = array
            for gradient, part in zip(gradients, self.grad_parts, strict=True):
                part[...] = gradient
            optimizer.update(group, numbers, self.fresh, self.values, self.grads, *self.buffers)
            for array, part in self.value_parts:
                array[...] = part
        optimizer.finish(group, self.scalars)
        self.fresh = False


def gradient_of(param: Tensor) -> Array:
    """The gradient of a parameter in its shape."""
    gradient, shape = param._grad._data, param._data.shape  # type: ignore[union-attr]
    if gradient.shape == shape:
        return gradient
    try:  # somebody has put other data into the gradient
        return np.broadcast_to(gradient, shape)
    except ValueError:
        raise mismatch(shape, gradient.shape) from None


def mismatch(shape: tuple[int, ...], other: tuple[int, ...]) -> RuntimeError:
    """The error for a gradient or a state that cannot belong to a parameter."""
    return RuntimeError(
        f"The size of tensor a ({list(shape)}) must match the size of tensor b ({list(other)}): a parameter, and its gradient or state"
        "\n  fix: compute the gradients anew after optimizer.zero_grad(), or make a new optimizer for parameters of other shapes"
    )


def overwrite(arrays: Iterable[Array], values: Iterable[Array]) -> None:
    for array, value in zip(arrays, values, strict=True):
        array[...] = value


def all_equal(scalars: dict[str, Array]) -> bool:
    return all(len(set(array.tolist())) == 1 for array in scalars.values())


def joined(tensors: list[Tensor]) -> Array:
    """The values of tensors in one flat array, of which the tensors become views."""
    arrays = [tensor._data for tensor in tensors]
    if len(arrays) == 1 and arrays[0].flags.c_contiguous:
        return arrays[0].reshape(-1)
    flat = np.concatenate(arrays, axis=None)
    for tensor, part in zip(tensors, parts(flat, arrays), strict=True):
        tensor._data = part
    return flat


def parts(flat: Array, like: list[Array]) -> Iterator[Array]:
    """A flat array cut into pieces with the shapes of others."""
    start = 0
    for array in like:
        yield flat[start : start + array.size].reshape(array.shape)
        start += array.size


def real(array: Array) -> Array:
    """A complex array as twice as many real numbers, which is how optimizers see it."""
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def number_of(value: Any) -> Any:
    """A number; a Tensor that the step is to be differentiated by stays one, which the end of the step does not write over."""
    return value.clone() if isinstance(value, Tensor) else value.item()


def first(values: Any) -> Any:
    """The first of equal numbers, as the scalars of parameters that are updated together are."""
    return values.reshape(-1)[0].item()


def root(number: Any) -> Any:
    """The square root of a setting, which may be such a Tensor."""
    return number.sqrt() if isinstance(number, Tensor) else sqrt(number)


def as_real(tensor: Tensor | None) -> Tensor:
    """The same for a Tensor: a view with one more dimension."""
    assert tensor is not None
    return view_as_real(tensor) if tensor.is_complex() else tensor


def numeric(group: Group) -> Group:
    """The settings of a group with numbers where it has tensors."""
    if Tensor not in map(type, chain(group.values(), group.get("betas", ()))):
        return group
    plain = {name: value.item() if isinstance(value, Tensor) else value for name, value in group.items()}
    if "betas" in group:
        plain["betas"] = tuple(map(float, group["betas"]))
    return plain


def can_join(params: list[Tensor]) -> bool:
    """Whether there are NumPy arrays to work on, none of them twice (which PyTorch updates twice, one after the other)."""
    return len(set(params)) == len(params) and all(param._data.__class__ is np.ndarray for param in params)


def scalar_dtype() -> np.dtype[Any]:
    """The dtype in which steps are counted."""
    return np.dtype("float64") if default_numpy() == np.dtype("float64") else np.dtype("float32")


def with_grad(closure: Callable[[], Any]) -> Any:
    bits = swap_bits(GRAD, GRAD)
    try:
        return closure()
    finally:
        swap_bits(GRAD, bits)


# ---- what formulas have in common ---------------------------------------------------------------------------------------------------


def decay_of(group: Group) -> str | None:
    """How weights decay, for `variant`."""
    if group["weight_decay"] == 0:
        return None
    return "decoupled" if group.get("decoupled_weight_decay") else "coupled"


def decay_number(group: Group) -> Any:
    """What `decayed` multiplies by."""
    weight_decay = group["weight_decay"]
    return 1 - group["lr"] * weight_decay if decay_of(group) == "decoupled" else weight_decay


def decayed(param: Array, grad: Array, number: Any, maximize: bool, decay: str | None) -> tuple[Array, Array]:
    """The parameter and the gradient that the formula goes on with."""
    if maximize:
        grad = -grad
    if decay == "coupled":
        grad = grad + param * number
    elif decay == "decoupled":
        param = param * number
    return param, grad
