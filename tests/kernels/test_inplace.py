"""In-place forms: the kernel that writes into its first argument gives what the op gives, and writes nothing it should not."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops._codegen import ways
from adjoint.ops._compiled import muted
from adjoint.ops._inplace_codegen import kernel_for, plain_write
from adjoint.ops._registry import OPS

FORMS = [
    (name, kinds)
    for name, op in sorted(OPS.items())
    if hasattr(op, "inplace_function") and op.broadcasts and op.floats and op.args[0] == op.inputs[0]
    for kinds in ways(op)
]
PASSED_ON = ("clamp_number",)  # for whose default numbers, None, no loop is made
KERNELS = 70  # at least so many forms have one


def arguments(name: str, kinds: str, dtype: str) -> list[object]:
    op, random = OPS[name], np.random.default_rng(1)
    given = dict(zip(op.inputs, kinds, strict=True))
    defaults = op.default_values()

    def argument(arg: str) -> object:
        if given.get(arg) == "T":
            masks = op.differentiable and arg not in op.rules
            return random.random((3, 111)) < 0.5 if masks else random.uniform(0.1, 0.9, (3, 111)).astype(dtype)
        return defaults.get(arg, 0.5 if arg not in op.optional else None)

    return [argument(arg) for arg in op.args]


def has_kernel(name: str, kinds: str) -> bool:
    plain = plain_write(OPS[name])
    return kernel_for(OPS[name], kinds, plain) is not plain


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "kinds"), FORMS)
def test_kernel_writes_what_the_op_computes(name: str, kinds: str, dtype: str) -> None:
    values = arguments(name, kinds, dtype)
    try:
        expected = muted(OPS[name])(*[x.copy() if isinstance(x, np.ndarray) else x for x in values])
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return  # these numbers are none that the op takes
    if expected.dtype != dtype or expected.shape != (3, 111):
        return

    plain, passed = plain_write(OPS[name]), []

    def pass_on(*args: object) -> None:
        passed.append(name)
        plain(*args)

    write = kernel_for(OPS[name], kinds, pass_on)
    if write is pass_on:
        return
    others = [x.copy() for x in values[1:] if isinstance(x, np.ndarray)]
    write(*values)
    assert passed == ([name] if name in PASSED_ON else [])
    np.testing.assert_allclose(values[0], expected, rtol=3e-6 if dtype == "float32" else 1e-13, atol=1e-7)
    for kept, x in zip(others, (x for x in values[1:] if isinstance(x, np.ndarray)), strict=True):
        np.testing.assert_array_equal(kept, x)


def test_most_forms_have_a_kernel() -> None:
    assert sum(has_kernel(name, kinds) for name, kinds in FORMS) >= KERNELS


def test_expanded_target_is_refused_by_the_kernel_too() -> None:
    x = ad.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.add_(1.0)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_large_write_is_the_same_with_any_number_of_threads() -> None:
    start, results = ad.linspace(0, 1, 1_000_000), []
    for threads in (1, 2, 3):
        before = ad.get_num_threads()
        ad.set_num_threads(threads)
        try:
            x = start.clone()
            results.append(x.add_(x).add_(0.5).numpy())
        finally:
            ad.set_num_threads(before)
    np.testing.assert_array_equal(results[0], start.numpy() * 2 + np.float32(0.5))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_read_only_memory_is_not_written() -> None:
    array = np.ones(4, "float32")
    x = ad.from_numpy(array)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1.0)
    assert array.tolist() == [1.0] * 4
