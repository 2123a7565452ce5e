"""The rarer layers of `nn` against PyTorch: values, gradients, random numbers, state, printed forms, messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape)


def same(ours, theirs, tolerance=1e-10):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


IMAGE = normal(2, 6, 3, 3)
CASES = {
    "sync": (lambda nn: nn.SyncBatchNorm(6), IMAGE), "sync, two dimensions": (lambda nn: nn.SyncBatchNorm(6), normal(4, 6)),
    "parallel": (lambda nn: nn.DataParallel(nn.Linear(6, 2)), normal(4, 6)),
    "converted": (lambda nn: nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))), normal(4, 6)),
    "container": (lambda nn: next(nn.Container(a=nn.Linear(6, 2)).children()), normal(4, 6)),
}  # fmt: skip


@pytest.mark.parametrize(("make", "x"), CASES.values(), ids=CASES)
def test_layers(make, x):
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = make(library.nn).double()
        given = library.tensor(x, requires_grad=True)
        out = layer(given)
        (out * library.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))).sum().backward()
        after = layer.eval()(given)
        tensors = [out, given.grad, *(p.grad for p in layer.parameters()), after, *layer.state_dict().values()]
        results.append([tensor.detach().numpy() for tensor in tensors])
        facts.append([repr(layer), list(layer.state_dict())])
    assert facts[0] == facts[1]
    same(*results)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cross_map_lrn(size):
    # Of the first channels only: further on, PyTorch's sum never lets go of the very first one, and its gradient does not know of that.
    channels = (size - 1) // 2 + 1
    found = [library.nn.CrossMapLRN2d(size, 0.5, 0.6, 2)(library.tensor(IMAGE)).numpy()[:, :channels] for library in LIBRARIES]
    same(found[:1], found[1:])
    assert len({repr(library.nn.CrossMapLRN2d(size, 0.5)) for library in LIBRARIES}) == 1


@pytest.mark.parametrize("settings", [{}, dict(head_bias=True, div_value=2.0)])
@pytest.mark.parametrize("single", [False, True])
def test_adaptive_log_softmax(settings, single):
    x, targets = normal(7, 16), np.array([0, 3, 4, 9, 10, 19, 5])
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(1)
        layer = library.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], **settings, dtype=library.float64)
        given = library.tensor(x[0] if single else x, requires_grad=True)
        output, loss = layer(given, library.tensor(targets[3] if single else targets))
        loss.backward()
        all_of_them = layer.log_prob(library.tensor(x))
        tensors = [output, loss, given.grad, all_of_them, layer.predict(library.tensor(x)), library.rand(2)]
        tensors += [p.grad for p in layer.parameters() if p.grad is not None]
        results.append([tensor.detach().numpy() for tensor in tensors])
        facts.append([repr(layer), list(layer.state_dict()), [p.grad is None for p in layer.parameters()]])
        assert np.allclose(np.exp(all_of_them.detach().numpy()).sum(1), 1)
    assert facts[0] == facts[1]
    same(*results)


LOSSES = {
    "plain": ({}, (5, 4), (3, 4), (3,)), "bias": (dict(bias=True, label_smoothing=0.1), (5, 4), (3, 4), (3,)),
    "sum": (dict(reduction="sum", ignore_index=2), (5, 4), (3, 4), (3,)), "none": (dict(reduction="none"), (5, 4), (3, 4), (3,)),
    "more sizes": (dict(out_features=(2,), bias=True), (5, 2, 4), (3, 4), (3, 2)), "one": ({}, (5, 4), (4,), ()),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "_", "shape", "target_shape"), LOSSES.values(), ids=LOSSES)
def test_linear_cross_entropy(settings, _, shape, target_shape):
    x, y = normal(*shape), rng.integers(0, 5, target_shape)
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(1)
        loss = library.nn.LinearCrossEntropyLoss(4, 5, **settings, dtype=library.float64)
        given = library.tensor(x, requires_grad=True)
        value = loss(given, library.tensor(y))
        value.sum().backward()
        results.append([t.detach().numpy() for t in (value, given.grad, *(p.grad for p in loss.parameters()))])
        facts.append([repr(loss), list(loss.state_dict())])
    assert facts[0] == facts[1]
    same(*results, 1e-7)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss(reduction):
    x = normal(6, 2, 5)
    results = []
    for library in LIBRARIES:
        given = library.tensor(x, requires_grad=True)
        loss = library.nn.CTCLoss(reduction=reduction)
        value = loss(given.log_softmax(-1), library.tensor([[1, 2, 2], [3, 1, 0]]), library.tensor([6, 5]), library.tensor([3, 2]))
        value.sum().backward()
        results.append([value.detach().numpy(), given.grad.numpy()])
        assert repr(loss) == "CTCLoss()"
    same(*results)


@pytest.mark.parametrize("name", ["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"])
def test_pooling_with_indices(name):
    size = int(name[-2])
    x = normal(2, 3, *[5] * size)
    results = []
    for library in LIBRARIES:
        values, index = getattr(library.nn.functional, f"{name}_with_indices")(library.tensor(x), 2)
        results.append([values.numpy(), index.numpy()])
    same(*results)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_gradients_of_convolutions_by_hand(size):
    x, w = normal(2, 4, *[5] * size), normal(6, 2, *[3] * size)
    settings = dict(stride=2, padding=1, groups=2)
    results = []
    for library in LIBRARIES:
        given, weight = library.tensor(x), library.tensor(w)
        out = getattr(library.nn.functional, f"conv{size}d")(given, weight, None, **settings)
        grad = library.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
        by_input = getattr(library.nn.grad, f"conv{size}d_input")(given.shape, weight, grad, **settings)
        by_weight = getattr(library.nn.grad, f"conv{size}d_weight")(given, weight.shape, grad, **settings)
        results.append([by_input.numpy(), by_weight.numpy()])
    same(*results)


def test_names():
    """Every public name of PyTorch is there, but for those of quantization and of its own machinery."""
    missing = {name for name in torch.nn.__dict__ if not name.startswith("_") and name[0].isupper()} - set(dir(ad.nn))
    assert missing == set()
    for name in torch.nn.modules.__all__:
        assert getattr(ad.nn.modules, name) is getattr(ad.nn, name)


MISTAKES = [
    *(lambda lib, c=c: lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, c) for c in ([], [4, 4], [10, 4], [4, 20], [0, 4], [4.5])),
    *(lambda lib, x=x, y=y: lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4], div_value=2.0)(lib.ones(*x), lib.tensor(y)) for x, y in (
        ((3, 8), [[1, 5, 15]]), ((3, 8), [1, 5]), ((3, 8), 5), ((3, 8), [1, 5, 20]))),
    lambda lib: lib.nn.SyncBatchNorm(3)(lib.ones(3)),
    lambda lib: lib.nn.InstanceNorm1d(3, affine=True)(lib.ones(2, 4, 5)),
    lambda lib: lib.nn.functional.linear_cross_entropy(lib.ones(2, 3, 4), lib.ones(5, 4), lib.tensor([0])),
    lambda lib: lib.nn.functional.linear_cross_entropy(lib.ones(2, 3), lib.ones(5, 4), lib.tensor([0, 1])),
    lambda lib: lib.nn.factory_kwargs({"device": "cpu", "foo": 1}),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_messages_begin_with_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch)
    with pytest.raises(theirs.type) as ours:
        mistake(ad)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0].rstrip(". ").split(" {")[0])


HALF = {
    "l1": lambda F, x, y: F.l1_loss(x, y, reduction="sum"),
    "binary cross entropy": lambda F, x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="sum"),
    "rms norm": lambda F, x, y: F.rms_norm(x * 0.05, (8,)) + y,
    "convolution": lambda F, x, y: F.conv1d(x.reshape(1, 1, 512), x[:, :1, :3], y[:, 0, 0]),
    "attention with a mask": lambda F, x, y: F.scaled_dot_product_attention(x, y, x, attn_mask=x[0, :, :1].detach()),
    "attention by heads": lambda F, x, y: F.scaled_dot_product_attention(x[:, None], y[:, None], x[:, None], is_causal=True),
}


@pytest.mark.parametrize("function", HALF.values(), ids=HALF)
def test_half_precision(function):
    """Gradients have the dtype of their tensors, and sums are made in single precision: both libraries are as near to the exact ones."""
    x, y, errors, kinds = normal(4, 16, 8), normal(4, 16, 8), [], []
    for library in LIBRARIES:
        F, found = library.nn.functional, []
        for dtype in (library.bfloat16, library.float64):
            tensors = [library.tensor(a).bfloat16().to(dtype).requires_grad_() for a in (x, y)]
            out = function(F, *tensors)
            weights = library.tensor(1.5 + np.cos(np.arange(out.numel())).reshape(tuple(out.shape))).bfloat16().to(dtype)
            found.append([out, *library.autograd.grad(out, tensors, weights)])
        kinds.append([str(tensor.dtype) for tensor in found[0]])
        errors.append([(a.double() - b).abs().max().item() for a, b in zip(*found, strict=True)])
    assert kinds[0] == kinds[1]
    for ours, theirs in zip(*errors, strict=True):
        assert ours <= 2 * theirs + 1e-2
