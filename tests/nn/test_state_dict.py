"""Saving and loading."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_keys_values_and_metadata():
    module = net()
    state = module.state_dict()
    assert list(state) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    ]  # fmt: skip
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    assert not state["0.weight"].requires_grad
    state["0.weight"].zero_()
    assert module[0].weight.abs().sum().item() == 0  # the same memory
    assert module.state_dict(keep_vars=True)["0.weight"] is module[0].weight
    assert list(module[0].state_dict(prefix="a.")) == ["a.weight", "a.bias"]
    collected: OrderedDict[str, ad.Tensor] = OrderedDict()
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert module[0].state_dict(collected, "b.") is collected and list(collected) == ["b.weight", "b.bias"]


def test_round_trip():
    a, b = net(), net()
    weight = b[0].weight
    assert str(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert b[0].weight is weight and np.array_equal(weight.detach().numpy(), a[0].weight.detach().numpy())
    assert weight._version == 1 + nn.Linear(2, 3).weight._version  # the write is seen by autograd


def test_only_tensors_can_be_loaded():
    class Foreign:
        """A tensor of another library."""

        __torch_function__ = None

        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]])

    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": Foreign(), "bias": ad.ones(1)})
    assert layer.weight.tolist() == [[1, 2]] and layer.weight.dtype is ad.float32
    with pytest.raises(RuntimeError, match=r"expected torch.Tensor or Tensor-like object from checkpoint but received .*ndarray"):
        layer.load_state_dict({"weight": np.ones((1, 2)), "bias": ad.ones(1)})


def test_loading_by_swapping():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    ad.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer.load_state_dict({"weight": ad.zeros(1, 2).double(), "bias": ad.ones(1)})
        assert layer.weight is weight and weight.dtype is ad.float32 and weight.tolist() == [[0, 0]]
        layer.load_state_dict({"weight": ad.zeros(1, 2).double(), "bias": ad.ones(1)}, assign=True)
        assert layer.weight is weight and weight.dtype is ad.float64 and isinstance(weight, nn.Parameter)
    finally:
        ad.__future__.set_swap_module_params_on_conversion(False)


def test_wrong_keys():
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError) as caught:
        layer.load_state_dict({"weight": ad.ones(2, 2), "w": ad.ones(1), "extra.x": ad.ones(1)})
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Linear:\n"
        '\tMissing key(s) in state_dict: "bias". \n'
        '\tUnexpected key(s) in state_dict: "w", "extra.x". \n'
        "\tsize mismatch for weight: copying a param with shape torch.Size([2, 2]) from checkpoint, "
        "the shape in current model is torch.Size([1, 2])."
    )
    result = layer.load_state_dict({"weight": ad.ones(1, 2), "w": ad.ones(1)}, strict=False)
    assert result == (["bias"], ["w"]) and result.missing_keys == ["bias"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['w'])"
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        layer.load_state_dict(3)
    with pytest.raises(RuntimeError, match=r"expected torch\.Tensor or Tensor-like object from checkpoint but received <class 'int'>"):
        layer.load_state_dict({"weight": 3, "bias": ad.ones(1)})


@pytest.mark.parametrize(
    ("rename", "fix"),
    [
        (lambda key: f"module.{key}", r"key.removeprefix\('module.'\): value for key, value in state_dict.items\(\)"),
        (lambda key: key.removeprefix("0."), r"'0.' \+ key: value for key, value in state_dict.items\(\)"),
    ],
)
def test_a_common_prefix_is_noticed(rename, fix):
    module = nn.Sequential(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match=fix):
        module.load_state_dict({rename(key): value for key, value in module.state_dict().items()})


def test_assign():
    module = nn.Linear(2, 1)
    given = ad.full((1, 2), 5.0, dtype=ad.float64)
    module.load_state_dict({"weight": given, "bias": nn.Parameter(ad.ones(1))}, assign=True)
    assert type(module.weight) is nn.Parameter
    assert module.weight.dtype is ad.float64 and module.weight.requires_grad
    given.zero_()
    assert module.weight.sum().item() == 0  # the given memory itself


def test_old_batch_norm_checkpoint():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    module = nn.BatchNorm1d(2)
    module.load_state_dict(state)
    state._metadata[""]["version"] = 2
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        nn.BatchNorm1d(2).load_state_dict(state)


def test_scalar_saved_with_one_dimension():
    module = nn.Module()
    module.scale = nn.Parameter(ad.tensor(1.0))
    module.load_state_dict({"scale": ad.tensor([4.0])})
    assert module.scale.item() == 4


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.note = "old"

    def get_extra_state(self):
        return {"note": self.note}

    def set_extra_state(self, state):
        self.note = state["note"]


def test_extra_state():
    source, target = Extra(), nn.Sequential(Extra())
    source.note = "new"
    state = nn.Sequential(source).state_dict()
    assert state == {"0._extra_state": {"note": "new"}}
    target.load_state_dict(state)
    assert target[0].note == "new"
    with pytest.raises(RuntimeError, match=r'Missing key.*"0\._extra_state"'):
        target.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 1})


def test_hooks():
    calls = []
    layer = nn.Linear(1, 1, bias=False)
    module = nn.Sequential(layer)
    layer.register_state_dict_pre_hook(lambda m, prefix, keep_vars: calls.append(("save", prefix, keep_vars)))
    layer.register_state_dict_post_hook(lambda m, state, prefix, metadata: state.update({prefix + "more": ad.ones(1)}))
    state = module.state_dict()
    assert list(state) == ["0.weight", "0.more"]

    def drop(m, state, prefix, metadata, strict, missing, unexpected, errors):
        calls.append(("load", m is layer, prefix, strict))
        state.pop(prefix + "more", None)

    layer.register_load_state_dict_pre_hook(drop)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    module.load_state_dict(state)
    assert calls == [("save", "0.", False), ("load", True, "0.", True)]
    layer.register_state_dict_post_hook(lambda m, state, prefix, metadata: state)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        module.state_dict()


def test_replacing_hook_and_bad_post_hook():
    layer = nn.Linear(1, 1)
    layer._register_state_dict_hook(lambda m, state, prefix, metadata: {"all": len(state)})
    assert layer.state_dict() == {"all": 2}
    other = nn.ReLU()
    other.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(AssertionError, match="are not expected to return new values"):
        other.load_state_dict({})


def test_non_persistent_buffers_are_left_out():
    module = nn.Module()
    module.register_buffer("a", ad.ones(1), persistent=False)
    module.register_buffer("b", None)
    assert list(module.state_dict()) == []
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"a"'):
        module.load_state_dict({"a": ad.ones(1)})
