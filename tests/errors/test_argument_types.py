"""Functions written in Python say which argument is no tensor, as PyTorch's do."""

from __future__ import annotations

import inspect
import pickle
from types import FunctionType

import pytest

import adjoint as ad
from adjoint.ops._generated import tensors_among
from adjoint.ops._registry import FUNCTIONS, composite

CALLS = {
    "var(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.var([1.0, 2.0]),
    "sort(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.sort("abc"),
    "cosine_similarity(): argument 'x2' (position 2) must be Tensor, not NoneType": lambda: ad.cosine_similarity(ad.ones(2), None),
    "linalg_eigvals(): argument 'A' (position 1) must be Tensor, not str": lambda: ad.linalg.eigvals("abc"),
    "linalg_pinv(): argument 'A' (position 1) must be Tensor, not int": lambda: ad.linalg.pinv(3),
    "linalg_solve(): argument 'B' (position 2) must be Tensor, not list": lambda: ad.linalg.solve(ad.eye(2), [1, 0]),
    "fft_rfft(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.fft.rfft("abc"),
    "flatten(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.flatten([1.0, 2.0]),
    "clamp(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.clamp([1.0], 0, 1),
    "detach(): argument 'input' (position 1) must be Tensor, not float": lambda: ad.detach(3.0),
    "where(): argument 'condition' (position 1) must be Tensor, not bool": lambda: ad.where(True, ad.ones(2), 0.0),
    "bincount(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.bincount([1, 2]),
    "dist(): argument 'other' (position 2) must be Tensor, not float": lambda: ad.dist(ad.ones(2), 3.0),
    "cdist(): argument 'x1' (position 1) must be Tensor, not list": lambda: ad.cdist([[1.0]], ad.ones(1, 1)),
    "layer_norm(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.layer_norm([1.0], (1,)),
    "rrelu(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.rrelu([1.0], 1, 0),
    "slice_copy(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.slice_copy([1.0]),
    "expected Tensor as element 0 in argument 0, but got float": lambda: ad.atleast_1d(3.0),
    "expected Tensor as element 1 in argument 0, but got list": lambda: ad.meshgrid(ad.ones(2), [1.0], indexing="ij"),
}


@pytest.mark.parametrize("text", CALLS)
def test_the_argument_is_named(text):
    with pytest.raises(TypeError) as info:
        CALLS[text]()
    assert str(info.value).splitlines()[0] == text


def wanted(fn):
    return [p for p in inspect.signature(fn).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]


WRITTEN = {
    fn.__name__: fn
    for fn in FUNCTIONS.values()
    if not hasattr(fn, "op") and isinstance(fn, FunctionType) and tensors_among(fn) and wanted(fn)
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_function_refuses_what_is_no_tensor(name):
    with pytest.raises(TypeError):
        WRITTEN[name](*["abc"] * len(wanted(WRITTEN[name])))


def test_methods_say_so_too():
    with pytest.raises(TypeError, match=r"cross\(\): argument 'other' \(position 2\) must be Tensor, not str"):
        ad.ones(3).cross("abc")
    with pytest.raises(TypeError, match=r"equal\(\): argument 'other' \(position 2\) must be Tensor, not list"):
        ad.ones(3).equal([1.0])


def test_other_missing_attributes_stay_what_they_are(monkeypatch):
    monkeypatch.delattr("adjoint.linalg._linalg.linalg_slogdet")
    with pytest.raises(AttributeError, match="linalg_slogdet"):
        ad.linalg.slogdet(ad.eye(2))


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="start_dim cannot come after end_dim"):
        ad.flatten(ad.ones(2, 2), 1, 0)
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max'"):
        ad.clamp(ad.ones(2))


def test_methods_that_take_no_further_tensor_are_called_directly():
    def doubled_twice(input: ad.Tensor) -> ad.Tensor:
        return input * 4

    try:
        assert composite()(doubled_twice) is vars(ad.Tensor.__base__)["doubled_twice"] is doubled_twice
        assert FUNCTIONS["doubled_twice"] is not doubled_twice and FUNCTIONS["doubled_twice"](ad.ones(1)).item() == 4
    finally:
        FUNCTIONS.pop("doubled_twice")
        delattr(ad.Tensor.__base__, "doubled_twice")


def test_functions_can_be_pickled():
    for fn in (ad.flatten, ad.clamp, ad.var, ad.where, ad.layer_norm):
        assert pickle.loads(pickle.dumps(fn)) is fn


def test_linear_algebra_and_transforms_take_the_names_of_numpy():
    x = ad.tensor([[3.0, 1.0], [4.0, 1.0]])
    assert ad.linalg.norm(x, axis=0, keepdims=True).equal(ad.linalg.norm(x, dim=0, keepdim=True))  # type: ignore[call-arg]
    assert ad.fft.fft(x, axis=0).equal(ad.fft.fft(x, dim=0))  # type: ignore[call-arg]
    assert ad.fft.fftn(x, axis=(0,)).equal(ad.fft.fftn(x, dim=(0,)))  # type: ignore[call-arg]
