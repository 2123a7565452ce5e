"""Element types, promotion, devices and sizes, against expectations written down here."""

from __future__ import annotations

import copy
import enum
import pickle
import subprocess
import sys
from typing import Any, cast

import numpy as np
import pytest

from adjoint import _dtype as dt
from adjoint._device import CPU, META, device, require_usable, resolve
from adjoint._size import Size

EVERY_DTYPE = sorted({d.name for d in dt.PUBLIC.values()})


@pytest.fixture
def keep_default():
    before = dt.get_default_dtype()
    yield
    dt.set_default_dtype(before)


# dtype objects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_DTYPE)
def test_dtype_is_one_object_through_pickle_and_copy(name):
    d = dt.PUBLIC[name]
    assert repr(d) == str(d) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.copy(d) is d
    assert copy.deepcopy([d])[0] is d


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("int16", "short"), ("int32", "int"), ("int64", "long"), ("float16", "half"), ("float32", "float"),
        ("float64", "double"), ("complex64", "cfloat"), ("complex128", "cdouble"),
    ],
)  # fmt: skip
def test_aliases(name, alias):
    assert dt.PUBLIC[alias] is dt.PUBLIC[name]


def test_dtype_is_immutable_and_cannot_be_made():
    with pytest.raises(AttributeError, match=r"attribute 'itemsize' of 'torch\.dtype' objects is not writable"):
        dt.float32.itemsize = 3
    with pytest.raises(AttributeError, match="object has no attribute 'colour'"):
        dt.float32.colour = 3
    with pytest.raises(AttributeError, match="object has no attribute 'colour'"):
        dt.float32.colour  # noqa: B018
    with pytest.raises(AttributeError, match="not writable"):
        del dt.float32.name
    with pytest.raises(TypeError, match=r"cannot create 'torch\.dtype' instances"):
        dt.dtype("float32")
    assert dt.float32.itemsize == 4


@pytest.mark.parametrize(
    ("d", "real", "complex_"),
    [
        (dt.float16, dt.float16, dt.complex64),
        (dt.bfloat16, dt.bfloat16, dt.complex64),
        (dt.float32, dt.float32, dt.complex64),
        (dt.float64, dt.float64, dt.complex128),
        (dt.complex64, dt.float32, dt.complex64),
        (dt.complex128, dt.float64, dt.complex128),
    ],
)
def test_to_real_and_to_complex(d, real, complex_):
    assert d.to_real() is real
    assert d.to_complex() is complex_


def test_integers_have_no_complex_counterpart():
    assert dt.int32.to_real() is dt.int32
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Int: only floating-point types"):
        dt.int32.to_complex()


def test_importing_leaves_ml_dtypes_alone():
    program = "import sys, adjoint._dtype as d; d.finfo(d.bfloat16); sys.exit('ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_ml_dtypes_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import adjoint as ad\n"
        "assert ad.finfo(ad.float8_e4m3fn).max == 448\n"
        "for dtype in (ad.bfloat16, ad.float8_e4m3fn):\n"
        "    for use in (lambda: dtype.numpy, lambda: ad.set_default_dtype(ad.bfloat16), lambda: ad.zeros(2).to(dtype)):\n"
        "        try: use()\n"
        "        except RuntimeError as error: assert 'needs' in str(error) and 'pip install ml_dtypes' in str(error), error\n"
        "        else: raise SystemExit('no error')\n"
        "assert ad.get_default_dtype() is ad.float32\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_bfloat16_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy_bfloat16 = np.dtype(ml_dtypes.bfloat16)
    assert dt.bfloat16.numpy == numpy_bfloat16
    assert dt.from_numpy_dtype(numpy_bfloat16) is dt.bfloat16
    assert dt.as_dtype(ml_dtypes.bfloat16) is dt.bfloat16
    assert dt.infer_numpy_dtype(ml_dtypes.bfloat16(1)) == numpy_bfloat16
    assert dt.result_numpy_dtype([np.ones(2, numpy_bfloat16), np.ones(2, np.float16)]) == np.float32


# Translation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (dt.int8, dt.int8), (float, dt.float64), (int, dt.int64), (bool, dt.bool_), (complex, dt.complex128),
        (np.dtype("float32"), dt.float32), (np.float16, dt.float16), (np.bool_, dt.bool_), (np.longlong, dt.int64),
    ],
)  # fmt: skip
def test_as_dtype(given, expected):
    assert dt.as_dtype(given) is expected
    assert dt.as_numpy_dtype(given) == expected.numpy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("float32", r"argument 'dtype' must be torch\.dtype, not str; pass adjoint\.float32$"),
        ("banana", r"argument 'dtype' must be torch\.dtype, not str; pass for example"),
        (str, r"argument 'dtype' must be torch\.dtype, not the type str"),
        (3, r"argument 'dtype' must be torch\.dtype, not int"),
        (np.str_, r"can't convert np\.ndarray of type numpy\.str_\. The only supported types are: float64"),
        (np.dtype("M8[s]"), r"can't convert np\.ndarray of type numpy\.datetime64"),
    ],
)
def test_as_dtype_refuses(given, message):
    with pytest.raises(TypeError, match=message):
        dt.as_dtype(given)


def test_foreign_byte_order_is_refused():
    with pytest.raises(ValueError, match="given numpy array has byte order different from the native byte order"):
        dt.from_numpy_dtype(np.dtype(np.float32).newbyteorder())


@pytest.mark.parametrize(
    ("name", "category", "complex_"),
    [("bool", dt.BOOL, False), ("uint8", dt.INTEGER, False), ("float16", dt.FLOATING, False), ("complex128", dt.COMPLEX, True)],
)
def test_categories(name, category, complex_):
    numpy_dtype: np.dtype[Any] = np.dtype(name)
    assert dt.category(numpy_dtype) == category
    assert dt.is_complex(numpy_dtype) is complex_


# The default dtype ------------------------------------------------------------------------------------------------


def test_default_dtype_governs_python_floats(keep_default):
    integers = np.ones(2, np.int32)
    assert dt.as_numpy_dtype() == dt.as_numpy_dtype(None) == dt.default_numpy() == np.float32
    assert dt.result_numpy_dtype([integers, 2.0]) == np.float32
    dt.set_default_dtype(dt.float64)
    assert dt.get_default_dtype() is dt.float64
    assert dt.as_numpy_dtype(None) == dt.default_numpy() == dt.infer_numpy_dtype(1.0) == np.float64
    assert dt.default_complex_numpy() == dt.infer_numpy_dtype(1j) == np.complex128
    assert dt.result_numpy_dtype([integers, 2.0]) == np.float64
    assert dt.result_numpy_dtype([integers, 2j]) == np.complex128
    assert dt.finfo().dtype == "float64"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (dt.int32, "^only floating-point types are supported as the default type"),
        (dt.complex64, "^only floating-point types are supported as the default type"),
        (float, "^invalid dtype object: only floating-point types are supported as the default type"),
        ("float64", "^invalid dtype object: only floating-point types are supported as the default type"),
    ],
)
def test_default_dtype_refuses(bad, message):
    with pytest.raises(TypeError, match=message):
        dt.set_default_dtype(bad)
    assert dt.get_default_dtype() is dt.float32


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (True, np.bool_), (3, np.int64), (3.0, np.float32), (3j, np.complex64), (Colour.RED, np.int64),
        (np.float64(3), np.float64), (np.float32(3), np.float32), (np.int8(3), np.int8), (np.bool_(True), np.bool_),
        (np.complex128(3), np.complex128),
    ],
)  # fmt: skip
def test_infer_numpy_dtype(number, expected):
    assert dt.infer_numpy_dtype(number) == expected


@pytest.mark.parametrize("bad", ["text", None, [1.0]])
def test_infer_numpy_dtype_refuses(bad):
    with pytest.raises(TypeError, match=f"Could not infer dtype of {type(bad).__name__}"):
        dt.infer_numpy_dtype(bad)


# Promotion --------------------------------------------------------------------------------------------------------


def dimensioned(name):
    return np.ones((1,), name)


def zero_dim(name):
    return np.ones((), name)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([dimensioned("float32"), zero_dim("float64")], "float32"),
        ([dimensioned("float32"), dimensioned("float64")], "float64"),
        ([dimensioned("int32"), zero_dim("float64")], "float64"),
        ([dimensioned("int32"), zero_dim("int64")], "int32"),
        ([dimensioned("uint8"), -1], "uint8"),
        ([dimensioned("bool"), 1], "int64"),
        ([dimensioned("bool"), True], "bool"),
        ([dimensioned("int64"), 1.5], "float32"),
        ([dimensioned("float16"), 1.5], "float16"),
        ([dimensioned("float32"), zero_dim("complex128")], "complex64"),
        ([dimensioned("float64"), 1j], "complex128"),
        ([dimensioned("float16"), 1j], "complex64"),  # PyTorch has complex32 for this; we do not
        ([zero_dim("int32"), 1.5], "float32"),
        ([zero_dim("float64"), 1], "float64"),
        ([dimensioned("int8"), zero_dim("int32"), 1.5], "float32"),
        ([dimensioned("bool"), zero_dim("int16"), 7], "int16"),
        ([dimensioned("uint8"), dimensioned("int8"), dimensioned("float16")], "float16"),
        ([1, 2.0, True], "float32"),
        ([np.float64(2.0), 1], "float64"),
        ([dimensioned("uint16"), 1], "uint16"),
    ],
)
def test_result_numpy_dtype(operands, expected):
    assert dt.result_numpy_dtype(operands) == np.dtype(expected)


def test_result_numpy_dtype_takes_any_array_like_and_needs_one():
    class Shaped:
        dtype = np.dtype("float16")
        ndim = 2

    assert dt.result_numpy_dtype(iter([Shaped(), zero_dim("float64")])) == np.float16
    with pytest.raises(ValueError, match="at least one operand"):
        dt.result_numpy_dtype([])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (dt.uint8, dt.int8, dt.int16), (dt.int64, dt.float16, dt.float16), (dt.float16, dt.bfloat16, dt.float32),
        (dt.float64, dt.complex64, dt.complex128), (dt.bool_, dt.int8, dt.int8), (dt.uint64, dt.float16, dt.float16),
    ],
)  # fmt: skip
def test_promote_types(a, b, expected):
    assert dt.promote_types(a, b) is dt.promote_types(b, a) is expected


def test_promotion_of_wide_unsigned_integers_is_refused():
    message = "^Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Char"
    with pytest.raises(RuntimeError, match=message):
        dt.promote_types(dt.uint16, dt.int8)
    with pytest.raises(RuntimeError, match=message):
        dt.promote_numpy(np.dtype("uint16"), np.dtype("int8"))
    assert dt.promote_numpy(np.dtype("uint16"), np.dtype("float32")) == np.float32


@pytest.mark.parametrize(
    ("from_", "to", "expected"),
    [
        (dt.float64, dt.float16, True), (dt.float32, dt.int64, False), (dt.int64, dt.uint8, True),
        (dt.int8, dt.bool_, False), (dt.complex64, dt.float64, False), (dt.bool_, dt.complex64, True),
    ],
)  # fmt: skip
def test_can_cast(from_, to, expected):
    assert dt.can_cast(from_, to) is expected


# Limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_agrees_with_numpy(name):
    ours, theirs = dt.finfo(dt.PUBLIC[name]), np.finfo(name)
    for attribute in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.resolution == pytest.approx(float(theirs.resolution), rel=1e-3)
    assert ours.dtype == name


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_iinfo_agrees_with_numpy(name):
    ours, theirs = dt.iinfo(dt.PUBLIC[name]), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, name)


def test_limits_compare_print_and_refuse():
    assert dt.finfo(dt.complex64) == dt.finfo(dt.float32) != dt.finfo(dt.float64)
    assert dt.iinfo(dt.int8) == dt.iinfo(dt.int8) != dt.iinfo(dt.uint8)
    assert dt.iinfo(dt.int32) != dt.finfo(dt.float32)
    assert repr(dt.iinfo(dt.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert repr(dt.finfo(dt.float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
        "tiny=6.10352e-05, dtype=float16)"
    )
    with pytest.raises(TypeError, match=r"torch\.finfo\(\) requires a floating point input type"):
        dt.finfo(dt.int32)
    with pytest.raises(TypeError, match=r"torch\.iinfo\(\) requires an integer input type"):
        dt.iinfo(dt.float32)
    with pytest.raises(TypeError, match=r"torch\.bool is not supported by torch\.iinfo"):
        dt.iinfo(dt.bool_)
    with pytest.raises(TypeError, match="unhashable"):
        hash(dt.finfo())


# Devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "text", "representation"),
    [
        (device("cpu"), "cpu", "device(type='cpu')"),
        (device("cuda:1"), "cuda:1", "device(type='cuda', index=1)"),
        (device("cuda", 1), "cuda:1", "device(type='cuda', index=1)"),
        (device("cuda", np.int64(2)), "cuda:2", "device(type='cuda', index=2)"),
        (device(type="cpu", index=0), "cpu:0", "device(type='cpu', index=0)"),
        (device(device="meta"), "meta", "device(type='meta')"),
        (device(device("mps")), "mps", "device(type='mps')"),
    ],
)
def test_device_forms(made, text, representation):
    assert (str(made), repr(made)) == (text, representation)
    assert made == device(text)
    assert hash(made) == hash(device(text))
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made


def test_device_equality_and_immutability():
    assert device("cpu") != device("cpu:0")
    assert device("cuda:0") != device("cuda:1")
    assert device("cpu") != "cpu"
    with pytest.raises(AttributeError, match=r"attribute 'type' of 'torch\.device' objects is not writable"):
        device("cpu").type = "meta"
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        device("cpu").colour = 1


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("foo",), RuntimeError, "^Expected one of cpu, cuda, ipu, .* device type at start of device string: foo$"),
        (("",), RuntimeError, "^Device string must not be empty"),
        (("cuda:",), RuntimeError, "^Invalid device string: 'cuda:'"),
        (("cuda:01",), RuntimeError, "^Invalid device string: 'cuda:01'"),
        (("cuda:-1",), RuntimeError, "^Invalid device string: 'cuda:-1'"),
        (("cuda:1", 1), RuntimeError, r"^type \(string\) must not include an index because index was passed"),
        (("cuda", -1), RuntimeError, "^Device index must not be negative"),
        ((0,), RuntimeError, "^Cannot access accelerator device when none is available"),
        ((-1,), RuntimeError, "^Device index must not be negative"),
        (("cpu", "0"), TypeError, r"^device\(\): argument 'index' \(position 2\) must be int, not str"),
        (("cpu", True), TypeError, r"^device\(\): argument 'index' \(position 2\) must be int, not bool"),
        ((device("cpu"), 0), TypeError, r"^device\(\): argument 'type' \(position 1\) must be str, not torch\.device"),
        ((), TypeError, r"^device\(\) received an invalid combination of arguments"),
        ((1.5,), TypeError, r"^device\(\) received an invalid combination of arguments - got \(float\)"),
    ],
)
def test_device_refuses(args, error, message):
    with pytest.raises(error, match=message):
        device(*args)


def test_resolve():
    assert resolve(None) is CPU
    assert resolve("cuda:1") == device("cuda", 1)
    assert resolve(META) is META
    with pytest.raises(RuntimeError, match=r"^Cannot access accelerator device when none is available"):
        resolve(0)
    with pytest.raises(TypeError, match=r"^argument 'device' must be torch\.device, not float"):
        resolve(1.5)


def test_require_usable():
    assert require_usable(device("cpu:0")) is CPU
    assert require_usable(device("meta")) is META
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled.*device='cpu'"):
        require_usable(device("cuda:1"))
    with pytest.raises(NotImplementedError, match=r"^Could not run .* from the 'MPS' backend.*device='cpu'"):
        require_usable(device("mps"))


# Sizes ------------------------------------------------------------------------------------------------------------


def test_size_is_a_tuple_that_counts():
    size = Size([2, np.int64(3), True])
    assert tuple(size) == (2, 3, 1)
    assert [type(n) for n in size] == [int, int, int]
    assert size.numel() == 6
    assert Size().numel() == 1
    assert Size([0, 4]).numel() == 0
    assert repr(size) == str(size) == "torch.Size([2, 3, 1])"
    assert repr(Size()) == "torch.Size([])"
    assert Size._of((2, 3)) == Size(range(2, 4))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Size([1, 2, 3])[1:], (2, 3)),
        (Size([1, 2]) + (3,), (1, 2, 3)),  # noqa: RUF005
        ((3,) + Size([1, 2]), (3, 1, 2)),  # noqa: RUF005
        (Size([1]) + Size([2]), (1, 2)),
        (Size([1, 2]) * 2, (1, 2, 1, 2)),
        (2 * Size([1, 2]), (1, 2, 1, 2)),
        (pickle.loads(pickle.dumps(Size([1, 2]))), (1, 2)),
        (copy.deepcopy(Size([1, 2])), (1, 2)),
    ],
)
def test_size_operations_make_sizes(made, expected):
    assert type(made) is Size
    assert made == expected


def test_size_times_array_is_an_array():
    product = Size([1, 2]) * np.array([3, 4])
    assert type(product) is np.ndarray
    assert product.tolist() == [3, 8]


def test_size_item_is_an_int():
    assert type(Size([4, 5])[-1]) is int
    with pytest.raises(IndexError):
        Size([4])[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Size(cast(Any, [1, 2.0])), r"^torch\.Size\(\) takes an iterable of 'int' \(item 1 is 'float'\)"),
        (lambda: Size(cast(Any, ["a"])), r"^torch\.Size\(\) takes an iterable of 'int' \(item 0 is 'str'\)"),
        (lambda: Size([1]) + (1.0,), r"^torch\.Size\(\) takes an iterable of 'int' \(item 1 is 'float'\)"),  # noqa: RUF005
        (lambda: ("a",) + Size([1]), r"^torch\.Size\(\) takes an iterable of 'int' \(item 0 is 'str'\)"),  # noqa: RUF005
        (lambda: Size([1]) + [1], r"^can only concatenate tuple \(not list\) to torch\.Size"),  # noqa: RUF005
        (lambda: [1] + Size([1]), "can only concatenate list"),  # noqa: RUF005
        (lambda: Size(cast(Any, 3)), "'int' object is not iterable"),
        (lambda: Size([1]) * 1.5, "can't multiply sequence by non-int of type 'float'"),
    ],
)
def test_size_refuses(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_limits_are_copied_as_they_are():
    double = dt.finfo(dt.float64)
    assert copy.deepcopy(double) == pickle.loads(pickle.dumps(double)) == double
    assert dt.finfo(dt.float32).bits == 32 and dt.finfo(dt.complex64).dtype == "float32"
    for _ in range(2):  # what was refused is not remembered
        with pytest.raises(TypeError, match="requires a floating point input type"):
            dt.finfo(dt.int32)
