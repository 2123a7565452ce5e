"""`nn.utils` against PyTorch: normalized, parametrized, pruned and fused layers; values, gradients, state, random numbers, messages."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.utils.parametrizations
import adjoint.nn.utils.prune
import adjoint.nn.utils.stateless

torch = pytest.importorskip("torch")
for module in ("parametrizations", "prune", "stateless"):
    pytest.importorskip(f"torch.nn.utils.{module}")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def normal(*shape):
    return rng.standard_normal(shape)


def same(ours, theirs, tolerance=1e-10):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def numbers(values):
    return [value.detach().numpy().copy() for value in values]


def trained(library, layer, x, steps=3):
    """Some steps of training, and what is then in the layer."""
    optimizer = library.optim.SGD(layer.parameters(), lr=0.05)
    seen = []
    for _ in range(steps):
        optimizer.zero_grad()
        out = layer(library.tensor(x))
        (out * library.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))).sum().backward()
        seen += numbers([out, *(p.grad for p in layer.parameters())])
        optimizer.step()
    out = layer.eval()(library.tensor(x))
    return seen + numbers([out, *layer.state_dict().values(), library.rand(3)])


# ---- normalized and parametrized weights --------------------------------------------------------------------------------------------

LAYERS = {
    "linear": (lambda nn, **k: nn.Linear(4, 3, **k), normal(5, 4)),
    "square": (lambda nn, **k: nn.Linear(4, 4, **k), normal(5, 4)),
    "tall": (lambda nn, **k: nn.Linear(3, 5, **k), normal(5, 3)),
    "conv": (lambda nn, **k: nn.Conv1d(2, 3, 3, **k), normal(2, 2, 6)),
    "transposed": (lambda nn, **k: nn.ConvTranspose1d(2, 3, 3, **k), normal(2, 2, 6)),
}
CHANGES = {
    "weight_norm hook": lambda u, m: u.weight_norm(m),
    "weight_norm hook over all": lambda u, m: u.weight_norm(m, dim=None),
    "weight_norm hook along 1": lambda u, m: u.weight_norm(m, dim=1),
    "spectral_norm hook": lambda u, m: u.spectral_norm(m),
    "spectral_norm hook, more": lambda u, m: u.spectral_norm(m, n_power_iterations=3, eps=1e-6, dim=1),
    "weight_norm": lambda u, m: u.parametrizations.weight_norm(m),
    "weight_norm over all": lambda u, m: u.parametrizations.weight_norm(m, dim=None),
    "spectral_norm": lambda u, m: u.parametrizations.spectral_norm(m),
    "spectral_norm, more": lambda u, m: u.parametrizations.spectral_norm(m, n_power_iterations=3, dim=1),
    "spectral_norm of the bias": lambda u, m: u.parametrizations.spectral_norm(m, "bias", dim=0),
    "both": lambda u, m: u.parametrizations.spectral_norm(u.parametrizations.weight_norm(m), "bias", dim=0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("make", "x"), LAYERS.values(), ids=LAYERS)
def test_normalized_weights(make, x, change):
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(4)
        layer = change(library.nn.utils, make(library.nn, dtype=library.float64))
        facts.append([repr(layer), list(layer.state_dict()), type(layer).__name__])
        results.append(trained(library, layer, x))
    assert facts[0] == facts[1]
    same(*results, 1e-9)


@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("use_trivialization", [True, False])
@pytest.mark.parametrize("kind", ["linear", "square", "tall"])
def test_orthogonal(kind, orthogonal_map, use_trivialization):
    make, x = LAYERS[kind]
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(4)
        layer = make(library.nn, dtype=library.float64)
        library.nn.utils.parametrizations.orthogonal(layer, "weight", orthogonal_map, use_trivialization=use_trivialization)
        facts.append([repr(layer), list(layer.state_dict())])
        results.append(trained(library, layer, x))
        weight = layer.weight.detach().numpy()
        small = min(weight.shape)
        assert np.allclose(weight @ weight.T if weight.shape[0] == small else weight.T @ weight, np.eye(small))
    assert facts[0] == facts[1]
    same(*results, 1e-7)


def test_spectral_norm_notes_its_version():
    made = [dict(library.nn.utils.spectral_norm(library.nn.Linear(2, 2)).state_dict()._metadata) for library in LIBRARIES]
    assert made[0] == made[1]


@pytest.mark.parametrize("hook", ["weight_norm", "spectral_norm"])
def test_removing_a_hook(hook):
    results = []
    for library in LIBRARIES:
        library.manual_seed(2)
        utils = library.nn.utils
        layer = getattr(utils, hook)(library.nn.Linear(3, 2, dtype=library.float64))
        before = layer(library.tensor(normal_x))
        getattr(utils, f"remove_{hook}")(layer)
        assert type(layer.weight) is library.nn.Parameter and not layer._forward_pre_hooks
        assert sorted(layer.state_dict()) == ["bias", "weight"]
        results.append(numbers([before, layer(library.tensor(normal_x))]))
    same(*results)


normal_x = normal(4, 3)


def programs(lib):
    """Parametrizations written by the user, in every way in which they can be used."""
    nn, P = lib.nn, lib.nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).mT

        def right_inverse(self, A):
            return A.triu()

    class Double(nn.Module):
        def forward(self, X):
            return X * 2

        def right_inverse(self, A):
            return A / 2

    class Sum(nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, A):
            return A * 0.25, A * 0.75

    log = []
    lib.manual_seed(0)
    layer = nn.Linear(3, 3, dtype=lib.float64)
    weight = layer.weight
    assert P.register_parametrization(layer, "weight", Symmetric()) is layer
    P.register_parametrization(layer, "weight", Double())
    P.register_parametrization(layer, "bias", Sum())
    assert layer.parametrizations.weight.original is weight and isinstance(layer, nn.Linear)
    log += [repr(layer), list(layer.state_dict()), P.is_parametrized(layer), P.is_parametrized(layer, "x"), layer.weight.tolist()]
    log += [P.type_before_parametrizations(layer).__name__, type(layer).__name__]
    layer.weight = lib.ones(3, 3, dtype=lib.float64)
    layer.bias = lib.ones(3, dtype=lib.float64)
    log += [weight.tolist(), layer.bias.tolist(), [n for n, _ in layer.named_parameters()]]
    layer(lib.ones(2, 3, dtype=lib.float64)).sum().backward()
    log += [p.grad.tolist() for p in layer.parameters()]
    with P.cached():
        log += [layer.weight is layer.weight]
    log += [layer.weight is layer.weight]
    twin = copy.deepcopy(layer)
    twin.weight = lib.zeros(3, 3, dtype=lib.float64)
    log += [layer.weight.sum().item(), twin.weight.sum().item(), type(twin).__name__]
    other = P.transfer_parametrizations_and_params(layer, nn.Linear(3, 3, dtype=lib.float64))
    log += [repr(other), other.weight.tolist(), other.bias.tolist()]
    P.remove_parametrizations(layer, "weight", leave_parametrized=False)
    log += [repr(layer), layer.weight is weight, layer.weight.tolist()]
    P.remove_parametrizations(layer, "bias")
    log += [repr(layer), layer.bias.tolist(), type(layer).__name__, sorted(layer.state_dict())]
    return log


def test_parametrizations_of_ones_own():
    assert programs(ad) == programs(torch)


# ---- pruning ------------------------------------------------------------------------------------------------------------------------

PRUNINGS = {
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.3),
    "l1, a number": lambda p, m: p.l1_unstructured(m, "weight", 5),
    "random": lambda p, m: p.random_unstructured(m, "weight", 0.4),
    "channels at random": lambda p, m: p.random_structured(m, "weight", 1, 1),
    "channels": lambda p, m: p.ln_structured(m, "weight", 0.4, 2, 0),
    "channels, by maximum": lambda p, m: p.ln_structured(m, "weight", 1, float("inf"), -1),
    "identity": lambda p, m: p.identity(m, "weight"),
    "twice": lambda p, m: p.l1_unstructured(p.random_unstructured(m, "weight", 4), "weight", 0.5),
    "elements, then channels": lambda p, m: p.ln_structured(p.l1_unstructured(m, "weight", 4), "weight", 1, 1, 0),
    "channels, then elements": lambda p, m: p.l1_unstructured(p.ln_structured(m, "weight", 1, 2, 1), "weight", 0.5),
    "channels twice": lambda p, m: p.ln_structured(p.ln_structured(m, "weight", 1, 2, 1), "weight", 1, 2, 1),
    "two parameters": lambda p, m: p.l1_unstructured(p.random_unstructured(m, "weight", 4), "bias", 1),
}


@pytest.mark.parametrize("pruning", PRUNINGS.values(), ids=PRUNINGS)
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_pruning(kind, pruning):
    make, x = LAYERS[kind]
    results, facts = [], []
    for library in LIBRARIES:
        library.manual_seed(6)
        prune = library.nn.utils.prune
        layer = pruning(prune, make(library.nn, dtype=library.float64))
        hooks = [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
        facts.append([repr(layer), list(layer.state_dict()), hooks, prune.is_pruned(layer)])
        found = trained(library, layer, x)
        prune.remove(layer, "weight")
        facts[-1] += [sorted(layer.state_dict()), type(layer.weight).__name__]
        results.append([*found, *numbers([layer.weight])])
    assert facts[0] == facts[1]
    same(*results)


def test_masks_and_scores():
    results = []
    for library in LIBRARIES:
        library.manual_seed(6)
        prune, nn = library.nn.utils.prune, library.nn
        a, b = nn.Linear(4, 3), nn.Conv1d(2, 3, 2)
        prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=8)
        prune.global_unstructured([(a, "weight"), (a, "bias")], prune.RandomUnstructured, amount=0.3)
        c = prune.custom_from_mask(nn.Linear(2, 3), "bias", library.tensor([1, 0, 1]))
        scores = library.tensor(np.arange(6.0).reshape(3, 2))
        d = prune.l1_unstructured(nn.Linear(2, 3), "weight", 2, importance_scores=scores)
        e = prune.L1Unstructured(2).prune(library.tensor([1.0, 2, 3, 4]), library.tensor([1.0, 0, 1, 1]))
        tensors = [a.weight_mask, a.bias_mask, b.weight_mask, c.bias_mask, d.weight_mask, e, a.weight]
        results.append(numbers(tensors))
        assert [type(step).__name__ for step in next(iter(a._forward_pre_hooks.values()))] == ["CustomFromMask"] * 2
    same(*results, 1e-6)


# ---- others -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "norm", "shape", "transpose"),
    [
        (lambda nn: nn.Conv2d(2, 3, 3), lambda nn: nn.BatchNorm2d(3), (2, 2, 5, 5), False),
        (lambda nn: nn.Conv1d(4, 6, 3, groups=2, bias=False), lambda nn: nn.BatchNorm1d(6, affine=False), (2, 4, 5), False),
        (lambda nn: nn.ConvTranspose1d(2, 3, 3), lambda nn: nn.BatchNorm1d(3), (2, 2, 5), True),
        (lambda nn: nn.Linear(4, 3), lambda nn: nn.BatchNorm1d(3), (5, 4), None),
    ],
)
def test_fusion(layer, norm, shape, transpose):
    results = []
    x = normal(*shape).astype("float32")
    for library in LIBRARIES:
        library.manual_seed(3)
        first, second = layer(library.nn), norm(library.nn)
        second(first(library.tensor(x)))  # running statistics
        if second.affine:
            library.nn.init.normal_(second.weight)
            library.nn.init.normal_(second.bias)
        first.eval(), second.eval()
        utils = library.nn.utils
        fused = utils.fuse_linear_bn_eval(first, second) if transpose is None else utils.fuse_conv_bn_eval(first, second, transpose)
        plain = second(first(library.tensor(x)))
        assert np.allclose(fused(library.tensor(x)).detach().numpy(), plain.detach().numpy(), atol=1e-5)
        results.append([*numbers([fused.weight, fused.bias]), np.array([fused.weight.requires_grad])])
    same(*results, 1e-5)


def test_skip_init_draws_nothing():
    results = []
    for library in LIBRARIES:
        library.manual_seed(3)
        layer = library.nn.utils.skip_init(library.nn.Linear, 3, 2, dtype=library.float64)
        results.append((repr(layer), layer.weight.shape == (2, 3), str(layer.weight.dtype), library.rand(1).item()))
    assert results[0] == results[1]


def functional_calls(lib):
    call = lib.nn.utils.stateless.functional_call
    nn = lib.nn
    layer = nn.Linear(2, 1)
    before = layer.weight
    log = [call(layer, {"weight": lib.full((1, 2), 3.0), "bias": lib.ones(1)}, lib.ones(2, 2)).tolist()]
    assert layer.weight is before and type(layer.weight) is nn.Parameter
    w = lib.full((1, 2), 3.0, requires_grad=True)
    call(layer, {"weight": w}, (lib.ones(2, 2),)).sum().backward()
    log.append([w.grad.tolist(), before.grad])
    norm = nn.BatchNorm1d(2)
    statistics = {"running_mean": lib.zeros(2), "num_batches_tracked": lib.tensor(5)}
    call(norm, statistics, lib.tensor([[1.0, 2.0], [3.0, 5.0]]))
    log += [statistics["running_mean"].tolist(), norm.running_mean.tolist(), statistics["num_batches_tracked"].item()]
    tied = nn.Sequential(nn.Linear(1, 1, False), nn.Linear(1, 1, False))
    tied[1].weight = tied[0].weight
    given = {"0.weight": lib.full((1, 1), 3.0)}
    log.append(call(tied, given, lib.ones(1, 1)).tolist())
    log.append(call(nn.Linear(2, 1), {"unknown": lib.ones(1), "weight": lib.ones(1, 2), "bias": lib.ones(1)}, lib.ones(1, 2)).tolist())
    return log


def test_functional_call():
    assert functional_calls(ad) == functional_calls(torch)


def module_of(lib, forward, right_inverse=None):
    body = {"forward": lambda self, *args: forward(*args)}
    if right_inverse:
        body["right_inverse"] = lambda self, x: right_inverse(x)
    return type("Function", (lib.nn.Module,), body)()


def register(lib, *args, layer=None, name="weight"):
    return lib.nn.utils.parametrize.register_parametrization(layer or lib.nn.Linear(3, 3), name, module_of(lib, *args))


def doubled(lib):
    return register(lib, lambda x: x * 2, lambda x: x / 2)


MISTAKES = [
    lambda lib: lib.nn.utils.weight_norm(lib.nn.utils.weight_norm(lib.nn.Linear(2, 2))),
    lambda lib: lib.nn.utils.remove_weight_norm(lib.nn.Linear(2, 2)),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.utils.spectral_norm(lib.nn.Linear(2, 2))),
    lambda lib: lib.nn.utils.remove_spectral_norm(lib.nn.Linear(2, 2)),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(2, 2), n_power_iterations=0),
    lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(2, 2), name="w"),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(2, 2), n_power_iterations=0),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(2, 2), dim=4),
    lambda lib: lib.nn.utils.parametrizations.spectral_norm(lib.nn.Linear(2, 2), "w"),
    lambda lib: lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(2, 2), "w"),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), "w"),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), "bias"),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), orthogonal_map="x"),
    lambda lib: lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2, dtype=lib.complex64), orthogonal_map="householder"),
    lambda lib: setattr(lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(2, 2), use_trivialization=False), "weight", lib.ones(2, 2)),
    lambda lib: register(lib, lambda x: x[:1]),
    lambda lib: register(lib, lambda x: x.double()),
    lambda lib: register(lib, lambda x: 3),
    lambda lib: register(lib, lambda x: x.float(), lambda x: x.double()),
    lambda lib: register(lib, lambda x: x, lambda x: 3),
    lambda lib: register(lib, lambda x, y: x, lambda x: (x, 3)),
    lambda lib: register(lib, lambda x: x, name="w"),
    lambda lib: register(lib, lambda x: x[:1], layer=doubled(lib)),
    lambda lib: register(lib, lambda x: x.double(), layer=doubled(lib)),
    lambda lib: register(lib, lambda x: 3, layer=doubled(lib)),
    lambda lib: setattr(register(lib, lambda x: x), "weight", lib.ones(3, 3)),
    lambda lib: setattr(doubled(lib), "weight", lib.ones(3, 3).double()),
    lambda lib: setattr(doubled(lib), "weight", 3),
    lambda lib: setattr(doubled(lib), "weight", lib.nn.Parameter(lib.ones(3, 3))),
    lambda lib: lib.nn.utils.parametrize.remove_parametrizations(lib.nn.Linear(2, 2), "weight"),
    lambda lib: lib.nn.utils.parametrize.ParametrizationList([], lib.ones(2)),
    lambda lib: copy.copy(doubled(lib)),
    *(lambda lib, n=n: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(4, 3), "weight", n) for n in (-1, 20, 1.5, "x")),
    lambda lib: lib.nn.utils.prune.ln_structured(lib.nn.Linear(4, 3), "weight", 7, 2, 0),
    lambda lib: lib.nn.utils.prune.random_structured(lib.nn.Linear(4, 3), "weight", 1, 5),
    lambda lib: lib.nn.utils.prune.random_structured(lib.nn.Linear(4, 3), "bias", 1, 0),
    lambda lib: lib.nn.utils.prune.remove(lib.nn.Linear(4, 3), "bias"),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(4, 3), "w", 1),
    lambda lib: lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(4, 3), "weight", 3, importance_scores=lib.ones(3)),
    lambda lib: lib.nn.utils.prune.global_unstructured(3, lib.nn.utils.prune.L1Unstructured, amount=1),
    lambda lib: lib.nn.utils.prune.global_unstructured([], lib.nn.utils.prune.L1Unstructured, importance_scores=3, amount=1),
    lambda lib: lib.nn.utils.fuse_conv_bn_eval(lib.nn.Conv1d(1, 1, 1), lib.nn.BatchNorm1d(1)),
    lambda lib: lib.nn.utils.fuse_linear_bn_eval(lib.nn.Linear(1, 3).eval(), lib.nn.BatchNorm1d(2).eval()),
    lambda lib: lib.nn.utils.skip_init(int, 3),
    lambda lib: lib.nn.utils.skip_init(lib.nn.ReLU),
    lambda lib: lib.nn.utils.stateless.functional_call(lib.nn.Linear(2, 1), {"weight": lib.ones(1, 2)}, lib.ones(1, 2), strict=True),
    lambda lib: lib.nn.utils.stateless.functional_call(lib.nn.Linear(2, 1), {"weight": 3}, lib.ones(1, 2)),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_messages_begin_with_pytorchs_words(mistake):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            mistake(torch)
        with pytest.raises(theirs.type) as ours:
            mistake(ad)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0].split(". See")[0].rstrip(". "))


def test_after_a_refused_pruning_everything_is_as_before():
    layer = ad.nn.Linear(4, 3)
    weight = layer.weight
    with pytest.raises(ValueError, match="amount=20 should be smaller"):
        ad.nn.utils.prune.l1_unstructured(layer, "weight", 20)
    assert layer.weight is weight and list(layer.state_dict()) == ["weight", "bias"] and not layer._forward_pre_hooks
