"""The text of a tensor is PyTorch's, character for character, whatever the values, shape, dtype and options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint import _dtype
from adjoint._printing import get_printoptions, parameter_text, printoptions, set_printoptions, tensor_text

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [*map(np.dtype, (np.float16, np.float32, np.float64)), BFLOAT16]
COMPLEXES = [np.dtype(np.complex64), np.dtype(np.complex128)]
DTYPES = [np.dtype(np.bool), *INTEGERS, *FLOATS, *COMPLEXES]


def to_torch(array: np.ndarray) -> Any:
    array = array.copy()
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


@contextmanager
def same_options(**options: Any) -> Iterator[None]:
    with printoptions(**options):
        try:
            torch.set_printoptions(**options)
            yield
        finally:
            torch.set_printoptions(profile="default")


@contextmanager
def same_default(name: str) -> Iterator[None]:
    before = torch.get_default_dtype(), _dtype.get_default_dtype()
    try:
        torch.set_default_dtype(getattr(torch, name))
        _dtype.set_default_dtype(getattr(_dtype, name))
        yield
    finally:
        torch.set_default_dtype(before[0])
        _dtype.set_default_dtype(before[1])


# ----- Strategies -----

SPECIALS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-4, 9.9999e-5, 1e8, 1.0001e8, 1000.0, 1001.0, 0.5, 999.99995, 5e-324]
AROUND_ONE = st.integers(-40_000, 40_000).map(lambda n: n / 8192)
SCALED = st.builds(lambda mantissa, exponent: mantissa * 10.0**exponent, st.floats(-9.99, 9.99), st.integers(-12, 12))
WHOLE = st.integers(-2000, 2000).map(float)
# Each array draws its elements from one of these, because one odd value decides the style of all.
NUMBERS = [
    AROUND_ONE,
    WHOLE,
    SCALED,
    AROUND_ONE | st.sampled_from(SPECIALS),
    WHOLE | st.sampled_from(SPECIALS[:5]),
    st.sampled_from(SPECIALS),
    st.floats(),
]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
OPTIONS = st.fixed_dictionaries(
    {
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 5, 20, 1000, float("inf")]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(0, 130),
        "sci_mode": st.sampled_from([None, True, False]),
    }
)


@st.composite
def filled(draw: st.DrawFn, dtypes: Sequence[np.dtype] = DTYPES) -> np.ndarray:
    """An array of any shape, of one of the dtypes."""
    dtype, shape = draw(st.sampled_from(dtypes)), draw(SHAPES)
    if dtype.kind in "biu":
        array: np.ndarray = draw(hnp.arrays(dtype, shape))
        return array
    numbers = draw(st.sampled_from(NUMBERS))
    values = draw(hnp.arrays(np.float64, shape, elements=numbers))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype.kind == "c":
            values = values.astype(np.complex128)
            values.imag = draw(hnp.arrays(np.float64, shape, elements=draw(st.sampled_from(NUMBERS))))
        return values.astype(dtype)


# ----- Values, shapes and options -----


@given(filled())
def test_any_array_prints_as_in_torch(array):
    assert tensor_text(array) == repr(to_torch(array))


@given(filled(), OPTIONS)
def test_any_options_print_as_in_torch(array, options):
    with same_options(**options):
        assert tensor_text(array) == repr(to_torch(array))


@given(
    st.sampled_from(DTYPES),
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 6),
    OPTIONS,
)
def test_summaries_and_long_rows_print_as_in_torch(dtype, shape, seed, spread, options):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 10 ** rng.uniform(0, spread, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        array = (values + 1j * values[::-1] if dtype.kind == "c" else values).astype(dtype)
    assert tensor_text(array) == repr(to_torch(array))
    with same_options(**options):
        assert tensor_text(array) == repr(to_torch(array))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0), (1001,), (2, 600), (600, 2), (7, 7, 30), (1, 1, 1, 1, 1)])
def test_every_dtype_prints_as_in_torch(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 100).astype(dtype).reshape(shape)
    assert tensor_text(array) == repr(to_torch(array))


@pytest.mark.parametrize("strides", [(2, 1), (1, 3)])
def test_views_print_as_in_torch(strides):
    whole = np.arange(120.0 * 90, dtype=np.float32).reshape(120, 90) / 7
    view = whole[:: strides[0], :: strides[1]].T
    assert tensor_text(view) == repr(torch.from_numpy(whole)[:: strides[0], :: strides[1]].T)


# ----- Facts after the values -----


@given(filled(FLOATS + COMPLEXES), OPTIONS, st.booleans())
def test_gradient_facts_wrap_as_in_torch(array, options, leaf):
    tensor = to_torch(array).requires_grad_()
    with same_options(**options):
        if leaf:
            assert tensor_text(array, requires_grad=True) == repr(tensor)
        else:
            expected = repr(tensor.view(tensor.shape))
            assert tensor_text(array, requires_grad=True, grad_fn_name="ViewBackward0") == expected


@given(filled(), OPTIONS, st.booleans())
def test_meta_tensors_print_as_in_torch(array, options, requires_grad):
    tensor = to_torch(array).to("meta")
    requires_grad = requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    tensor.requires_grad_(requires_grad)
    with same_options(**options):
        assert tensor_text(array, device="meta", requires_grad=requires_grad) == repr(tensor)


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2,), (0,), (0, 2)])
def test_default_dtype_goes_unsaid_as_in_torch(default, dtype, shape):
    array = np.ones(shape, dtype)
    with same_default(default):
        assert tensor_text(array) == repr(to_torch(array))
        assert tensor_text(array, device="meta") == repr(to_torch(array).to("meta"))


@given(filled(), OPTIONS)
def test_subclasses_print_as_in_torch(array, options):
    Measurement = type("Measurement", (torch.Tensor,), {})
    with same_options(**options):
        assert tensor_text(array, prefix="Measurement(") == repr(to_torch(array).as_subclass(Measurement))


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0, 2)])
def test_parameters_print_as_in_torch(shape):
    Weight = type("Weight", (torch.nn.Parameter,), {})
    array = np.full(shape, 0.5, np.float32)
    assert parameter_text(tensor_text(array, requires_grad=True)) == repr(torch.nn.Parameter(to_torch(array)))
    assert parameter_text(tensor_text(array, requires_grad=True, prefix="Weight(")) == repr(Weight(to_torch(array)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own use of it
@given(filled(FLOATS), OPTIONS)
def test_tangents_print_as_in_torch(array, options):
    tensor = to_torch(array)
    with same_options(**options), torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(tensor, tensor.clone())
        tangent = tensor_text(array) if array.ndim else float(array)  # a formatted 0-d tensor is its number
        assert tensor_text(array, extras=[f"tangent={tangent}"]) == repr(dual)


# ----- Options -----


@pytest.mark.parametrize(
    "calls",
    [
        [{}],
        [{"profile": "short"}],
        [{"profile": "full"}],
        [{"profile": "short", "precision": 7, "linewidth": 40}],
        [{"profile": "short"}, {"profile": "default"}],
        [{"profile": "full"}, {"profile": "no such profile"}],
        [{"sci_mode": True}],
        [{"sci_mode": True}, {"precision": 2}],
        [{"threshold": 5, "edgeitems": 1}, {"sci_mode": False}],
    ],
)
def test_options_accumulate_as_in_torch(calls):
    before = get_printoptions()
    try:
        for options in calls:
            set_printoptions(**options)
            torch.set_printoptions(**options)
        assert get_printoptions() == torch._tensor_str.get_printoptions()
    finally:
        set_printoptions(**before)
        torch.set_printoptions(profile="default")
