"""Softmax, norms, losses and dropout: the compiled kernels against the NumPy code, with their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import element_loss_loops, loss_loops, margin_loops, norm_loops, random_loops, softmax_loops
from adjoint._kernels.loops import LOOPS
from adjoint.nn import functional as F

MODULES = (element_loss_loops, loss_loops, margin_loops, norm_loops, softmax_loops)
KERNELS = [kernel for kernel in LOOPS if kernel.fn.__module__ in {module.__name__ for module in MODULES}]
KERNELS += [random_loops.masked, random_loops.scale_channels]  # of the others test_random.py takes care
random = np.random.default_rng(0)


def array(*shape, low=-3.0, high=3.0):
    return random.uniform(low, high, shape)


def positive(*shape):
    return array(*shape, low=0.01, high=0.99)


CLASSES = random.integers(0, 7, 200)
CLASSES[::9] = -100
CHANCES = positive(90, 70)
LABELS = np.where(random.random((70, 7)) < 0.2, -1, random.integers(0, 7, (70, 7)))
PICTURE = random.integers(0, 7, (3, 5, 30))
MASK = random.random((3, 9, 9)) < 0.6
MASK[1, 4] = False

# What is computed, of which arrays, and by which kernels.
CASES = {
    "softmax": (lambda x: x.softmax(-1), [array(70, 1100)], "softmax_along_rows softmax_rows_back"),
    "softmax of short rows": (lambda x: x.softmax(1), [array(150, 7)], "softmax_along_rows softmax_rows_back"),
    "softmax of columns": (lambda x: x.softmax(1), [array(3, 40, 70)], "softmax_down_columns softmax_columns_back"),
    "log_softmax": (lambda x: x.log_softmax(-1), [array(70, 1100)], "log_softmax_along_rows log_softmax_rows_back"),
    "log_softmax of short rows": (lambda x: x.log_softmax(-1), [array(150, 7)], "log_softmax_along_rows log_softmax_rows_back"),
    "log_softmax of columns": (lambda x: x.log_softmax(0), [array(40, 70)], "log_softmax_down_columns softmax_columns_back"),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [array(2, 3, 9, 4) for _ in range(3)],
        "attention_rows softmax_rows_back",
    ),
    "attention with a mask": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, ad.tensor(MASK)),
        [array(2, 3, 9, 4) for _ in range(3)],
        "attention_rows softmax_rows_back",
    ),
    "attention with a bias": (
        F.scaled_dot_product_attention,
        [array(2, 3, 9, 4), array(2, 3, 9, 4), array(2, 3, 9, 4), array(9, 9)],
        "attention_rows softmax_rows_back",
    ),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (33,), w, b), [array(150, 33), array(33), array(33)], "norm_rows norm_rows_back"),
    "layer_norm without bias": (lambda x, w: F.layer_norm(x, (3, 11), w), [array(9, 3, 11), array(3, 11)], "norm_rows norm_rows_back"),
    "layer_norm without weight": (lambda x: F.layer_norm(x, (2100,)), [array(5, 2100)], "norm_rows norm_rows_back"),
    "layer_norm with bias alone": (lambda x, b: F.layer_norm(x, (8,), None, b), [array(5, 8), array(8)], "norm_rows norm_rows_back"),
    "rms_norm": (lambda x, w: F.rms_norm(x, (33,), w), [array(150, 33), array(33)], "norm_rows norm_rows_back"),
    "group_norm": (
        lambda x, w, b: F.group_norm(x, 2, w, b), [array(3, 6, 5, 7), array(6), array(6)], "norm_groups norm_groups_back",
    ),
    "instance_norm": (F.instance_norm, [array(3, 6, 5, 7)], "norm_groups norm_groups_back"),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [array(3, 6, 5, 7), array(6), array(6)],
        "norm_channels norm_channels_back",
    ),
    "batch_norm of vectors": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [array(30, 70), array(70), array(70)], "norm_columns norm_columns_back",
    ),
    "batch_norm by given statistics": (
        lambda x, w: F.batch_norm(x, ad.ones(6, dtype=x.dtype), ad.ones(6, dtype=x.dtype) * 2, w), [array(3, 6, 5), array(6)],
        "norm_channels norm_channels_back",
    ),
    "batch_norm of vectors by given statistics": (
        lambda x: F.batch_norm(x, ad.ones(70, dtype=x.dtype), ad.ones(70, dtype=x.dtype) * 2), [array(30, 70)],
        "norm_columns norm_columns_back",
    ),
    "mse_loss": (F.mse_loss, [array(90, 70), array(90, 70)], "mse_loss_sums mse_loss_slopes finish"),
    "l1_loss": (lambda x, t: F.l1_loss(x, t, reduction="sum"), [array(90, 70), array(90, 70)], "l1_loss_sums l1_loss_slopes finish"),
    "smooth_l1_loss": (F.smooth_l1_loss, [array(90, 70), array(90, 70)], "smooth_l1_loss_sums smooth_l1_loss_slopes finish"),
    "huber_loss": (F.huber_loss, [array(90, 70), array(90, 70)], "huber_loss_sums huber_loss_slopes finish"),
    **{
        f"{name} of each": (
            lambda x, t, name=name: getattr(F, name)(x, t, reduction="none"), [positive(90, 70), positive(90, 70)],
            f"{name}_values {name}_slopes",
        )
        for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
    },
    "kl_div": (
        lambda x, t: F.kl_div(x, t, reduction="batchmean"), [array(90, 70), positive(90, 70)], "kl_div_sums kl_div_slopes finish",
    ),
    "kl_div of logarithms": (
        lambda x, t: F.kl_div(x, t, reduction="sum", log_target=True), [array(90, 70), array(90, 70)],
        "log_kl_div_sums log_kl_div_slopes finish",
    ),
    "binary_cross_entropy": (
        F.binary_cross_entropy, [positive(90, 70), positive(90, 70)],
        "binary_cross_entropy_sums binary_cross_entropy_slopes finish",
    ),
    "binary_cross_entropy_with_logits": (
        F.binary_cross_entropy_with_logits, [array(90, 70), positive(90, 70)],
        "binary_cross_entropy_with_logits_sums binary_cross_entropy_with_logits_slopes finish",
    ),
    "dropout": (lambda x: F.dropout(x, 0.3), [array(90, 70)], "masked"),
}  # fmt: skip

for _reduction in ("none", "mean", "sum"):
    CASES |= {
        f"weighted binary_cross_entropy_with_logits, {_reduction}": (
            lambda x, t, r=_reduction: F.binary_cross_entropy_with_logits(x, t, ad.arange(70, dtype=x.dtype), reduction=r),
            [array(90, 70), positive(90, 70)], "binary_cross_entropy_with_logits_slopes " + (
                "binary_cross_entropy_with_logits_values" if _reduction == "none" else "binary_cross_entropy_with_logits_sums finish"),
        ),
        f"binary_cross_entropy_with_logits with weights of the positive class, {_reduction}": (
            lambda x, r=_reduction: F.binary_cross_entropy_with_logits(
                x, ad.tensor(CHANCES, dtype=x.dtype), reduction=r, pos_weight=ad.arange(70, dtype=x.dtype)),
            [array(90, 70)], "positive_slopes " + ("positive_values" if _reduction == "none" else "positive_sums finish"),
        ),
        f"cross_entropy, {_reduction}": (
            lambda x, r=_reduction: F.cross_entropy(x, ad.tensor(CLASSES), reduction=r), [array(200, 7)],
            "cross_entropy_rows cross_entropy_rows_back finish",
        ),
        f"weighted and smoothed cross_entropy, {_reduction}": (
            lambda x, r=_reduction: F.cross_entropy(x, ad.tensor(CLASSES), ad.arange(7, dtype=x.dtype), reduction=r, label_smoothing=0.2),
            [array(200, 7)], "cross_entropy_rows cross_entropy_rows_back finish",
        ),
        f"cross_entropy of a picture, {_reduction}": (
            lambda x, r=_reduction: F.cross_entropy(x, ad.tensor(PICTURE), ad.arange(7, dtype=x.dtype), ignore_index=2, reduction=r),
            [array(3, 7, 5, 30)], "cross_entropy_columns cross_entropy_columns_back finish",
        ),
        f"nll_loss, {_reduction}": (
            lambda x, r=_reduction: F.nll_loss(x, ad.tensor(PICTURE), ad.arange(7, dtype=x.dtype), ignore_index=2, reduction=r),
            [array(3, 7, 5, 30)], "nll nll_back",
        ),
        f"multi_margin_loss, {_reduction}": (
            lambda x, r=_reduction: F.multi_margin_loss(x, ad.tensor(abs(CLASSES % 7)), 2, 0.7, ad.arange(7, dtype=x.dtype), reduction=r),
            [array(200, 7)], "multi_margin multi_margin_back finish",
        ),
        f"multi_margin_loss of few rows, {_reduction}": (
            lambda x, r=_reduction: F.multi_margin_loss(x, ad.tensor(abs(CLASSES[:9] % 7)), reduction=r), [array(9, 1100)],
            "multi_margin multi_margin_back",
        ),
        f"multilabel_margin_loss, {_reduction}": (
            lambda x, r=_reduction: F.multilabel_margin_loss(x, ad.tensor(LABELS), reduction=r), [array(70, 7)],
            "multilabel_margin multilabel_margin_back finish",
        ),
    }  # fmt: skip


def computed(fn, arrays, dtype):
    """The result and the gradients."""
    ad.manual_seed(0)
    inputs = [ad.tensor(x.astype(dtype), requires_grad=True) for x in arrays]
    result = fn(*inputs)
    weights = np.linspace(0.5, 1.5, result.numel()).reshape(result.shape).astype(dtype)
    result.backward(ad.tensor(weights))
    return [result.detach().numpy(), *(x.grad.numpy() for x in inputs)]


@pytest.fixture
def served(monkeypatch, without_builtins):
    """The names of the kernels that have computed something; all of them are compiled at once."""
    names: set[str] = set()

    def counting(kernel):
        run = kernel.run if kernel.run != kernel.first else kernel.compiled()

        def call(*args):
            done = run(*args)
            if done:
                names.add(kernel.__name__)
            return done

        return call

    without_builtins()
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "run", counting(kernel))
    return names


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_numpy(name, dtype, served, monkeypatch):
    fn, arrays, kernels = CASES[name]
    fast = computed(fn, arrays, dtype)
    assert served == set(kernels.split())
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "run", lambda *args: None)
    slow = computed(fn, arrays, "float64")
    eps = np.finfo(dtype).eps
    for x, y in zip(fast, slow, strict=True):
        assert x.dtype == dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=30 * eps, atol=eps * (4 + 30 * np.abs(y).max()))


def test_every_kernel_has_a_case():
    named = {kernel for _, _, kernels in CASES.values() for kernel in kernels.split()}
    # These are tested elsewhere.
    apart = {"move_statistics", "scale_channels", "attention_block", "attention_slopes"}
    assert {kernel.__name__ for kernel in KERNELS} - named == apart


def test_running_statistics_follow_the_batch(served):
    x = array(6, 4, 3).astype("float32")
    mean, var = ad.zeros(4), ad.ones(4)
    F.batch_norm(ad.tensor(x), mean, var, training=True, momentum=0.25)
    assert "move_statistics" in served
    np.testing.assert_allclose(mean.numpy(), 0.25 * x.mean((0, 2)), rtol=1e-6)
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var((0, 2), ddof=1), rtol=1e-6)


def test_statistics_of_numbers_far_from_zero_are_precise(served):
    x = (1e4 + np.random.default_rng(0).standard_normal((4, 3000))).astype("float32")
    expected = (x.astype("float64") - x.mean(1, dtype="float64", keepdims=True)) / x.std(1, dtype="float64", keepdims=True)
    np.testing.assert_allclose(F.layer_norm(ad.tensor(x), (3000,)).numpy(), expected, atol=1e-3)
    assert served == {"norm_rows"}


SPECIAL = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 1.0], [-np.inf, 0.0, 1.0], [-np.inf] * 3, [-200.0, 0.0, 1.0], [1e4, 9995.0, 0.0]])


@pytest.mark.parametrize("width", [3, 48])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_infinities_and_nan(name, width, served):
    x = np.tile(SPECIAL, width // 3)
    with np.errstate(all="ignore"):
        shifted = x - x.max(1, keepdims=True)
        expected = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    expected = np.exp(expected) if name == "softmax" else expected
    along = getattr(ad.tensor(x), name)(1).numpy()
    down = getattr(ad.tensor(x.T.copy()), name)(0).numpy()
    assert len(served) == 2
    np.testing.assert_allclose(along, expected, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(down.T, expected, rtol=1e-13, atol=1e-300)


def test_a_wrong_class_is_refused_by_name(served):
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(IndexError, match="Target 7 is out of bounds"):
            loss(ad.randn(3, 7), ad.tensor([0, 7, -100]))
    assert "cross_entropy_rows" in served and "nll" in served


def test_wrong_targets_of_margins_are_refused(served):
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(ad.ones(3, 7), ad.tensor([0, 7, 1]))
    with pytest.raises(RuntimeError, match="'target' is out of range"):
        F.multilabel_margin_loss(ad.ones(1, 3), ad.tensor([[0, -1, 3]]))
    assert served == {"multi_margin", "multilabel_margin"}


def test_no_probability_is_refused(served):
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(ad.tensor([0.5, np.nan]), ad.tensor([0.5, 0.5]))
    assert "binary_cross_entropy_sums" in served


@pytest.mark.parametrize("count", [1, 311, 312, 313, 5000])
def test_dropout_draws_what_bernoulli_draws(count, served):
    for start in range(3):  # also in the middle of a pair of words
        ad.manual_seed(start)
        ad.rand(start)
        expected = [ad.empty(count).bernoulli_(0.7).numpy() for _ in range(3)]
        after = ad.rand(3).numpy()
        ad.manual_seed(start)
        ad.rand(start)
        got = [F.dropout(ad.ones(count), 0.3).numpy() != 0 for _ in range(3)]
        np.testing.assert_array_equal(got, np.array(expected) != 0)
        np.testing.assert_array_equal(ad.rand(3).numpy(), after)
    assert served == {"masked"}


def test_the_number_of_threads_changes_nothing(served):
    x, w, g = ad.randn(1000, 300), ad.randn(300, requires_grad=True), ad.randn(1000, 300)
    target = ad.randint(0, 300, (1000,))
    results = []
    before = ad.get_num_threads()
    for threads in (1, 2, 3):
        ad.set_num_threads(threads)
        try:
            w.grad = None
            F.layer_norm(x, (300,), w).backward(g)
            results.append((F.cross_entropy(x, target).item(), w.grad.numpy().tobytes(), x.softmax(1).numpy().tobytes()))
        finally:
            ad.set_num_threads(before)
    assert results[0] == results[1] == results[2]
