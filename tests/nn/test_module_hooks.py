"""Hooks around a module's call and around its backward."""

from __future__ import annotations

import copy
import gc
import weakref
from collections import namedtuple

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn import _hooks


class Double(nn.Module):
    def forward(self, x, *, plus=0):
        return x * 2 + plus


class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("no")


def test_forward_hooks_run_in_order_and_may_replace():
    layer = Double()
    calls = []
    layer.register_forward_pre_hook(lambda module, args: calls.append("pre"))
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    layer.register_forward_hook(lambda module, args, output: calls.append(("post", args[0].item())))
    handle = layer.register_forward_hook(lambda module, args, output: output * 10)
    layer.register_forward_pre_hook(lambda module, args: calls.append("first"), prepend=True)
    assert layer(ad.tensor(1.0)).item() == 40
    assert calls == ["first", "pre", ("post", 2.0)]
    handle.remove()
    assert layer(ad.tensor(1.0)).item() == 4


def test_hooks_with_kwargs():
    layer = Double()
    layer.register_forward_pre_hook(lambda module, args, kwargs: (args, {"plus": kwargs["plus"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, output: output + kwargs["plus"], with_kwargs=True)
    assert layer(ad.tensor(1.0), plus=1).item() == 6
    layer.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        layer(ad.tensor(1.0), plus=1)


def test_always_call():
    layer = Fails()
    seen = []
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    layer.register_forward_hook(lambda module, args, output: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        layer(ad.ones(1))
    assert seen == [None]
    layer.register_forward_hook(lambda module, args, output: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error was raised"), pytest.raises(ValueError, match="no"):
        layer(ad.ones(1))


def test_hooks_for_all_modules():
    names = []
    handles = [
        _hooks.register_module_forward_pre_hook(lambda module, args: names.append(("pre", type(module).__name__))),
        _hooks.register_module_forward_hook(lambda module, args, output: names.append(("post", type(module).__name__))),
    ]
    nn.Sequential(Double())(ad.ones(1))
    for handle in handles:
        handle.remove()
    nn.Sequential(Double())(ad.ones(1))
    assert names == [("pre", "Sequential"), ("pre", "Double"), ("post", "Double"), ("post", "Sequential")]


def test_full_backward_hook():
    layer = nn.Linear(2, 1, bias=False)
    seen = []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((module, grad_input, grad_output)))
    x = ad.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    ((module, grad_input, grad_output),) = seen
    assert module is layer
    assert grad_output[0].tolist() == [[1.0]]
    assert grad_input[0].tolist() == layer.weight.tolist() == x.grad.tolist()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_full_backward_hooks_may_replace_gradients():
    layer = Double()
    layer.register_full_backward_pre_hook(lambda module, grad_output: grad_output[0] * 3)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] + grad_output[0],))
    x = ad.tensor(1.0, requires_grad=True)
    layer(x).backward()
    assert x.grad.item() == 2 * 3 + 3


def test_full_backward_hook_without_input_gradient():
    layer = nn.Linear(2, 1)
    seen = []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output[0].item())))
    firing = "Full backward hook is firing when gradients are computed with respect to module outputs"
    with pytest.warns(UserWarning, match=firing):
        layer(ad.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1.0)]
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (ad.ones(1, 2),))
    with pytest.warns(UserWarning, match=firing), pytest.raises(RuntimeError, match="where no input requires gradient should always"):
        layer(ad.ones(1, 2)).sum().backward()


def test_full_backward_hook_sees_several_outputs_and_arguments():
    class Both(nn.Module):
        def forward(self, a, b, c):
            return a * b, a + 1, c

    layer = Both()
    seen = []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    a, b = ad.tensor(2.0, requires_grad=True), ad.tensor(5.0)
    product, _, c = layer(a, b, "text")
    assert c == "text"
    product.backward()
    ((grad_input, grad_output),) = seen
    assert grad_input[0].item() == 5 and grad_input[2] is None
    assert grad_input[1].item() == 0  # a tensor that needs no gradient, and a word
    assert grad_output[0].item() == 1 and grad_output[1:] == (None, None)


def test_full_backward_hook_in_second_order():
    class Square(nn.Module):
        def forward(self, x):
            return x * x

    layer = Square()
    count = []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: count.append(grad_input[0].requires_grad))
    x = ad.tensor(3.0, requires_grad=True)
    (dx,) = ad.autograd.grad(layer(x), x, create_graph=True)
    assert dx.item() == 6 and count == [True]
    assert ad.autograd.grad(dx, x)[0].item() == 2


def test_backward_hook_checks():
    layer = Double()
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (None, None))
    x = ad.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(x).backward()
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(print)

    class Mapping(nn.Module):
        def forward(self, x):
            return {"x": x * 2}

    mapping = Mapping()
    mapping.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
        mapping(x)


def test_old_backward_hook_sees_the_last_operation():
    layer = Double()
    seen = []
    layer.register_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output[0].item()))
    x = ad.tensor(1.0, requires_grad=True)
    with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes"):
        layer(x).backward()
    assert seen == [1.0] and x.grad.item() == 2


def test_no_hooks_under_no_grad():
    layer = Double()
    seen = []
    layer.register_full_backward_hook(lambda *args: seen.append(1))
    with ad.no_grad():
        assert layer(ad.ones(1, requires_grad=True)).requires_grad is False
    assert seen == []


def test_a_named_tuple_stays_one():
    Pair = namedtuple("Pair", "first second")

    class Both(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x + 1)

    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        layer = Both()
        getattr(layer, register)(lambda *args: None)
        assert layer(ad.ones(1, requires_grad=True)).second.tolist() == [2]


def test_hooks_of_registration():
    module = nn.modules.module
    seen = []
    handles = [
        getattr(module, f"register_module_{kind}_registration_hook")(lambda owner, name, value, kind=kind: seen.append((kind, name)))
        for kind in ("parameter", "buffer", "module")
    ]
    try:
        model = nn.Sequential(nn.Linear(1, 1, bias=False))
        model.mean = nn.Buffer(ad.ones(1))
        model.mean = ad.zeros(1)
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [("parameter", "weight"), ("module", "0"), ("buffer", "mean"), ("buffer", "mean")]
    with module.register_module_module_registration_hook(lambda owner, name, value: nn.Tanh()):
        assert isinstance(nn.Sequential(nn.ReLU())[0], nn.Tanh)
    with module.register_module_parameter_registration_hook(lambda owner, name, value: nn.Parameter(value * 0)):
        model.weight = nn.Parameter(ad.ones(2))
        assert not model.weight.any()


def test_old_backward_hooks_for_all_modules():
    module = nn.modules.module
    seen = []
    layer = nn.ReLU()
    with module.register_module_backward_hook(lambda owner, grad_input, grad_output: seen.append(owner)):
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks as a global Module hook"):
            module.register_module_full_backward_hook(lambda *args: None)
        layer(ad.ones(1, requires_grad=True) * 1).backward()
    assert seen == [layer]


def test_a_hook_without_input_gradients_may_return_them():
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: grad_input)
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        layer(ad.ones(1)).backward()
    assert layer.weight.grad.tolist() == [[1]]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda y: [y], "does not return a single Tensor or a tuple of Tensors"),
        (lambda y: (y, y + 1), "outputs are generated by different autograd Nodes"),
    ],
)
def test_what_an_old_backward_hook_misses_is_said(result, message):
    class Layer(nn.Module):
        def forward(self, x):
            return result(x * 2)

    layer = Layer()
    layer.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match=message):
        layer(ad.ones(1, requires_grad=True))


@pytest.mark.parametrize(
    "register",
    ["register_full_backward_hook", "register_full_backward_pre_hook", "register_forward_hook", "register_load_state_dict_pre_hook"],
)
def test_hooks_do_not_keep_a_module_alive(register):
    gc.disable()
    try:
        layer = nn.Linear(2, 2)
        getattr(layer, register)(lambda *args: None)
        result = layer(ad.ones(1, 2, requires_grad=True))
        result.sum().backward()
        watched: list[weakref.ref] = [weakref.ref(layer), weakref.ref(result)]
        del layer, result
        assert [each() for each in watched] == [None, None]
    finally:
        gc.enable()


def test_a_copied_load_hook_knows_the_copy():
    seen = []
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_pre_hook(lambda module, *args: seen.append(module))
    twin = copy.deepcopy(layer)
    twin.load_state_dict(layer.state_dict())
    assert seen == [twin]
