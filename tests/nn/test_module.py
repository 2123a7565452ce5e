"""Module: registration, attributes, walking the tree, conversion, printing."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.scale = nn.Parameter(ad.ones(1))
        self.register_buffer("seen", ad.zeros((), dtype=ad.int64))
        self.register_buffer("cache", ad.zeros(2), persistent=False)

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


# ---- registration -------------------------------------------------------------------------------------------------------------------


def test_assignment_registers():
    net = Net()
    assert list(net._parameters) == ["scale"]
    assert list(net._modules) == ["first", "second"]
    assert list(net._buffers) == ["seen", "cache"]
    assert net.first is net._modules["first"]
    assert net._non_persistent_buffers_set == {"cache"}


def test_attributes_follow_the_tables():
    net = Net()
    other = nn.Parameter(ad.zeros(1))
    net._parameters["scale"] = other
    assert net.scale is other
    del net._parameters["scale"]
    assert not hasattr(net, "scale")
    net._modules = {"only": nn.ReLU()}
    assert not hasattr(net, "first") and isinstance(net.only, nn.ReLU)
    net._buffers.update(seen=ad.ones(1), more=ad.ones(2))
    assert net.more.shape == (2,)
    assert net._buffers.pop("more") is not None and not hasattr(net, "more")
    net._buffers.clear()
    assert not hasattr(net, "seen")


def test_reassignment_moves_between_tables():
    net: Any = Net()
    net.scale = None
    assert net._parameters == {"scale": None} and net.scale is None
    net.thing = 3
    net.thing = nn.Parameter(ad.ones(1))
    assert "thing" in net._parameters
    net.cache = nn.Linear(1, 1)
    assert "cache" in net._modules and "cache" not in net._buffers and net._non_persistent_buffers_set == set()
    net.first = None
    assert net._modules["first"] is None


def test_deletion():
    net = Net()
    del net.scale, net.first, net.cache
    assert not any(hasattr(net, name) for name in ("scale", "first", "cache"))
    assert net._non_persistent_buffers_set == set()
    with pytest.raises(AttributeError):
        del net.nothing


def test_buffer_by_attribute():
    net: Any = nn.Module()
    net.kept = nn.Buffer(ad.ones(2))
    net.dropped = nn.Buffer(ad.ones(2), persistent=False)
    assert type(net.kept) is ad.Tensor
    assert isinstance(net.kept, nn.Buffer)
    assert list(net.state_dict()) == ["kept"]
    net.dropped = ad.zeros(3)  # stays what it was
    assert list(net.state_dict()) == ["kept"] and net._buffers["dropped"].shape == (3,)
    assert not isinstance(ad.ones(1), nn.Buffer)


def broken_net(assign):
    class Broken(nn.Module):
        def __init__(self):
            assign(self)

    return Broken


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        (lambda m: setattr(m, "x", nn.Linear(1, 1)), "cannot assign module before Module.__init__\\(\\) call"),
        (lambda m: setattr(m, "x", nn.Parameter(ad.ones(1))), "cannot assign parameters before Module.__init__\\(\\) call"),
        (lambda m: m.register_parameter("x", None), "cannot assign parameter before Module.__init__\\(\\) call"),
        (lambda m: m.register_buffer("x", None), "cannot assign buffer before Module.__init__\\(\\) call"),
    ],
)
def test_before_init(assign, message):
    with pytest.raises(AttributeError, match=message + r"\n.*super\(\).__init__\(\) first in Broken"):
        broken_net(assign)()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda n: setattr(n.first, "weight", ad.ones(2)), TypeError,
         r"cannot assign 'torch.FloatTensor' as parameter 'weight' \(torch.nn.Parameter or None expected\)"),
        (lambda n: setattr(n, "first", 3), TypeError, r"cannot assign 'int' as child module 'first' \(torch.nn.Module or None expected\)"),
        (lambda n: setattr(n, "seen", 3), TypeError, "cannot assign 'int' as buffer 'seen'"),
        (lambda n: n.nothing, AttributeError, "'Net' object has no attribute 'nothing'"),
        (lambda n: n.register_buffer(3, None), TypeError, "buffer name should be a string. Got int"),
        (lambda n: n.register_buffer("a.b", None), KeyError, "buffer name can.*t contain"),
        (lambda n: n.register_buffer("", None), KeyError, "buffer name can.*t be empty"),
        (lambda n: n.register_buffer("training", None), KeyError, "attribute 'training' already exists"),
        (lambda n: n.register_buffer("c", 3), TypeError, "cannot assign 'int' object to buffer 'c'"),
        (lambda n: n.register_parameter("c", ad.ones(3)), TypeError, "cannot assign 'torch.FloatTensor' object to parameter 'c'"),
        (lambda n: n.register_parameter("seen", None), KeyError, "attribute 'seen' already exists"),
        (lambda n: n.add_module("training", None), KeyError, "attribute 'training' already exists"),
        (lambda n: n.add_module("a.b", None), KeyError, "module name can.*t contain .*, got: a.b"),
        (lambda n: n.add_module("c", 3), TypeError, "int is not a Module subclass"),
        (lambda n: nn.Module()(3), NotImplementedError, r'Module \[Module\] is missing the required "forward" function'),
        (lambda n: nn.Module(3), TypeError, r"Module.__init__\(\) takes 1 positional argument but 2 were given"),
        (lambda n: nn.Module(a=3), TypeError, "got an unexpected keyword argument 'a'"),
        (lambda n: n.train(3), ValueError, "training mode is expected to be boolean"),
        (lambda n: n.get_submodule("second.7"), AttributeError, "Sequential has no attribute `7`"),
        (lambda n: n.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
        (lambda n: n.get_parameter("first.w"), AttributeError, "Linear has no attribute `w`"),
        (lambda n: n.get_parameter("seen"), AttributeError, "`seen` is not an nn.Parameter"),
        (lambda n: n.get_buffer("first.weight"), AttributeError, "`weight` is not a buffer"),
        (lambda n: n.to(ad.int32), TypeError, "nn.Module.to only accepts floating point or complex dtypes"),
        (lambda n: n.to(3.5, 4), TypeError, r"to\(\) received an invalid combination of arguments - got \(float, int\)"),
        (lambda n: n.cuda(), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda n: n.set_submodule("", nn.ReLU()), ValueError, "Cannot set the submodule without a target name!"),
    ],
)  # fmt: skip
def test_errors(do, error, message):
    with pytest.raises(error, match=message):
        do(Net())


# ---- walking ------------------------------------------------------------------------------------------------------------------------


def test_names():
    net = Net()
    assert [name for name, _ in net.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert [name for name, _ in net.named_parameters(prefix="net", recurse=False)] == ["net.scale"]
    assert [name for name, _ in net.named_buffers()] == ["seen", "cache"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert len(list(net.parameters())) == 5 and len(list(net.buffers())) == 2
    assert len(list(net.modules())) == 5 and len(list(net.children())) == 2


def test_shared_modules_are_listed_once():
    layer = nn.Linear(2, 2)
    net = nn.Sequential(layer, layer)
    assert [name for name, _ in net.named_modules()] == ["", "0"]
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    tied = nn.Linear(2, 2)
    tied.weight = layer.weight
    assert len(list(nn.ModuleList([layer, tied]).parameters())) == 3


def test_paths():
    net = Net()
    assert net.get_submodule("") is net
    assert net.get_submodule("second.1") is net.second[1]
    assert net.get_parameter("second.1.bias") is net.second[1].bias
    assert net.get_buffer("seen") is net.seen
    net.set_submodule("second.0", nn.Tanh())
    assert isinstance(net.second[0], nn.Tanh)


def test_apply_goes_from_the_leaves_up():
    order = []
    net = Net()
    assert net.apply(lambda module: order.append(type(module).__name__)) is net
    assert order == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


# ---- conversion and modes -----------------------------------------------------------------------------------------------------------


def test_conversion_keeps_the_parameters():
    net = Net()
    weight = net.first.weight
    net(ad.ones(1, 2)).sum().backward()
    assert net.double() is net
    assert net.first.weight is weight and weight.dtype is ad.float64 and weight.grad.dtype is ad.float64
    assert weight.requires_grad and isinstance(weight, nn.Parameter)
    assert net.seen.dtype is ad.int64 and net.cache.dtype is ad.float64
    assert net.half().first.bias.dtype is ad.float16
    assert net.to(ad.ones(1)).float().scale.dtype is ad.float32
    assert net.to("cpu", ad.float64).scale.dtype is ad.float64
    assert net.to(dtype=ad.float32).cpu().scale.dtype is ad.float32


def test_type_converts_integers_too():
    with pytest.raises(RuntimeError, match="floating point or complex"):
        Net().type(ad.int64)
    net = nn.Module()
    net.register_buffer("n", ad.zeros(2, dtype=ad.int64))
    assert net.type(ad.float32).n.dtype is ad.float32


def test_training_mode_and_requires_grad():
    net = Net()
    assert net.eval() is net and not net.training and not net.second[1].training
    assert net.train().second.training
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad():
    net = Net()
    net(ad.ones(1, 2)).sum().backward()
    kept = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is kept and kept.item() == 0
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


# ---- copies -------------------------------------------------------------------------------------------------------------------------


def test_deepcopy_is_independent():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.first.weight is not net.first.weight
    assert twin.first.weight is twin.first._parameters["weight"] and isinstance(twin.first.weight, nn.Parameter)
    with ad.no_grad():
        twin.first.weight.zero_()
    assert net.first.weight.abs().sum().item() > 0
    twin.extra = nn.Linear(1, 1)
    assert "extra" not in net._modules
    x = ad.ones(1, 2)
    assert np.array_equal(copy.deepcopy(net)(x).detach().numpy(), net(x).detach().numpy())


def test_shallow_copy_has_tables_of_its_own():
    net = Net()
    twin = copy.copy(net)
    assert twin.first is net.first
    twin.first = nn.Linear(5, 5)
    assert net.first.in_features == 2


def test_pickle():
    net = pickle.loads(pickle.dumps(Net()))
    assert isinstance(net.first.weight, nn.Parameter) and net.first.weight is net.first._parameters["weight"]
    net._parameters["scale"] = other = nn.Parameter(ad.zeros(1))
    assert net.scale is other


def test_state_of_ones_own():
    class Own(nn.Linear):
        def __getstate__(self):
            return super().__getstate__()

        def __setstate__(self, state):
            self.__dict__.update(state)

    twin = copy.deepcopy(Own(2, 1))
    assert twin.weight.requires_grad and twin(ad.ones(1, 2)).shape == (1, 1)
    twin.extra = nn.ReLU()
    assert [name for name, _ in twin.named_children()] == ["extra"]


def test_the_class_of_a_table_makes_plain_dictionaries():
    layer = ad.nn.Linear(2, 1)
    table = type(layer._parameters)((name, value) for name, value in layer._parameters.items())
    assert type(table) is dict and list(table) == ["weight", "bias"]
    table["weight"] = None
    assert layer.weight is layer._parameters["weight"] is not None


def test_dir_has_members_and_no_numbers():
    names = dir(nn.Sequential(nn.Linear(1, 1)))
    assert "forward" in names and "training" in names and "0" not in names
    assert {"weight", "bias"} <= set(dir(nn.Linear(1, 1)))


# ---- printing -----------------------------------------------------------------------------------------------------------------------


def test_repr():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (second): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=True)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Module()) == "Module()"


def test_extra_repr_of_several_lines():
    class Wordy(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Wordy()) == "Wordy(\n  one\n  two\n)"


def test_forward_may_be_replaced_on_the_instance():
    net: Any = nn.Linear(2, 2)
    net.forward = lambda x: x + 1
    assert net(ad.ones(1)).item() == 2


def test_copies_have_all_tables_and_the_hooks():
    class OwnState(nn.Module):
        def __setstate__(self, state):
            self.__dict__.update(state)

    calls = []
    module = nn.Linear(2, 2)
    module.register_forward_hook(lambda *_: calls.append(1))
    twin = copy.deepcopy(module)
    twin(ad.ones(1, 2))
    assert calls == [1] and vars(twin).keys() == vars(module).keys()
    assert vars(copy.deepcopy(OwnState())).keys() == vars(OwnState()).keys()


# ---- conversion that makes new tensors ----------------------------------------------------------------------------------------------


def test_conversion_may_overwrite_or_swap_parameters():
    settings = ad.__future__
    assert not settings.get_overwrite_module_params_on_conversion() and not settings.get_swap_module_params_on_conversion()
    for kind, stays in (("overwrite", False), ("swap", True)):
        layer = nn.Linear(2, 1)
        weight = layer.weight
        weight.grad = gradient = ad.ones(1, 2)
        change = getattr(settings, f"set_{kind}_module_params_on_conversion")
        change(True)
        try:
            layer.double()
        finally:
            change(False)
        assert (layer.weight is weight) is stays and (layer.weight.grad is gradient) is stays
        assert layer.weight.dtype is layer.weight.grad.dtype is ad.float64 and isinstance(layer.weight, nn.Parameter)


def test_swapped_tensors_are_each_other():
    a: Any = ad.ones(2)
    b: Any = nn.Parameter(ad.zeros(3))
    b.grad, a.note = ad.ones(3), "x"
    ad.utils.swap_tensors(a, b)
    assert type(a) is nn.Parameter and a.shape == (3,) and a.grad.tolist() == [1, 1, 1] and not hasattr(a, "note")
    assert type(b) is ad.Tensor and b.shape == (2,) and b.grad is None and b.note == "x"
    watched = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref associated with it"):
        ad.utils.swap_tensors(a, b)
    assert watched() is a


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda m: m.to(True), TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.bool"),
        (lambda m: m.to(ad.float64, copy=True), RuntimeError, ".to.. does not accept copy argument"),
        (lambda m: m.set_submodule("a", "x"), ValueError, "`module` is not an nn.Module, found <class 'str'>"),
        (lambda m: setattr(m, "plain", nn.Buffer(ad.ones(1))), KeyError, "attribute 'plain' already exists"),
        (lambda m: nn.LazyLinear(2).share_memory(), RuntimeError, "Can't share memory on an uninitialized parameter or buffer"),
        (lambda m: ad.empty_like(nn.LazyLinear(2).weight), ValueError, "Attempted to use an uninitialized parameter"),
        (lambda m: nn.LazyLinear(2).weight.dim(), ValueError, "Attempted to use an uninitialized parameter in dim"),
    ],
)
def test_what_modules_refuse(do, error, message):
    module = nn.Linear(1, 1)
    module.plain = 3
    with pytest.raises(error, match=message):
        do(module)


def test_complex_modules_are_warned_of():
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        assert nn.Linear(1, 1).to(ad.complex64).weight.dtype is ad.complex64


def test_an_old_register_buffer_is_called_with_two_arguments():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):  # type: ignore[override]
            super().register_buffer(name, tensor)

    module = Old()
    module.mean = nn.Buffer(ad.ones(1))
    assert module.mean.tolist() == [1]
    with pytest.raises(RuntimeError, match=r"register_buffer.. without the persistent argument is not allowed"):
        module.other = nn.Buffer(ad.ones(1), persistent=False)


def test_modules_may_be_listed_as_often_as_they_occur():
    shared = nn.ReLU()
    model = nn.Sequential(shared, shared)
    assert list(model.modules()) == [model, shared] and list(model.modules(remove_duplicate=False)) == [model, shared, shared]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda: nn.Conv2d(1, 1, 1), "padding_mode", "zeros"),
        (lambda: nn.Softmax(), "dim", None),
        (lambda: nn.LSTM(1, 1), "proj_size", 0),
        (lambda: nn.MultiheadAttention(2, 1), "_qkv_same_embed_dim", True),
    ],
)
def test_what_old_pickles_lack(make, name, value):
    made = make()
    state = {key: entry for key, entry in made.__getstate__().items() if key != name}
    loaded = type(made).__new__(type(made))
    loaded.__setstate__(state)
    assert name not in loaded.__dict__ and getattr(loaded, name) == value and str(loaded) == str(made)


def test_a_parameter_takes_the_name_of_a_property_that_has_no_value_yet():
    class Ball(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(ad.ones(1))
            self.raw = nn.Parameter(ad.ones(1))

        @property  # type: ignore[no-redef]
        def k(self):
            return -self.raw

    ball = Ball()
    assert list(ball.state_dict()) == ["k", "raw"] and ball.k.item() == -1


def test_a_class_with_its_own_getattr_sees_its_members_read():
    class Watching(nn.Module):
        def __init__(self):
            super().__init__()
            self.read = []
            self.weight, self.inner = nn.Parameter(ad.ones(2)), nn.Linear(2, 2)
            self.register_buffer("seen", ad.zeros(1))

        def __getattr__(self, name):
            found = super().__getattr__(name)
            self.__dict__["read"].append(name)
            return found

    module = Watching()
    assert module.weight.shape == (2,) and module.inner.bias is not None and module.seen.item() == 0
    assert module.read == ["weight", "inner", "seen"] and "weight" not in vars(module)
    again = copy.deepcopy(module)
    again.seen = ad.ones(1)
    del again.inner
    assert list(again.state_dict()) == ["weight", "seen"] and again.seen.item() == 1
    with pytest.raises(AttributeError, match="no attribute 'inner'"):
        again.inner  # noqa: B018


def test_classes_are_listed_in_the_files_where_pytorch_has_them():
    found = {name for name, value in vars(nn.modules.activation).items() if isinstance(value, type) and issubclass(value, nn.Module)}
    assert {"ReLU", "Tanh", "GELU", "MultiheadAttention"} <= found and nn.modules.activation.Tanh is nn.Tanh


def test_a_class_may_move_itself_by_cpu():
    class Index(nn.Module):
        def to(self, device):  # type: ignore[override]
            return self.cpu() if str(device) == "cpu" else self

    assert Index().to("cpu").training


def test_a_parameter_that_modules_share_is_told_by_its_number():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    assert second.weight._cdata == first.weight._cdata != second.bias._cdata
