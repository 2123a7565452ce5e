"""Every op against PyTorch, on all samples: values, dtypes, shapes, gradients, and errors."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops._registry import OPS
from tests.ops._check import Call, data, our_function
from tests.ops.samples import Dtype, Row, Sample, converted, load

torch = pytest.importorskip("torch")

ROWS = load()
TOLERANCES = {"float64": (1e-9, 1e-11), "float32": (2e-5, 2e-6), "float16": (4e-3, 2e-3), "bfloat16": (2e-2, 1e-2)}
TOLERANCES |= {"complex128": TOLERANCES["float64"], "complex64": TOLERANCES["float32"]}
SINGLE = {"float64": "float32", "complex128": "complex64"}


def torch_function(row: Row) -> Any:
    """PyTorch's function for a row."""
    if row.torch is not None:
        found: Any = torch
        for part in row.torch.split("."):
            found = getattr(found, part)
        return found
    for place in (torch, torch.nn.functional, torch.special, torch.linalg, torch.Tensor):
        if hasattr(place, row.name):
            return getattr(place, row.name)
    raise AttributeError(f"PyTorch has no {row.name!r}; say which function it is: @samples(..., torch=...)")


def torch_dtype(name: str) -> Any:
    return getattr(torch, name)


def torch_call(row: Row, sample: Any, requires_grad: bool = False) -> tuple[Any, list[Any]]:
    """The result of PyTorch, and the tensors that it was given."""
    given: list[Any] = []

    def tensor(array: np.ndarray) -> Any:
        made = torch.from_numpy(array.copy(order="K"))
        if requires_grad and array.dtype.kind in "fc":
            made.requires_grad_()
        given.append(made)
        return made

    args = converted(sample.args, tensor, torch_dtype)
    kwargs = {name: converted(value, tensor, torch_dtype) for name, value in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch_function(row)(*args, **kwargs), given


def in_single_precision(sample: Sample) -> Sample | None:
    """The sample with float32 in place of float64; None where it is about other dtypes."""
    dtypes: set[str] = set()

    def single(array: np.ndarray) -> np.ndarray:
        dtypes.add(array.dtype.name)
        return array.astype(SINGLE.get(array.dtype.name, array.dtype))

    changed = copy.copy(sample)
    changed.args = converted(sample.args, single, Dtype)
    changed.kwargs = {name: converted(value, single, Dtype) for name, value in sample.kwargs.items()}
    floating = {name for name in dtypes if name[0] in "fc"}
    return changed if floating and floating <= set(SINGLE) else None


def outputs_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def compare(ours: Any, theirs: Any, rtol: float | None, what: str) -> None:
    if not isinstance(theirs, torch.Tensor):
        assert ours == theirs, f"{what}: {ours}, PyTorch {theirs}"
        return
    assert str(ours.dtype) == str(theirs.dtype), f"{what}: dtype {ours.dtype}, PyTorch {theirs.dtype}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: shape {ours.shape}, PyTorch {theirs.shape}"
    default_rtol, atol = TOLERANCES.get(str(theirs.dtype).removeprefix("torch."), (0, 0))
    theirs = theirs.detach().resolve_conj()
    if ("conv" in what or "grid_sample" in what) and theirs.dtype == torch.float32 and theirs.numel():
        # Hundreds of products in another order than PyTorch's: where they cancel, what is left is as exact as the largest result.
        atol *= max(1.0, float(theirs.abs().nan_to_num(nan=0.0, posinf=0.0).max()))
    message = f"{what} (actual: adjoint, desired: PyTorch)"
    np.testing.assert_allclose(
        np.asarray(data(ours)), theirs.numpy(force=True), max(rtol or 0, default_rtol), atol, err_msg=message
    )


def compare_gradients(row: Row, sample: Sample, what: str) -> None:
    call = Call(row, sample)
    tensors = call.tensors()
    for tensor in tensors:
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.requires_grad_()
    ours = list(call(tensors))
    result, given = torch_call(row, sample, requires_grad=True)
    theirs = outputs_of(result)
    for our, their in zip(ours, theirs, strict=True):
        if not isinstance(their, torch.Tensor):
            continue
        assert our.requires_grad == their.requires_grad, f"{what}: requires_grad"
        if their.requires_grad:
            weight = np.random.default_rng(0).uniform(0.5, 1.5, tuple(their.shape))
            weight = np.asarray(weight).astype(str(their.dtype).removeprefix("torch."))
            our.backward(ad.from_numpy(weight), retain_graph=True)
            their.backward(torch.from_numpy(weight), retain_graph=True)
    for our, their in zip(tensors, given, strict=True):
        if our.grad is not None or their.grad is not None:
            ours_grad = our.grad if our.grad is not None else our.detach() * 0
            theirs_grad = their.grad if their.grad is not None else their.detach() * 0
            compare(ours_grad, theirs_grad, sample.rtol, f"gradient of {what}")


@pytest.mark.parametrize("name", [name for name in sorted(ROWS) if ROWS[name].generators])
def test_values_and_gradients(name: str) -> None:
    row = ROWS[name]
    for sample in row.samples():
        for version in (sample, in_single_precision(sample)):
            if version is None or not sample.torch_values:
                continue
            what = f"{name}{version}"
            call = Call(row, version)
            ours = list(call(call.tensors()))
            theirs = outputs_of(torch_call(row, version)[0])
            for our, their in zip(ours, theirs, strict=True):
                compare(our, their, sample.rtol, what)
            if sample.torch_gradient and (name not in OPS or OPS[name].differentiable):
                compare_gradients(row, version, what)


@pytest.mark.parametrize("name", [name for name in sorted(ROWS) if ROWS[name].error_generators])
def test_errors_are_worded_as_in_torch(name: str) -> None:
    """PyTorch's error has the type and contains the words that the samples ask of ours."""
    row = ROWS[name]
    for sample in row.error_samples():
        if sample.in_torch:
            with pytest.raises(sample.error, match=sample.pattern):
                torch_call(row, sample)


def all_double(sample: Sample) -> bool:
    """Whether all tensors of a sample are positional and in double precision."""
    arrays = [value for value in (*sample.args, *sample.kwargs.values()) if isinstance(value, np.ndarray)]
    return bool(arrays) and all(array.dtype == np.float64 for array in arrays) and not any(
        isinstance(value, np.ndarray) for value in sample.kwargs.values()
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [name for name in sorted(ROWS) if name in OPS and OPS[name].wide and ROWS[name].ours is None])
def test_half_precision(name: str, kind: str) -> None:
    """Elementwise ops compute in single precision and round once."""
    pytest.importorskip("ml_dtypes")
    row = ROWS[name]
    eps = ad.finfo(getattr(ad, kind)).eps

    def single(tensor: Any) -> np.ndarray:
        return np.asarray(data(tensor.detach().float()) if isinstance(tensor, ad.Tensor) else tensor.detach().float().numpy(force=True))

    for sample in [sample for sample in row.samples() if all_double(sample) and sample.differences and sample.torch_values][:4]:
        xs = [ad.from_numpy(v.copy()).to(getattr(ad, kind)) if isinstance(v, np.ndarray) else v for v in sample.args]
        ys = [torch.from_numpy(v.copy()).to(getattr(torch, kind)) if isinstance(v, np.ndarray) else v for v in sample.args]
        try:
            theirs = torch_function(row)(*ys, **sample.kwargs)
        except NotImplementedError:
            return  # PyTorch leaves it out
        ours = our_function(row)(*xs, **sample.kwargs)
        assert str(ours.dtype) == str(theirs.dtype)
        what = f"{name}{sample} in {kind}"
        np.testing.assert_allclose(single(ours), single(theirs), 4 * eps, 4 * eps, err_msg=what)
        if not OPS[name].differentiable or not sample.torch_gradient:
            continue
        for x in xs:
            if isinstance(x, ad.Tensor):
                x.requires_grad_()
        result = our_function(row)(*xs, **sample.kwargs)
        result.backward(ad.ones_like(result))
        assert all(x.grad.dtype is x.dtype for x in xs if isinstance(x, ad.Tensor) and x.grad is not None), what
