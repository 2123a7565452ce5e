"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import adjoint as ad
from adjoint import nn


def kinds(modules):
    return [type(module).__name__ for module in modules]


def test_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert net(ad.ones(4, 2)).shape == (4, 1)
    assert len(net) == 3 and net[-1] is net[2] and kinds(net[0:2]) == ["Linear", "ReLU"]
    assert list(net[1:]._modules) == ["1", "2"]  # a slice keeps its names
    net[1] = nn.Tanh()
    del net[0]
    assert list(net._modules) == ["0", "1"] and kinds(net) == ["Tanh", "Linear"]
    net.append(nn.ReLU()).insert(0, nn.Sigmoid()).extend([nn.GELU()])
    assert kinds(net) == ["Sigmoid", "Tanh", "Linear", "ReLU", "GELU"]
    assert type(net.pop(0)) is nn.Sigmoid and list(net._modules) == ["0", "1", "2", "3"]
    assert kinds(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())) == ["ReLU", "Tanh"]
    assert kinds(nn.Sequential(nn.ReLU(), nn.Tanh()) * 2) == ["ReLU", "Tanh", "ReLU", "Tanh"]
    assert kinds(2 * nn.Sequential(nn.ReLU())) == ["ReLU", "ReLU"]
    net = nn.Sequential(nn.ReLU())
    net += nn.Sequential(nn.Tanh())
    net *= 2
    assert kinds(net) == ["ReLU", "Tanh", "ReLU", "Tanh"]
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(named._modules) == ["a", "b"] and named.a is named[0]
    assert repr(nn.Sequential()) == "Sequential()"


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda s: s[5], IndexError, "index 5 is out of range"),
        (lambda s: s[-4], IndexError, "index -4 is out of range"),
        (lambda s: s["a"], TypeError, "'str' object cannot be interpreted as an integer"),
        (lambda s: s + 3, ValueError, "add operator supports only objects of Sequential class, but <class 'int'> is given."),
        (lambda s: s * "a", TypeError, "unsupported operand type"),
        (lambda s: s * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda s: s.insert(9, nn.ReLU()), IndexError, "Index out of range: 9"),
        (lambda s: s.insert(0, 3), AssertionError, "module should be of type"),
        (lambda s: s.append(3), TypeError, "int is not a Module subclass"),
        (lambda s: nn.Sequential(3), TypeError, "int is not a Module subclass"),
        (lambda s: nn.Sequential({"a": nn.ReLU()}), TypeError, "dict is not a Module subclass"),
        (lambda s: nn.ModuleList(3), TypeError, "ModuleList.extend should be called with an iterable, but got int"),
        (lambda s: nn.ModuleList("a"), TypeError, "str is not a Module subclass"),
        (lambda s: nn.ModuleList().insert(0, 3), TypeError, "int is not a Module subclass"),
        (lambda s: nn.ModuleList()(1), NotImplementedError, "forward"),
        (lambda s: nn.ModuleDict(3), TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        (lambda s: nn.ModuleDict([1]), TypeError, "ModuleDict update sequence element #0 should be Iterable"),
        (lambda s: nn.ModuleDict([(1,)]), ValueError, "ModuleDict update sequence element #0 has length 1; 2 is required"),
        (lambda s: nn.ModuleDict()["z"], KeyError, "z"),
        (lambda s: nn.ModuleDict({1: nn.ReLU()}), TypeError, "module name should be a string. Got int"),
        (lambda s: nn.ParameterList(ad.ones(2)), TypeError, "ParameterList.extend should be called with an iterable, but got Tensor"),
        (lambda s: nn.ParameterList()(1), RuntimeError, "ParameterList should not be called."),
        (lambda s: nn.ParameterList()[0], IndexError, "index 0 is out of range"),
        (lambda s: nn.ParameterDict()(1), RuntimeError, "ParameterDict should not be called."),
        (lambda s: nn.ParameterDict()["z"], AttributeError, "'ParameterDict' object has no attribute 'z'"),
        (lambda s: nn.ParameterDict({"keys": ad.ones(1)}), KeyError, "attribute 'keys' already exists"),
        (lambda s: nn.ParameterDict([(1, 2)]), TypeError, "Index given to ParameterDict cannot be used as a key as it is not a string"),
    ],
)
def test_errors(do, error, message):
    with pytest.raises(error, match=message):
        do(nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ReLU()))


def test_module_list():
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)] + [nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)])
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (3-4): 2 x ReLU()\n"
        "  (5): Linear(in_features=2, out_features=2, bias=True)\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert kinds(layers[3:5]) == ["ReLU", "ReLU"] and list(layers[3:5]._modules) == ["0", "1"]
    layers.insert(100, nn.Tanh())
    del layers[0:3]
    assert kinds(layers) == ["ReLU", "ReLU", "Linear", "Tanh"] and list(layers._modules) == ["0", "1", "2", "3"]
    assert kinds(layers + nn.ModuleList([nn.Sigmoid()]))[-1] == "Sigmoid"
    layers += [nn.GELU()]
    assert type(layers.pop(-1)) is nn.GELU
    assert layers[1] in layers


def test_module_dict():
    table = nn.ModuleDict([["a", nn.ReLU()], ("b", nn.Linear(1, 2))])
    assert list(table) == list(table.keys()) == ["a", "b"] and len(table) == 2 and "a" in table
    assert [key for key, _ in table.items()] == ["a", "b"] and kinds(table.values()) == ["ReLU", "Linear"]
    table["c"] = nn.Tanh()
    assert table.c is table["c"] and type(table.pop("a")) is nn.ReLU
    table.update(nn.ModuleDict({"d": nn.ReLU()}))
    del table["b"]
    assert list(table) == ["c", "d"]
    table.clear()
    assert repr(table) == "ModuleDict()"


def test_parameter_list():
    values = nn.ParameterList([ad.ones(2), nn.Parameter(ad.ones(2, 3)), 3])
    assert [name for name, _ in values.named_parameters()] == ["0", "1"]
    assert repr(values) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2]\n"
        "    (1): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (2): Object of type: int\n"
        ")"
    )
    assert values[-1] == 3 and len(values[0:2]) == 2 and isinstance(values[0], nn.Parameter)
    values[0] = ad.zeros(4)
    values += [ad.zeros(1)]
    assert values.append(ad.ones(5))[-1].shape == (5,) and len(values) == 5 and len(list(values)) == 5


def test_parameter_dict():
    table = nn.ParameterDict({"b": ad.ones(1), "a": ad.ones(2), "c": 3})
    assert list(table) == ["a", "b", "c"]  # a plain dict is sorted, as in PyTorch
    assert repr(table) == (
        "ParameterDict(\n"
        "    (a): Parameter containing: [torch.FloatTensor of size 2]\n"
        "    (b): Parameter containing: [torch.FloatTensor of size 1]\n"
        "    (c): Object of type: int\n"
        ")"
    )
    assert [name for name, _ in table.named_parameters()] == ["a", "b"]
    assert table.pop("c") == 3 and table.get("c", 7) == 7 and "c" not in table
    assert table.setdefault("d", ad.ones(1)) is table["d"] and table.setdefault("d", 5) is table["d"]
    assert list(reversed(table)) == ["d", "b", "a"] and table.popitem()[0] == "d"
    merged = table | nn.ParameterDict({"k": ad.ones(1)})
    assert list(merged) == ["a", "b", "k"] and merged["a"] is table["a"]
    table |= nn.ParameterDict({"z": ad.ones(1)})
    assert list(table.copy().keys()) == ["a", "b", "z"]
    assert dict(table.fromkeys(["x"], 1).items()) == {"x": 1}
    assert len(list(table.values())) == 3
    table.clear()
    assert len(table) == 0 and repr(table) == "ParameterDict()"


def test_insert_into_a_sequential_keeps_the_names_in_front():
    net = nn.Sequential(OrderedDict(first=nn.Linear(2, 3)))
    net.append(nn.Tanh())
    net.insert(1, nn.LayerNorm(3))
    assert [(name, type(one).__name__) for name, one in net.named_children()] == [("first", "Linear"), ("1", "LayerNorm"), ("2", "Tanh")]
    net.insert(-1, nn.ReLU())
    assert [type(one).__name__ for one in net] == ["Linear", "LayerNorm", "ReLU", "Tanh"]
    assert net.first is net[0]


def test_a_list_may_hold_a_place_without_a_module():
    modules: list[Any] = [None, nn.ReLU()]
    assert str(nn.ModuleList(modules)) == "ModuleList(\n  (0): None\n  (1): ReLU()\n)"
