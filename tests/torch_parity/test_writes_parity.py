"""In-place forms and writes at indices: the same values, errors, gradients and versions as PyTorch, by kernels and by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

REPEATS = (1, 300)  # cold, and when kernels have taken over
Call = Callable[[Any, Any], Any]  # of a module, torch or adjoint, and a tensor that is changed


def made(module: Any, values: Any, dtype: str = "float32") -> Any:
    return module.tensor(np.asarray(values).tolist(), dtype=getattr(module, dtype)).reshape(np.shape(values))


def placed(module: Any, values: np.ndarray, layout: str, dtype: str = "float32") -> Any:
    """A tensor of these values, as another lies in memory."""
    plain = made(module, values, dtype)
    if layout == "transposed":
        return plain.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "strided":
        wide = module.zeros((*values.shape[:-1], 2 * values.shape[-1]), dtype=plain.dtype)
        return wide[..., ::2].copy_(plain)
    return plain


# ---- an index that is smaller than the tensor ---------------------------------------------------------------------------------------

SHAPES = [  # of a tensor, an index, what is written, and the dimension
    ((5, 7), (3, 7), (3, 7), 0),
    ((5, 7), (3, 4), (3, 4), 0),
    ((5, 7), (3, 4), (4, 9), 0),
    ((5, 7), (2, 9), (2, 9), 1),
    ((5, 7), (2, 9), (3, 9), -1),
    ((4, 3, 6), (2, 5, 6), (2, 5, 6), 1),
    ((4, 3, 6), (4, 5, 2), (4, 5, 3), 1),
    ((4, 3, 6), (2, 5, 2), (2, 5, 2), 1),
    ((4, 3, 6), (2, 1, 2), (2, 1, 2), 0),
    ((4, 3, 6), (1, 2, 8), (1, 2, 8), 2),
    ((4, 3, 5, 2), (3, 2, 4, 2), (3, 2, 4, 2), 2),
    ((6,), (9,), (11,), 0),
    ((3, 400), (2, 300), (2, 350), 0),
]


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
@pytest.mark.parametrize(("shape", "indexed", "given", "dim"), SHAPES)
def test_smaller_index(shape: Any, indexed: Any, given: Any, dim: int, dtype: str, repeats: int) -> None:
    rng = np.random.default_rng(sum(shape))
    values, source, index = rng.integers(-9, 9, shape), rng.integers(-9, 9, given), rng.integers(0, shape[dim], indexed)
    calls: dict[str, Call] = {
        "gather": lambda m, x: x.gather(dim, made(m, index, "int64")),
        "scatter_": lambda m, x: x.scatter_(dim, made(m, index, "int64"), made(m, source, dtype)),
        "scatter_ a number": lambda m, x: x.scatter_(dim, made(m, index, "int64"), 3),
        "scatter_add_": lambda m, x: x.scatter_add_(dim, made(m, index, "int64"), made(m, source, dtype)),
        "scatter_add": lambda m, x: x.scatter_add(dim, made(m, index, "int64"), made(m, source, dtype)),
    }
    for reduce in ("amax", "sum"):
        for include in (True, False):
            calls[f"scatter_reduce_ {reduce} {include}"] = lambda m, x, reduce=reduce, include=include: x.scatter_reduce_(
                dim, made(m, index, "int64"), made(m, source, dtype), reduce, include_self=include
            )
    for name, call in calls.items():
        for _ in range(repeats if repeats == 1 else 30):
            got = call(ad, made(ad, values, dtype))
        wanted = call(torch, made(torch, values, dtype))
        np.testing.assert_array_equal(got.double().numpy(), wanted.double().numpy(), err_msg=name)


# ---- values and errors --------------------------------------------------------------------------------------------------------------

INDEX, ROWS = [[0, 2, 1], [2, 2, 0], [1, 0, 1]], [2, 0]
MASK = [[True, False, True], [False, False, True], [True, True, False]]
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "complex64")
WRITES: dict[str, Call] = {
    "cumsum_": lambda m, x: x.cumsum_(0),
    "cumprod_": lambda m, x: x.cumprod_(-1),
    "tril_": lambda m, x: x.tril_(1),
    "triu_": lambda m, x: x.triu_(diagonal=-1),
    "scatter_": lambda m, x: x.scatter_(0, made(m, INDEX, "int64"), m.ones(3, 3).to(x.dtype)),
    "scatter_ axis": lambda m, x: x.scatter_(axis=1, index=made(m, INDEX, "int64"), value=2),
    "scatter_add_": lambda m, x: x.scatter_add_(dim=1, index=made(m, INDEX, "int64"), src=m.ones(3, 3).to(x.dtype)),
    "scatter_reduce_": lambda m, x: x.scatter_reduce_(0, made(m, INDEX, "int64"), m.ones(3, 3).to(x.dtype), "amin", include_self=False),
    "index_add_": lambda m, x: x.index_add_(0, made(m, ROWS, "int64"), m.ones(2, 3).to(x.dtype)),
    "index_add_ axis": lambda m, x: x.index_add_(axis=1, index=made(m, ROWS, "int64"), source=m.ones(3, 2).to(x.dtype), alpha=1),
    "index_copy_": lambda m, x: x.index_copy_(1, made(m, ROWS, "int64"), m.ones(3, 2).to(x.dtype)),
    "index_fill_": lambda m, x: x.index_fill_(0, made(m, ROWS, "int64"), 1),
    "index_reduce_": lambda m, x: x.index_reduce_(0, made(m, ROWS, "int64"), m.ones(2, 3).to(x.dtype), "amax", include_self=False),
    "masked_fill_": lambda m, x: x.masked_fill_(made(m, MASK, "bool"), 1),
    "masked_scatter_": lambda m, x: x.masked_scatter_(made(m, MASK, "bool"), m.ones(9).to(x.dtype)),
    "put_": lambda m, x: x.put_(made(m, [8, -9], "int64"), m.ones(2).to(x.dtype)),
    "put_ added": lambda m, x: x.put_(made(m, [8, 8], "int64"), m.ones(2).to(x.dtype), accumulate=True),
    "index_put_": lambda m, x: x.index_put_((made(m, ROWS, "int64"), made(m, [1, -1], "int64")), m.ones(2).to(x.dtype)),
    "index_put_ added": lambda m, x: x.index_put_((made(m, [1, 1], "int64"), made(m, [0, 0], "int64")), m.ones(2).to(x.dtype), True),
    "copy_": lambda m, x: x.copy_(m.ones(3).to(x.dtype)),
    "fill_": lambda m, x: x.fill_(1),
    "zero_": lambda m, x: x.zero_(),
    "fill_diagonal_": lambda m, x: x.fill_diagonal_(1),
}


@pytest.mark.parametrize("layout", ["plain", "transposed", "strided"])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in WRITES for dtype in DTYPES if dtype != "complex64" or "reduce" not in name],  # which have no order
)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_values(name: str, dtype: str, layout: str) -> None:
    values = np.arange(9).reshape(3, 3) - 4
    target, wanted = placed(ad, values, layout, dtype), placed(torch, values, layout, dtype)
    for _ in range(3):
        assert WRITES[name](ad, target) is target
        WRITES[name](torch, wanted)
    assert target.tolist() == wanted.tolist()
    assert target._version == wanted._version


@pytest.mark.parametrize("name", WRITES)
def test_leaf_is_refused_and_keeps_its_value(name: str) -> None:
    target, wanted = (m.ones(3, 3, dtype=m.float64, requires_grad=True) for m in (ad, torch))
    for module, x in ((ad, target), (torch, wanted)):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            WRITES[name](module, x)
    assert target._version == 0
    assert target.tolist() == wanted.tolist()
    with ad.no_grad():
        assert WRITES[name](ad, target) is target
    assert target._version == 1


@pytest.mark.parametrize("seen_through", ["itself", "view"])
@pytest.mark.parametrize("name", [name for name in WRITES if name not in ("index_reduce_", "scatter_reduce_")])
def test_gradients(name: str, seen_through: str) -> None:
    grads = []
    for module in (ad, torch):
        rows = 4 if seen_through == "view" else 3
        leaf = made(module, (np.arange(3.0 * rows).reshape(rows, 3) - 5.2) / 3, "float64").requires_grad_()
        whole = leaf * leaf
        WRITES[name](module, whole[1:] if seen_through == "view" else whole)
        (whole * whole).sum().backward()
        grads.append(leaf.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-12)


OVERLAPPING: dict[str, Call] = {
    "scatter_": lambda m, x: x.scatter_(0, made(m, [1, 2, 3], "int64"), x[:3]),
    "scatter_add_": lambda m, x: x.scatter_add_(0, made(m, [1, 2, 3], "int64"), x[:3]),
    "index_add_": lambda m, x: x.index_add_(0, made(m, [1, 2, 3], "int64"), x[:3]),
    "index_copy_": lambda m, x: x.index_copy_(0, made(m, [1, 2, 3], "int64"), x[:3]),
    "put_": lambda m, x: x.put_(made(m, [1, 2, 3], "int64"), x[:3]),
    "add_": lambda m, x: x[1:].add_(x[:3]),
    "copy_": lambda m, x: x[1:].copy_(x[:3]),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_source_on_the_targets_memory_is_refused(name: str) -> None:
    for module in (ad, torch):
        x = made(module, np.arange(4.0), "float64")
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"):
            OVERLAPPING[name](module, x)
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


BAD: dict[str, Call] = {
    "scatter_ bounds": lambda m, x: x.scatter_(0, made(m, [[0, 3, 1]], "int64"), m.ones(1, 3)),
    "scatter_add_ bounds": lambda m, x: x.scatter_add_(0, made(m, [[0, 1, -1]], "int64"), m.ones(1, 3)),
    "scatter_reduce_ bounds": lambda m, x: x.scatter_reduce_(0, made(m, [[0, 1, 3]], "int64"), m.ones(1, 3), "sum", include_self=False),
    "scatter_ dtype": lambda m, x: x.scatter_(0, made(m, [[0]], "int64"), m.ones(1, 1, dtype=m.float64)),
    "scatter_add_ shape": lambda m, x: x.scatter_add_(0, made(m, INDEX, "int64"), m.ones(2, 3)),
    "index_copy_ bounds": lambda m, x: x.index_copy_(0, made(m, [0, 3], "int64"), m.ones(2, 3)),
    "index_fill_ bounds": lambda m, x: x.index_fill_(0, made(m, [0, 3], "int64"), 1.0),
    "put_ bounds": lambda m, x: x.put_(made(m, [0, 9], "int64"), m.ones(2)),
    "index_put_ bounds": lambda m, x: x.index_put_((made(m, [0, 3], "int64"), made(m, [0, 0], "int64")), m.ones(2), True),
    "masked_scatter_ too few": lambda m, x: x.masked_scatter_(made(m, MASK, "bool"), m.ones(2)),
    "cumsum_ dim": lambda m, x: x.cumsum_(2),
    "cumsum_ nothing": lambda m, x: x.cumsum_(),
    "cumsum_ name": lambda m, x: x.cumsum_(0, foo=1),
    "scatter_add_ missing": lambda m, x: x.scatter_add_(0),
    "scatter_ missing": lambda m, x: x.scatter_(0, made(m, INDEX, "int64")),
    "scatter_add_ number": lambda m, x: x.scatter_add_(0, 1, m.ones(2)),
    "expanded": lambda m, x: m.zeros(1, 3).expand(3, 3).scatter_add_(0, made(m, INDEX, "int64"), m.ones(3, 3)),
    "expanded cumsum_": lambda m, x: m.zeros(1, 3).expand(3, 3).cumsum_(0),
}


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("name", BAD)
def test_errors_come_before_the_first_write(name: str, repeats: int) -> None:
    with pytest.raises(Exception) as theirs:
        BAD[name](torch, torch.zeros(3, 3))
    target = ad.zeros(3, 3)
    for _ in range(repeats if repeats == 1 else 20):
        with pytest.raises(theirs.type):
            BAD[name](ad, target)
    assert target.tolist() == np.zeros((3, 3)).tolist()
    assert target._version == 0


def test_recorded_write_keeps_the_value_that_it_destroys() -> None:
    for write in (lambda m, y: y.mul_(y.detach() + 1), lambda m, y: m.nn.functional.leaky_relu_(y, 0.1), lambda m, y: y.pow_(3),
                  lambda m, y: y.sin_().cos_()):  # fmt: skip
        found = []
        for module in (ad, torch):
            leaf = made(module, [-1.5, 0.5, 2.0], "float64").requires_grad_()
            y = leaf * 2
            write(module, y)
            (first,) = module.autograd.grad(y.sum(), leaf, create_graph=True)
            (second,) = module.autograd.grad((first * leaf).sum(), leaf)
            found.append((y.tolist(), y._version, first.tolist(), second.tolist()))
        assert found[0][1] == found[1][1]
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
        np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-12)
        np.testing.assert_allclose(found[0][3], found[1][3], rtol=1e-12)


def test_operand_that_is_the_target_has_its_gradient() -> None:
    """PyTorch refuses this in the backward pass: it keeps no copy of what was written over."""
    leaf = ad.ones(3, requires_grad=True)
    y = leaf * 2
    y.mul_(y)
    assert y.tolist() == [4.0, 4.0, 4.0]
    y.sum().backward()
    assert leaf.grad.tolist() == [8.0, 8.0, 8.0]


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # in PyTorch
@pytest.mark.parametrize("name", ["scatter_add_", "index_add_", "index_copy_", "masked_fill_", "cumsum_", "tril_", "index_put_ added"])
def test_inside_transforms(name: str) -> None:
    values = (np.arange(18.0).reshape(2, 3, 3) - 8.5) / 4
    results = []
    for module in (ad, torch):
        x = made(module, values, "float64")

        def written(row: Any, module: Any = module) -> Any:
            return WRITES[name](module, row * row)

        batch = module.func.vmap(written)(x)
        grad = module.func.grad(lambda row, written=written: (written(row) ** 2).sum())(x[0])
        results.append((batch.tolist(), grad.tolist()))
    np.testing.assert_allclose(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1])


def test_subclasses_see_writes() -> None:
    seen: list[str] = []

    class Watching(ad.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = ad.zeros(3, 3).as_subclass(Watching)
    for name in ("cumsum_", "tril_", "scatter_", "scatter_add_", "index_add_", "index_copy_", "index_fill_", "masked_scatter_", "put_"):
        seen.clear()
        WRITES[name](ad, x)
        assert name in seen
