"""Attention with functions for scores and masks, beside PyTorch."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
BOTH = [(lib, importlib.import_module(f"{lib.__name__}.nn.attention.flex_attention")) for lib in (ad, torch)]

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def arrays(*shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def causal(b, h, q, k):
    return q >= k


def bias(lib, slopes):
    return lambda score, b, h, q, k: score + slopes[h] * (k - q)


CASES = {
    "plain": lambda lib, flex: {},
    "scaled": lambda lib, flex: {"scale": 0.3},
    "alibi": lambda lib, flex: {"score_mod": bias(lib, lib.tensor([0.5, 0.25]))},
    "capped": lambda lib, flex: {"score_mod": lambda score, b, h, q, k: lib.tanh(score / 2) * 2},
    "causal": lambda lib, flex: {"block_mask": flex.create_block_mask(causal, None, None, 20, 20, device="cpu", BLOCK_SIZE=8)},
    "documents": lambda lib, flex: {
        "block_mask": flex.create_block_mask(documents(lib.tensor([0] * 7 + [1] * 9 + [2] * 4)), 1, 1, 20, 20, device="cpu", BLOCK_SIZE=4)
    },
    "nothing to see": lambda lib, flex: {"block_mask": flex.create_block_mask(lambda b, h, q, k: k < q - 3, 1, 1, 20, 20, device="cpu")},
}


def documents(numbers):
    return lambda b, h, q, k: numbers[q] == numbers[k]


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    found = []
    for lib, flex in BOTH:
        q, k, v = (lib.tensor(x) for x in arrays((2, 2, 20, 4), (2, 2, 20, 4), (2, 2, 20, 4)))
        attended, aux = flex.flex_attention(q, k, v, return_aux=flex.AuxRequest(lse=True), **CASES[case](lib, flex))
        found.append([attended.numpy(), aux.lse.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    """PyTorch has none on a CPU."""
    flex = BOTH[0][1]
    options = CASES[case](ad, flex)
    inputs = [ad.tensor(x, dtype=ad.float64, requires_grad=True) for x in arrays((1, 2, 20, 2), (1, 2, 20, 2), (1, 2, 20, 1))]
    assert ad.autograd.gradcheck(lambda q, k, v: flex.flex_attention(q, k, v, **options), inputs)


def test_groups_of_queries_share_keys():
    found = []
    for lib, flex in BOTH:
        q, k, v = (lib.tensor(x) for x in arrays((1, 4, 6, 4), (1, 2, 5, 4), (1, 2, 5, 4)))
        found.append(flex.flex_attention(q, k, v, enable_gqa=True).numpy())
        with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
            flex.flex_attention(q, k, v)
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.parametrize("size", [128, (32, 64)])
@pytest.mark.parametrize("separate", [True, False])
def test_blocks(size, separate):
    described = []
    for _, flex in BOTH:
        window = flex.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 100 + 50 * h)
        mask = flex.create_block_mask(flex.or_masks(window, lambda b, h, q, k: k < 3), 1, 2, 300, 260, device="cpu", BLOCK_SIZE=size,
                                      separate_full_blocks=separate)  # fmt: skip
        tensors = (mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices, mask.q_num_blocks, mask.q_indices)
        numbers = [None if x is None else x.tolist() for x in tensors]
        sizes = (mask.shape, mask.numel(), mask.BLOCK_SIZE, round(mask.sparsity(), 9), mask[0, 1].shape)
        described.append((numbers, mask.to_dense().tolist(), *sizes))
    assert described[0] == described[1]


def test_texts():
    texts = []
    for _, flex in BOTH:
        mask = flex.create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 300, 300, device="cpu")
        texts.append((str(mask), repr(mask).replace("torch.", "")))
    assert texts[0][0] == texts[1][0] and texts[0][1].replace("adjoint.", "") == texts[1][1]


@pytest.mark.parametrize("limit", [1, 4])
@pytest.mark.parametrize("grid", [(20, 20), 5, (3, 7), -1])
def test_pictures(grid, limit):
    masks = [flex.create_block_mask(lambda b, h, q, k: q - k >= 40 * h, 2, 2, 600, 1300, "cpu", (32, 64)) for _, flex in BOTH]
    assert masks[0].to_string(grid, limit) == masks[1].to_string(grid, limit)


def test_parts():
    described = []
    for lib, flex in BOTH:
        whole = flex.create_block_mask(lambda b, h, q, k: q >= k, 3, 2, 256, 384, device="cpu", BLOCK_SIZE=64)
        parts = [whole[0], whole[:, 1], whole[lib.tensor([2, 0]), :1], whole[:, :, -1], whole._adjust(130, 200)]
        with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
            parts[0].mask_mod(0, 0, 0, 0)
        given = flex.BlockMask.from_kv_blocks(whole.kv_num_blocks, whole.kv_indices, compute_q_blocks=False)
        described.append([
            [value.tolist() if hasattr(value, "tolist") else value for value in part.as_tuple(flatten)[:-1]]
            for part in (*parts, given) for flatten in (True, False)
        ])  # fmt: skip
    assert described[0] == described[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda flex: flex.and_masks(3),
        lambda flex: flex.or_masks(3),
        lambda flex: flex.create_mask(lambda a, b, c: a, 1, 1, 4, 4, device="cpu"),
        lambda flex: flex.create_block_mask(lambda s, b, h, q, k: s, 1, 1, 4, 4, device="cpu"),
    ],
)
def test_errors(call):
    raised = []
    for _, flex in BOTH:
        with pytest.raises((RuntimeError, AssertionError)) as caught:
            call(flex)
        raised.append(caught)
    ours, theirs = raised
    assert ours.type is theirs.type and str(ours.value)[:25] == str(theirs.value)[:25]


def test_masks_as_tensors():
    for lib, flex in BOTH:
        assert flex.create_mask(lambda b, h, q, k: q >= k, 2, None, 3, 4, device="cpu").sum().item() == 2 * 6
        hidden = flex.create_mask(lambda s, b, h, q, k: s.masked_fill(q < k, -float("inf")), 1, 1, 3, 4, device="cpu")
        assert hidden.dtype == lib.bool and hidden.sum().item() == 6
