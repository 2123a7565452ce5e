"""Kernels of whole steps (optimizers, cells, attention, triangular systems) against what NumPy computes where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import cell_loops, factored_loops, outer_loops, products, rounding_loops, triangular_loops
from adjoint._kernels.memory import HUGE
from adjoint.ops import attention, matmul

random = np.random.default_rng(5)


def normal(*shape, dtype="float32"):
    return random.standard_normal(shape).astype(dtype)


def close(ours, theirs, scale=1.0):
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=50 * scale * np.finfo(a.dtype).eps, atol=20 * scale * np.finfo(a.dtype).eps)


def both_ways(monkeypatch, kernels, compute):
    """What is computed with compiled kernels, and without."""
    compiled = compute()
    assert all(kernel.run != kernel.first for kernel in kernels)
    for kernel in kernels:
        monkeypatch.setattr(kernel, "run", lambda *args: None)
    return compiled, compute()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("settings", [{}, dict(maximize=True, weight_decay=0.1)])
def test_adafactor(monkeypatch, dtype, settings):
    arrays = [(normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)) for shape in ((3, 5), (70, 33), (1, 1100), (4,), (2, 3, 4))]

    def steps():
        params = [ad.nn.Parameter(ad.tensor(array)) for array, _ in arrays]
        for param, (_, grad) in zip(params, arrays, strict=True):
            param.grad = ad.tensor(grad)
        optimizer = ad.optim.Adafactor(params, **settings)
        for _ in range(3):
            optimizer.step()
        return [param.detach().numpy() for param in params]

    kernels = [factored_loops.factored_means, factored_loops.factored_sizes, factored_loops.factored_step]
    compiled, plain = both_ways(monkeypatch, kernels, steps)
    close(compiled, plain, 10)


def test_muon_rounds_the_same(monkeypatch):
    start, grad = normal(12, 7), normal(12, 7)

    def steps():
        param = ad.nn.Parameter(ad.tensor(start))
        param.grad = ad.tensor(grad)
        optimizer = ad.optim.Muon([param])
        optimizer.step()
        return param.detach().numpy()

    np.testing.assert_array_equal(*both_ways(monkeypatch, [rounding_loops.rounded_sum], steps))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lstm_cell(monkeypatch, dtype):
    arrays = [normal(*shape, dtype=dtype) for shape in ((4, 3), (4, 5), (4, 5), (20, 3), (20, 5), (20,), (20,))]

    def steps():
        tensors = [ad.tensor(array, requires_grad=True) for array in arrays]
        state = tuple(tensors[1:3])
        for _ in range(3):
            state = ad.lstm_cell(tensors[0], state, *tensors[3:])
        (state[0] * state[0]).sum().backward()  # the last cell has no gradient of its own
        return [*(x.detach().numpy() for x in state), *(x.grad.numpy() for x in tensors)]

    compiled, plain = both_ways(monkeypatch, [cell_loops.lstm_rows, cell_loops.lstm_rows_back], steps)
    close(compiled, plain, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 33), (300, 2), (2, 7, 1), (2, 2, 150, 4)])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems(monkeypatch, dtype, shape, upper):
    *batch, n, _ = shape
    a, b = normal(*batch, n, n, dtype=dtype) + n * np.eye(n, dtype=dtype), normal(*shape, dtype=dtype)

    def solve():
        return [ad.linalg.solve_triangular(ad.tensor(a), ad.tensor(b), upper=upper).numpy()]

    compiled, plain = both_ways(monkeypatch, [triangular_loops.substitution], solve)
    close(compiled, plain, 10)


def test_a_singular_triangular_matrix_has_no_solution(monkeypatch):
    assert ad.linalg.solve_triangular(ad.zeros(3, 3), ad.ones(3, 1), upper=False).isnan().any()


def test_outer_products_of_a_huge_batch(monkeypatch):
    columns, rows = normal(8, 1000, 1), normal(8, 1, 600)[:, :, ::-1]
    assert 8 * 1000 * 600 * 4 >= HUGE
    ours, theirs = both_ways(monkeypatch, [outer_loops.outer_rows], lambda: ad.matmul(ad.tensor(columns), ad.tensor(rows.copy())).numpy())
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, columns * rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vector_products_of_parts_of_matrices(monkeypatch, dtype):
    wide, tall, still = normal(40, 9, dtype=dtype), normal(3, 40, dtype=dtype), np.broadcast_to(normal(3, dtype=dtype), (40, 3))
    slices = [wide[:, :3], wide[:, ::-4], wide[::-1, 2:8:2], tall.T, still, normal(40, 3, dtype=dtype)]
    for a in slices:
        for b in slices:
            close([outer_loops.cross(a, b, 1), outer_loops.cross(a[:1], b[:1], 1)], [np.cross(a, b), np.cross(a[:1], b[:1])])
    assert outer_loops.cross(wide[:0, :3], wide[:0, :3], 1) is None
    odd = np.zeros(40 * 13 + 1, "uint8")[1:].reshape(40, 13)[:, :12].view("float32")  # rows that are not aligned
    assert outer_loops.cross(odd, odd, 1) is None


@pytest.mark.parametrize("step", [1, -2])
def test_gradients_of_products_with_a_vector(monkeypatch, step):
    matrix, vector = normal(70, 90)[::step], normal(90)[::step]

    def grads():
        given = [ad.tensor(x.copy()).requires_grad_() for x in (matrix[:, ::step], vector)]
        return [x.numpy() for x in ad.autograd.grad((given[0] @ given[1]).sum() + ad.addr(given[0], given[0][:, 0], given[1]).sum(), given)]

    ours, theirs = both_ways(monkeypatch, [outer_loops.outer_rows], grads)
    close(ours, theirs, 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("beta,alpha", [(0.5, -3), (2, 1), (1, 1), (0, 0.5)])
@pytest.mark.parametrize("added_shape", [(70, 90), (90,)])
def test_products_added_to_something(monkeypatch, added_shape, beta, alpha, dtype):
    added, a, b = normal(*added_shape, dtype=dtype), normal(70, 40, dtype=dtype), normal(40, 90, dtype=dtype)
    added[..., 3] = np.nan if beta == 0 else 1.0  # which is ignored
    monkeypatch.setitem(matmul.KERNELS, np.dtype(dtype), products.function("f32" if dtype == "float32" else "f64"))

    def sums():
        first = ad.addmm(ad.tensor(added), ad.tensor(a), ad.tensor(b), beta=beta, alpha=alpha)
        changed = ad.tensor(np.broadcast_to(added, (70, 90)).copy())
        each = ad.tensor(np.broadcast_to(added, (2, 70, 90)).copy())
        each.baddbmm_(ad.tensor(a).expand(2, 70, 40), ad.tensor(b).expand(2, 40, 90), beta=beta, alpha=alpha)
        row = ad.addmv(ad.tensor(added.reshape(-1)[:70]), ad.tensor(a), ad.tensor(b[:, 0]), beta=beta, alpha=alpha)
        return [first.numpy(), changed.addmm_(ad.tensor(a), ad.tensor(b), beta=beta, alpha=alpha).numpy(), each.numpy()[1], row.numpy()]

    ours, theirs = both_ways(monkeypatch, [] if beta == 0 else [outer_loops.mix_blocks], sums)
    close(ours, theirs, 10)
    exact = alpha * (a.astype(float) @ b) + (beta * added if beta else 0)
    close([exact.astype(dtype)] * 3, ours[:3], 100)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("inputs,outputs", [(200, 100), (3000, 7), (40, 960)])
def test_a_layer_for_one_example(monkeypatch, inputs, outputs, biased):
    x, weight, bias = ad.tensor(normal(1, inputs)), ad.tensor(normal(outputs, inputs)), ad.tensor(normal(outputs)) if biased else None
    monkeypatch.setitem(matmul.KERNELS, np.dtype("float32"), products.function("f32"))
    ours, theirs = both_ways(monkeypatch, [outer_loops.dots], lambda: ad.nn.functional.linear(x, weight, bias).numpy())
    assert ours.shape == (1, outputs)
    exact = x.numpy().astype(float) @ weight.numpy().T.astype(float) + (bias.numpy() if biased else 0)
    np.testing.assert_allclose(ours, exact, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(theirs, exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("n", [HUGE // 4, HUGE // 4 + 5])
def test_huge_results_are_stored_past_the_caches(n):
    x, y = normal(n), normal(n)
    np.testing.assert_array_equal((ad.tensor(x) + ad.tensor(y)).numpy(), x + y)
    wide = x[: n // 3 * 3].reshape(-1, 3)
    np.testing.assert_array_equal((ad.tensor(wide) * ad.tensor(y[:3])).numpy(), wide * y[:3])
    np.testing.assert_array_equal((ad.tensor(x)[1:] * ad.tensor(y)[1:]).numpy(), x[1:] * y[1:])


# ---- attention in pieces ------------------------------------------------------------------------------------------------------------

MASKS = {"none": None, "of keys": normal(2, 1, 1, 13) > -1, "of all heads": normal(11, 13), "of each": normal(2, 3, 11, 13)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("piece", "rows"), [(20, 4), (100, 4), (300, 4), (100, 20)])
def test_attention_in_pieces_is_the_same(monkeypatch, causal, mask, piece, rows):
    if causal and MASKS[mask] is not None:
        return
    arrays = [normal(2, 3, 11, 4), normal(2, 3, 13, 4), normal(2, 3, 13, 6)]
    g = normal(2, 3, 11, 6)

    def attend():
        tensors = [ad.tensor(array, requires_grad=True) for array in arrays]
        given = None if MASKS[mask] is None else ad.tensor(MASKS[mask])
        query, key, value = tensors
        out = ad.nn.functional.scaled_dot_product_attention(query, key, value, given, is_causal=causal)
        out.backward(ad.tensor(g))
        return [out.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)]

    whole = attend()
    monkeypatch.setattr(attention, "PIECE", piece)
    monkeypatch.setattr(attention, "ROWS", rows)
    close(attend(), whole, 5)
