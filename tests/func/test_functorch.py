"""The names from before `torch.func`."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint import functorch
from adjoint.functorch.experimental import replace_all_batch_norm_modules_


def test_a_module_as_a_function_of_its_parameters() -> None:
    layer = ad.nn.Linear(3, 2)
    function, parameters = functorch.make_functional(layer)
    x = ad.arange(3.0)
    assert ad.equal(function(parameters, x), layer(x))
    weight, bias = functorch.grad(lambda values: function(values, x).sum())(parameters)
    assert weight.tolist() == [x.tolist()] * 2
    assert bias.tolist() == [1.0, 1.0]


def test_buffers_have_to_be_given() -> None:
    with pytest.raises(RuntimeError, match="has buffers"):
        functorch.make_functional(ad.nn.BatchNorm1d(3))
    function, parameters, buffers = functorch.make_functional_with_buffers(ad.nn.BatchNorm1d(3).eval())
    assert function(parameters, [b + 1 for b in buffers], ad.ones(1, 3)).abs().max() < 1e-3


def test_the_function_is_a_module_that_holds_no_elements() -> None:
    layer = ad.nn.Linear(3, 3)
    function, parameters = functorch.make_functional(ad.nn.Sequential(layer, layer))
    assert isinstance(function, functorch.FunctionalModule)
    assert isinstance(function, ad.nn.Module)
    assert function.param_names == ("0.weight", "0.bias")
    assert function.names_map == {"0.weight": ["0.weight", "1.weight"], "0.bias": ["0.bias", "1.bias"]}
    assert all(p.is_meta for p in function.parameters())
    x = ad.arange(3.0)
    assert function([2 * ad.eye(3), ad.ones(3)], x).tolist() == [3.0, 7.0, 11.0]  # both layers got them
    assert all(isinstance(p, ad.nn.Parameter) and p is not own for p, own in zip(parameters, layer.parameters(), strict=True))

    norm = ad.nn.BatchNorm1d(3)
    normalize, parameters, buffers = functorch.make_functional_with_buffers(norm, disable_autograd_tracking=True)
    assert isinstance(normalize, functorch.FunctionalModuleWithBuffers)
    assert normalize.buffer_names == ("running_mean", "running_var", "num_batches_tracked")
    assert not any(p.requires_grad for p in parameters)
    normalize(parameters, buffers, ad.randn(4, 3))
    assert buffers[2].item() == 1  # written to what was given,
    assert norm.num_batches_tracked.item() == 0  # not to the module
    assert norm.weight.requires_grad


def test_an_ensemble_runs_at_once() -> None:
    models = [ad.nn.Linear(3, 2) for _ in range(4)]
    function, parameters, buffers = functorch.combine_state_for_ensemble(models)
    x = ad.randn(5, 3)
    together = functorch.vmap(function, (0, 0, None))(parameters, buffers, x)
    assert ad.allclose(together, ad.stack([model(x) for model in models]), atol=1e-6)


def test_batch_norm_without_statistics_can_be_batched() -> None:
    model = replace_all_batch_norm_modules_(ad.nn.Sequential(ad.nn.BatchNorm1d(3)))
    x = ad.randn(2, 5, 3)
    assert ad.allclose(functorch.vmap(model)(x), ad.stack([model(part) for part in x]), atol=1e-5)


def test_what_a_tensor_inside_a_transform_holds() -> None:
    seen = []
    ad.func.vmap(lambda x: seen.append(ad.func.debug_unwrap(x)) or x)(ad.arange(3.0))
    assert seen[0].tolist() == [0.0, 1.0, 2.0]
