"""Parametrized, normalized, pruned and fused weights."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.utils import parametrizations, parametrize, prune


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


def test_a_parameter_is_computed():
    layer = nn.Linear(2, 1, False)
    layer.weight.data.fill_(2.0)
    original = layer.weight
    parametrize.register_parametrization(layer, "weight", Exp())
    assert layer.parametrizations.weight.original is original and np.allclose(original.tolist(), np.log(2))
    assert np.allclose(layer(ad.ones(1, 2)).item(), 4) and type(layer).__name__ == "ParametrizedLinear"
    layer(ad.ones(1, 2)).sum().backward()
    assert np.allclose(original.grad.tolist(), 2)
    layer.weight = ad.full((1, 2), 3.0)  # type: ignore[assignment]
    assert np.allclose(original.tolist(), np.log(3))
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is original and np.allclose(original.tolist(), 3)


def test_each_module_has_a_class_of_its_own():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    parametrize.register_parametrization(first, "bias", Exp(), unsafe=True)
    assert isinstance(second.bias, nn.Parameter) and parametrize.is_parametrized(first) and not parametrize.is_parametrized(second)
    twin = copy.deepcopy(first)
    twin.parametrizations.bias.original.data.fill_(0.0)
    assert twin.bias.tolist() == [1, 1] and first.bias.tolist() != [1, 1]


def test_cached_computes_once():
    calls = []

    class Count(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Count())
    calls.clear()
    with parametrize.cached():
        layer(ad.ones(1, 2)), layer(ad.ones(1, 2))
    assert len(calls) == 1
    layer(ad.ones(1, 2)), layer(ad.ones(1, 2))
    assert len(calls) == 3


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_stay_orthogonal(orthogonal_map):
    layer = parametrizations.orthogonal(nn.Linear(3, 4, dtype=ad.float64), orthogonal_map=orthogonal_map)
    optimizer = ad.optim.SGD(layer.parameters(), lr=0.3)
    start = layer.weight.detach()
    for _ in range(5):
        optimizer.zero_grad()
        (layer.weight * ad.arange(12.0).view(4, 3)).sum().backward()
        optimizer.step()
    weight = layer.weight.detach()
    assert np.allclose((weight.mT @ weight).numpy(), np.eye(3)) and not np.allclose(weight.numpy(), start.numpy(), atol=1e-2)


def test_spectral_norm_finds_the_largest_singular_value():
    layer = parametrizations.spectral_norm(nn.Linear(5, 4, dtype=ad.float64))
    for _ in range(200):
        layer(ad.ones(1, 5).double())
    assert np.isclose(np.linalg.norm(layer.weight.detach().numpy(), 2), 1)


def test_weight_norm_keeps_the_weight():
    layer = nn.Linear(3, 2)
    before = layer.weight.tolist()
    parametrizations.weight_norm(layer)
    assert np.allclose(layer.weight.tolist(), before)
    layer.parametrizations.weight.original0.data.mul_(2)
    assert np.allclose(layer.weight.tolist(), 2 * np.array(before))


def test_pruning_keeps_zeros_through_training():
    layer = prune.l1_unstructured(nn.Linear(4, 3), "weight", 5)
    optimizer = ad.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        layer(ad.ones(2, 4)).sum().backward()
        optimizer.step()
    layer(ad.ones(1, 4))
    assert int((layer.weight == 0).sum()) == 5
    prune.remove(layer, "weight")
    assert int((layer.weight == 0).sum()) == 5 and type(layer.weight) is nn.Parameter


def test_pruning_by_size():
    layer = nn.Linear(3, 1)
    layer.weight.data.copy_(ad.tensor([[0.5, -0.1, 0.3]]))
    assert prune.l1_unstructured(layer, "weight", 1).weight_mask.tolist() == [[1, 0, 1]]
    assert prune.l1_unstructured(layer, "weight", 1).weight_mask.tolist() == [[1, 0, 0]]  # of those that are left


def test_modules_as_functions():
    from adjoint.nn.utils.stateless import _functional_call

    norm = nn.BatchNorm1d(1)
    before = norm.running_mean
    state = {"running_mean": ad.tensor([5.0])}
    _functional_call(norm, state, ad.tensor([[1.0], [3.0]]))
    assert norm.running_mean is before and before.tolist() == [0] and np.allclose(state["running_mean"].tolist(), 4.7)
    with pytest.raises(TypeError, match="3 is not an instance"):
        _functional_call(norm, {"weight": 3}, ad.ones(2, 1))  # type: ignore[dict-item]
    assert isinstance(norm.weight, nn.Parameter)


# ---- a second parametrization, complex weights, old checkpoints ---------------------------------------------------------------------


def test_the_inverse_of_a_second_parametrization_is_tried_on_its_result():
    class Double(nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, y):
            seen.append(y.item())
            return y / 2

    seen: list[float] = []
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    for _ in range(2):
        parametrize.register_parametrization(layer, "weight", Double())
    assert seen == [3.0, 6.0]


@pytest.mark.parametrize(
    ("inverse", "message"),
    [
        (lambda y: y[:1], "must have the same shape as module.weight"),
        (lambda y: y.double(), "must have the same dtype as module.weight"),
        (lambda y: 3, "parametrization.right_inverse must return a tensor. Got: int"),
    ],
)
def test_the_inverse_of_a_second_parametrization_is_checked(inverse, message):
    class Second(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, y):
            return inverse(y)

    layer = parametrizations.weight_norm(nn.Linear(2, 2))
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer, "weight", Second())


def test_spectral_norm_of_complex_weights():
    layer = nn.Linear(3, 2, dtype=ad.complex128)
    original = layer.weight.detach().clone()
    parametrizations.spectral_norm(layer, n_power_iterations=50)
    ratio = original / layer.weight.detach()
    assert float(ad.linalg.matrix_norm(layer.weight.detach(), 2)) == pytest.approx(1) and ratio.imag.abs().max() < 1e-8


def test_checkpoints_of_the_weight_norm_by_a_hook_are_loaded():
    model = nn.Sequential(parametrizations.weight_norm(nn.Linear(2, 2)))
    old = {"0.bias": ad.zeros(2), "0.weight_g": ad.ones(2, 1), "0.weight_v": ad.tensor([[3.0, 4.0], [4.0, 3.0]])}
    assert str(model.load_state_dict(old)) == "<All keys matched successfully>"
    np.testing.assert_allclose(model[0].weight.detach().numpy(), [[0.6, 0.8], [0.8, 0.6]], rtol=1e-6)


def test_checkpoints_of_the_first_spectral_norm_are_loaded():
    source = nn.utils.spectral_norm(nn.Linear(4, 3))
    source(ad.ones(1, 4))
    source.eval()
    expected = source(ad.ones(1, 4)).detach()
    old = {key: value.clone() for key, value in source.state_dict().items() if key != "weight_v"}
    old["weight"] = source.weight.detach().clone()
    layer = nn.utils.spectral_norm(nn.Linear(4, 3)).eval()
    layer.load_state_dict(old)
    np.testing.assert_allclose(layer(ad.ones(1, 4)).detach().numpy(), expected.numpy(), rtol=1e-4)
    with pytest.raises(RuntimeError, match=r'Missing key.* "weight_u"'):
        layer.load_state_dict({key: value for key, value in old.items() if key != "weight_u"})


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_norms_of_lazy_modules_are_refused(norm):
    layer = nn.LazyLinear(2)
    with pytest.raises(ValueError, match=r"can't have uninitialized parameters. Make sure to run the dummy forward"):
        getattr(nn.utils, norm)(layer)
    assert "weight" in layer._parameters
