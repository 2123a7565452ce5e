"""The text of tensors, literally as PyTorch 2.13 prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adjoint import _dtype
from adjoint._printing import get_printoptions, parameter_text, printoptions, set_printoptions, tensor_text

inf, nan = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def fresh_options() -> Iterator[None]:
    before = get_printoptions()
    set_printoptions(profile="default")
    yield
    set_printoptions(**before)


def text(values: Any, dtype: Any = np.float32, **facts: Any) -> str:
    return tensor_text(np.array(values, dtype), **facts)


# ----- Values -----


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # whole numbers show a bare point
        ([1, 2], "tensor([1., 2.])"),
        ([1, -10], "tensor([  1., -10.])"),
        ([1e8], "tensor([100000000.])"),
        # other numbers, four digits
        ([0.5, 1], "tensor([0.5000, 1.0000])"),
        ([1.5, -22.25], "tensor([  1.5000, -22.2500])"),
        ([1e-4, 0.05], "tensor([1.0000e-04, 5.0000e-02])"),  # float32 rounds 1e-4 downwards
        # scientific notation: a ratio above 1000, a value above 1e8 or, of fractions, below 1e-4
        ([1, 1000], "tensor([   1., 1000.])"),
        ([1, 1001], "tensor([1.0000e+00, 1.0010e+03])"),
        ([0.5, 500], "tensor([  0.5000, 500.0000])"),
        ([0.5, 501], "tensor([5.0000e-01, 5.0100e+02])"),
        ([1e9], "tensor([1.0000e+09])"),
        ([-9e-5], "tensor([-9.0000e-05])"),
        # zeros and non-finite values have no say in the style, nor in the width
        ([0, 0], "tensor([0., 0.])"),
        ([-0.0, 0], "tensor([-0., 0.])"),
        ([0.5, -0.0], "tensor([0.5000, -0.0000])"),
        ([nan], "tensor([nan])"),
        ([nan, 1], "tensor([nan, 1.])"),
        ([0, nan, inf, -inf], "tensor([0., nan, inf, -inf])"),
        ([inf, 0.5, -inf], "tensor([   inf, 0.5000,   -inf])"),
        ([1e9, -inf, 0, -0.0], "tensor([1.0000e+09,       -inf, 0.0000e+00, -0.0000e+00])"),
    ],
)
def test_floats(values, expected):
    assert text(values) == expected


def test_style_is_chosen_in_double_precision():
    assert text([1e-4, 0.05], np.float64) == "tensor([0.0001, 0.0500], dtype=torch.float64)"
    assert text([1e-308, 1e308], np.float64) == "tensor([1.0000e-308, 1.0000e+308], dtype=torch.float64)"
    assert text([60000, 0.5], np.float16) == "tensor([6.0000e+04, 5.0000e-01], dtype=torch.float16)"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1 + 2j], "tensor([1.+2.j])"),
        ([1 + 2j, 10 - 20j], "tensor([ 1.+2.j, 10.-20.j])"),
        ([1.5 + 2j, -1], "tensor([ 1.5000+2.j, -1.0000+0.j])"),  # the parts choose their styles apart
        ([complex(nan, -0.0), complex(-0.0, inf)], "tensor([nan-0.j, -0.+infj])"),
        ([1e-9 + 1j, 2 - 1e9j], "tensor([1.0000e-09+1.0000e+00j, 2.0000e+00-1.0000e+09j])"),
    ],
)
def test_complex_numbers(values, expected):
    assert text(values, np.complex64) == expected


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([True, False], np.bool, "tensor([ True, False])"),
        ([1, -10], np.int64, "tensor([  1, -10])"),
        ([1, 2], np.int32, "tensor([1, 2], dtype=torch.int32)"),
        ([-128, 127], np.int8, "tensor([-128,  127], dtype=torch.int8)"),
        ([255], np.uint8, "tensor([255], dtype=torch.uint8)"),
        ([2**64 - 1, 1], np.uint64, "tensor([18446744073709551615,                    1], dtype=torch.uint64)"),
        ([1], np.float64, "tensor([1.], dtype=torch.float64)"),
        ([1], np.complex128, "tensor([1.+0.j], dtype=torch.complex128)"),
    ],
)
def test_dtype_is_named_unless_the_values_tell_it(values, dtype, expected):
    assert text(values, dtype) == expected


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert text([1.5, nan], ml_dtypes.bfloat16) == "tensor([1.5000,    nan], dtype=torch.bfloat16)"


@pytest.mark.parametrize(
    ("default", "unsaid", "said"),
    [
        (_dtype.float32, [np.float32, np.complex64], [np.float64, np.complex128, np.float16]),
        (_dtype.float64, [np.float64, np.complex128], [np.float32, np.complex64, np.float16]),
        (_dtype.float16, [np.float16, np.complex64], [np.float32, np.complex128, np.float64]),
    ],
)
def test_default_dtype_goes_unsaid(default, unsaid, said):
    before = _dtype.get_default_dtype()
    _dtype.set_default_dtype(default)
    try:
        assert not [dtype for dtype in [*unsaid, np.int64, np.bool] if "dtype" in text([1], dtype)]
        assert not [dtype for dtype in said if f"dtype=torch.{np.dtype(dtype)}" not in text([1], dtype)]
    finally:
        _dtype.set_default_dtype(before)


# ----- Shapes -----


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (np.pi, np.float32, "tensor(3.1416)"),
        (3, np.float32, "tensor(3.)"),
        (1e-5, np.float32, "tensor(1.0000e-05)"),
        (-0.0, np.float32, "tensor(-0.)"),
        (nan, np.float64, "tensor(nan, dtype=torch.float64)"),
        (7, np.int64, "tensor(7)"),
        (True, np.bool, "tensor(True)"),
        (1 + 2.5j, np.complex64, "tensor(1.+2.5000j)"),
    ],
)
def test_zero_dimensions(value, dtype, expected):
    assert text(value, dtype) == expected


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((0,), np.float32, "tensor([])"),
        ((0, 3), np.float32, "tensor([], size=(0, 3))"),
        ((2, 0), np.float64, "tensor([], size=(2, 0), dtype=torch.float64)"),
        ((0,), np.int64, "tensor([], dtype=torch.int64)"),
        ((0,), np.bool, "tensor([], dtype=torch.bool)"),
        ((0,), np.complex64, "tensor([], dtype=torch.complex64)"),
    ],
)
def test_empty(shape, dtype, expected):
    assert tensor_text(np.empty(shape, dtype)) == expected


def test_nested_brackets():
    assert text([[1, 2], [3, 40]]) == "tensor([[ 1.,  2.],\n        [ 3., 40.]])"
    assert (
        tensor_text(np.arange(16).reshape(2, 2, 2, 2))
        == """\
tensor([[[[ 0,  1],
          [ 2,  3]],

         [[ 4,  5],
          [ 6,  7]]],


        [[[ 8,  9],
          [10, 11]],

         [[12, 13],
          [14, 15]]]])"""
    )


def test_long_rows_wrap():
    assert (
        tensor_text(np.arange(40.0, dtype=np.float32).reshape(2, 20))
        == """\
tensor([[ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
         14., 15., 16., 17., 18., 19.],
        [20., 21., 22., 23., 24., 25., 26., 27., 28., 29., 30., 31., 32., 33.,
         34., 35., 36., 37., 38., 39.]])"""
    )


# ----- Summaries -----


def test_above_a_thousand_elements_only_the_edges_show():
    assert "..." not in tensor_text(np.arange(1000))
    assert tensor_text(np.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert (
        tensor_text(np.arange(2000).reshape(2, 1000))
        == """\
tensor([[   0,    1,    2,  ...,  997,  998,  999],
        [1000, 1001, 1002,  ..., 1997, 1998, 1999]])"""
    )
    assert (
        tensor_text(np.arange(1400).reshape(700, 2))
        == """\
tensor([[   0,    1],
        [   2,    3],
        [   4,    5],
        ...,
        [1394, 1395],
        [1396, 1397],
        [1398, 1399]])"""
    )


def test_hidden_elements_do_not_decide_style_or_width():
    values = np.ones(2000, np.float32)
    values[1000] = -1e-20
    assert tensor_text(values) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_summary_reads_only_the_edges():
    # 8 * 10**15 bytes if they were real: a copy would raise MemoryError and a scan would not end.
    vast = np.broadcast_to(np.float64(0.5), (10**5, 10**5, 10**5))
    assert tensor_text(vast).count("0.5000") == 6**3


# ----- Facts after the values -----


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"requires_grad": True}, "tensor([1., 2.], requires_grad=True)"),
        ({"requires_grad": True, "grad_fn_name": "MulBackward0"}, "tensor([1., 2.], grad_fn=<MulBackward0>)"),
        ({"device": "meta"}, "tensor(..., device='meta', size=(2,))"),
        ({"prefix": "Measurement("}, "Measurement([1., 2.])"),
        ({"requires_grad": True, "extras": ["tangent=0.5"]}, "tensor([1., 2.], requires_grad=True, tangent=0.5)"),
    ],
)
def test_facts(facts, expected):
    assert text([1, 2], **facts) == expected


def test_facts_wrap_when_the_line_is_full():
    nine = np.log1p(np.arange(9) * 1.5)
    assert (
        tensor_text(nine, grad_fn_name="Log1PBackward0")
        == """\
tensor([0.0000, 0.9163, 1.3863, 1.7047, 1.9459, 2.1401, 2.3026, 2.4423, 2.5649],
       dtype=torch.float64, grad_fn=<Log1PBackward0>)"""
    )
    with printoptions(linewidth=54):
        assert text([1], np.float64, requires_grad=True) == "tensor([1.], dtype=torch.float64, requires_grad=True)"
    with printoptions(linewidth=53):
        assert (
            text([1], np.float64, requires_grad=True) == "tensor([1.], dtype=torch.float64,\n       requires_grad=True)"
        )


class ShapeOnly:
    shape = (2, 3)
    dtype = np.dtype(np.int64)


def test_meta_tensors_need_only_a_shape_and_a_dtype():
    assert tensor_text(ShapeOnly(), device="meta") == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"


def test_parameters():
    assert parameter_text(text([1], requires_grad=True)) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    assert parameter_text(text([1], prefix="Weight(")) == "Parameter containing:\nParameter(Weight([1.]))"


# ----- Options -----


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        ({"precision": 2}, [0.5, 1], "tensor([0.50, 1.00])"),
        ({"precision": 0}, [1.5], "tensor([2])"),
        ({"sci_mode": True}, [1, 2], "tensor([1.0000e+00, 2.0000e+00])"),
        ({"sci_mode": True}, [0], "tensor([0.])"),
        ({"sci_mode": False}, [1e-10, 1], "tensor([0.0000, 1.0000])"),
        ({"sci_mode": False}, [1e10, 1], "tensor([10000000000.,           1.])"),
        ({"threshold": 3, "edgeitems": 1}, [1, 2, 3, 4], "tensor([1.,  ..., 4.])"),
        ({"threshold": 3, "edgeitems": 2}, [1, 2, 3, 4], "tensor([1., 2., 3., 4.])"),
        ({"threshold": 3, "edgeitems": 0}, [1, 2, 3, 4], "tensor([...], size=(4,))"),
        ({"edgeitems": 0}, [1, 2], "tensor([1., 2.], size=(2,))"),
        ({"linewidth": 16}, [1, 2, 3], "tensor([1., 2.,\n        3.])"),
        ({"linewidth": 0}, [1, 2], "tensor([1.,\n        2.])"),
        ({"profile": "short"}, [0.5], "tensor([0.50])"),
        ({"profile": "short", "precision": 1}, [0.5], "tensor([0.5])"),
    ],
)
def test_options(options, values, expected):
    with printoptions(**options):
        assert text(values) == expected


def test_full_profile_shows_everything():
    with printoptions(profile="full"):
        assert "..." not in tensor_text(np.arange(2000))


def test_options_stay_until_changed_and_scientific_mode_does_not():
    set_printoptions(precision=2, sci_mode=True)
    set_printoptions(linewidth=40.5)
    assert get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 40.5,
        "sci_mode": None,
    }
    set_printoptions(profile="no such profile")
    assert get_printoptions()["precision"] == 2
    set_printoptions(profile="default")
    assert get_printoptions()["precision"] == 4


def test_profiles_are_not_changed_by_what_adjusts_them():
    set_printoptions(profile="short", precision=9)
    set_printoptions(profile="short")
    assert get_printoptions()["precision"] == 2


def test_options_return_when_the_block_raises():
    set_printoptions(sci_mode=True)
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, sci_mode=False):
        assert get_printoptions() == before | {"precision": 1, "sci_mode": False}
        raise KeyError
    assert get_printoptions() == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"precision": -1}, ValueError, r"set_printoptions\(\): precision must not be negative, got -1"),
        ({"precision": 2.5}, TypeError, r"set_printoptions\(\): precision must be an int, got 2.5"),
        ({"edgeitems": -1}, ValueError, r"set_printoptions\(\): edgeitems must not be negative, got -1"),
        ({"edgeitems": "3"}, TypeError, r"set_printoptions\(\): edgeitems must be an int, got '3'"),
    ],
)
def test_refused_options_change_nothing(options, error, message):
    before = get_printoptions()
    with pytest.raises(error, match=message):
        set_printoptions(threshold=1, sci_mode=True, **options)
    assert get_printoptions() == before
