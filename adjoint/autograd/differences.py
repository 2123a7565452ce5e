"""Derivatives compared with finite differences, at a point.

For one input x and one output y both Jacobians are matrices with a row per element of x and a column per element of y, as PyTorch prints
them. Finite differences give the derivative along the real axis of x and, where x is complex, along the imaginary axis:

    along[0] = (y(x + eps) - y(x - eps)) / (2 eps),       along[1] = (y(x + i eps) - y(x - i eps)) / (2 eps)

Forward mode has to give the same. Reverse mode gives the gradient of a real number, Re y or Im y, which in PyTorch's convention is
`Re along[0] + i Re along[1]` (Im for Im y).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._errors import spelled
from .._size import Size
from .._tensor import Tensor, wrap
from . import forward_ad
from .diagnosis import diagnose
from .differentiate import grad
from .function import Function
from .views import overlaps_itself

Array = np.ndarray[Any, Any]
Func = Callable[..., Any]


class GradcheckError(RuntimeError):
    """The derivatives of a function are not what finite differences say."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(out for out in as_tuple(outputs) if out.requires_grad)


def random_like(output: Tensor, non_contiguous: bool) -> Tensor:
    """A gradient for `output`: random, requiring grad itself."""
    values = np.empty(tuple(output.shape), output._data.dtype)
    numbers: Any = wrap(values.reshape(-1).view(values.real.dtype))
    numbers.uniform_(-1, 1)
    if non_contiguous and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return wrap(values).requires_grad_()


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype)


class Aspect(NamedTuple):
    """One way to look at a Jacobian of complex numbers: the numerical one is `sum(weight * part(derivative along unit))` over the axes."""

    title: str
    unit: complex  # the seed of reverse mode, or the tangent of forward mode
    axes: tuple[tuple[complex, complex], ...]  # (unit, weight)
    part: Callable[[Any], Any]


def reverse_aspects(input: Tensor, output: Tensor) -> list[Aspect]:
    """Reverse mode differentiates the real and the imaginary part of the output, the latter first as in PyTorch."""
    axes: tuple[tuple[complex, complex], ...] = ((1, 1), (1j, 1j)) if input.is_complex() else ((1, 1),)
    if not output.is_complex():
        return [Aspect("Jacobian", 1, axes, np.real)]
    return [
        Aspect(f"While considering the {name} part of complex outputs only, Jacobian", unit, axes, part)
        for name, unit, part in (("imaginary", 1j, np.imag), ("real", 1, np.real))
    ]


def forward_aspects(input: Tensor) -> list[Aspect]:
    """Forward mode differentiates along the real and the imaginary axis of the input."""
    title = "Jacobian computed with forward mode"
    if not input.is_complex():
        return [Aspect(title, 1, ((1, 1),), np.asarray)]
    return [
        Aspect(f"While considering the {name} part of complex inputs only, {title}", unit, ((unit, 1),), np.asarray)
        for name, unit in (("imaginary", 1j), ("real", 1))
    ]


class Check:
    """One run of `gradcheck`. Inputs and outputs go by their numbers among those that are checked."""

    def __init__(
        self, func: Func, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float, dtypes: bool
    ) -> None:
        self.func = func
        self.inputs = inputs
        self.eps = eps
        self.atol = atol
        self.rtol = rtol
        self.nondet_tol = nondet_tol
        self.dtypes = dtypes
        self.places = checked_inputs(inputs)  # where the inputs that require grad are among all
        self.wanted: list[Tensor] = [inputs[place] for place in self.places]
        self.chosen: list[int] = []  # the outputs that are checked
        self.known: dict[Any, list[Array]] = {}  # Jacobians by (method, number, unit): each serves several comparisons
        self.rng = np.random.default_rng(0)

    def run(self, forward: bool, backward: bool, undefined: bool, fast: bool) -> None:
        found = as_tuple(self.func(*self.inputs))
        self.chosen = [place for place, out in enumerate(found) if out.requires_grad]
        if not self.chosen:
            self.chosen = list(range(len(found)))
            self.expect_no_derivative()
            return
        check = self.check_fast if fast else self.check_slow
        for output in range(len(self.chosen)):
            for input in range(len(self.wanted)):
                check(input, output, forward, backward)
        if backward:
            self.check_zero_in_zero_out()
            if undefined:
                self.check_undefined()

    # ---- evaluation -------------------------------------------------------------------------------------------------------------

    def outputs(self, inputs: Sequence[Any] | None = None) -> list[Tensor]:
        found = as_tuple(self.func(*(self.inputs if inputs is None else inputs)))
        return [found[place] for place in self.chosen]

    def values(self) -> list[Array]:
        """The outputs as numbers. Copies: they may be views of an input, which is about to change."""
        arrays = [np.array(out._data) for out in self.outputs()]
        return [a if a.dtype.kind in "fc" else a.astype(np.float64) for a in arrays]

    def slopes(self, input: int, direction: Array, eps: float, side: str = "central") -> list[Array]:
        """The derivatives of all outputs along a direction in the space of an input, by finite differences."""
        x = self.wanted[input]
        with moved(x, direction * (eps if side != "below" else 0)):
            above = self.values()
        with moved(x, direction * (-eps if side != "above" else 0)):
            below = self.values()
        for a, b in zip(above, below, strict=True):
            if a.shape != b.shape:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same shape when inputs are perturbed by {eps}, but got: shapes "
                    f"{Size(b.shape)} and {Size(a.shape)}."
                )
        width = 2 * eps if side == "central" else eps
        return [(a - b) / width for a, b in zip(above, below, strict=True)]

    def vjp(self, output: Tensor, seed: Array) -> list[Array]:
        """One reverse pass: the gradients of all inputs, zero where there is none. It is run twice to see whether it is deterministic."""
        first, second = self.gradients(output, seed), self.gradients(output, seed)
        if (difference := largest_difference(first, second)) > self.nondet_tol:
            # A kernel may have taken over from NumPy between the two, once, and round differently.
            first, second = second, self.gradients(output, seed)
            difference = largest_difference(first, second)
        if difference > self.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values: "
                f"they differ by {difference:.3g}. The tolerance for nondeterminism was {self.nondet_tol}.\n"
                "  fix: take randomness and counters out of the backward (save what the forward drew), or allow for it with nondet_tol=..."
            )
        return first

    def gradients(self, output: Tensor, seed: Array) -> list[Array]:
        found = grad([output], self.wanted, [wrap(seed)], retain_graph=True, allow_unused=True)
        for number, (g, x) in enumerate(zip(found, self.wanted, strict=True)):
            if self.dtypes and g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype {g.dtype}, but input {number} has dtype {x.dtype}: a backward must return gradients in the dtype "
                    "of the input (checked because of check_grad_dtypes=True)"
                )
        return [np.zeros_like(x._data) if g is None else np.array(g._data) for g, x in zip(found, self.wanted, strict=True)]

    def jvp(self, input: int, tangent: Array) -> list[Array]:
        """One forward-mode pass: the tangents of all outputs, zero where there is none."""
        with forward_ad.dual_level():
            outputs = self.outputs(self.duals(input, wrap(tangent)))
            found = [forward_ad.unpack_dual(out).tangent for out in outputs]
            for number, (t, out) in enumerate(zip(found, outputs, strict=True)):
                if self.dtypes and t is not None and t.dtype != out.dtype:
                    raise GradcheckError(
                        f"Tangent has dtype {t.dtype}, but output {number} has dtype {out.dtype}: forward mode must keep the dtype "
                        "(checked because of check_grad_dtypes=True)"
                    )
            return [np.zeros_like(out._data) if t is None else np.array(t._data) for t, out in zip(found, outputs, strict=True)]

    def duals(self, input: int, tangent: Tensor) -> list[Any]:
        """All inputs, those that require grad with tangents: of one the given one, of the others zero."""
        inputs = list(self.inputs)
        for number, (place, x) in enumerate(zip(self.places, self.wanted, strict=True)):
            inputs[place] = forward_ad.make_dual(x.detach(), tangent if number == input else x.new_zeros(x.shape))
        return inputs

    # ---- Jacobians --------------------------------------------------------------------------------------------------------------

    def differences(self, input: int, unit: complex) -> list[Array]:
        """The Jacobian of each output along the real (unit 1) or imaginary (unit 1j) axis of an input, by finite differences."""
        return self.row_by_row("differences", input, unit, lambda direction: self.slopes(input, direction, self.eps))

    def tangents(self, input: int, unit: complex) -> list[Array]:
        """The same by forward mode."""
        return self.row_by_row("tangents", input, unit, lambda direction: self.jvp(input, direction))

    def row_by_row(self, name: str, input: int, unit: complex, row: Callable[[Array], list[Array]]) -> list[Array]:
        key = name, input, unit
        if key not in self.known:
            array = self.wanted[input]._data
            rows = [row(one_hot(array, index, unit)) for index in np.ndindex(array.shape)]
            sizes = [a.size for a in self.values()]
            self.known[key] = [np.array([r[output] for r in rows]).reshape(len(rows), size) for output, size in enumerate(sizes)]
        return self.known[key]

    def reverse(self, output: int, unit: complex) -> list[Array]:
        """For each input: the Jacobian of the real (unit 1) or imaginary (unit 1j) part of an output by reverse mode, column by column."""
        key = "reverse", output, unit
        if key not in self.known:
            out = self.outputs()[output]
            columns = [self.vjp(out, one_hot(out._data, index, unit)) for index in np.ndindex(tuple(out.shape))]
            sizes = [x.numel() for x in self.wanted]
            self.known[key] = [np.array([c[input] for c in columns]).reshape(len(columns), size).T for input, size in enumerate(sizes)]
        return self.known[key]

    # ---- comparison -------------------------------------------------------------------------------------------------------------

    def check_slow(self, input: int, output: int, forward: bool, backward: bool) -> None:
        x = self.wanted[input]
        if backward:
            for aspect in reverse_aspects(x, self.outputs()[output]):
                self.compare(input, output, aspect, self.reverse(output, aspect.unit)[input])
        if forward:
            for aspect in forward_aspects(x):
                self.compare(input, output, aspect, self.tangents(input, aspect.unit)[output])

    def compare(self, input: int, output: int, aspect: Aspect, analytical: Array) -> None:
        terms = [weight * aspect.part(self.differences(input, unit)[output]) for unit, weight in aspect.axes]
        numerical = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        if np.allclose(analytical, numerical, self.rtol, self.atol):
            return
        array = self.wanted[input]._data

        def again(row: int, column: int, eps: float, side: str) -> complex:
            index = tuple(map(int, np.unravel_index(row, array.shape)))
            total: complex = 0
            for unit, weight in aspect.axes:
                slope = self.slopes(input, one_hot(array, index, unit), eps, side)[output]
                total += weight * aspect.part(slope.reshape(-1)[column])
            return total

        shapes = array.shape, self.values()[output].shape
        raise GradcheckError(
            f"{aspect.title} mismatch for output {output} with respect to input {input},\n"
            f"numerical:{wrap(numerical)!r}\nanalytical:{wrap(analytical)!r}\n"
            + diagnose(numerical, analytical, *shapes, self.rtol, self.atol, self.eps, again)
        )

    def check_fast(self, input: int, output: int, forward: bool, backward: bool) -> None:
        """Compare one number: the derivative along a random direction u, seen through a random functional v of the output."""
        x = self.wanted[input]._data
        out = self.outputs()[output]
        u = unit_length(random_array(self.rng, x.shape, x.dtype))
        v = unit_length(random_array(self.rng, tuple(out.shape), out._data.dtype))
        numerical = real_dot(v, self.slopes(input, u, self.eps)[output])
        # An error of atol in every element of the Jacobian may add up to this much.
        atol = self.atol * float(np.abs(u).sum() * np.abs(v).sum())
        if backward:
            self.compare_fast(input, output, "Jacobian", numerical, real_dot(self.vjp(out, v)[input], u), atol, False)
        if forward:
            title = "Jacobian computed with forward mode"
            self.compare_fast(input, output, title, numerical, real_dot(v, self.jvp(input, u)[output]), atol, True)

    def compare_fast(
        self, input: int, output: int, title: str, numerical: float, analytical: float, atol: float, forward: bool
    ) -> None:
        if np.isclose(analytical, numerical, self.rtol, atol):
            return
        try:
            self.check_slow(input, output, forward, not forward)
            slow = "The slow mode finds no element that is out of tolerance: the error is spread over many elements, or is rounding."
        except GradcheckError as error:
            slow = str(error)
            title = slow.split(" mismatch")[0]  # this one says whether it is the real or the imaginary part
        raise GradcheckError(
            f"{title} mismatch for output {output} with respect to input {input},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n\n"
            "The above quantities relating the numerical and analytical jacobians are computed \nin fast mode, along one random direction. "
            f"The same in slow mode:\n\n{slow}"
        )

    # ---- other properties of a backward -----------------------------------------------------------------------------------------

    def expect_no_derivative(self) -> None:
        """No output requires grad, so the function must not depend on the inputs."""
        for input, x in enumerate(self.wanted):
            for aspect in forward_aspects(x):
                for output, jacobian in enumerate(self.differences(input, aspect.unit)):
                    if not np.allclose(jacobian, 0, self.rtol, self.atol):
                        raise GradcheckError(
                            f"Numerical gradient for function expected to be zero: output {output} does not require grad, but it changes "
                            f"with input {input}\n"
                            "  fix: look for .detach(), .item(), .numpy(), no_grad or an integer conversion between input and output"
                        )

    def check_zero_in_zero_out(self) -> None:
        """A gradient is linear in the gradient of the output, so zero must give zero."""
        outputs = self.outputs()
        seeds = [wrap(np.zeros_like(out._data)) for out in outputs]
        for number, found in enumerate(grad(outputs, self.wanted, seeds, allow_unused=True)):
            if found is not None and not np.all(np.equal(found._data, 0)):
                raise GradcheckError(
                    f"backward not multiplied by grad_output: with a grad_output of zeros the gradient of input {number} is\n{found!r}\n"
                    "  fix: every term that backward returns must be multiplied by grad_output"
                )

    def check_undefined(self) -> None:
        """A backward must cope with the absence of the gradients of its outputs: of each one, and of all."""
        count = len(self.chosen)
        groups = [[place] for place in range(count)] + ([list(range(count))] if count > 1 else [])
        for group in groups:
            outputs = self.outputs()
            cut = [WithoutGradient.apply(outputs[place]) for place in group]
            seeds = [wrap(np.zeros_like(out._data)) for out in cut]
            which = ", ".join(map(str, group))
            try:
                found = grad(cut, self.wanted, seeds, allow_unused=True)
            except Exception as error:
                warn_of_undefined()
                raise GradcheckError(
                    f"Expected backward function to handle undefined output grads: with None as the gradient of output {which} it raised "
                    f"{type(error).__name__}: {error}\n"
                    "  fix: test each gradient with `is None`, or leave out ctx.set_materialize_grads(False)"
                ) from error
            if any(g is not None and np.any(g._data) for g in found):
                warn_of_undefined()
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"output {which} had no gradient, but an input got one\n"
                    "  fix: return None from backward where the gradient of the output is None"
                )


    # ---- under vmap -------------------------------------------------------------------------------------------------------------

    def batches(self, backward: bool, forward: bool) -> None:
        """Derivatives in several directions at once have to be those in one direction after the other."""
        if backward:
            for number, out in enumerate(self.outputs() if any(x.requires_grad for x in self.outputs()) else []):
                seeds = [random_array(self.rng, tuple(out.shape), out._data.dtype) for _ in range(2)]
                self.compare_batch(lambda seed, out=out: self.batch_of_vjps(out, seed), seeds, f"For output {number}", "gradients")
        if forward:
            for number, x in enumerate(self.wanted):
                tangents = [random_array(self.rng, tuple(x.shape), x._data.dtype) for _ in range(2)]
                self.compare_batch(
                    lambda tangent, number=number: self.batch_of_jvps(number, tangent), tangents, f"For input {number}", "forward gradients"
                )

    def batch_of_vjps(self, output: Tensor, seed: Tensor) -> tuple[Tensor, ...]:
        found = grad([output], self.wanted, [seed], retain_graph=True, allow_unused=True)
        return tuple(x.detach() * 0 if g is None else g for g, x in zip(found, self.wanted, strict=True))

    def batch_of_jvps(self, input: int, tangent: Tensor) -> tuple[Tensor, ...]:
        with forward_ad.dual_level():
            duals = [forward_ad.unpack_dual(out) for out in self.outputs(self.duals(input, tangent))]
            return tuple(dual.primal.detach() * 0 if dual.tangent is None else dual.tangent for dual in duals)

    def compare_batch(self, derivative: Func, directions: list[Array], title: str, what: str) -> None:
        from ..func import vmap

        one_by_one = [derivative(wrap(direction)) for direction in directions]
        try:
            together = vmap(derivative)(wrap(np.stack(directions)))
        except Exception as error:
            raise GradcheckError(
                f"While computing batched {what}, got: {error}\n\ngradcheck or gradgradcheck failed while testing batched gradient "
                "computation"
            ) from error
        for place, found in enumerate(together):
            expected = np.stack([row[place]._data for row in one_by_one])
            if not np.allclose(found._data, expected, self.rtol, self.atol):
                raise GradcheckError(
                    f"{title}, derivative {place}: gradcheck or gradgradcheck failed while testing batched gradient computation\n"
                    f"one by one:{wrap(expected)!r}\ntogether:{found!r}"
                )


def warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers "
        'of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=2,
    )


class WithoutGradient(Function):
    """The identity, whose gradient is absent."""

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Tensor:
        return input.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return None


def checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """Where the inputs that require grad are; they must be fit for finite differences."""
    places = []
    for place, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        places.append(place)
        if x._data.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will likely fail if "
                f"all the inputs are not of double precision floating point or complex. It is {x.dtype}; use x.double().",
                stacklevel=4,
            )
        if overlaps_itself(x._data):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            )
    if not places:
        raise ValueError(
            spelled(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.\n"
                "  fix: pass for example torch.randn(3, dtype=torch.double, requires_grad=True)"
            )
        )
    return places


@contextmanager
def moved(tensor: Tensor, by: Array) -> Iterator[None]:
    """Change the values of a tensor for a moment. In place and unseen by autograd: the function may hold the tensor by itself."""
    array = tensor._data
    before = array.copy()
    array[...] = before + by
    try:
        yield
    finally:
        array[...] = before


def largest_difference(some: list[Array], others: list[Array]) -> float:
    return max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(some, others, strict=True))


def one_hot(array: Array, index: tuple[int, ...], unit: complex) -> Array:
    hot: Array = np.zeros_like(array)
    hot[index] = unit
    return hot


def unit_length(array: Array) -> Array:
    norm = np.sqrt(np.sum(np.abs(array) ** 2))
    return np.asarray(array / norm if norm else array, array.dtype)


def real_dot(a: Array, b: Array) -> float:
    """The inner product of two arrays, complex numbers taken as pairs of real ones."""
    return float(np.real(np.sum(np.conjugate(a) * b)))
