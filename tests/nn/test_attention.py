"""Attention and the Transformer against formulas written out in NumPy, and their derivatives against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import nn


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def values(tensor):
    return tensor.detach().numpy()


def test_multihead_attention():
    attention = nn.MultiheadAttention(6, 2, dtype=ad.float64)
    query, key = array(3, 2, 6), array(4, 2, 6, seed=1)
    mask = array(3, 4, seed=2)
    result, weights = attention(ad.tensor(query), ad.tensor(key), ad.tensor(key), attn_mask=ad.tensor(mask), average_attn_weights=False)
    w, b = values(attention.in_proj_weight).reshape(3, 6, 6), np.zeros(6)
    q, k, v = (x @ m.T + b for x, m in zip((query, key, key), w, strict=True))
    for batch in range(2):
        mixed = []
        for head in range(2):
            part = np.s_[:, batch, head * 3 : head * 3 + 3]
            attended = softmax(q[part] @ k[part].T / np.sqrt(3) + mask)
            assert np.allclose(values(weights)[batch, head], attended)
            mixed.append(attended @ v[part])
        expected = np.concatenate(mixed, 1) @ values(attention.out_proj.weight).T
        assert np.allclose(values(result)[:, batch], expected)


@pytest.mark.parametrize("settings", [{}, dict(is_causal=True), dict(scale=0.3), dict(attn_mask=ad.tensor(array(3, 3) > -1))])
def test_derivatives_of_attention(settings):
    inputs = [ad.tensor(array(2, 3, 4, seed=seed), requires_grad=True) for seed in range(3)]

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **settings)

    # A kernel may take over from NumPy between two runs, with another order of summation.
    assert ad.autograd.gradcheck(attend, inputs, nondet_tol=1e-12)
    assert ad.autograd.gradgradcheck(attend, inputs, nondet_tol=1e-12)


def test_a_row_that_sees_nothing_is_zero_and_has_no_gradient():
    q, k, v = (ad.tensor(array(2, 4, seed=seed), requires_grad=True) for seed in range(3))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=ad.tensor([[True, True], [False, False]]))
    out.sum().backward()
    assert q.grad is not None
    assert out[1].tolist() == [0] * 4 and q.grad[1].tolist() == [0] * 4 and np.isfinite(values(k.grad)).all()


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_causal_mask_hides_what_comes_later(need_weights):
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    x = ad.tensor(array(1, 5, 4).astype("float32"))
    changed = x.clone()
    changed[0, 3:] += 1
    before, after = (attention(y, y, y, attn_mask=mask, is_causal=True, need_weights=need_weights)[0] for y in (x, changed))
    assert np.allclose(values(before)[0, :3], values(after)[0, :3]) and not np.allclose(values(before)[0, 3:], values(after)[0, 3:])


@pytest.mark.parametrize("batch_first", [True, False])
def test_padding_does_not_matter(batch_first):
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=batch_first), 2, enable_nested_tensor=False)
    x = ad.tensor(array(2, 3, 4).astype("float32"))
    padded = ad.cat([x, ad.full((2, 2, 4), 7.0)], 1)
    mask = ad.tensor([[False] * 3 + [True] * 2] * 2)
    plain, masked = x, padded
    if not batch_first:
        plain, masked = plain.transpose(0, 1), masked.transpose(0, 1)
    expected, found = encoder(plain), encoder(masked, src_key_padding_mask=mask)
    found = found if batch_first else found.transpose(0, 1)
    expected = expected if batch_first else expected.transpose(0, 1)
    assert np.allclose(values(found)[:, :3], values(expected), atol=1e-5)


def test_a_transformer_learns():
    ad.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
    head = nn.Linear(8, 1)
    optimizer = ad.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    source, target = ad.randn(4, 5, 8), ad.randn(4, 3, 8)
    wanted = source.mean((1, 2), keepdim=True).expand(-1, 3, -1)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.mse_loss(head(model(source, target)), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_layers_of_a_stack_are_copies():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2)
    first, second = encoder.layers
    assert first is not layer and first.linear1.weight is not second.linear1.weight
    assert first.linear1.weight.tolist() == second.linear1.weight.tolist()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda: F.scaled_dot_product_attention(ad.ones(2), ad.ones(2), ad.ones(2)), RuntimeError, "at least 2 dimensional"),
        (lambda: F.scaled_dot_product_attention(ad.ones(2, 2).double(), ad.ones(2, 2), ad.ones(2, 2)), RuntimeError, "the same dtype"),
        (lambda: F.scaled_dot_product_attention(*[ad.ones(2, 2).long()] * 3), RuntimeError, "expected scalar type Float but found Long"),
        (lambda: F.scaled_dot_product_attention(ad.ones(2, 2), ad.ones(2, 2), ad.ones(2, 2), ad.ones(2, 2).long()), RuntimeError,
         "Expected attn_mask dtype"),
        (lambda: nn.MultiheadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
    ],
)
def test_errors(do, error, message):
    with pytest.raises(error, match=message):
        do()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda x: F.scaled_dot_product_attention(*[x, x, x, None, 0.0, False, 0.5]), TypeError, "takes from 3 to 6 positional arguments"),
        (lambda x: F.scaled_dot_product_attention(x, x, x, ad.zeros(1, 1, 1, 3, 3)), RuntimeError, "doesn't match the broadcast shape"),
        (lambda x: nn.MultiheadAttention(4, 2)(x, x[:, :1], x[:, :1]), RuntimeError, r"shape '\[3, 4, 2\]' is invalid for input of"),
        (lambda x: nn.MultiheadAttention(4, 2)(x, x, x, ad.zeros(3, 3)), AssertionError, "Expected key_padded_mask.shape.0. to be 2, but"),
    ],
)
def test_attention_checks_its_arguments(do, error, message):
    with pytest.raises(error, match=message):
        do(ad.ones(3, 2, 4))


def test_attention_without_features():
    x = ad.ones(1, 2, 0)
    assert F.scaled_dot_product_attention(x, x, ad.ones(1, 2, 3)).tolist() == [[[1, 1, 1], [1, 1, 1]]]


@pytest.mark.parametrize("corner", ["upper_left", "lower_right"])
def test_causal_masks_know_their_corner(corner):
    mask = getattr(nn.attention.bias, f"causal_{corner}")(2, 3)
    expected = [[True, False, False], [True, True, False]] if corner == "upper_left" else [[True, True, False], [True, True, True]]
    assert mask.tolist() == expected and mask.seq_len_q == 2 and mask.variant.name == corner.upper()
    q, x = ad.randn(1, 2, 4), ad.randn(1, 3, 4)
    found = F.scaled_dot_product_attention(q, x, x, mask)
    assert type(found) is ad.Tensor and ad.equal(found, F.scaled_dot_product_attention(q, x, x, ad.tensor(expected)))
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        F.scaled_dot_product_attention(q, x, x, mask, is_causal=True)


def test_causal_masks_are_checked():
    with pytest.raises(AssertionError, match="causal_upper_left only supports 2D tensors"):
        nn.attention.bias.causal_upper_left(3)
    with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs"):
        nn.attention.bias.causal_lower_right(3, 2)


def test_a_choice_of_implementations_that_leaves_none_is_refused():
    backends, x = nn.attention.SDPBackend, ad.randn(1, 1, 2, 4)
    expected = F.scaled_dot_product_attention(x, x, x)
    with nn.attention.sdpa_kernel([backends.FLASH_ATTENTION]):
        assert not ad.backends.cuda.math_sdp_enabled() and ad.equal(F.scaled_dot_product_attention(x, x, x), expected)
        with pytest.raises(RuntimeError, match="No available kernel"), pytest.warns(UserWarning, match="Flash attention kernel not used"):
            F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    with nn.attention.sdpa_kernel(backends.EFFICIENT_ATTENTION), pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(x, x, x)
    assert ad.backends.cuda.math_sdp_enabled() and ad.backends.mha.get_fastpath_enabled()


def test_padding_comes_out_as_zeros_whatever_the_mask_is_made_of():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval()
    x, padding = ad.randn(2, 3, 4), ad.tensor([[False, False, True], [False, False, False]])
    numbers = ad.zeros(2, 3).masked_fill(padding, -float("inf"))
    with ad.no_grad():
        results = [encoder(x, src_key_padding_mask=mask) for mask in (padding, numbers)]
    assert ad.equal(*results) and not results[0][0, 2].any() and results[0][1].any()
