"""`linalg` and `fft` against PyTorch: what the samples cannot say, because it is about names, or about functions of several results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

DECOMPOSITIONS = ("eigh", "eig", "svd", "qr", "lu", "lu_factor", "lu_factor_ex", "slogdet", "cholesky_ex", "inv_ex")


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_named_results(name: str) -> None:
    x = random(3, 3)
    x = x @ x.T + np.eye(3)
    ours, theirs = (getattr(lib.linalg, name)(lib.from_numpy(x.copy())) for lib in (ad, torch))
    assert type(ours).__name__ == type(theirs).__name__
    assert [field for field in dir(type(ours)) if field in type(theirs).__match_args__] == sorted(type(theirs).__match_args__)
    for our, their in zip(ours, theirs, strict=True):
        assert str(our.dtype) == str(their.dtype)
        np.testing.assert_allclose(np.abs(our.numpy()), np.abs(their.numpy()), rtol=1e-9, atol=1e-12)


def invariant(lib: Any, x: Any, name: str) -> Any:
    """A number that does not depend on signs and phases."""
    la = lib.linalg
    if name == "eigh":
        values, vectors = la.eigh(x + x.mH)
        return (values * (vectors.abs() ** 4).sum(-2)).sum()
    if name == "eig":
        values, vectors = la.eig(x)
        return (values.abs() * (vectors.abs() ** 4).sum(-2)).sum()
    if name == "svd":
        u, s, vh = la.svd(x)
        return (s * (u.abs() ** 4).sum(-2)).sum() + ((u[..., :1] @ vh[..., :1, :]).abs() ** 4).sum()
    if name == "qr":
        q, r = la.qr(x)
        return (q.abs() ** 4).sum() + (r.abs() ** 3).sum()
    if name == "lstsq":
        return (la.lstsq(x, x[..., :1] * 2 + 1).solution.abs() ** 2).sum() + (la.lstsq(x[..., :2], x).solution.abs() ** 3).sum()
    if name == "lu":
        _, lower, upper = la.lu(x)
        return (lower.abs() ** 2).sum() + (upper.abs() ** 3).sum()
    raise AssertionError(name)


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", ["eigh", "eig", "svd", "qr", "lstsq", "lu"])
def test_gradients_through_decompositions(name: str, complex: bool) -> None:
    x = random(2, 3, 3) + (1j * random(2, 3, 3, seed=1) if complex else 0)
    results = []
    for lib in (ad, torch):
        leaf = lib.from_numpy(x.copy()).requires_grad_()
        (first,) = lib.autograd.grad(invariant(lib, leaf, name), leaf, create_graph=True)
        (second,) = lib.autograd.grad((first.abs() ** 2).sum(), leaf)
        results.append((first.detach().numpy(), second.resolve_conj().numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("module", ["linalg", "fft"])
def test_names(module: str) -> None:
    """Everything public is there."""
    theirs = {name for name, value in vars(getattr(torch, module)).items() if callable(value) and not name.startswith("_")}
    theirs -= {"Tensor", "common_notes"}
    assert theirs - set(dir(getattr(ad, module))) == set()


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        ours, theirs = (getattr(lib.fft, name)(n, d=0.5) for lib in (ad, torch))
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy())
        assert getattr(ad.fft, name)(n, dtype=ad.float64).dtype is ad.float64


@pytest.mark.filterwarnings("ignore:torch")  # some are deprecated there
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("svd", ()), ("qr", ()), ("inverse", ()), ("det", ()), ("slogdet", ()), ("logdet", ()), ("pinverse", ()), ("matrix_exp", ()),
        ("matrix_power", (2,)), ("trace", ()), ("cholesky", ()),
    ],
)  # fmt: skip
def test_methods(name: str, args: tuple[Any, ...]) -> None:
    x = random(3, 3)
    x = x @ x.T + np.eye(3)
    ours, theirs = (getattr(lib.from_numpy(x.copy()), name)(*args) for lib in (ad, torch))
    if isinstance(theirs, tuple):
        assert repr(type(ours)) == repr(type(theirs))
    else:
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inv", 0.0), ("lu_factor", 0.0), ("cholesky", 0.0), ("cholesky", np.nan), ("svd", np.nan), ("svdvals", np.nan),
        ("eig", np.nan), ("eig", np.inf),
    ],
)  # fmt: skip
def test_matrices_that_are_refused(name: str, value: float, shape: tuple[int, ...]) -> None:
    x = np.broadcast_to(np.eye(3), shape).copy()
    x[..., 1, 1] = value
    messages = []
    for lib in (ad, torch):
        with pytest.raises(RuntimeError) as caught:
            getattr(lib.linalg, name)(lib.tensor(x))
        messages.append(str(caught.value).partition("\n")[0])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("order", ["fro", "nuc", 2, -2, 1, -1, float("inf"), -float("inf")])
def test_norms_of_nothing(order: Any, shape: tuple[int, ...]) -> None:
    results: list[Any] = []
    for lib in (ad, torch):
        try:
            results.append(lib.linalg.matrix_norm(lib.zeros(shape), order).tolist())
        except IndexError as error:
            results.append(str(error).partition(" dim ")[0])
        if shape == (0, 0):
            assert lib.linalg.cond(lib.zeros(shape), order).item() == 0
    assert results[0] == results[1]


@pytest.mark.parametrize("a,b", [((2, 3, 3), (3,)), ((3, 3), (2, 3, 1)), ((3,), (3,)), ((3, 3), (2, 3))])
def test_sides_of_least_squares_that_do_not_fit(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    messages = []
    for lib in (torch, ad):
        with pytest.raises(RuntimeError) as caught:
            lib.linalg.lstsq(lib.ones(a), lib.ones(b))
        messages.append(str(caught.value).partition("\n")[0])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("a,b", [((4, 3), (4, 2)), ((3, 4), (3, 2)), ((2, 5, 3), (2, 5, 2)), ((2, 5, 3), (2, 5)), ((4, 3), (4,))])
def test_strides_of_least_squares(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    found, expected = (lib.linalg.lstsq(lib.ones(a), lib.ones(b)).solution for lib in (ad, torch))
    assert found.stride() == expected.stride()
