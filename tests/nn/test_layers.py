"""Layers and functions of `nn.functional`, against formulas written out in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import nn


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def close(tensor, expected, tolerance=1e-12):
    assert np.allclose(tensor.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def gradients_are_right(fn, *arrays):
    """First and second derivatives against finite differences."""
    inputs = [ad.tensor(a, requires_grad=True) for a in arrays]
    assert ad.autograd.gradcheck(fn, inputs)
    assert ad.autograd.gradgradcheck(fn, inputs)


# ---- linear -------------------------------------------------------------------------------------------------------------------------


def test_linear():
    layer = nn.Linear(3, 2, dtype=ad.float64)
    x = array(4, 5, 3)
    close(layer(ad.tensor(x)), x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy())
    assert nn.Linear(3, 2, bias=False).bias is None
    assert nn.Linear(3, 2, False).state_dict().keys() == {"weight"}
    bound = 1 / math.sqrt(3)
    assert layer.weight.abs().max().item() <= bound and layer.bias.abs().max().item() <= bound


def test_bilinear():
    layer = nn.Bilinear(2, 3, 4, dtype=ad.float64)
    a, b = array(5, 2), array(5, 3, seed=1)
    expected = np.einsum("ni,kij,nj->nk", a, layer.weight.detach().numpy(), b) + layer.bias.detach().numpy()
    close(layer(ad.tensor(a), ad.tensor(b)), expected)
    with pytest.raises(RuntimeError, match=r"bilinear\(\): input1 size does not match weight size: got 3 but expected 2"):
        layer(ad.tensor(b), ad.tensor(b))
    with pytest.raises(ValueError, match="in1_features must be > 0"):
        nn.Bilinear(0, 1, 1)


def test_identity_takes_any_arguments():
    assert nn.Identity(3, unused=4)(ad.ones(2)).tolist() == [1, 1]


# ---- normalization ------------------------------------------------------------------------------------------------------------------


def standardized(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_layer_norm():
    x, w, b = array(3, 4, 5), array(4, 5, seed=1), array(4, 5, seed=2)
    close(F.layer_norm(ad.tensor(x), (4, 5), ad.tensor(w), ad.tensor(b), 1e-3), standardized(x, (1, 2), 1e-3) * w + b)
    gradients_are_right(lambda x, w, b: F.layer_norm(x, (4,), w, b), array(3, 4), array(4, seed=1), array(4, seed=2))
    gradients_are_right(lambda x: F.layer_norm(x, (4,)), array(3, 4))
    half = F.layer_norm(ad.tensor(x).half(), (4, 5), ad.tensor(w).half())
    assert half.dtype is ad.float16
    close(half.double(), standardized(x, (1, 2), 1e-5) * w, 2e-2)


def test_rms_norm():
    x, w = array(3, 4), array(4, seed=1)
    close(F.rms_norm(ad.tensor(x), (4,), ad.tensor(w), 1e-3), x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-3) * w)
    close(nn.RMSNorm(4, dtype=ad.float64)(ad.tensor(x)), x / np.sqrt((x**2).mean(1, keepdims=True)), 1e-10)


def test_group_norm():
    x, w, b = array(2, 6, 3), array(6, seed=1), array(6, seed=2)
    expected = standardized(x.reshape(2, 3, 6), 2, 1e-5).reshape(x.shape) * w[:, None] + b[:, None]
    close(F.group_norm(ad.tensor(x), 3, ad.tensor(w), ad.tensor(b)), expected)
    gradients_are_right(lambda x, w, b: F.group_norm(x, 2, w, b), array(2, 4, 3), array(4, seed=1), array(4, seed=2))


def test_batch_norm_training_and_evaluation():
    layer = nn.BatchNorm1d(3, dtype=ad.float64)
    x = array(6, 3) * 2 + 1
    close(layer(ad.tensor(x)), standardized(x, 0, 1e-5))
    close(layer.running_mean, 0.1 * x.mean(0))
    close(layer.running_var, 0.9 + 0.1 * x.var(0, ddof=1))
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    mean, var = layer.running_mean.numpy().copy(), layer.running_var.numpy().copy()
    close(layer(ad.tensor(x)), (x - mean) / np.sqrt(var + 1e-5))
    close(layer.running_mean, mean)
    layer.reset_running_stats()
    close(layer.running_var, 1)


def test_batch_norm_gradients():
    w, b = array(3, seed=1), array(3, seed=2)
    gradients_are_right(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), array(4, 3, 2), w, b)
    mean, var = ad.tensor(array(3, seed=3)), ad.tensor(array(3, seed=4) ** 2)
    gradients_are_right(lambda x, w, b: F.batch_norm(x, mean, var, w, b), array(4, 3), w, b)


def test_batch_norm_cumulative_average():
    layer = nn.BatchNorm1d(2, momentum=None, dtype=ad.float64)
    batches = [array(5, 2, seed=seed) for seed in range(3)]
    for batch in batches:
        layer(ad.tensor(batch))
    close(layer.running_mean, np.mean([batch.mean(0) for batch in batches], axis=0))


def test_instance_norm():
    x = array(2, 3, 4)
    close(nn.InstanceNorm1d(3)(ad.tensor(x)), standardized(x, 2, 1e-5))
    close(nn.InstanceNorm1d(3)(ad.tensor(x[0])), standardized(x[0], 1, 1e-5))
    layer = nn.InstanceNorm1d(3, affine=True, track_running_stats=True, dtype=ad.float64)
    layer(ad.tensor(x))
    close(layer.running_mean, 0.1 * x.mean((0, 2)))
    close(layer.running_var, 0.9 + 0.1 * x.var(2, ddof=1).mean(0))


def test_forward_mode_of_normalizations():
    x, t = ad.tensor(array(3, 4)), ad.tensor(array(3, 4, seed=1))
    for fn in (
        lambda x: F.layer_norm(x, (4,)),
        lambda x: F.group_norm(x, 2),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.batch_norm(x, ad.ones(4).double(), ad.ones(4).double()),
    ):
        with ad.autograd.forward_ad.dual_level():
            tangent = ad.autograd.forward_ad.unpack_dual(fn(ad.autograd.forward_ad.make_dual(x, t))).tangent
        step = 1e-6
        close(tangent, (fn(x + t * step) - fn(x - t * step)).numpy() / (2 * step), 1e-7)


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda x: F.layer_norm(x, (5,)), RuntimeError, r"Given normalized_shape=\[5\], expected input with shape \[\*, 5\]"),
        (lambda x: F.layer_norm(x, (6,), ad.ones(5)), RuntimeError, "Expected weight to be of same shape as normalized_shape"),
        (lambda x: F.layer_norm(x, ()), RuntimeError, "Expected normalized_shape to be at least 1-dimensional"),
        (lambda x: F.layer_norm(x, 6), TypeError, "must be tuple of ints, not int"),
        (lambda x: F.layer_norm(x.double(), (6,), ad.ones(6)), RuntimeError, "expected scalar type Double but found Float"),
        (lambda x: F.group_norm(x, 4), RuntimeError, "Expected number of channels in input to be divisible by num_groups"),
        (lambda x: F.group_norm(x[0], 2), RuntimeError, "Expected at least 2 dimensions for input tensor but received 1"),
        (lambda x: F.batch_norm(x, None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
        (lambda x: F.batch_norm(x[:1], None, None, training=True), ValueError, "Expected more than 1 value per channel when training"),
        (lambda x: F.batch_norm(x, ad.ones(5), ad.ones(5)), RuntimeError, "running_mean should contain 6 elements not 5"),
        (F.instance_norm, ValueError, "Expected more than 1 spatial element when training"),
        (nn.BatchNorm2d(6), ValueError, r"expected 4D input \(got 2D input\)"),
        (lambda x: nn.BatchNorm1d(6)(x[0]), ValueError, r"expected 2D or 3D input \(got 1D input\)"),
        (lambda x: nn.GroupNorm(4, 6), ValueError, r"num_channels \(6\) must be divisible by num_groups \(4\)"),
    ],
)
def test_normalization_errors(do, error, message):
    with pytest.raises(error, match=message):
        do(ad.ones(4, 6))


# ---- embeddings ---------------------------------------------------------------------------------------------------------------------


def test_embedding():
    table = nn.Embedding(5, 3, padding_idx=1)
    assert table.weight[1].abs().sum().item() == 0
    places = ad.tensor([[0, 1], [4, 0]])
    out = table(places)
    assert np.array_equal(out.detach().numpy(), table.weight.detach().numpy()[[[0, 1], [4, 0]]])
    out.sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad[:, 0].tolist() == [2, 0, 0, 0, 1]  # nothing for the padding


def test_embedding_scales_by_frequency():
    table = nn.Embedding(3, 1, scale_grad_by_freq=True)
    table(ad.tensor([0, 0, 2])).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.view(-1).tolist() == [1, 0, 1]


def test_embedding_second_order():
    weight = ad.tensor(array(4, 2), requires_grad=True)
    places = ad.tensor([1, 1, 3])
    (g,) = ad.autograd.grad((F.embedding(places, weight) ** 3).sum(), weight, create_graph=True)
    (gg,) = ad.autograd.grad(g.sum(), weight)
    expected = 6 * weight.detach().numpy() * np.array([0, 2, 0, 1])[:, None]
    close(gg, expected)


def test_embedding_max_norm_changes_the_table():
    table = nn.Embedding.from_pretrained(ad.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), max_norm=1.0)
    assert not table.weight.requires_grad
    table(ad.tensor([0, 1]))
    close(table.weight, [[0.6, 0.8], [0.3, 0.4], [6, 8]], 1e-5)


def test_embedding_bag():
    weight = array(6, 2)
    table = ad.tensor(weight)
    flat, offsets = ad.tensor([0, 1, 5, 5]), ad.tensor([0, 2, 2])
    bags = [[0, 1], [], [5, 5]]
    for mode, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        expected = [reduce(weight[bag], axis=0) if bag else np.zeros(2) for bag in bags]
        close(F.embedding_bag(flat, table, offsets, mode=mode), expected)
    close(F.embedding_bag(flat.view(2, 2), table, mode="sum", per_sample_weights=ad.tensor([[1.0, 2], [3, 4]]).double()),
          [weight[0] + 2 * weight[1], 7 * weight[5]])  # fmt: skip
    close(F.embedding_bag(flat, table, offsets, mode="mean", padding_idx=1)[0], weight[0])


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda w: F.embedding(ad.tensor([9]), w), IndexError, "index out of range in self"),
        (lambda w: F.embedding(ad.tensor([-1]), w), IndexError, "index out of range in self"),
        (lambda w: F.embedding(ad.tensor([1.0]), w), RuntimeError, "Expected tensor for argument #1 'indices' to have one of"),
        (lambda w: F.embedding(ad.tensor([1]), w[0]), RuntimeError, "'weight' must be 2-D"),
        (lambda w: F.embedding([1], w), TypeError, "argument 'indices' .* must be Tensor, not list"),
        (lambda w: F.embedding(ad.tensor([1]), w, padding_idx=9), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda w: nn.Embedding(3, 4, padding_idx=5), AssertionError, "Padding_idx must be within num_embeddings"),
        (lambda w: nn.Embedding.from_pretrained(w[0]), AssertionError, "Embeddings parameter is expected to be 2-dimensional"),
        (lambda w: F.embedding_bag(ad.tensor([1]), w), ValueError, "offsets has to be a 1D Tensor but got None"),
        (lambda w: F.embedding_bag(ad.tensor([[1]]), w, mode="x"), ValueError, "mode has to be one of sum, mean or max"),
    ],
)
def test_embedding_errors(do, error, message):
    with pytest.raises(error, match=message):
        do(ad.ones(4, 2))


# ---- dropout ------------------------------------------------------------------------------------------------------------------------


def test_dropout():
    x = ad.ones(2000)
    out = nn.Dropout(0.25)(x)
    assert set(out.tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert abs(out.mean().item() - 1) < 0.1
    assert nn.Dropout(0.25).eval()(x) is x
    assert F.dropout(x, 1.0).sum().item() == 0 and F.dropout(x, 0.0) is x
    y = ad.ones(10)
    assert F.dropout(y, 0.5, inplace=True) is y
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        nn.Dropout(2)


@pytest.mark.parametrize(("fn", "shape"), [(F.dropout1d, (4, 5, 6)), (F.dropout2d, (4, 5, 6, 7)), (F.dropout3d, (2, 3, 4, 2, 2))])
def test_channel_dropout_takes_whole_channels(fn, shape):
    out = fn(ad.ones(shape)).numpy()
    per_channel = out.reshape(*shape[:2], -1)
    assert np.array_equal(per_channel.min(2), per_channel.max(2)) and set(per_channel.ravel()) == {0.0, 2.0}


def test_alpha_dropout_keeps_mean_and_variance():
    x = ad.randn(20000)
    out = F.alpha_dropout(x, 0.3, training=True)
    assert abs(out.mean().item()) < 0.05 and abs(out.var().item() - 1) < 0.05
    assert nn.AlphaDropout().eval()(x) is x


# ---- others -------------------------------------------------------------------------------------------------------------------------


def test_activations_in_place():
    for layer in (nn.ReLU(True), nn.ELU(inplace=True), nn.SiLU(True), nn.Hardtanh(inplace=True), nn.LeakyReLU(inplace=True), nn.SELU(True)):
        x = ad.tensor([-1.0, 2.0])
        expected = type(layer)()(x.clone())
        assert layer(x) is x and x.tolist() == expected.tolist()


def test_softmax_without_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        assert F.softmax(ad.zeros(2, 4)).tolist() == [[0.25] * 4] * 2
    with pytest.warns(UserWarning, match="log_softmax"):
        assert F.log_softmax(ad.zeros(2)).shape == (2,)


def test_one_hot():
    assert F.one_hot(ad.tensor([[0, 2]])).tolist() == [[[1, 0, 0], [0, 0, 1]]]
    assert F.one_hot(ad.tensor([1]), 4).tolist() == [[0, 1, 0, 0]]
    for do, message in (
        (lambda: F.one_hot(ad.tensor([0, 2]), 2), "Class values must be smaller than num_classes."),
        (lambda: F.one_hot(ad.tensor([-1])), "Class values must be non-negative."),
        (lambda: F.one_hot(ad.tensor([1.0])), "one_hot is only applicable to index tensor of type LongTensor"),
        (lambda: F.one_hot(ad.tensor([], dtype=ad.int64)), "Can not infer total number of classes from empty tensor."),
    ):
        with pytest.raises(RuntimeError, match=message):
            do()


def test_pad():
    x = array(2, 3)
    close(F.pad(ad.tensor(x), (1, 2), value=7.0), np.pad(x, ((0, 0), (1, 2)), constant_values=7))
    close(F.pad(ad.tensor(x), (-1, 1, 1, 0)), np.pad(x[:, 1:], ((1, 0), (0, 1))))
    image = array(1, 2, 4, 5)
    for mode, name in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        close(F.pad(ad.tensor(image), (1, 2, 3, 0), mode=mode), np.pad(image, ((0, 0), (0, 0), (3, 0), (1, 2)), mode=name))
    gradients_are_right(lambda x: F.pad(x, (1, -1), value=3.0) ** 2, array(2, 3))
    gradients_are_right(lambda x: F.pad(x, (2, 1), mode="reflect") ** 2, array(2, 3))
    with pytest.raises(RuntimeError, match="Padding length must be divisible by 2"):
        F.pad(ad.tensor(x), (1,))
    with pytest.raises(RuntimeError, match="Padding size should be less than the corresponding input dimension"):
        F.pad(ad.tensor(x), (3, 0), mode="reflect")


def test_pixel_shuffle_and_back():
    x = array(2, 8, 3, 4)
    shuffled = F.pixel_shuffle(ad.tensor(x), 2)
    assert shuffled.shape == (2, 2, 6, 8)
    assert shuffled[1, 1, 3, 5].item() == x[1, 1 * 4 + 1 * 2 + 1, 1, 2]
    close(F.pixel_unshuffle(shuffled, 2), x)
    close(F.channel_shuffle(ad.tensor(x), 2)[0, :, 0, 0], x[0, [0, 4, 1, 5, 2, 6, 3, 7], 0, 0])


def test_attention():
    q, k, v = array(2, 3, 4), array(2, 5, 4, seed=1), array(2, 5, 6, seed=2)
    scores = q @ k.swapaxes(1, 2) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    tensors = ad.tensor(q), ad.tensor(k), ad.tensor(v)
    close(F.scaled_dot_product_attention(*tensors), weights @ v)
    causal = np.where(np.tri(3, 5, dtype=bool), np.exp(scores), 0)
    close(F.scaled_dot_product_attention(*tensors, is_causal=True), causal / causal.sum(-1, keepdims=True) @ v)
    nothing = F.scaled_dot_product_attention(*tensors, attn_mask=ad.zeros(3, 5, dtype=ad.bool))
    assert nothing.abs().sum().item() == 0


def test_gumbel_softmax():
    logits = ad.zeros(4, 3, requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    assert np.allclose(hard.detach().sum(1).numpy(), 1) and np.allclose(hard.detach().max(1).values.numpy(), 1)
    (hard * ad.arange(3.0)).sum().backward()
    assert logits.grad.abs().sum().item() > 0


def test_losses_with_weights_are_saved():
    loss = nn.CrossEntropyLoss(weight=ad.tensor([1.0, 2.0]))
    assert list(loss.state_dict()) == ["weight"]
    assert loss.double().weight.dtype is ad.float64
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (dict(input=ad.tensor([[0, -1]])), RuntimeError, r"Expected idx >= 0 && idx < num_embeddings but found idx to be -1"),
        (dict(input=ad.tensor([[0, 4]]), mode="max"), RuntimeError, r"Index 1 of input takes value 4 which is not in the valid range"),
        (dict(input=ad.tensor([[0, -1]]), padding_idx=0), RuntimeError, "Expected idx >= 0"),
        (dict(padding_idx=4), RuntimeError, "padding_idx must be within the number of embeddings, -4 through 3, but got 4"),
        (dict(mode="sum", per_sample_weights=ad.ones(1, 2).double()), RuntimeError, "Expected tensor for argument #1 'weight' to have the"),
        (dict(mode="sum", per_sample_weights=ad.ones(3)), ValueError, "embedding_bag: If per_sample_weights .* must have the same shape"),
        (dict(mode="max", scale_grad_by_freq=True), ValueError, "max mode does not support scaling the gradient by the frequency"),
        (dict(mode="max", sparse=True), ValueError, "max mode does not support sparse weights"),
        (dict(input=ad.tensor([0]), offsets=ad.tensor([1])), RuntimeError, "offsets.0. has to be 0"),
        (dict(input=ad.tensor([0]), offsets=ad.tensor([0, 2])), RuntimeError, "offsets.-1. can not be greater than input's length 1"),
        (dict(input=ad.tensor([0]), offsets=ad.tensor([0.0])), RuntimeError, "Expected tensor for argument #1 'offsets'"),
        (dict(input=ad.tensor([0]), offsets=ad.tensor([], dtype=ad.int64), include_last_offset=True), RuntimeError, "at least 1"),
    ],
)
def test_embedding_bag_errors(settings, error, message):
    given = {"input": ad.tensor([[0, 1]]), **settings}
    with pytest.raises(error, match=message):
        F.embedding_bag(weight=ad.ones(4, 2), **given)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_last_offset_ends_the_last_bag(mode):
    table = ad.arange(8.0).reshape(4, 2)
    found = F.embedding_bag(ad.tensor([0, 1, 2, 3]), table, ad.tensor([0, 2, 3]), mode=mode, include_last_offset=True)
    close(found, F.embedding_bag(ad.tensor([0, 1, 2]), table, ad.tensor([0, 2]), mode=mode))


# ---- connectionist temporal classification ------------------------------------------------------------------------------------------


def test_ctc_loss_without_time():
    log_probs = ad.randn(5, 2, 4).log_softmax(2).requires_grad_()
    losses = F.ctc_loss(log_probs, ad.ones(2, 2, dtype=ad.int64), [0, 0], [0, 1], reduction="none")
    assert losses.tolist() == [0.0, float("inf")]
    losses.sum().backward()
    assert not log_probs.grad.any()


def test_an_infinite_ctc_loss_has_no_gradient_unless_it_counts_as_zero():
    targets = ad.tensor([[1, 1], [1, 2]])  # two equal labels need a blank between them, for which there is no time
    x = ad.zeros(3, 2, 3, requires_grad=True)

    def gradient(zero_infinity):
        log_probs = x.log_softmax(-1)
        F.ctc_loss(log_probs, targets, [2, 2], [2, 2], zero_infinity=zero_infinity).backward()
        found, x.grad = x.grad, None
        return found

    found = gradient(False)
    assert found[:2, 0].isnan().all() and not found[2].any() and found[:2, 1].isfinite().all()
    close(gradient(True)[:, 1], found[:, 1])
    assert not gradient(True)[:, 0].any()


def test_labels_after_the_end_of_a_target_are_not_looked_at():
    log_probs = ad.randn(4, 1, 3).log_softmax(2)
    close(F.ctc_loss(log_probs, ad.tensor([[1, 99]]), [4], [1]), F.ctc_loss(log_probs, ad.tensor([[1]]), [4], [1]))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (dict(input_lengths=ad.tensor([5.0, 5.0])), RuntimeError, "input_lengths must be integral"),
        (dict(target_lengths=ad.tensor([2.0, 2.0])), RuntimeError, "target_lengths must be integral"),
        (dict(target_lengths=(2, 2)), TypeError, "invalid combination of arguments"),
        (dict(input_lengths=ad.tensor([5, 6])), RuntimeError, "Expected input_lengths to have value at most 5, but got value 6"),
        (dict(input_lengths=ad.tensor([5, -1])), RuntimeError, "Expected input_lengths to have value at least 0, but got value -1"),
        (dict(target_lengths=ad.tensor([2, 3])), RuntimeError, "Expected tensor to have size at least 3 at dimension 1, but got size 2"),
        (dict(targets=ad.tensor([[1, 2]])), RuntimeError, "Expected tensor to have size 2 at dimension 0, but got size 1"),
        (dict(targets=ad.tensor([1, 2])), RuntimeError, "Expected tensor to have size 4 at dimension 0, but got size 2"),
        (dict(targets=ad.ones(1, 2, 2, dtype=ad.int64)), RuntimeError, "Expected 1 to 2 dimensions, but got 3-dimensional tensor"),
        (dict(log_probs=ad.ones(5, 2, 0)), RuntimeError, "log_probs tensor must not be empty"),
        (dict(log_probs=ad.ones(5, 2, 4).half()), NotImplementedError, "\"ctc_loss_cpu\" not implemented for 'Half'"),
    ],
)
def test_ctc_loss_errors(settings, error, message):
    given = dict(log_probs=ad.ones(5, 2, 4), targets=ad.tensor([[1, 2], [3, 1]]), input_lengths=ad.tensor([5, 5]))
    with pytest.raises(error, match=message):
        F.ctc_loss(**{**given, "target_lengths": ad.tensor([2, 2]), **settings})


# ---- what layers and losses refuse --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda: nn.BatchNorm1d(2, eps=0.0)(ad.randn(4, 2)), ValueError, r"batch_norm eps must be positive during training, but got 0.0"),
        (lambda: nn.BatchNorm1d(2, eps=-1.0).eval()(ad.randn(4, 2)), ValueError, r"batch_norm eps must be non-negative, but got -1.0"),
        (lambda: nn.LSTM(2, 3, bias=1), TypeError, "bias should be of type bool, got: int"),
        (lambda: nn.Bilinear(1, 1, 1)(ad.ones(2, 1), ad.ones(3, 1)), RuntimeError, "batch dimensions do not match at dim 0: got 2 and 3"),
        (lambda: nn.Bilinear(1, 1, 1)(ad.ones(2, 1), ad.ones(1, 2, 1)), RuntimeError, "input dimensions do not match: got 2 and 3"),
        (lambda: nn.GRU(2, 3, batch_first=1), TypeError, "batch_first should be of type bool, got: int"),
        (lambda: nn.RNN(2.0, 3), TypeError, "input_size should be of type int, got: float"),
        (lambda: nn.CircularPad1d(1)(ad.ones(1, 1, 1, 1)), ValueError, r"expected 2D or 3D input \(got 4D input\)"),
        (lambda: F.rrelu(ad.ones(1), -math.inf, 1.0), RuntimeError, "rrelu: lower bound must be finite, got -inf"),
        (lambda: F.rrelu(ad.ones(1), 0.0, math.nan, True), RuntimeError, "rrelu: upper bound must be finite, got nan"),
        (lambda: nn.HuberLoss(delta=1j), TypeError, "delta must be a float or int, got: <class 'complex'>"),
        (lambda: F.kl_div(ad.ones(2), ad.ones(2, dtype=ad.int64), reduction="sum"), RuntimeError, "kl_div: Integral inputs not supported"),
        (lambda: F.cosine_similarity(ad.ones(2).int(), ad.ones(2).int(), 0), RuntimeError, "expected common dtype to be floating point"),
        (lambda: F.cross_entropy(ad.ones(2, 3, 5), ad.zeros(2, 4).long()), RuntimeError, r"Expected target size \[2, 5\], got \[2, 4\]"),
        (lambda: F.nll_loss(ad.ones(2, 3, 5, 5), ad.zeros(2, 5).long()), RuntimeError, "only batches of spatial targets supported"),
        (lambda: F.multi_margin_loss(ad.ones(2, 3).half(), ad.zeros(2).long()), NotImplementedError, "not implemented for 'Half'"),
        (lambda: F.cosine_embedding_loss(ad.ones(2, 3), ad.ones(2, 3), ad.ones(())), RuntimeError, "0D target tensor expects 1D input"),
        (lambda: F.cosine_embedding_loss(ad.ones(3), ad.ones(3), ad.ones(1)), RuntimeError, "1D target tensor expects 2D input tensors"),
        (lambda: F.cosine_embedding_loss(ad.ones(2, 3), ad.ones(2, 3), ad.ones(2, 1)), RuntimeError, "multi-target not supported"),
        (lambda: F.gaussian_nll_loss(ad.ones(4, 3), ad.ones(4, 3), ad.ones(1, 1)), ValueError, "var is of incorrect size"),
        (lambda: ad.optim.Adagrad(nn.LazyLinear(2).parameters()), ValueError, "Attempted to use an uninitialized parameter"),
    ],
)
def test_layers_and_losses_check_their_arguments(do, error, message):
    with pytest.raises(error, match=message):
        do()


@pytest.mark.parametrize(
    ("cell", "rows"), [(nn.RNNCell, 1), (nn.GRUCell, 3), (nn.LSTMCell, 4)], ids=["rnn", "gru", "lstm"]
)
def test_cells_check_their_weights(cell, rows):
    layer = cell(3, 4)
    after = layer(ad.ones(0, 3))
    assert (after[0] if isinstance(after, tuple) else after).shape == (0, 4)
    layer.weight_ih = nn.Parameter(ad.ones(5 * rows, 3))
    with pytest.raises(RuntimeError, match=rf"weight_ih first dim must be {rows} \* hidden_size = {4 * rows}, but got {5 * rows}"):
        layer(ad.ones(2, 3))


@pytest.mark.parametrize("change", [F.leaky_relu_, F.elu_, F.celu_])
def test_a_negative_slope_in_place_cannot_be_differentiated(change):
    x = ad.ones(2, requires_grad=True)
    result = change(x * 1, -2.0)
    with pytest.raises(RuntimeError, match="backward calculation is triggered with a negative slope"):
        result.sum().backward()


def test_batches_are_counted_only_if_statistics_are_tracked():
    layer = nn.BatchNorm1d(2)
    layer.track_running_stats = False
    layer(ad.randn(4, 2))
    assert layer.num_batches_tracked.item() == 0


def test_statistics_of_a_batch():
    x, mean, var = ad.randn(4, 3, 2).double(), ad.zeros(3).double(), ad.ones(3).double()
    found = ad.batch_norm_update_stats(x, mean, var, 0.1)
    close(found[0], x.mean((0, 2)))
    close(found[1], x.var((0, 2), correction=0))
    close(mean, 0.1 * x.mean((0, 2)))
    close(var, 0.9 + 0.1 * x.var((0, 2)))


# ---- losses of targets of other dtypes and shapes -----------------------------------------------------------------------------------


def test_multilabel_soft_margin_loss_takes_integers():
    x, target = ad.randn(3, 4).double(), ad.tensor([[0, 1, 1, 0]] * 3)
    close(F.multilabel_soft_margin_loss(x, target), F.multilabel_soft_margin_loss(x, target.double()))


@pytest.mark.parametrize("shape", [(1, 3), (4, 1), (4,)])
def test_gaussian_nll_loss_takes_a_variance_for_all_of_a_dimension(shape):
    x, target, var = ad.randn(4, 3).double(), ad.randn(4, 3).double(), ad.rand(shape).double() + 0.1
    whole = (var.unsqueeze(-1) if var.ndim == 1 else var).expand(4, 3)
    close(F.gaussian_nll_loss(x, target, var), F.gaussian_nll_loss(x, target, whole))


def test_cross_entropy_without_classes():
    assert math.isnan(F.cross_entropy(ad.ones(2, 0), ad.zeros(2, 0), label_smoothing=0.1).item())
    assert F.cross_entropy(ad.ones(2, 0), ad.zeros(2, 0), reduction="none").tolist() == [0, 0]


def test_losses_with_the_dtype_of_their_input():
    x, target = ad.randn(3), ad.randn(3).double()
    assert F.huber_loss(x, target).dtype is F.soft_margin_loss(x, target.sign()).dtype is ad.float32
    close(F.cosine_similarity(ad.tensor([1, 2], dtype=ad.int8), ad.tensor([1.0, 2.0]), 0), 1, 1e-6)


def test_layers_of_a_transformer_take_an_empty_batch():
    assert nn.TransformerEncoderLayer(8, 2, 16)(ad.zeros(4, 0, 8)).shape == (4, 0, 8)
    x = ad.zeros(0, 4, 8)
    assert nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0].shape == (0, 4, 8)


def test_names_that_lead_elsewhere():
    assert F.grad is nn.grad and "Linear" in nn.modules.__all__ and "Any" not in nn.modules.__all__


def test_dropout_of_repeated_rows_draws_row_by_row():
    rows = ad.ones(1, 2).expand(4, 2)
    ad.manual_seed(0)
    expected = nn.functional.dropout(ad.ones(4, 2))
    ad.manual_seed(0)
    dropped = nn.functional.dropout(rows)
    assert dropped.tolist() == expected.tolist() and dropped.stride() == (2, 1)


@pytest.mark.parametrize("inplace", [False, True])
def test_dropout3d_of_few_dimensions_takes_the_first_one_for_channels(inplace):
    ad.manual_seed(0)
    with pytest.warns(UserWarning, match="dropout3d: Received a 2-D input"):
        result = F.dropout3d(ad.ones(8, 3), inplace=inplace)
    assert {tuple(row) for row in result.tolist()} == {(0, 0, 0), (2, 2, 2)}


def test_grids_of_one_point_are_warned_of():
    with pytest.warns(UserWarning, match="affine_grid behavior has changed for unit-size grids"):
        F.affine_grid(ad.ones(1, 2, 3), (1, 1, 1, 2), align_corners=True)


def test_the_slope_of_elu_at_nan_is_that_above():
    x = ad.tensor([math.nan], requires_grad=True)
    F.elu(x).sum().backward()
    assert x.grad.tolist() == [1]


@pytest.mark.parametrize("shape", [(4,), (3, 50)])
def test_slopes_of_rrelu_come_from_the_given_generator(shape):
    x = -ad.ones(shape)
    ad.manual_seed(3)
    expected = F.rrelu(x, 0.1, 0.3, True)
    state = ad.get_rng_state()
    assert ad.rrelu(x, 0.1, 0.3, True, ad.Generator().manual_seed(3)).equal(expected)
    changed = x.clone()
    assert ad.rrelu_(changed, 0.1, 0.3, True, ad.Generator().manual_seed(3)) is changed and changed.equal(expected)
    assert ad.get_rng_state().equal(state)
