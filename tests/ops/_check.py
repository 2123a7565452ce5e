"""Checks of one call: derivatives against differences, reverse against forward mode, and what must not matter to a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.autograd import forward_ad
from adjoint.ops._registry import FUNCTIONS, OPS
from tests.ops.samples import Row, Sample, converted

STEP = 1e-5
Function = Callable[..., tuple[Any, ...]]


def our_function(row: Row) -> Any:
    """The function of adjoint that a row is about."""
    if callable(row.ours):
        return row.ours
    if row.ours is not None:
        found: Any = ad
        for part in row.ours.split("."):
            found = getattr(found, part)
        return found
    if row.name in FUNCTIONS:
        return FUNCTIONS[row.name]
    return OPS[row.name].function if row.name in OPS else getattr(ad.Tensor, row.name)


def our_dtype(name: str) -> Any:
    return getattr(ad, name)


class Call:
    """A sample taken apart: the arrays that stand for tensors, and the function of just those."""

    def __init__(self, row: Row, sample: Sample) -> None:
        self.arrays: list[np.ndarray] = []
        self.function = our_function(row)
        self.args = converted(sample.args, self._keep, our_dtype)
        self.kwargs = {name: converted(value, self._keep, our_dtype) for name, value in sample.kwargs.items()}

    def _keep(self, array: np.ndarray) -> Slot:
        self.arrays.append(array)
        return Slot(len(self.arrays) - 1)

    def __call__(self, tensors: Sequence[Any], function: Callable[..., Any] | None = None, **more: Any) -> tuple[Any, ...]:
        """The outputs, always as a tuple."""
        args, kwargs = filled(self.args, tensors), filled(self.kwargs, tensors)
        result = (function or self.function)(*args, **kwargs, **more)
        return tuple(result) if isinstance(result, tuple | list) else (result,)

    def tensors(self) -> list[Any]:
        return [ad.from_numpy(array.copy()) for array in self.arrays]

    def differentiable(self) -> list[int]:
        """The slots of the tensors that can require grad, in double precision."""
        return [slot for slot, array in enumerate(self.arrays) if array.dtype in (np.float64, np.complex128)]


class Slot(int):
    """Where a tensor goes in the arguments."""


def filled(value: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(value, Slot):
        return tensors[value]
    if isinstance(value, dict):
        return {name: filled(item, tensors) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([filled(item, tensors) for item in value])
    return value


# ---- arrays ---------------------------------------------------------------------------------------------------------


def data(value: Any) -> Any:
    """The array of a tensor, all elements of a sparse one; anything else as it is."""
    return value.detach().to_dense().numpy(force=True) if isinstance(value, ad.Tensor) else value


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """The real inner product, in which a complex number is a pair of real ones."""
    return float(np.sum(np.conj(a) * b).real)


def random_like(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    values = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.standard_normal(array.shape)
    return np.asarray(values, array.dtype)


LONG_SERIES = ("igamma",)  # which NumPy and a kernel add up in different ways; an op may become warm in the middle of a test


def assert_same(ours: Any, expected: Any, what: str, *, exactly: bool = False) -> None:
    """The same value, dtype and shape, up to rounding: another memory layout may mean another order of summation."""
    ours, expected = data(ours), data(expected)
    if not isinstance(expected, np.ndarray):
        assert ours == expected, what
        return
    assert ours.dtype == expected.dtype, f"{what}: dtype {ours.dtype}, expected {expected.dtype}"
    assert ours.shape == expected.shape, f"{what}: shape {ours.shape}, expected {expected.shape}"
    steps = 128 if what.startswith(LONG_SERIES) else 8
    tolerance = 0.0 if exactly or expected.dtype.kind in "iub" else steps * ad.finfo(ad.as_tensor(expected.ravel()[:0].copy()).dtype).eps
    np.testing.assert_allclose(ours, expected, tolerance, tolerance, err_msg=what)


# ---- derivatives ----------------------------------------------------------------------------------------------------


class Derivative:
    """One call with everything that derivative checks need: points, directions, and weights of the outputs."""

    def __init__(self, call: Call, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.call = call
        self.slots = call.differentiable()
        self.points = [call.arrays[slot] for slot in self.slots]
        self.directions = [random_like(point, random) for point in self.points]
        outputs = [np.asarray(data(out)) for out in self.outputs(self.points)]
        self.smooth = [place for place, out in enumerate(outputs) if out.dtype.kind in "fc"]
        self.weights = [random_like(outputs[place], random) for place in self.smooth]
        self.second_directions = [random_like(point, random) for point in self.points]

    def tensors(self, points: Sequence[np.ndarray], requires_grad: bool = False) -> list[Any]:
        tensors = self.call.tensors()
        for slot, point in zip(self.slots, points, strict=True):
            tensors[slot] = ad.from_numpy(point.copy()).requires_grad_(requires_grad)
        return tensors

    def outputs(self, points: Sequence[np.ndarray]) -> tuple[Any, ...]:
        return self.call(self.tensors(points))

    def weighted(self, points: Sequence[np.ndarray]) -> float:
        """The outputs as one number."""
        outputs = self.outputs(points)
        return sum(inner(w, data(outputs[place])) for w, place in zip(self.weights, self.smooth, strict=True))

    def moved(self, by: float, directions: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(point + by * direction) for point, direction in zip(self.points, directions, strict=True)]

    def gradients(self, points: Sequence[np.ndarray], create_graph: bool = False) -> tuple[list[Any], list[Any]]:
        """The points as tensors, and the gradients of the weighted outputs there."""
        tensors = self.tensors(points, requires_grad=True)
        outputs = self.call(tensors)
        chosen = [(outputs[place], w) for place, w in zip(self.smooth, self.weights, strict=True) if outputs[place].requires_grad]
        leaves = [tensors[slot] for slot in self.slots]
        if not chosen:
            return leaves, [None] * len(leaves)
        grads = ad.autograd.grad(
            [out for out, _ in chosen], leaves, [ad.from_numpy(w.copy()) for _, w in chosen],
            create_graph=create_graph, allow_unused=True,
        )  # fmt: skip
        return leaves, list(grads)

    def along(self, gradients: Sequence[Any], directions: Sequence[np.ndarray]) -> float:
        return sum(inner(data(grad), t) for grad, t in zip(gradients, directions, strict=True) if grad is not None)


def close(a: float, b: float, rtol: float, scale: float) -> bool:
    return abs(a - b) <= rtol * (abs(a) + abs(b) + scale)


def check_gradient(d: Derivative) -> None:
    """Reverse mode against central differences in a random direction."""
    _, grads = d.gradients(d.points)
    for grad, point in zip(grads, d.points, strict=True):
        assert grad is None or (grad.shape == point.shape and data(grad).dtype == point.dtype)
    computed = d.along(grads, d.directions)
    measured = (d.weighted(d.moved(STEP, d.directions)) - d.weighted(d.moved(-STEP, d.directions))) / (2 * STEP)
    assert close(computed, measured, 1e-6, 1.0), f"gradient along a direction: {computed}, by differences {measured}"


def check_second(d: Derivative) -> None:
    """The gradient of the gradient against central differences of the gradient."""
    leaves, grads = d.gradients(d.points, create_graph=True)
    recorded = [(grad, t) for grad, t in zip(grads, d.second_directions, strict=True) if grad is not None and grad.requires_grad]
    computed = 0.0
    if recorded:
        second = ad.autograd.grad([grad for grad, _ in recorded], leaves, [ad.from_numpy(t) for _, t in recorded], allow_unused=True)
        computed = d.along(second, d.directions)

    def gradient_along(by: float) -> float:
        return d.along(d.gradients(d.moved(by, d.directions))[1], d.second_directions)

    measured = (gradient_along(STEP) - gradient_along(-STEP)) / (2 * STEP)
    assert close(computed, measured, 1e-5, 1.0), f"second derivative along directions: {computed}, by differences {measured}"


def check_forward_mode(d: Derivative) -> None:
    """The same number from both modes: <w, J t> = <Jᵀ w, t>, also with tangents for only some of the inputs."""
    _, grads = d.gradients(d.points)
    for chosen in [d.slots, *([[slot] for slot in d.slots] if len(d.slots) > 1 else [])]:
        tensors = d.tensors(d.points)
        expected = 0.0
        with forward_ad.dual_level():
            for slot, t, grad in zip(d.slots, d.directions, grads, strict=True):
                if slot in chosen:
                    tensors[slot] = forward_ad.make_dual(tensors[slot], ad.from_numpy(t.copy()))
                    expected += 0.0 if grad is None else inner(data(grad), t)
            outputs = d.call(tensors)
            computed = 0.0
            for place, w in zip(d.smooth, d.weights, strict=True):
                tangent = forward_ad.unpack_dual(outputs[place]).tangent
                if tangent is not None:
                    assert tangent.shape == w.shape and data(tangent).dtype == w.dtype, "shape or dtype of a tangent"
                    computed += inner(w, data(tangent))
        assert close(computed, expected, 1e-9, 1.0), f"forward mode gives {computed}, reverse mode {expected}"


# ---- what must not matter -------------------------------------------------------------------------------------------


def spread_out(array: np.ndarray) -> np.ndarray:
    """The same values in memory that is not contiguous: every second element, backwards in the last dimension's order."""
    if array.ndim == 0:
        return np.stack([array, array])[1, ...]
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype, order="F")
    wide[..., ::2] = array
    return wide[..., ::2]
