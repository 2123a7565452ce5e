"""Attention by compiled code, against its definition in double precision."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.nn.functional import scaled_dot_product_attention
from adjoint.ops import _attend, attention


def definition(query, key, value, mask, scale, causal):
    scores = query.astype(float) @ key.astype(float).swapaxes(-1, -2) * scale
    mask = np.tri(*scores.shape[-2:], dtype=bool) if causal else mask
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = np.max(scores, -1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total) @ value


def drawn(*shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


MASKS = {
    "none": lambda *shape: None,
    "causal": lambda *shape: None,
    "allowed": lambda *shape: drawn(*shape[-2:]) > -0.5,
    "nothing allowed": lambda *shape: np.zeros(shape[-2:], bool),
    "bias": lambda *shape: drawn(*shape),
    "one row": lambda *shape: drawn(1, shape[-1]),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize(
    "queries,keys,width,breadth",
    [(8, 8, 8, 8), (130, 77, 20, 24), (49, 300, 64, 40), (7, 3, 5, 16), (1, 17, 1, 8), (9, 21, 3, 7), (40, 30, 17, 33)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_definition(dtype, queries, keys, width, breadth, batch, mask):
    q, k, v = (drawn(*batch, *shape, dtype=dtype) for shape in ((queries, width), (keys, width), (keys, breadth)))
    allowed = MASKS[mask](*batch, queries, keys)
    if allowed is not None and allowed.dtype != bool:
        allowed = allowed.astype(dtype)
    for scale in (0.3, -0.2):
        result = _attend.attended(q, k, v, allowed, scale, mask == "causal")
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(result, definition(q, k, v, allowed, scale, mask == "causal"), rtol=tolerance, atol=tolerance)


def test_views_of_other_tensors():
    def turned(size):
        return np.swapaxes(drawn(2, 40, 3, 2 * size), 1, 2)[..., ::-2]

    q, k, v = turned(16), turned(16)[..., ::-1, :], turned(24)
    np.testing.assert_allclose(_attend.attended(q, k, v, None, 0.5, False), definition(q, k, v, None, 0.5, False), rtol=1e-5, atol=1e-5)


def test_what_it_does_not_take():
    many = drawn(1, 1, 1, 4, 8)
    assert _attend.attended(many, many, many, None, 1.0, False) is None


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 5)])
@pytest.mark.parametrize("queries,keys,width,breadth", [(24, 160, 8, 16), (130, 577, 24, 8), (300, 200, 64, 40), (50, 170, 7, 13)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients(monkeypatch, dtype, queries, keys, width, breadth, batch, mask):
    shapes = (queries, width), (keys, width), (keys, breadth)
    tensors = [ad.tensor(drawn(*batch, *shape, dtype=dtype), requires_grad=True) for shape in shapes]
    query, key, value = tensors
    allowed = MASKS[mask](*batch, queries, keys)
    if allowed is not None:
        allowed = ad.tensor(allowed if allowed.dtype == bool else allowed.astype(dtype))
    used, found = [], []
    monkeypatch.setattr(_attend, "attended_back", lambda *given, known=_attend.attended_back: used.append(1) or known(*given))
    for scale in (0.3, -0.2):
        for least in (160, 1 << 60):  # without the weights, and with them
            monkeypatch.setattr(attention, "KEYS", least)
            out = scaled_dot_product_attention(query, key, value, allowed, is_causal=mask == "causal", scale=scale)
            grads = ad.autograd.grad(out, tensors, ad.tensor(drawn(*out.shape, dtype=dtype)))
            found.append([out.detach().numpy(), *(grad.numpy() for grad in grads)])
    assert len(used) == 2
    tolerance = 3e-5 if dtype == "float32" else 1e-13
    for one, other in (found[:2], found[2:]):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(b).max()))


@pytest.mark.parametrize("sizes", [(40, 200), (1200, 900)])
def test_gradients_where_compiled_code_gives_up(monkeypatch, sizes):
    tensors = [ad.tensor(drawn(1, size, 8), requires_grad=True) for size in (sizes[0], sizes[1], sizes[1])]
    out = scaled_dot_product_attention(*tensors)
    expected = ad.autograd.grad(out.sum(), tensors, retain_graph=True)
    monkeypatch.setattr(_attend, "attended_back", lambda *given: None)
    for a, b in zip(ad.autograd.grad(out.sum(), tensors), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_views_and_of_one_operand(monkeypatch):
    packed = ad.tensor(drawn(2, 200, 3, 4, 16), requires_grad=True)
    for needed in (range(3), (1,)):
        grads = []
        for least in (160, 1 << 60):
            monkeypatch.setattr(attention, "KEYS", least)
            parts = [packed[:, :, i].transpose(1, 2) for i in range(3)]
            q, k, v = (part if i in needed else part.detach() for i, part in enumerate(parts))
            grads.append(ad.autograd.grad(scaled_dot_product_attention(q, k, v).mean(), packed)[0].numpy())
        np.testing.assert_allclose(*grads, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("causal", [False, True])
def test_the_function_uses_it(monkeypatch, causal):
    called = []
    monkeypatch.setattr(_attend, "attended", lambda *given, known=_attend.attended: called.append(1) or known(*given))
    q, k, v = (ad.tensor(drawn(2, 200, 16) * (i + 1)) for i in range(3))
    results = [scaled_dot_product_attention(x, k, v, is_causal=causal).detach() for x in (q, q.clone().requires_grad_())]
    assert len(called) == 2
    np.testing.assert_array_equal(results[0].numpy(), results[1].numpy())


def test_the_result_does_not_depend_on_threads():
    x, before, results = drawn(4, 300, 32), ad.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            ad.set_num_threads(threads)
            results.append(_attend.attended(x, x, x, None, 0.2, True))
    finally:
        ad.set_num_threads(before)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
