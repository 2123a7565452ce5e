"""Attention with functions of scores and pairs, against attention with the masks and biases that they stand for."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint.nn import functional as F
from adjoint.nn.attention.flex_attention import AuxRequest, BlockMask, and_masks, create_block_mask, create_mask, flex_attention, or_masks

Heads = tuple[ad.Tensor, ad.Tensor, ad.Tensor]


@pytest.fixture
def heads():
    ad.manual_seed(0)
    return tuple(ad.randn(2, 4, 10, 3, dtype=ad.float64) for _ in range(3))


def causal(b, h, q, kv):
    return q >= kv


def test_without_functions_it_is_attention(heads: Heads):
    ad.testing.assert_close(flex_attention(*heads), F.scaled_dot_product_attention(*heads))
    ad.testing.assert_close(flex_attention(*heads, scale=0.3), F.scaled_dot_product_attention(*heads, scale=0.3))


def test_functions_of_pairs(heads: Heads):
    document = ad.arange(10) // 4
    mask = and_masks(or_masks(causal, lambda b, h, q, kv: h == 3), lambda b, h, q, kv: document[q] == document[kv])
    blocks = create_block_mask(mask, 2, 4, 10, 10, BLOCK_SIZE=4)
    dense = create_mask(mask, 2, 4, 10, 10)
    ad.testing.assert_close(flex_attention(*heads, block_mask=blocks), F.scaled_dot_product_attention(*heads, attn_mask=dense))
    assert blocks.to_dense()[0, 0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]] and ad.equal(blocks.allowed(), dense)
    assert blocks.full_kv_num_blocks is not None
    assert blocks.full_kv_num_blocks[0, 3].tolist() == [1, 1, 0] and blocks.shape == (2, 4, 10, 10)
    assert blocks[0].shape == (1, 4, 10, 10) and blocks.sparsity() == pytest.approx(52.0)


def test_functions_of_scores(heads: Heads):
    bias = ad.randn(4, 10, 10, dtype=ad.float64)
    found = flex_attention(*heads, score_mod=lambda score, b, h, q, kv: score + bias[h, q, kv])
    ad.testing.assert_close(found, F.scaled_dot_product_attention(*heads, attn_mask=bias))


def test_shared_heads_and_sums(heads: Heads):
    q, k, v = heads
    out, lse = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True, return_lse=True)
    ad.testing.assert_close(out, F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True))
    scores = q @ k[:, :2].repeat_interleave(2, 1).mT / 3**0.5
    ad.testing.assert_close(lse, scores.logsumexp(-1))
    assert ad.equal(flex_attention(q, k, v, return_aux=AuxRequest(lse=True))[1].lse, flex_attention(q, k, v, return_lse=True)[1])


def test_a_row_without_pairs_is_zero(heads: Heads):
    nothing = create_block_mask(lambda b, h, q, kv: (q > 0) & causal(b, h, q, kv), None, None, 10, 10)
    out, lse = flex_attention(*heads, block_mask=nothing, return_lse=True)
    assert not out[:, :, 0].any() and (lse[:, :, 0] == -ad.inf).all() and out.isfinite().all()


def test_gradients(heads: Heads):
    blocks = create_block_mask(causal, None, None, 4, 4)
    given = [tensor[:1, :1, :4].clone().requires_grad_() for tensor in heads]
    assert ad.autograd.gradcheck(lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: s.tanh(), block_mask=blocks), given)


def test_blocks_can_be_given(heads: Heads):
    counts, numbers = ad.tensor([[[1, 2]]], dtype=ad.int32), ad.tensor([[[[0, 1], [0, 1]]]], dtype=ad.int32)
    blocks = BlockMask.from_kv_blocks(counts, numbers, BLOCK_SIZE=5)
    mask = ad.ones(10, 10, dtype=ad.bool)
    mask[:5, 5:] = False
    ad.testing.assert_close(flex_attention(*heads, block_mask=blocks), F.scaled_dot_product_attention(*heads, attn_mask=mask))


def test_arguments_are_checked(heads: Heads):
    q, k, v = heads
    for call, message in (
        (lambda: flex_attention(q[0], k, v), "must be 4D"),
        (lambda: flex_attention(q, k[:, :2], v[:, :2]), "Try setting enable_gqa=True"),
        (lambda: flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True), "multiple of kv heads"),
        (lambda: flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 4, 4)), "make one for these lengths"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
