"""Lazy layers against PyTorch: what they are before and after the first call, values, random numbers, loading, copies, messages."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)
IMAGES = {n: rng.standard_normal((2, 6, 5, 5, 5)[: n + 2]).astype("float32") for n in (1, 2, 3)}

LAYERS: list[tuple[str, tuple, dict, np.ndarray]] = [
    ("LazyLinear", (3,), {}, IMAGES[1]), ("LazyLinear", (3, False), {}, IMAGES[1]),
    *((f"LazyConv{n}d", (4, 3), {}, x) for n, x in IMAGES.items()),
    *((f"LazyConvTranspose{n}d", (4, 3), dict(stride=2, output_padding=1), x) for n, x in IMAGES.items()),
    *((f"Lazy{kind}Norm{n}d", (), {}, x) for n, x in IMAGES.items() for kind in ("Batch", "Instance")),
    ("LazyConv2d", (4, 3), dict(groups=2, padding="same", bias=False, padding_mode="reflect"), IMAGES[2]),
    ("LazyConv1d", (4, 3), {}, IMAGES[1][0]), ("LazyBatchNorm1d", (), dict(affine=False), IMAGES[1]),
    ("LazyBatchNorm1d", (1e-3, None), dict(bias=False), IMAGES[1]), ("LazyBatchNorm1d", (), dict(track_running_stats=False), IMAGES[1]),
    ("LazyInstanceNorm2d", (), dict(affine=False), IMAGES[2]),
]  # fmt: skip
every = pytest.mark.parametrize(("name", "args", "settings", "x"), LAYERS, ids=[f"{n}{a}{s}" for n, a, s, _ in LAYERS])


def kinds(module):
    return [(name, type(value).__name__) for name, value in module.state_dict(keep_vars=True).items()]


@every
def test_first_call(name, args, settings, x):
    seen = []
    for library in LIBRARIES:
        library.manual_seed(5)
        layer = getattr(library.nn, name)(*args, **settings)
        facts = [repr(layer), kinds(layer), layer.has_uninitialized_params()]
        out = layer(library.tensor(x))
        facts += [repr(layer), type(layer).__name__, kinds(layer)]
        numbers = [out, *layer.state_dict().values(), layer(library.tensor(x)), library.rand(3)]
        seen.append((facts, [number.detach().numpy() for number in numbers]))
    (facts, numbers), (expected_facts, expected) = seen
    assert facts == expected_facts
    for a, b in zip(numbers, expected, strict=True):
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-5)


@every
@pytest.mark.parametrize("how", ["lazy state", "pickle", "double"])
def test_before_the_first_call(name, args, settings, x, how):
    seen = []
    for library in LIBRARIES:
        library.manual_seed(5)
        layer = getattr(library.nn, name)(*args, **settings)
        tensor = library.tensor(x)
        if how == "lazy state":
            layer.load_state_dict(getattr(library.nn, name)(*args, **settings).state_dict())
        elif how == "double":
            layer, tensor = layer.double(), tensor.double()
        else:
            layer = pickle.loads(pickle.dumps(layer))
        facts = [repr(layer), kinds(layer)]
        out = layer(tensor)
        seen.append(([*facts, repr(layer), kinds(layer)], out.detach().numpy()))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1].dtype == seen[1][1].dtype and np.allclose(seen[0][1], seen[1][1], rtol=1e-4, atol=1e-4)


@every
@pytest.mark.parametrize("assign", [False, True])
def test_loading_before_the_first_call(name, args, settings, x, assign):
    theirs = getattr(torch.nn, name)(*args, **settings)
    theirs(torch.tensor(x))
    for lazy in (getattr(ad.nn, name)(*args, **settings), copy.deepcopy(getattr(ad.nn, name)(*args, **settings))):
        state = {key: ad.tensor(value.numpy()) for key, value in theirs.state_dict().items()}
        lazy.load_state_dict(state, assign=assign)
        assert not lazy.has_uninitialized_params()
        assert np.allclose(lazy.eval()(ad.tensor(x)).detach().numpy(), theirs.eval()(torch.tensor(x)).detach().numpy(), atol=1e-5)
        assert repr(lazy) == repr(theirs)


def test_training_a_lazy_model():
    results = []
    for library in LIBRARIES:
        library.manual_seed(1)
        nn = library.nn
        model = nn.Sequential(nn.LazyConv1d(4, 3), nn.LazyBatchNorm1d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
        optimizer = library.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            (model(library.tensor(IMAGES[1])) ** 2).sum().backward()
            optimizer.step()
        results.append([repr(model), [p.detach().numpy() for p in model.parameters()]])
    assert results[0][0] == results[1][0]
    for a, b in zip(results[0][1], results[1][1], strict=True):
        assert np.allclose(a, b, rtol=1e-3, atol=1e-4)


def custom(lib, materialize):
    class Scale(lib.nn.modules.lazy.LazyModuleMixin, lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = lib.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            if materialize and self.has_uninitialized_params():
                self.factor.materialize(x.shape[-1:])
                lib.nn.init.ones_(self.factor)

        def forward(self, x):
            return x * self.factor

    return Scale()


def test_a_lazy_module_of_ones_own():
    for library in LIBRARIES:
        scale = custom(library, True)
        assert scale(library.ones(2, 3)).tolist() == [[1, 1, 1]] * 2
        assert type(scale).__name__ == "Scale" and type(scale.factor) is library.nn.Parameter
        scale(library.ones(2, 3)).sum().backward()
        assert scale.factor.grad.tolist() == [2, 2, 2]


def test_uninitialized_tensors():
    for library in LIBRARIES:
        parameter = library.nn.UninitializedParameter(dtype=library.float64)
        assert repr(parameter) == "<UninitializedParameter>" and parameter.dtype == library.float64 and parameter.requires_grad
        assert library.nn.parameter.is_lazy(parameter) and isinstance(parameter, library.nn.Parameter)
        parameter.materialize((2, 3))
        assert type(parameter) is library.nn.Parameter and parameter.shape == (2, 3) and parameter.dtype == library.float64
        buffer = library.nn.UninitializedBuffer()
        buffer.materialize((4,), dtype=library.float16)
        assert type(buffer) is library.Tensor and buffer.shape == (4,) and not buffer.requires_grad and buffer.dtype == library.float16


MISTAKES = [
    lambda lib: lib.nn.LazyLinear(3).weight.shape,
    lambda lib: lib.nn.LazyLinear(3).weight + 1,
    lambda lib: lib.exp(lib.nn.LazyLinear(3).weight),
    lambda lib: lib.cat([lib.ones(1), lib.nn.LazyLinear(3).weight]),
    lambda lib: lib.nn.LazyLinear(3).weight.numel(),
    lambda lib: lib.nn.init.zeros_(lib.nn.LazyLinear(2).weight),
    lambda lib: lib.nn.functional.linear(lib.ones(2, 2), lib.nn.LazyLinear(3).weight),
    lambda lib: lib.nn.Linear(3, 2).load_state_dict(lib.nn.LazyLinear(2).state_dict()),
    lambda lib: lib.nn.LazyConv2d(4, 3)(lib.ones(2, 2)),
    lambda lib: lib.nn.LazyConv2d(4, 3, groups=2)(lib.ones(3, 5, 5)),
    lambda lib: custom(lib, False)(lib.ones(2)),
    lambda lib: lib.nn.modules.lazy.LazyModuleMixin.initialize_parameters(custom(lib, True)),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_messages_begin_with_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch)
    with pytest.raises(theirs.type) as ours:
        mistake(ad)
    first = str(theirs.value).partition(" in <")[0].split("\n")[0]  # what PyTorch calls its functions is its own affair
    assert str(ours.value).startswith(first)
