"""The compiled members of Tensor do what those in Python do, and leave to them what they do not take."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import _compiled_members
from adjoint._kernels import members

READ = (*members.GETTERS, "size", "dim", "numel", "element_size", "stride", "data_ptr", "storage_offset", "is_contiguous", "contiguous")


@pytest.fixture(scope="module")
def compiled():
    return _compiled_members.compiled_members(True)


def as_it_is_written(name):
    found = _compiled_members.member_in_python(name)
    assert not name.endswith("_") or hasattr(found, "__code__")
    return found


def inferred():
    with ad.inference_mode():
        return ad.ones(3)


def part_without_grad():
    w = ad.ones(3, requires_grad=True)
    with ad.no_grad():
        return w[1:]


def later_history():
    base = ad.zeros(3)
    part = base[1:]
    base.add_(ad.ones(3, requires_grad=True))
    return part


def with_gradient():
    w = ad.ones(2, 2, requires_grad=True)
    (w * w).sum().backward()
    return w


TENSORS: dict[str, Any] = {
    "numbers": lambda: ad.arange(6.0),
    "0-d": lambda: ad.tensor(2.5),
    "no elements": lambda: ad.zeros(2, 0, 3),
    "of size one": lambda: ad.zeros(1, 3, 1),
    "view": lambda: ad.arange(24.0).reshape(2, 3, 4)[1, :, 1:],
    "transposed": lambda: ad.arange(6.0).reshape(2, 3).T,
    "expanded": lambda: ad.ones(3, 1).expand(3, 4),
    "reversed": lambda: ad.arange(6.0).flip(0),
    "not aligned": lambda: ad.from_numpy(np.frombuffer(bytearray(13), np.uint8)[1:].view(np.float32)),
    "of other memory": lambda: ad.from_numpy(np.frombuffer(bytearray(16), np.float32)),
    **{str(dtype): partial(ad.ones, 3, dtype=dtype) for dtype in (ad.int64, ad.bool, ad.float16, ad.uint8, ad.complex64)},
    "bfloat16": lambda: ad.ones(3, dtype=ad.bfloat16),
    "meta": lambda: ad.zeros(2, 3, device="meta"),
    "leaf": lambda: ad.ones(3, requires_grad=True),
    "parameter": lambda: ad.nn.Parameter(ad.ones(2, 2)),
    "with a gradient": with_gradient,
    "result": lambda: ad.ones(3, requires_grad=True) * 2,
    "one of several results": lambda: ad.ones(4, requires_grad=True).sort().values,
    "view of a leaf": lambda: ad.ones(3, requires_grad=True)[1:],
    "view of a result": lambda: (ad.ones(3, requires_grad=True) * 2)[1:],
    "view with a later history": later_history,
    "view made without grad": part_without_grad,
    "detached": lambda: (ad.ones(3, requires_grad=True) * 2).detach(),
    "view of detached": lambda: ad.ones(3, requires_grad=True).detach()[1:],
    "inference": inferred,
}


def outcome(call):
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    if isinstance(found, ad.Tensor):
        return found.tolist() if found.device.type == "cpu" else None, found.requires_grad, found._vc is None
    return type(found), found if isinstance(found, (int, tuple, type(None), ad.dtype, ad.device)) else id(found)


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("name", READ)
def test_reading(compiled, name, kind):
    x = TENSORS[kind]()
    assert outcome(lambda: getattr_of(compiled[name], x)) == outcome(lambda: getattr_of(as_it_is_written(name), x))


def getattr_of(member, tensor, *args, **kwargs):
    found = member.__get__(tensor, type(tensor))
    return found(*args, **kwargs) if callable(found) and not isinstance(found, ad.Tensor) and found is not None else found


@pytest.mark.parametrize("name", ["size", "stride"])
@pytest.mark.parametrize("args", [(0,), (-1,), (2,), (-4,), (1.0,), (True,), (0, 1), (None,)])
def test_one_dimension(compiled, name, args):
    x = ad.arange(24.0).reshape(2, 3, 4)[:, 1:]
    assert outcome(lambda: compiled[name](x, *args)) == outcome(lambda: as_it_is_written(name)(x, *args))
    assert outcome(lambda: compiled[name](x, dim=args[0])) == outcome(lambda: as_it_is_written(name)(x, dim=args[0]))


@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("name", ["detach", "data"])
def test_same_memory(compiled, name, kind):
    found, wanted = (getattr_of(member, TENSORS[kind]()) for member in (compiled[name], as_it_is_written(name)))
    assert found.requires_grad is wanted.requires_grad is False
    assert (found._vc is None, found.is_inference()) == (wanted._vc is None, wanted.is_inference())
    assert type(found._fn) is type(wanted._fn)
    x = ad.ones(3, requires_grad=True)
    x._written()
    cut = compiled["detach"](x)._fn
    assert (cut.kind, cut.how, cut.site.text) == ("detach", "detach()", 'cut = compiled["detach"](x)._fn')
    assert compiled["detach"](x)._vc is x._vc
    assert all(hasattr(cut, name) for name in type(cut).__slots__)


@pytest.mark.parametrize("value", [None, ad.ones(3), ad.ones(4), ad.ones(3, dtype=ad.float64), 3, ad.ones(3, device="meta")])
def test_setting_a_gradient(compiled, value):
    x, y = ad.ones(3, requires_grad=True), ad.ones(3, requires_grad=True)
    found = outcome(lambda: compiled["grad"].__set__(x, value))
    assert found == outcome(lambda: as_it_is_written("grad").__set__(y, value))
    assert x._grad is y._grad is (value if found[0] is type(None) else None)
    x._grad = ad.ones(3)
    compiled["grad"].__delete__(x)
    assert x._grad is None


def test_setting_what_requires_a_gradient(compiled):
    x = ad.ones(3)
    compiled["requires_grad"].__set__(x, True)
    assert x.is_leaf and x.requires_grad and compiled["requires_grad_"](x) is x
    compiled["data"].__set__(x, ad.zeros(2))
    assert x._data.shape == (2,)
    with pytest.raises(RuntimeError, match=r"^data set to a tensor that requires gradients"):
        compiled["data"].__set__(x, ad.arange(2))
    assert compiled["requires_grad_"](x, False) is x and not x.requires_grad


OTHERS: dict[str, list[Any]] = {
    "zero_": [()],
    "fill_": [(2.5,), (3,), (True,), (1e6,), (1e300,), (float("nan"),), (2**70,), (-3,), (ad.tensor(2.0),), ("a",), (1 + 2j,), ()],
    "copy_": [
        (lambda x: ad.full_like(x, 7),), (lambda x: ad.arange(x.numel()).reshape(x.shape),), (lambda x: x.double(),), (lambda x: x.int(),),
        (lambda x: x.clone().unsqueeze(0),), (ad.tensor(1.5),), (ad.ones(7),), (2.0,), (lambda x: x,), (ad.ones(3, requires_grad=True),),
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize(("name", "place"), [(name, place) for name, some in OTHERS.items() for place in range(len(some))])
def test_writing(compiled, name, place, kind):
    results = []
    for member in (compiled[name], as_it_is_written(name)):
        x = TENSORS[kind]()
        args = [arg(x.detach()) if callable(arg) and not isinstance(arg, ad.Tensor) else arg for arg in OTHERS[name][place]]
        found = outcome(lambda member=member, x=x, args=args: member(x, *args) is x)
        lines = [] if x._vc is None else [code.co_name for _, (code, _) in x._vc.writes]
        values = x.detach().tolist() if x.device.type == "cpu" else None
        results.append((found, repr(values), 0 if x._vc is None else x._vc.version, lines, x.requires_grad))
    if kind != "inference":  # whose counter is everybody's
        assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [ad.float32, ad.float64, ad.int64])
@pytest.mark.parametrize("size", [1, 7, 64, 1000, 70_000])
def test_all_elements_are_written(compiled, dtype, size):
    whole = ad.full((size + 2,), 9, dtype=dtype)
    x = whole[1:-1]
    compiled["fill_"](x, 3)
    assert whole.tolist() == [9, *[3] * size, 9]
    compiled["zero_"](x)
    assert whole.tolist() == [9, *[0] * size, 9]
    compiled["copy_"](x, ad.arange(size, dtype=dtype))
    assert whole.tolist() == [9, *range(size), 9]


def test_the_line_of_a_write(compiled):
    x = ad.ones(3)
    for _ in range(20):
        compiled["zero_"](x)  # this line
    counter = x._vc
    assert counter.version == 20 and counter.KEPT <= len(counter.writes) <= 2 * counter.KEPT
    assert counter.stamp == counter.writes[-1][0] and counter.first_write_after(0).text.endswith("# this line")
    ad.nn.init.zeros_(x)
    assert x._vc.first_write_after(counter.writes[-2][0]).text == "ad.nn.init.zeros_(x)"


def test_a_write_too_early_is_found(compiled):
    x = ad.ones(3)
    y = x * ad.ones(3, requires_grad=True)
    compiled["fill_"](x, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


MADE = [
    ((2, 3), np.float32, 0), ((), np.float32, 0), (((2, 3),), np.float64, 1.5), ((ad.Size([2]),), np.int64, 3), (([2],), np.float32, 1),
    ((0, 3), np.float32, 1), ((3,), np.bool_, 0), ((3,), np.bool_, 1), ((3,), np.float16, 2.5), ((3,), np.float32, 1e300),
    ((-1,), np.float32, 0), ((2, "a"), np.float32, 0), ((True,), np.float32, 0), ((1 << 40, 1 << 40), np.int64, 0), ((3,), np.int64, 2**70),
    (np.ones((2, 3)), np.float32, 2), (np.ones((2, 3)).T, np.float32, 2), (np.ones(()), np.int64, -1), ((70_000,), np.float32, 1),
]  # fmt: skip


@pytest.mark.parametrize(("like", "dtype", "value"), MADE)
def test_making(compiled, like, dtype, value):
    makers = compiled["made_tensor"], as_it_is_written("made_tensor")
    found, wanted = (outcome_of_making(make, like, np.dtype(dtype), value) for make in makers)
    assert found == wanted


def outcome_of_making(make, *args):
    try:
        made = make(*args, "zeros")
    except Exception as error:
        return type(error)
    return made.tolist(), made.dtype, made.stride(), made._fn, made._vc


def test_making_elsewhere(compiled):
    make = compiled["made_tensor"]
    with ad.device("meta"):
        assert make((2,), np.dtype("float32"), 0, "zeros").device.type == "meta"
    with ad.inference_mode():
        assert make((2,), np.dtype("float32"), 0, "zeros").is_inference()


def test_no_references_are_lost(compiled):
    x, w = ad.arange(600.0).reshape(20, 30)[1:], ad.ones(3, requires_grad=True)
    y, shape, dtype = ad.ones(19, 30), (2, 300), np.dtype("float32")
    w._written()
    calls = [
        *(lambda name=name: getattr_of(compiled[name], x) for name in READ),
        *(lambda name=name: getattr_of(compiled[name], w) for name in (*members.GETTERS, "detach")),
        lambda: compiled["zero_"](x), lambda: compiled["fill_"](x, 300.5), lambda: compiled["copy_"](x, y), lambda: compiled["size"](x, 5),
        lambda: compiled["grad"].__set__(w, None), lambda: compiled["made_tensor"](shape, dtype, 1, "ones"),
        lambda: compiled["copy_"](w, x),
    ]  # fmt: skip
    objects = (None, True, False, x, w, y, x._data, x._fn, x._fn.base, w._fn, w._vc, shape, dtype, compiled, ad.device("cpu"), ad.float32)
    for call in calls:
        outcome(call)
        gc.collect()
        before = [sys.getrefcount(thing) for thing in objects]
        for _ in range(500):
            outcome(call)
        gc.collect()
        after = [sys.getrefcount(thing) for thing in objects]
        assert all(abs(a - b) < 100 for a, b in zip(before, after, strict=True)), [a - b for a, b in zip(before, after, strict=True)]


def test_programs_use_them_until_a_class_answers_itself(tmp_path, nothing_compiled):
    """What is on disk is used soon, and otherwise compiled later."""
    program = """
import adjoint as ad
from adjoint._compiled_members import _replaced
from adjoint._serving import OFTEN, SOON
x = ad.zeros(3)
for _ in range(AFTER - 1):
    x.add_(1)
assert not _replaced
x.add_(1)
assert ("shape" in {name for _, name in _replaced}) and x.shape == (3,) and x._version == AFTER
class Own(ad.Tensor):
    seen = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs)
y = x.as_subclass(Own)
y.shape, y.zero_(), y.detach()
assert not _replaced and len(Own.seen) >= 3 and x.sum() == 0
"""
    environment = os.environ | {"ADJOINT_CACHE_DIR": str(tmp_path / "cache")}
    for after in ("OFTEN", "SOON"):
        subprocess.run([sys.executable, "-c", program.replace("AFTER", after)], check=True, env=environment)
