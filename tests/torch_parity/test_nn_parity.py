"""The same layers and programs with adjoint and with PyTorch: values, gradients, state, printed forms, random numbers, messages."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape)


def integers(*shape, below):
    return rng.integers(0, below, shape)


# ---- layers -------------------------------------------------------------------------------------------------------------------------

X = normal(4, 6) * 2
TABLE = integers(3, 4, below=7)
IMAGES = {1: normal(3, 6, 5), 2: normal(3, 6, 4, 4), 3: normal(2, 6, 3, 3, 3)}

LAYERS: list[tuple[str, tuple, dict, tuple]] = [
    *((name, args, {}, (X,)) for name, args in [
        ("Threshold", (0.1, 2.0)), ("ReLU", ()), ("Hardtanh", ()), ("Hardtanh", (-2.0, 0.5)), ("ReLU6", ()), ("Sigmoid", ()), ("Tanh", ()),
        ("SiLU", ()), ("Mish", ()), ("Hardswish", ()), ("ELU", (1.5,)), ("CELU", (1.5,)), ("SELU", ()), ("GLU", ()), ("GELU", ()),
        ("GELU", ("tanh",)), ("Hardshrink", ()), ("LeakyReLU", (0.1,)), ("LogSigmoid", ()), ("Softplus", ()), ("Softplus", (2.0, 1.0)),
        ("Softshrink", ()), ("PReLU", (6,)), ("Softsign", ()), ("Tanhshrink", ()), ("Softmin", (1,)), ("Softmax", (0,)),
        ("LogSoftmax", (1,)), ("RReLU", ()), ("Flatten", (0,)), ("Unflatten", (1, (2, 3))), ("LayerNorm", (6,)),
        ("LayerNorm", ((4, 6), 1e-3, False)),
        ("LayerNorm", (6, 1e-5, True, False)), ("RMSNorm", (6,)), ("BatchNorm1d", (6,)), ("BatchNorm1d", (6, 1e-5, None)),
        ("BatchNorm1d", (6, 1e-5, 0.1, False, False)), ("GroupNorm", (3, 6)), ("Dropout", (0.3,)), ("AlphaDropout", (0.3,)),
        ("FeatureAlphaDropout", (0.3,)), ("Identity", (3,)), ("Linear", (6, 3)), ("Linear", (6, 3, False)),
    ]),
    ("Bilinear", (6, 6, 3), {}, (X, normal(4, 6))),
    ("Linear", (6, 3), {}, (normal(2, 4, 6),)),
    *((f"{kind}{n}d", (6,), settings, (x,)) for n, x in IMAGES.items() for kind, settings in [
        ("BatchNorm", {}), ("InstanceNorm", {}), ("InstanceNorm", dict(affine=True, track_running_stats=True)),
    ]),
    *((f"InstanceNorm{n}d", (6,), {}, (x[0],)) for n, x in IMAGES.items()),
    *((f"Dropout{n}d", (), {}, (x,)) for n, x in IMAGES.items()),
    *((f"{kind}Pad{n}d", (1,), {}, (x,)) for n, x in IMAGES.items() for kind in ("Zero", "Reflection", "Replication", "Circular")),
    *((f"ConstantPad{n}d", ((2, -1) * n, 3.5), {}, (x,)) for n, x in IMAGES.items()),
    ("LocalResponseNorm", (3,), {}, (IMAGES[1],)), ("GroupNorm", (2, 6), {}, (IMAGES[2],)), ("Softmax2d", (), {}, (IMAGES[2],)),
    ("PixelShuffle", (2,), {}, (normal(2, 8, 3, 3),)), ("PixelUnshuffle", (2,), {}, (normal(2, 2, 4, 4),)),
    ("ChannelShuffle", (2,), {}, (IMAGES[1],)),
    ("CosineSimilarity", (), {}, (X, normal(4, 6))), ("PairwiseDistance", (), {}, (X, normal(4, 6))),
    ("Embedding", (7, 5), {}, (TABLE,)), ("Embedding", (7, 5, 2), {}, (TABLE,)), ("Embedding", (7, 5, None, 1.0), {}, (TABLE,)),
    ("Embedding", (7, 5), dict(scale_grad_by_freq=True), (TABLE,)),
    *(("EmbeddingBag", (7, 5), dict(mode=mode, **more), inputs) for mode in ("sum", "mean", "max") for more, inputs in [
        ({}, (TABLE,)), (dict(padding_idx=3), (TABLE,)), ({}, (integers(8, below=7), np.array([0, 3, 3, 6]))),
    ]),
]  # fmt: skip


def run_layer(library, name, args, settings, inputs, dtype):
    """Everything that can be seen of a layer, in training and then in evaluation."""
    library.manual_seed(3)
    layer = getattr(library.nn, name)(*args, **settings)
    if dtype == "float64":
        layer = layer.double()
    seen = []
    for training in (True, False):
        layer.train(training)
        tensors = [library.tensor(a.astype(dtype) if a.dtype.kind == "f" else a) for a in inputs]
        tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
        out = layer(*tensors)
        seen.append(out.detach().numpy().copy())
        weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(dtype)
        if out.requires_grad:
            (out * library.tensor(weights)).sum().backward()
        seen += [None if t.grad is None else t.grad.numpy() for t in tensors if t.is_floating_point()]
        seen += [None if p.grad is None else p.grad.numpy() for p in layer.parameters()]
        layer.zero_grad()
    seen += [value.numpy() for value in layer.state_dict().values()]
    return seen, repr(layer), list(layer.state_dict())


def same(ours, theirs, tolerance):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape and a.dtype == b.dtype
            assert np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS, ids=[f"{n}{a}{s}" for n, a, s, _ in LAYERS])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 2e-5)])
def test_layer(name, args, settings, inputs, dtype, tolerance):
    (ours, *facts), (theirs, *expected) = (run_layer(library, name, args, settings, inputs, dtype) for library in LIBRARIES)
    same(ours, theirs, tolerance)
    assert facts == expected


# ---- losses -------------------------------------------------------------------------------------------------------------------------

T, P, SIGNS = normal(4, 6), 1 / (1 + np.exp(-normal(4, 6))), np.sign(normal(4, 6))
CLASSES = integers(4, below=6)
LOSSES: list[tuple[str, dict, tuple]] = [
    ("L1Loss", {}, (X, T)), ("MSELoss", {}, (X, T)), ("SmoothL1Loss", dict(beta=0.7), (X, T)), ("HuberLoss", dict(delta=0.7), (X, T)),
    ("NLLLoss", {}, (X, CLASSES)), ("NLLLoss", dict(ignore_index=2), (X, CLASSES)), ("CrossEntropyLoss", {}, (X, CLASSES)),
    ("CrossEntropyLoss", dict(label_smoothing=0.1), (X, CLASSES)), ("CrossEntropyLoss", {}, (X, P)),
    ("BCELoss", {}, (P, 1 / (1 + np.exp(-T)))), ("BCEWithLogitsLoss", {}, (X, P)), ("KLDivLoss", {}, (X, P)),
    ("KLDivLoss", dict(log_target=True), (X, T)), ("PoissonNLLLoss", {}, (X, np.abs(T))),
    ("PoissonNLLLoss", dict(log_input=False, full=True), (np.abs(X), np.abs(T))), ("GaussianNLLLoss", {}, (X, T, np.abs(T) + 0.1)),
    ("SoftMarginLoss", {}, (X, SIGNS)), ("MultiLabelMarginLoss", {}, (X, np.array([[1, 2, -1, 0, 0, 0]] * 4))),
    ("MultiLabelSoftMarginLoss", {}, (X, (SIGNS + 1) / 2)), ("MultiMarginLoss", {}, (X, CLASSES)),
    ("MultiMarginLoss", dict(p=2, margin=0.5), (X, CLASSES)), ("HingeEmbeddingLoss", {}, (X, SIGNS)),
    ("MarginRankingLoss", dict(margin=0.3), (X[:, 0], T[:, 0], SIGNS[:, 0])),
    ("CosineEmbeddingLoss", dict(margin=0.2), (X, T, SIGNS[:, 0])),
    ("TripletMarginLoss", {}, (X, T, P)), ("TripletMarginLoss", dict(swap=True, p=1.0), (X, T, P)),
    ("TripletMarginWithDistanceLoss", dict(swap=True), (X, T, P)),
]  # fmt: skip


def run_loss(library, name, settings, inputs):
    loss = getattr(library.nn, name)(**settings)
    first, *rest = (library.tensor(a) for a in inputs)
    first.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # KLDivLoss says what reduction='mean' means
        value = loss(first, *rest)
    value.sum().backward()
    return [value.detach().numpy(), first.grad.numpy()], repr(loss)


@pytest.mark.parametrize(("name", "settings", "inputs"), LOSSES, ids=[f"{n}{s}" for n, s, _ in LOSSES])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss(name, settings, inputs, reduction):
    (ours, text), (theirs, expected) = (run_loss(lib, name, {**settings, "reduction": reduction}, inputs) for lib in LIBRARIES)
    same(ours, theirs, 1e-11)
    assert text == expected


@pytest.mark.parametrize(
    ("name", "inputs", "more"),
    [("NLLLoss", (X, CLASSES), {}), ("CrossEntropyLoss", (X, CLASSES), {}), ("CrossEntropyLoss", (X, P), {}),
     ("MultiMarginLoss", (X, CLASSES), {}), ("BCEWithLogitsLoss", (X, P), {"pos_weight": np.arange(1.0, 7)})],
)  # fmt: skip
def test_weighted_loss(name, inputs, more):
    results = []
    for library in LIBRARIES:
        weights = {"weight": np.arange(6.0) + 0.5, **more}
        results.append(run_loss(library, name, {key: library.tensor(value) for key, value in weights.items()}, inputs)[0])
    same(results[0], results[1], 1e-11)


# ---- initial values -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fill", "shape"),
    [
        (lambda i, t: i.uniform_(t, -2, 3), (3, 4)), (lambda i, t: i.normal_(t, 1, 2), (5, 7)), (lambda i, t: i.normal_(t), (40, 3)),
        (lambda i, t: i.xavier_uniform_(t, 2.0), (3, 4, 5)), (lambda i, t: i.xavier_normal_(t), (30, 4)),
        (lambda i, t: i.kaiming_uniform_(t, a=0.3), (3, 4)),
        (lambda i, t: i.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), (6, 4)),
        (lambda i, t: i.trunc_normal_(t), (50, 3)), (lambda i, t: i.trunc_normal_(t, 0, 1, 1.5, 2.0), (50, 3)),
        (lambda i, t: i.orthogonal_(t, 1.5), (3, 5)), (lambda i, t: i.orthogonal_(t), (5, 3)), (lambda i, t: i.sparse_(t, 0.4), (6, 3)),
        (lambda i, t: i.dirac_(t, 2), (4, 2, 3)), (lambda i, t: i.eye_(t), (3, 5)), (lambda i, t: i.constant_(t, 2.5), (3,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_initial_values(fill, shape, dtype):
    results = []
    for library in LIBRARIES:
        library.manual_seed(11)
        tensor = fill(library.nn.init, library.empty(shape, dtype=getattr(library, dtype)))
        results.append([tensor.numpy(), library.rand(2).numpy()])  # and as many random numbers were used
    same(results[0], results[1], 1e-6 if dtype == "float32" else 1e-12)


def test_a_model_begins_with_the_same_weights():
    results = []
    for library in LIBRARIES:
        library.manual_seed(5)
        nn = library.nn
        layers = [nn.Embedding(9, 4), nn.Linear(4, 300), nn.Bilinear(2, 3, 4), nn.PReLU(), nn.LayerNorm(3), nn.Linear(300, 2, False)]
        results.append([p.detach().numpy() for layer in layers for p in layer.parameters()])
    same(results[0], results[1], 1e-7)


# ---- programs -----------------------------------------------------------------------------------------------------------------------


def forward_hooks(lib):
    log = []
    layer = lib.nn.Linear(2, 2)
    layer.register_forward_pre_hook(lambda m, args: log.append(("pre", len(args))))
    layer.register_forward_pre_hook(lambda m, args, kwargs: log.append(("pre+", sorted(kwargs))), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, out: log.append(("post", tuple(out.shape))))
    layer.register_forward_hook(lambda m, args, out: log.append("first"), prepend=True)
    layer(input=lib.ones(3, 2))
    layer(lib.ones(1, 2))
    return log


def backward_hooks(lib):
    log = []
    net = lib.nn.Sequential(lib.nn.Linear(2, 2, dtype=lib.float64), lib.nn.ReLU())
    with lib.no_grad():
        net[0].weight.fill_(0.5)
        net[0].bias.fill_(0.1)

    def show(tag):
        return lambda m, *grads: log.append((tag, [[None if g is None else g.tolist() for g in group] for group in grads]))

    for name, module in net.named_modules():
        module.register_full_backward_pre_hook(show(f"pre {name}"))
        module.register_full_backward_hook(show(f"post {name}"))
    x = lib.ones(1, 2, dtype=lib.float64, requires_grad=True)
    net(x).sum().backward()
    log.append(x.grad.tolist())
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        net(lib.ones(1, 2, dtype=lib.float64)).sum().backward()
    return log


def tables(lib):
    net = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.BatchNorm1d(1))
    net.register_buffer("b", lib.ones(1), persistent=False)
    net.extra = lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.ReLU()])
    return [
        list(net.state_dict()), dict(net.state_dict()._metadata), [n for n, _ in net.named_modules()], [n for n, _ in net.named_buffers()],
        repr(net), sorted(n for n in dir(net) if n in ("b", "extra", "training", "0")), list(net[0].__dict__)[:2],
    ]  # fmt: skip


def containers(lib):
    nn = lib.nn
    values = nn.ParameterDict({"b": lib.ones(1), "a": lib.ones(2, 3), "c": 3})
    made = [
        nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))[1:], nn.ModuleList([nn.ReLU()] * 3), nn.ModuleDict({"a": nn.ReLU()}),
        nn.ParameterList([lib.ones(2), 3]), values, nn.Sequential(nn.ReLU()) * 2, nn.ModuleList(), copy.deepcopy(values),
    ]  # fmt: skip
    return [repr(module) for module in made]


@pytest.mark.parametrize("program", [forward_hooks, backward_hooks, tables, containers])
def test_program(program):
    assert program(ad) == program(torch)


MISTAKES = [
    lambda lib: setattr(lib.nn.Linear(1, 1), "weight", lib.ones(1)),
    lambda lib: lib.nn.Linear(1, 1).nothing,
    lambda lib: lib.nn.Module()(1),
    lambda lib: lib.nn.Linear(2, 1).load_state_dict({}),
    lambda lib: lib.nn.Linear(2, 1).load_state_dict({"weight": lib.ones(3), "bias": lib.ones(1), "x": lib.ones(1)}),
    lambda lib: lib.nn.Linear(2, 1).get_submodule("a.b"),
    lambda lib: lib.nn.Sequential(lib.nn.ReLU())[3],
    lambda lib: lib.nn.Linear(2, 1).to(lib.int64),
    lambda lib: lib.nn.functional.layer_norm(lib.ones(2, 3), (2,)),
    lambda lib: lib.nn.functional.group_norm(lib.ones(2, 3), 2),
    lambda lib: lib.nn.functional.batch_norm(lib.ones(1, 3), None, None, training=True),
    lambda lib: lib.nn.BatchNorm2d(3)(lib.ones(2, 3)),
    lambda lib: lib.nn.functional.embedding(lib.tensor([1.0]), lib.ones(2, 2)),
    lambda lib: lib.nn.functional.embedding(lib.tensor([7]), lib.ones(2, 2)),
    lambda lib: lib.nn.functional.one_hot(lib.tensor([3]), 2),
    lambda lib: lib.nn.functional.dropout(lib.ones(1), 2.0),
    lambda lib: lib.nn.functional.pad(lib.ones(2), (1,)),
    lambda lib: lib.nn.init.kaiming_uniform_(lib.ones(3)),
    lambda lib: lib.nn.utils.clip_grad_norm_(_nan_parameter(lib), 1.0, error_if_nonfinite=True),
]


def _nan_parameter(lib):
    p = lib.nn.Parameter(lib.ones(1))
    p.grad = lib.tensor([float("nan")])
    return [p]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_messages_begin_with_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch)
    with pytest.raises(theirs.type) as ours:
        mistake(ad)
    first = str(theirs.value).split("\n")[0].rstrip(". ")
    assert str(ours.value).startswith(first)


def test_checkpoints_of_pytorch_can_be_loaded():
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    ours = ad.nn.Sequential(ad.nn.Linear(3, 4), ad.nn.BatchNorm1d(4))
    ours.load_state_dict(theirs.state_dict())
    x = normal(5, 3).astype("float32")
    assert np.allclose(ours(ad.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("norm_type", [0.5, 1, 2, 3, float("inf"), float("-inf"), 0])
def test_clip_grad_norm(norm_type):
    results = []
    gradients = [normal(3, 4), normal(5), normal(1)]
    for library in LIBRARIES:
        params = [library.nn.Parameter(library.zeros(g.shape, dtype=library.float64)) for g in gradients]
        for p, g in zip(params, gradients, strict=True):
            p.grad = library.tensor(g)
        total = library.nn.utils.clip_grad_norm_(params, 0.7, norm_type)
        results.append([total.numpy(), *(p.grad.numpy() for p in params)])
    same(results[0], results[1], 1e-12)


FUNCTIONS = [
    lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x + 1, x * 2),
    lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x + 1, x * 2, is_causal=True, scale=0.3),
    lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=x @ x.transpose(-1, -2) > 0),
    lambda lib, x: lib.nn.functional.gumbel_softmax(x, tau=0.5),
    lambda lib, x: lib.nn.functional.gumbel_softmax(x, hard=True, dim=1),
    lambda lib, x: lib.nn.functional.normalize(x, p=3, dim=-1),
    lambda lib, x: lib.nn.functional.pad(x, (1, 2, 0, 1), value=0.5),
    lambda lib, x: lib.nn.functional.rrelu(x, 0.1, 0.3, training=True),
    lambda lib, x: lib.nn.functional.hardtanh_(x * 1, -0.5, 0.5),
    lambda lib, x: lib.nn.functional.leaky_relu_(x * 1, 0.2),
    lambda lib, x: lib.nn.functional.local_response_norm(x, 2),
    lambda lib, x: lib.nn.functional.instance_norm(x),
    lambda lib, x: lib.nn.functional.dropout(x, 0.4),
    lambda lib, x: lib.nn.functional.dropout1d(x, 0.4),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function(function):
    x = normal(2, 4, 6)
    results = []
    for library in LIBRARIES:
        library.manual_seed(1)
        tensor = library.tensor(x, requires_grad=True)
        out = function(library, tensor)
        (out * library.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))).sum().backward()
        results.append([out.detach().numpy(), tensor.grad.numpy()])
    same(results[0], results[1], 1e-10)
