"""Classes derived from Tensor: what functions, methods and properties do with their objects."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn import functional as F


class Plain(ad.Tensor):
    """Derived, with nothing of its own."""


class Tagged(ad.Tensor):
    def __new__(cls, data, tag="none"):
        return super().__new__(cls, data)

    def __init__(self, data, tag="none"):
        super().__init__()
        self.tag = tag


class Child(Plain):
    pass


class Other(ad.Tensor):
    pass


class Untold(ad.Tensor):
    __torch_function__ = ad._C._disabled_torch_function_impl  # type: ignore[assignment]


class Logged(ad.Tensor):
    calls: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def made(cls, *values):
    return ad.tensor(values).as_subclass(cls)


RESULTS = {
    "operator": lambda a, b: a + b,
    "reversed operator": lambda a, b: b + a,
    "number": lambda a, b: 1 - a,
    "function": lambda a, b: ad.add(b, a),
    "composite": lambda a, b: ad.mean(a, dim=0),
    "method": lambda a, b: a.exp(),
    "in place": lambda a, b: a.clone().add_(b),
    "index": lambda a, b: a[0],
    "sequence": lambda a, b: ad.cat([b, a]),
    "stack": lambda a, b: ad.stack([a, a]),
    "functional": lambda a, b: F.relu(a),
    "layer": lambda a, b: nn.Linear(2, 1)(a),
    "detached": lambda a, b: a.detach(),
    "data": lambda a, b: a.data,
    "like": lambda a, b: ad.zeros_like(a),
    "new": lambda a, b: a.new_zeros(3),
    "converted": lambda a, b: a.to(ad.float64),
    "view": lambda a, b: a.view(2, 1).T,
    "one of several": lambda a, b: a.max(0).values,
    "split": lambda a, b: a.split(1)[1],
    "iterated": lambda a, b: next(iter(a)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_of_the_class(name):
    assert type(RESULTS[name](made(Plain, 1.0, 2.0), ad.ones(2))) is Plain


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_a_class_that_is_not_told_are_tensors(name):
    assert type(RESULTS[name](made(Untold, 1.0, 2.0), ad.ones(2))) is ad.Tensor


def test_plain_facts_stay_what_they_are():
    x = made(Plain, 1.0, 2.0)
    assert x.shape == (2,) and type(x.shape) is ad.Size
    assert x.tolist() == [1.0, 2.0] and len(x) == 2 and x.dtype is ad.float32 and not x.requires_grad


def test_the_most_derived_class_decides():
    assert type(made(Plain, 1.0) + made(Child, 1.0)) is Child
    assert type(made(Child, 1.0) * made(Plain, 1.0)) is Child


def test_unrelated_classes_do_not_mix():
    with pytest.raises(TypeError, match="unsupported operand"):
        made(Plain, 1.0) + made(Other, 1.0)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.cat'"):
        ad.cat([made(Plain, 1.0), made(Other, 1.0)])


def test_attributes_and_constructors():
    x = Tagged([1.0, 2.0], "mine")
    assert type(x) is Tagged and x.tag == "mine" and x.tolist() == [1.0, 2.0]
    assert not hasattr(x * 2, "tag")
    y = ad.Tensor._make_subclass(Tagged, ad.ones(2), True)
    assert type(y) is Tagged and y.requires_grad and y.is_leaf


def test_copies_and_pickles_keep_class_and_attributes():
    x = Tagged([1.0, 2.0], "mine")
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(twin) is Tagged and twin.tag == "mine" and twin.tolist() == [1.0, 2.0]


def test_repr_names_the_class():
    assert repr(made(Plain, 1.0, 2.0)) == "Plain([1., 2.])"
    assert repr(nn.Parameter(made(Plain, 1.0))) == "Parameter(Plain([1.], requires_grad=True))"


def test_gradients_pass_and_are_tensors():
    x = made(Plain, 1.0, 2.0).requires_grad_()
    y = (x * x).sum()
    assert type(y) is Plain and type(y.grad_fn).__name__ == "AliasBackward0"
    y.backward()
    assert type(x.grad) is ad.Tensor and x.grad.tolist() == [2.0, 4.0]
    w = ad.ones(2, requires_grad=True)
    (w * made(Plain, 3.0, 4.0)).sum().backward()
    assert w.grad.tolist() == [3.0, 4.0]


def test_second_derivatives():
    x = made(Plain, 2.0).requires_grad_()
    (g,) = ad.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = ad.autograd.grad(g.sum(), x)
    assert h.tolist() == [12.0]


def test_parameter_of_a_derived_class():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(ad.ones(2, 2).as_subclass(Plain))
    weight: object = layer.weight
    assert type(weight) is Plain and isinstance(weight, nn.Parameter) and len(list(layer.parameters())) == 2
    assert not isinstance(made(Plain, 1.0), nn.Parameter)
    layer(ad.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    twin = copy.deepcopy(layer)
    copied: object = twin.weight
    assert type(copied) is Plain and len(list(twin.parameters())) == 2


def test_an_object_that_is_being_made_is_not_asked():
    class Wary(ad.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise TypeError(f"{func.__name__} was asked")

    class WaryParameter(Wary, nn.Parameter):  # type: ignore[misc]
        def __new__(cls, data):
            return super(Wary, cls).__new__(cls)

        def __init__(self, data):
            self.data_of_it = data

    made = WaryParameter(ad.ones(2))
    assert type(made) is WaryParameter and made.data_of_it.tolist() == [1, 1]
    kept = ad.Tensor._make_subclass(Wary, ad.ones(2), True)
    with ad._C.DisableTorchFunctionSubclass():
        assert made.requires_grad and kept.requires_grad
    with pytest.raises(TypeError, match="add was asked"):
        made + 1


def test_classes_derived_from_parameter_are_not_told():
    class Mine(nn.Parameter):
        pass

    x = Mine(ad.ones(2))
    assert type(x * 2) is ad.Tensor and isinstance(x, nn.Parameter)


CALLS = {
    "a + b": "add", "1 + a": "add", "a @ a": "matmul", "a ** 2": "pow", "-a": "neg", "a[0]": "__getitem__", "a.shape": "__get__",
    "a.dim()": "dim", "a.mT": "__get__", "a.sum()": "sum", "ad.sum(a)": "sum", "a.add_(b)": "add_", "ad.cat([b, a])": "cat",
    "F.relu(a)": "relu", "F.mse_loss(a, b)": "mse_loss", "a.requires_grad": "__get__", "len(a)": "__len__", "repr(a)": "__repr__",
    "a.tolist()": "tolist", "a.reshape(-1)": "reshape", "ad.linalg.norm(a)": "norm", "ad.where(b > 0, a, b)": "where",
    "a.type(ad.float64)": "type", "b.add(a)": "add", "copy.deepcopy(a)": "__deepcopy__",
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_one_call_is_told_once(call):
    matrix = call == "a.mT"
    names = {"a": ad.ones(2, 2).as_subclass(Logged) if matrix else made(Logged, 1.0, 2.0), "b": ad.ones(2), "ad": ad, "F": F, "copy": copy}
    Logged.calls.clear()
    eval(call, names)
    assert Logged.calls == [CALLS[call]]


def test_writing_tells():
    x = made(Logged, 1.0, 2.0)
    Logged.calls.clear()
    x[0] = 5.0
    assert Logged.calls == ["__setitem__"]
    Logged.calls.clear()
    x.grad = ad.ones(2)
    assert Logged.calls == ["__set__"]
    assert x.tolist() == [5.0, 2.0]


def test_func_is_the_public_function():
    seen = []

    class Seen(ad.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types, len(args), dict(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs)

    x = made(Seen, 1.0, 2.0)
    assert x.shape == (2,)
    ad.add(x, 1, alpha=2)
    F.relu(x)
    assert [call[0] for call in seen] == [ad.Tensor.shape.__get__, ad.add, F.relu]
    assert seen[1][1:] == ((Seen,), 2, {"alpha": 2})


def test_own_members_and_mixins_win():
    class Mixin:
        def dim(self):
            return "mixed in"

    class Own(Mixin, ad.Tensor):
        @property
        def shape(self):
            return "own"

    x = made(Own, 1.0)
    assert x.dim() == "mixed in" and x.shape == "own" and x.ndim == 1


def test_disabling():
    x = made(Plain, 1.0)
    with ad._C.DisableTorchFunctionSubclass():
        assert not ad._C._is_torch_function_enabled()
        assert type(x + 1) is ad.Tensor
    assert ad._C._is_torch_function_enabled() and type(x + 1) is Plain


def test_wrapping_by_attributes():
    class Metadata:
        def __init__(self, tensor, note):
            self.tensor, self.note = tensor, note

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note = next(x.note for x in args if isinstance(x, cls))
            plain = [x.tensor if isinstance(x, cls) else x for x in args]
            return cls(func(*plain, **(kwargs or {})), note)

    result = ad.add(Metadata(ad.ones(2), "kept"), ad.ones(2))
    assert result.note == "kept" and result.tensor.tolist() == [2.0, 2.0]
