"""Functions written in Python say which argument is no tensor, as PyTorch's do, where they have a wrapper that takes NumPy's names."""

from __future__ import annotations

import pytest

import adjoint as ad

CALLS = {
    "var(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.var([1.0, 2.0]),
    "sort(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.sort("abc"),
    "cosine_similarity(): argument 'x2' (position 2) must be Tensor, not NoneType": lambda: ad.cosine_similarity(ad.ones(2), None),
    "linalg_eigvals(): argument 'A' (position 1) must be Tensor, not str": lambda: ad.linalg.eigvals("abc"),
    "linalg_pinv(): argument 'A' (position 1) must be Tensor, not int": lambda: ad.linalg.pinv(3),
    "linalg_solve(): argument 'B' (position 2) must be Tensor, not list": lambda: ad.linalg.solve(ad.eye(2), [1, 0]),
    "fft_rfft(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.fft.rfft("abc"),
}


@pytest.mark.parametrize("text", CALLS)
def test_the_argument_is_named(text):
    with pytest.raises(TypeError) as info:
        CALLS[text]()
    assert str(info.value).splitlines()[0] == text


def test_methods_say_so_too():
    with pytest.raises(TypeError, match=r"cross\(\): argument 'other' \(position 2\) must be Tensor, not str"):
        ad.ones(3).cross("abc")


def test_other_missing_attributes_stay_what_they_are(monkeypatch):
    monkeypatch.delattr("adjoint.linalg._linalg.linalg_slogdet")
    with pytest.raises(AttributeError, match="linalg_slogdet"):
        ad.linalg.slogdet(ad.eye(2))


def test_linear_algebra_and_transforms_take_the_names_of_numpy():
    x = ad.tensor([[3.0, 1.0], [4.0, 1.0]])
    assert ad.linalg.norm(x, axis=0, keepdims=True).equal(ad.linalg.norm(x, dim=0, keepdim=True))  # type: ignore[call-arg]
    assert ad.fft.fft(x, axis=0).equal(ad.fft.fft(x, dim=0))  # type: ignore[call-arg]
    assert ad.fft.fftn(x, axis=(0,)).equal(ad.fft.fftn(x, dim=(0,)))  # type: ignore[call-arg]
