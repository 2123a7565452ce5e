"""Who computes is decided by primitives (`ops/_primitives.py`): they serve arrays by kernels and everything else by the NumPy text."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any, ClassVar

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops import _primitives
from adjoint.ops._primitives import PRIMITIVES, Primitive, loops, primitive
from adjoint.ops._registry import OPS
from tests.ops._check import Call, data
from tests.ops.samples import load

ROWS = load()
PACKAGE = Path(ad.__file__).parent
Array = Any


# ---- the mechanism ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A primitive whose kernel serves float64 alone, and says so by its result."""
    monkeypatch.setattr(_primitives, "PRIMITIVES", {})

    def kernel(x: np.ndarray, by: np.ndarray | None, times: int) -> Any:
        return ("kernel", times) if x.dtype == np.float64 else None

    @primitive("test.doubled", kernel, meta=lambda x, by, times: ("meta", times))
    def text(x: Array, by: Array | None, times: int = 2) -> Any:
        """The text."""
        return "text", times

    return text


def test_arrays_go_to_the_kernel_and_to_the_text_if_it_declines(doubled: Any) -> None:
    assert doubled(np.ones(3), None) == ("kernel", 2)
    assert doubled(np.ones(3), np.ones(3), 3) == ("kernel", 3)
    assert doubled(np.ones(3, np.float32), None) == ("text", 2)


def test_what_is_no_array_flows_through_the_text(doubled: Any) -> None:
    assert doubled(ad.ones(3), None) == ("text", 2)
    assert doubled(np.ones(3), ad.ones(3)) == ("text", 2)


def test_a_number_of_numpy_is_an_array_without_dimensions(doubled: Any) -> None:
    assert doubled(np.float64(1), None) == ("kernel", 2)
    assert doubled(np.float64(1), ad.ones(3)) == ("text", 2)


def test_a_class_that_knows_primitives_may_keep_them_as_one_step(doubled: Any) -> None:
    assert doubled(ad.ones(3, device="meta")._data, None) == ("meta", 2)

    steps: list[tuple[str, int]] = []

    class Recorded:
        def __primitive__(self, step: Primitive, args: tuple[Any, ...]) -> Any:
            steps.append((step.name, args[2]))
            return step.text(*args)

    assert doubled(Recorded(), None, 5) == doubled(np.ones(3), Recorded(), 5) == ("text", 5)
    assert steps == [("test.doubled", 5)] * 2


def test_a_primitive_looks_like_its_text(doubled: Any) -> None:
    assert (doubled.__name__, doubled.__doc__, doubled.__defaults__) == ("text", "The text.", (2,))
    assert doubled.__code__.co_varnames[: doubled.__code__.co_argcount] == ("x", "by", "times")
    assert doubled(times=1, by=None, x=np.ones(3)) == ("kernel", 1)


def test_every_kernel_is_there_and_takes_what_its_text_takes() -> None:
    for name, one in PRIMITIVES.items():
        kernel = one.namespace["kernel"]
        if kernel in (one, one.first):
            family, kernel_name, *_ = name.split(".")
            kernel = getattr(loops(family), kernel_name)
        kernel = kernel.run if one.runs else kernel
        if not isinstance(kernel, BuiltinFunctionType):
            inspect.signature(kernel).bind(*one.kinds)


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that behaves like one and is none, as a tracing array does: it takes NumPy's functions, and notes their names."""

    steps: ClassVar[list[str]] = []

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim, self.size, self.flags = array.shape, array.dtype, array.ndim, array.size, array.flags

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(getattr(ufunc, method), (), args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.steps.append(function.__name__)
        return traced(function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()}))

    def __getitem__(self, index: Any) -> Any:
        return traced(self.array[plain(index)])

    def __getattr__(self, name: str) -> Any:
        if name not in ("reshape", "transpose", "swapaxes", "sum", "mean", "any", "all", "astype", "copy", "max", "min", "real", "mT", "T"):
            raise AttributeError(name)
        value = getattr(self.array, name)
        return (lambda *args, **kwargs: traced(value(*map(plain, args), **kwargs))) if callable(value) else traced(value)


def traced(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(traced, value))
    return Traced(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    return value.array if isinstance(value, Traced) else value


def test_no_random_draw_is_skipped() -> None:
    from adjoint.nn._dropout import dropped, random_mask

    with pytest.raises(NotImplementedError, match="computes with arrays, and not with Traced"):
        dropped.op.impl(Traced(np.ones((3, 4))), 0.5, [])

    class Drawing(Traced):
        def __primitive__(self, step: Primitive, args: tuple[Any, ...]) -> Any:
            return Traced(np.arange(12).reshape(3, 4) % 2 == 0) if step.name == "random.mask" else None

    kept: list[Any] = []
    out = dropped.op.impl(Drawing(np.ones((3, 4))), 0.5, kept)
    assert (out.array == np.tile([2.0, 0.0], 6).reshape(3, 4)).all() and kept[1] == 2.0
    assert random_mask(ad.ones(3, 4, device="meta")._data, 0.5).shape == (3, 4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in sorted(OPS) if name in ROWS])
def test_other_arrays_are_computed_or_refused(name: str) -> None:
    """Whatever behaves like an array gets the values that arrays get, or an error; and never something made up."""
    for sample in ROWS[name].samples():
        call = Call(ROWS[name], sample)
        tensors = call.tensors()
        for tensor in tensors:
            tensor._data = Traced(tensor._data)
        try:
            found = call(tensors)
        except (TypeError, AttributeError, ValueError, NotImplementedError, RuntimeError, IndexError):
            continue  # refused
        for ours, wanted in zip(found, call(call.tensors()), strict=True):
            if isinstance(ours, ad.Tensor) and isinstance(ours._data, Traced):
                off = 1e-6 if ours._data.dtype != np.float16 else 1e-2  # which is computed in single precision for arrays alone
                np.testing.assert_allclose(ours._data.array, data(wanted), off, off, err_msg=f"{name}{sample}")


# ---- nothing else asks --------------------------------------------------------------------------------------------------------------


def asks(node: ast.AST) -> bool:
    """Whether this compares the class of something with that of arrays, or calls a kernel by its name."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(isinstance(side, ast.Attribute) and side.attr == "__class__" for side in sides) and "ndarray" in map(last_name, sides)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("loops", "_loops")


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def questions() -> Counter[str]:
    found: Counter[str] = Counter()
    for folder in ("ops", "nn"):
        for path in sorted((PACKAGE / folder).glob("*.py")):
            found[f"{folder}/{path.stem}"] = sum(map(asks, ast.walk(ast.parse(path.read_text("utf-8")))))
    return +found


# Files that still ask, and how often. A number may shrink and never grows: what is new is a primitive. Of these, _codegen, _forward,
# _general, _inplace*, _operands, _several, _writing_codegen, assign, convert, memory and strides are the dispatcher and views, which have
# to know memory; in files that have primitives, `loops` is what their kernels call; the others are not converted yet.
REMAINING = {
    "ops/_compiled": 1, "ops/_conversions": 1, "ops/_forward": 2, "ops/_general": 5, "ops/_index_checks": 2, "ops/_inplace": 4,
    "ops/_loss": 6, "ops/_operands": 1, "ops/_pool_windows": 6, "ops/_primitives": 3, "ops/_rules": 14, "ops/_several": 2,
    "ops/activation": 5, "ops/added_product": 3, "ops/advanced_index": 9, "ops/assign": 6, "ops/attention": 3, "ops/compare": 4,
    "ops/contract": 4,
    "ops/convert": 3, "ops/count": 11, "ops/cross_entropy": 4, "ops/decompose": 9, "ops/distance": 18, "ops/exponential": 5,
    "ops/factored": 2, "ops/fft": 3, "ops/fold": 2, "ops/grid": 5, "ops/index": 8, "ops/linalg": 12, "ops/lstm_step": 5, "ops/lu": 3,
    "ops/margin_loss": 3, "ops/masked": 7, "ops/matmul": 9, "ops/memory": 1, "ops/moments": 5, "ops/order": 10, "ops/piecewise": 1,
    "ops/pixels": 2, "ops/product": 5, "ops/rearrange": 13, "ops/reduce": 18, "ops/resample": 2, "ops/scan": 6, "ops/scatter": 25,
    "ops/scatter_reduce": 8, "ops/shape": 2, "ops/sort": 14, "ops/strides": 8, "ops/transcendental": 1, "ops/vector_norm": 3,
    "nn/_adaptive_pooling": 1,
    "nn/_attention": 2, "nn/_dropout": 1, "nn/_fractional_pooling": 1, "nn/_multihead": 1, "nn/_native": 3, "nn/_padding": 1,
    "nn/_pooling": 2, "nn/_state_dict": 2, "nn/functional": 3, "nn/parameter": 1,
}  # fmt: skip


def test_nothing_else_asks_what_flows_through_it() -> None:
    found = questions()
    more = {file: count for file, count in found.items() if count > REMAINING.get(file, 0)}
    assert not more, f"{more}: let the kernel be that of a primitive (ops/_primitives.py), and say in NumPy what it computes"
    fewer = {file: found[file] for file, count in REMAINING.items() if found[file] < count}
    assert not fewer, f"write the smaller numbers down: {fewer}"
