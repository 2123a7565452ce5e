"""Indexing as in PyTorch: any index expression, read and written, with gradients, node names and errors; and random programs of writes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import adjoint as ad

torch = pytest.importorskip("torch")

SHAPES = ((3,), (2, 3), (3, 1, 2), (2, 3, 2), (1, 0, 2), ())


# ---- index expressions ----------------------------------------------------------------------------------------------


class Index:
    """An array in an index, to become a tensor of the library that is being run."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __repr__(self) -> str:
        return f"Index({self.array.tolist()!r})"


def numbers(size: int) -> Any:
    """Mostly in range."""
    return st.integers(-size - (size == 0), max(size - 1, 0)) | st.integers(-5, 5)


def slices() -> Any:
    ends = st.none() | st.integers(-4, 4)
    return st.builds(slice, ends, ends, st.none() | st.sampled_from([1, 2, 3, -1, 0]))


def arrays(size: int) -> Any:
    inside = st.integers(-size, size - 1) if size else st.just(0)
    return st.builds(Index, st.lists(inside, max_size=3).map(lambda a: np.array(a, np.int64))) | st.builds(
        Index, st.lists(st.lists(inside, min_size=2, max_size=2), min_size=1, max_size=2)
    )


def masks(draw: Any, sizes: tuple[int, ...]) -> Index:
    count = math.prod(sizes)
    return Index(np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(sizes))


@st.composite
def expressions(draw: Any, shape: tuple[int, ...]) -> Any:
    """An index for a tensor of this shape, sometimes a wrong one."""
    items: list[Any] = []
    dim = 0
    dots = False
    for _ in range(draw(st.integers(0, len(shape) + 2))):
        size = shape[dim] if dim < len(shape) else 0
        kind = draw(st.sampled_from(["number", "slice", "none", "dots", "array", "list", "mask", "bool", "scalar"]))
        if kind == "none":
            items.append(None)
        elif kind == "dots" and not dots:
            dots = True
            items.append(...)
            dim = max(dim, len(shape) - draw(st.integers(0, 2)))
        elif kind == "bool":
            items.append(draw(st.booleans()))
        elif kind == "mask":
            dims = draw(st.integers(1, 2))
            items.append(masks(draw, shape[dim : dim + dims] or (draw(st.integers(1, 3)),)))
            dim += dims
        else:
            made = {
                "number": numbers(size), "slice": slices(), "array": arrays(size), "dots": slices(),
                "list": st.lists(st.integers(-size, size - 1) if size else st.just(0), max_size=3),
                "scalar": numbers(size).map(Index),
            }  # fmt: skip
            items.append(draw(made[kind]))
            dim += 1
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def indexed(draw: Any) -> Any:
    shape = draw(st.sampled_from(SHAPES))
    return shape, draw(expressions(shape))


def concrete(index: Any, library: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(concrete(item, library) for item in index)
    return library.tensor(index.array) if isinstance(index, Index) else index


def attempt(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return run(), None
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            return None, error


def leaf(library: Any, shape: tuple[int, ...], start: float = 0.5) -> Any:
    return library.tensor(np.linspace(start, start + 2, math.prod(shape)).reshape(shape), requires_grad=True)


def compare_errors(ours: Exception | None, theirs: Exception | None, what: str) -> None:
    """Both, or neither. Of several mistakes in one index either may be named first; tests/ops/samples/index.py has one for each error."""
    assert (ours is None) == (theirs is None), f"{what}: adjoint {ours!r}, PyTorch {theirs!r}"


def values(tensor: Any) -> Any:
    return tensor.detach().numpy()


@given(indexed())
@example(((2, 3, 2), (0, slice(None), [0, 1])))
@example(((2, 3, 2), ([0, 1], slice(None), [0, 1])))
@example(((2, 3, 2), (Index([[True, False, True], [False, True, True]]), 0)))
@example(((2, 3, 2), (..., None, Index([0, 0]))))
@example(((), True))
@example(((3,), Index(1)))
@example(((1, 0, 2), (..., Index([1]), slice(None), 0)))
def test_reading(case):
    shape, index = case
    results = {}
    for library in (ad, torch):
        x = leaf(library, shape)
        where = concrete(index, library)
        y, error = attempt(partial(x.__getitem__, where))
        grad = None
        if error is None:
            (grad,) = library.autograd.grad((y * y).sum() * 3, [x])
        results[library] = (y, grad, error)
    (ours, our_grad, our_error), (theirs, their_grad, their_error) = results[ad], results[torch]
    if isinstance(our_error, IndexError) and their_error is None and theirs.numel() == 0:
        return  # PyTorch does not look at the indices of nothing; here they have to be right all the same
    compare_errors(our_error, their_error, f"x[{index!r}] for shape {shape}")
    if their_error is None:
        np.testing.assert_array_equal(values(ours), values(theirs))
        np.testing.assert_allclose(values(our_grad), values(their_grad))
        assert ours.is_contiguous() == theirs.is_contiguous()
        assert ours._is_view() == theirs._is_view()
        if not isinstance(index, tuple) or not any(isinstance(item, slice) and item != slice(None) for item in index):
            assert ours.grad_fn.name() == theirs.grad_fn.name()  # PyTorch leaves out a slice whose ends take everything


@given(indexed(), st.sampled_from(["number", "same", "row", "scalar", "wrong"]))
@example(((2, 3), (slice(None), 1)), "row")
@example(((2, 3), Index([[True, False, True], [False, True, True]])), "scalar")
def test_writing(case, kind):
    """`x[index] = value`: values, gradients of both, and errors. Where an index names an element twice, it gets one value."""
    shape, index = case
    found, error = attempt(lambda: torch.zeros(shape)[concrete(index, torch)])
    result = tuple(found.shape) if error is None else ()
    repeated = len({*range(math.prod(shape))}) != math.prod(shape) or has_repeats(shape, index)
    if kind in ("same", "row") and repeated:
        kind = "scalar"
    sizes = {"same": result, "row": result[-1:], "scalar": (), "wrong": (*result, 5)}
    results = {}
    for library in (ad, torch):
        leaf_x, value = leaf(library, shape), leaf(library, sizes.get(kind, ()), 1.5)
        x = leaf_x * 1
        given = 2.5 if kind == "number" else value

        def write(x: Any = x, library: Any = library, given: Any = given) -> None:
            x[concrete(index, library)] = given

        _, error = attempt(write)
        grads = library.autograd.grad((x * x).sum() * 3, [leaf_x, value], allow_unused=True)
        results[library] = (x, grads, error)
    (ours, our_grads, our_error), (theirs, their_grads, their_error) = results[ad], results[torch]
    if isinstance(our_error, IndexError) and their_error is None and math.prod(result) == 0:
        return  # as in reading
    compare_errors(our_error, their_error, f"x[{index!r}] = {kind} for shape {shape}")
    np.testing.assert_array_equal(values(ours), values(theirs))
    for our_grad, their_grad in zip(our_grads, their_grads, strict=True):
        if our_grad is None or their_grad is None:
            present = our_grad if our_grad is not None else their_grad
            assert present is None or not values(present).any()
        else:
            np.testing.assert_allclose(values(our_grad), values(their_grad))


def has_repeats(shape: tuple[int, ...], index: Any) -> bool:
    places, error = attempt(lambda: torch.arange(math.prod(shape)).reshape(shape)[concrete(index, torch)])
    return error is None and len(np.unique(places.numpy())) != places.numel()


# ---- programs of writes ---------------------------------------------------------------------------------------------

VIEWS = (
    "t[{i}]", "t[{s}]", "t[..., {i}]", "t[:, {s}]", "t.t()", "t.view(-1)", "t.unsqueeze(-1)", "t.squeeze()", "t.diagonal()",
    "t.narrow(0, 0, 1)", "t.flatten()", "t.expand_as(t)", "t[None]", "t.unbind(0)[0]", "t.reshape(-1)", "t.unfold(0, 1, 1)",
    "t[{s}, None]", "t.detach()", "t.split(1)[0]", "t.select(0, {i})", "t.view_as(t)",
)  # fmt: skip
WRITES = (
    "t.mul_(2.0)", "t.mul_(o)", "t.add_(o)", "t.copy_(o)", "t.fill_(3.0)", "t.zero_()", "t.exp_()", "t[{i}] = 5.0", "t[{s}] = o[{s}]",
    "t[{i}] = o[{i}]", "t[[0, 0]] = o[{i}]", "t[[0, -1]] *= 2", "t[t > 0.5] = 0.25", "t[t > 0.5] *= 2", "t[..., {i}].mul_(3.0)",
    "t[{i}].add_(o[{i}])", "t.masked_fill_(t > 1, 0.5)", "t.index_put_((tensor([0, 0]),), o[{i}], accumulate=True)",
    "t.index_add_(0, tensor([0]), o[:1])", "t.index_fill_(0, tensor([0]), 1.5)", "t.index_copy_(0, tensor([0]), o[:1])",
    "t.fill_diagonal_(0.0)", "t[[0], ...] = o[:1]", "t += o", "t.sub_(w.sum())", "t[:, None] = o[:, None]", "t.tril_()", "t[True] = 1.0",
    "t.put_(tensor([0]), o.reshape(-1)[:1])",
)  # fmt: skip
READS = ("t * o", "t + o", "t.sum()", "t[[0, 0]]", "t.clone()", "t.flip(0)", "t.roll(1)", "t.sort().values", "t.masked_select(t > 0)")

steps = st.tuples(
    st.sampled_from(VIEWS + WRITES + WRITES + READS),
    st.sampled_from([0, -1, 1]),
    st.sampled_from([":1", "1:", ":", "::2", "0:2"]),
    st.integers(0, 20),
    st.integers(0, 20),
)


def run_program(library: Any, program: list[Any]) -> list[Any]:
    """Values after each step, or where it was refused, and at the end the first and second derivatives."""
    w, u = leaf(library, (2, 3), 0.3), leaf(library, (2, 3), -1.0)
    live = [w * 1, u * 1, leaf(library, (2, 3), -0.5).detach()]
    log: list[Any] = []
    for text, number, part, a, b in program:
        t, o = live[a % len(live)], live[b % len(live)]
        code = text.format(i=number, s=part)
        try:
            t.grad_fn, o.grad_fn  # noqa: B018  PyTorch brings the history of a view up to date when it is asked for
            if text in WRITES and np.shares_memory(values(t), values(o)) and "o" in code.replace("torch", ""):
                continue  # what PyTorch does then is not defined
            names = {"t": t, "o": o, "w": w, "tensor": library.tensor}
            if text in WRITES:
                exec(code, names)
                log.append(values(t).copy())
            else:
                live.append(eval(code, names))
                log.append(values(live[-1]).copy())
        except (RuntimeError, IndexError):
            log.append("refused")
    outputs = []
    for t in live:
        try:
            t.grad_fn  # noqa: B018
            outputs.append(t)
        except RuntimeError:
            log.append("refused")
    loss = sum((t * t.detach().cos()).sum() for t in outputs)
    grads = library.autograd.grad(loss, [w, u], create_graph=True, allow_unused=True)
    penalty = sum((g * g).sum() for g in grads if g is not None)
    if isinstance(penalty, int) or not penalty.requires_grad:
        second: Any = (None, None)
    else:
        second = library.autograd.grad(penalty, [w, u], allow_unused=True)
    return log + [np.zeros((2, 3)) if g is None else values(g) for g in (*grads, *second)]


@given(st.lists(steps, min_size=1, max_size=8))
def test_programs(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = attempt(lambda: run_program(torch, program))
        if theirs is None:
            return  # a value that backward needs was overwritten: tests/autograd is about that
        ours = run_program(ad, program)
    for place, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        assert isinstance(our, str) == isinstance(their, str), f"step {place}: adjoint {our}, PyTorch {their}"
        if not isinstance(our, str):
            np.testing.assert_allclose(our, their, rtol=1e-7, atol=1e-9, err_msg=f"step {place}")


# ---- half precision -------------------------------------------------------------------------------------------------


def _gathered(lib: Any, index: Any, source: Any) -> Any:
    x = lib.zeros(2, 3, dtype=source.dtype, requires_grad=True)
    x.gather(0, index).backward(source)
    return x.grad


def _strided(lib: Any, index: Any, source: Any) -> Any:
    x = lib.zeros(4, dtype=source.dtype, requires_grad=True)
    x.as_strided(source.shape, (0, 1)).backward(source)
    return x.grad


ADDED_UP: dict[str, Callable[..., Any]] = {
    "scatter_add": lambda lib, index, source: lib.zeros(2, 3, dtype=source.dtype).scatter_add(0, index, source),
    "scatter_add_": lambda lib, index, source: lib.zeros(2, 3, dtype=source.dtype).scatter_add_(0, index, source),
    "scatter_reduce, sum": lambda lib, index, source: lib.zeros(2, 3, dtype=source.dtype).scatter_reduce(0, index, source, "sum"),
    "scatter_reduce, mean": lambda lib, index, source: lib.zeros(2, 3, dtype=source.dtype).scatter_reduce(0, index, source, "mean"),
    "index_add": lambda lib, index, source: lib.zeros(2, 3, dtype=source.dtype).index_add(0, index[:, 0], source),
    "gather, backward": _gathered,
    "as_strided, backward": _strided,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ADDED_UP)
def test_half_precision_is_added_up_in_single(name: str, dtype: str) -> None:
    found = []
    for lib in (ad, torch):
        source = lib.full((4096, 3), 0.1, dtype=getattr(lib, dtype))
        found.append(ADDED_UP[name](lib, lib.zeros(4096, 3, dtype=lib.int64), source).tolist())
    assert found[0] == found[1]
