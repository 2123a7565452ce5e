"""`vmap` of every op, on all of its samples, against a loop over the examples; and of the gradients of every op."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.func import vjp, vmap
from adjoint.ops import _batching
from tests.ops._check import Call, data, random_like
from tests.ops.samples import Row, load_dense
from tests.ops.test_ops import differentiable

ROWS = load_dense()
# What cannot be batched, because the shape of its result depends on values, or one value decides about all.
VALUES_DECIDE = (
    "argwhere", "hash_tensor", "nonzero", "repeat_interleave", "segment_reduce", "unique", "unique_consecutive",
)  # fmt: skip
# What computes outside of ops, on one example after the other.
LOOPED = ("bincount", "histc", "histogram", "histogramdd", "isin", "nonzero_static", "unravel_index")
# What looks at memory, which a batch arranges otherwise; or computes from values outside of tensors.
OTHERWISE = ("as_strided", "as_strided_copy", "as_strided_scatter", "binomial", "ctc_loss", "dirichlet_path", "dropout",
             "feature_alpha_dropout", "feature_dropout", "gamma_path", "poisson", "torch.ctc_loss")  # fmt: skip
EXEMPT = frozenset((*VALUES_DECIDE, *OTHERWISE))
# What refuses some batches only: masks as indices and lengths of sequences decide about shapes, and may not differ between examples.
DECIDING_ARGUMENTS = frozenset((
    "gru", "index", "index_put", "lstm", "masked_select", "place_at", "place_masked", "recurrent_layer", "rnn_relu", "rnn_tanh", "where",
))  # fmt: skip
NAMES = sorted(name for name in ROWS if not name.endswith("_"))


def second_example(array: np.ndarray) -> np.ndarray:
    """Another array of the same kind: what a function takes, it should take of this one too."""
    if array.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            return np.asarray(array * 0.875, array.dtype)
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def batches(call: Call) -> Iterator[tuple[bool, ...]]:
    """Which tensors are batched: all of them, or one."""
    count = len(call.arrays)
    yield (True,) * count
    for slot in range(count) if count > 1 else ():
        yield tuple(slot == other for other in range(count))


def examples(call: Call, batched: Sequence[bool]) -> list[list[Any]]:
    """The arguments of two calls."""
    first = call.tensors()
    second = [ad.from_numpy(second_example(array).copy()) for array in call.arrays]
    return [first, [b if is_batched else a for a, b, is_batched in zip(first, second, batched, strict=True)]]


def stacked(rows: list[list[Any]], batched: Sequence[bool]) -> list[Any]:
    return [ad.stack(column) if is_batched else column[0] for column, is_batched in zip(zip(*rows, strict=True), batched, strict=True)]


def assert_alike(ours: Any, rows: Sequence[Any], what: str) -> None:
    """A batch of results is the results of its examples, up to another order of summation."""
    ours, expected = data(ours), np.stack([data(row) for row in rows])
    assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape), f"{what}: {ours.dtype} {ours.shape}"
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, expected, err_msg=what)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    tolerance = 64 * float(ad.finfo(ad.from_numpy(expected.ravel()[:0].copy()).dtype).eps)
    scale = float(np.max(np.abs(np.nan_to_num(expected.astype(wide), posinf=0, neginf=0)), initial=1.0))
    np.testing.assert_allclose(ours.astype(wide), expected.astype(wide), tolerance, tolerance * scale, err_msg=what)


def in_dims(batched: Sequence[bool]) -> tuple[int | None, ...]:
    return tuple(0 if is_batched else None for is_batched in batched)


def tensors_only(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(out for out in outputs if isinstance(out, ad.Tensor))


def calls(row: Row) -> Iterator[tuple[Call, tuple[bool, ...], list[list[Any]], list[tuple[Any, ...]], str]]:
    """Every sample that works for a second example too, with the results of both."""
    for sample in row.samples():
        call = Call(row, sample)
        if not call.arrays:
            continue
        for batched in batches(call):
            rows = examples(call, batched)
            try:
                results = [tensors_only(call([t.clone() for t in tensors])) for tensors in rows]
            except (RuntimeError, IndexError, ValueError):
                continue
            alike = all(a.shape == b.shape for a, b in zip(*results, strict=True)) if len(results[0]) == len(results[1]) else False
            if results[0] and alike:
                yield call, batched, rows, results, f"vmap({row.name}, {in_dims(batched)}){sample}"


def refused(name: str, error: RuntimeError) -> bool:
    """Whether it is said that an argument may not be batched."""
    return name in DECIDING_ARGUMENTS and str(error).startswith(("vmap: ", "Cannot access data pointer of Tensor"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXEMPT])
def test_values(name: str) -> None:
    for call, batched, rows, results, what in calls(ROWS[name]):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore" if name in LOOPED else "error", message="There is a performance drop")
            _batching.said.clear()
            try:
                ours = vmap(lambda *tensors, call=call: tensors_only(call(tensors)), in_dims(batched))(*stacked(rows, batched))
            except RuntimeError as error:
                if not refused(name, error):
                    raise
                continue
        for out, expected in zip(ours, zip(*results, strict=True), strict=True):
            assert_alike(out, expected, what)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXEMPT and differentiable(ROWS[name])])
def test_gradients(name: str) -> None:
    """`vmap(vjp)` runs the rules of an op on batches."""
    random = np.random.default_rng(0)
    for call, batched, rows, results, what in calls(ROWS[name]):
        slots = call.differentiable()
        smooth = [place for place, out in enumerate(results[0]) if out.is_floating_point() or out.is_complex()]
        if not slots or not smooth:
            continue
        weights = [ad.from_numpy(random_like(data(results[0][place]), random)) for place in smooth]

        def gradients(*tensors: Any, call: Call = call, slots: list[int] = slots, smooth: Any = smooth, weights: Any = weights) -> Any:
            def of_those(*inputs: Any) -> Any:
                filled = list(tensors)
                for slot, value in zip(slots, inputs, strict=True):
                    filled[slot] = value
                outputs = tensors_only(call(filled))
                return tuple(outputs[place] for place in smooth)

            _, pull = vjp(of_those, *(tensors[slot] for slot in slots))
            return pull(tuple(weights))

        try:
            expected = [gradients(*tensors) for tensors in rows]
        except (RuntimeError, NotImplementedError):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ours = vmap(gradients, in_dims(batched))(*stacked(rows, batched))
            except RuntimeError as error:
                if not refused(name, error):
                    raise
                continue
        for gradient, wanted in zip(ours, zip(*expected, strict=True), strict=True):
            assert_alike(gradient, wanted, f"gradient of {what}")


def test_batches_of_nothing() -> None:
    for function in (ad.sin, ad.sum, lambda x: x.reshape(3, 2), lambda x: x @ x.mT):
        assert vmap(function)(ad.ones(0, 2, 3)).shape[0] == 0


def test_each_subset_is_tried() -> None:
    call = Call(ROWS["mul"], next(iter(ROWS["mul"].samples())))
    assert list(batches(call)) == [(True, True), (True, False), (False, True)]
