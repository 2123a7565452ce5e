"""Making tensors: from sizes, from data, like others, at random; and converting them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad

# ---- from sizes ---------------------------------------------------------------------------------------------------

SIZES = [((2, 3),), ([2, 3],), (2, 3), (np.int64(2), 3), (ad.Size([2, 3]),), (ad.tensor(2), ad.tensor(3))]


@pytest.mark.parametrize("make", [ad.zeros, ad.ones, ad.empty, ad.rand, ad.randn])
@pytest.mark.parametrize("size", SIZES, ids=repr)
def test_a_size_may_be_given_as_numbers_or_as_one_sequence(make, size):
    tensor = make(*size)
    assert tensor.shape == (2, 3)
    assert tensor.dtype is ad.float32
    assert make(size=(4,)).shape == (4,)
    assert make(()).shape == ()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (ad.zeros, TypeError, 'zeros() missing 1 required positional arguments: "size"'),
        (lambda: ad.zeros(2.0), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
        (lambda: ad.zeros(True), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not bool"),
        (lambda: ad.zeros((2, 1.5)), TypeError, "must be tuple of ints, but found element of type float at pos 1"),
        (lambda: ad.zeros(np.array([2])), TypeError, "must be tuple of ints, not numpy.ndarray"),
        (lambda: ad.zeros(2, size=(2,)), TypeError, "zeros() got multiple values for argument 'size'"),
        (lambda: ad.ones(2, -1), RuntimeError, "Trying to create tensor with negative dimension -1: [2, -1]"),
        (lambda: ad.full(2, 1), TypeError, "full(): argument 'size' (position 1) must be tuple of ints, not int"),
        (lambda: ad.full((2,), "a"), TypeError, "full(): argument 'fill_value' must be Number, not str"),
        (lambda: ad.full((2,), 300, dtype=ad.uint8), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
        (lambda: ad.full((2,), 1e300), RuntimeError, "value cannot be converted to type float without overflow"),
        (lambda: ad.zeros(2, dtype="float32"), TypeError, "argument 'dtype' must be torch.dtype, not str"),
        (lambda: ad.zeros(2, device="cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: ad.zeros(2, pin_memory=True), RuntimeError, "pin_memory=True requires a CUDA or other accelerator backend"),
        (lambda: ad.ones(2, layout=ad.sparse_coo), NotImplementedError, "ones makes no tensors of layout torch.sparse_coo"),
        (lambda: ad.zeros(2, dtype=ad.int64, requires_grad=True), RuntimeError, "Only Tensors of floating point and complex dtype"),
        (lambda: ad.zeros(2, out=ad.ones(2), dtype=ad.float64), RuntimeError, "dtype Double does not match dtype of out parameter"),
        (lambda: ad.empty(2, memory_format=ad.preserve_format), RuntimeError, "unsupported memory format Preserve"),
        (lambda: ad.empty((2, 3), memory_format=ad.channels_last), RuntimeError, "required rank 4 tensor to use channels_last format"),
        (lambda: ad.empty_strided((2, 3), (1,)), RuntimeError, "dimensionality of sizes (2) must match dimensionality of strides (1)"),
        (lambda: ad.empty_strided((2,), (-1,)), RuntimeError, "Storage size calculation overflowed"),
        (ad.arange, TypeError, "arange() received an invalid combination of arguments"),
        (lambda: ad.arange(0, 1, 2, 3), TypeError, "arange() received an invalid combination of arguments"),
        (lambda: ad.arange(0, 5, 0), RuntimeError, "step must be nonzero"),
        (lambda: ad.arange(0, 5, 0.5, dtype=ad.int64), ValueError, "step must be nonzero"),
        (lambda: ad.arange(1, 5, -1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        (lambda: ad.arange(0, float("inf")), RuntimeError, "unsupported range: 0 -> inf"),
        (lambda: ad.arange(2, dtype=ad.bool), NotImplementedError, "\"arange_cpu\" not implemented for 'Bool'"),
        (lambda: ad.linspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
        (lambda: ad.linspace(0, 1, 2.0), TypeError, "linspace() received an invalid combination of arguments"),
        (lambda: ad.linspace(ad.ones(1), 1, 3), RuntimeError, "linspace only supports 0-dimensional start and end tensors"),
        (lambda: ad.eye(-1), RuntimeError, "n must be greater or equal to 0, got -1"),
        (lambda: ad.eye(2, -3), RuntimeError, "m must be greater or equal to 0, got -3"),
        (lambda: ad.eye(2.0), TypeError, "eye(): argument 'n' (position 1) must be int, not float"),
        (lambda: ad.zeros_like([1]), TypeError, "zeros_like(): argument 'input' (position 1) must be Tensor, not list"),
        (lambda: ad.rand(2, dtype=ad.int32), NotImplementedError, "not implemented for 'Int'"),
        (lambda: ad.randint(5), TypeError, "randint(): argument 'size' (position 2) must be tuple of ints"),
        (lambda: ad.randint(5, 5, (2,)), RuntimeError, "random_ expects 'from' to be less than 'to'"),
        (lambda: ad.normal(0.0, 1.0), TypeError, "normal() received an invalid combination of arguments"),
        (lambda: ad.normal(ad.zeros(2), -ad.ones(2)), RuntimeError, "normal expects all elements of std >= 0.0"),
        (lambda: ad.normal(ad.zeros(2), -1.0), RuntimeError, "normal expects std >= 0.0"),
        (lambda: ad.ones(2).uniform_(**{"of": 3}), TypeError, "uniform_() got an unexpected keyword argument 'of'"),
        (lambda: ad.complex(ad.ones(1, dtype=ad.int64), ad.ones(1)), RuntimeError, "Expected both inputs to be Half, Float or Double"),
        (lambda: ad.polar(ad.ones(1), ad.ones(1).double()), RuntimeError, "Expected object of scalar type Float but got"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_full_takes_its_dtype_from_the_value():
    assert [ad.full((2,), value).dtype for value in (1, 1.5, True, 1j)] == [ad.int64, ad.float32, ad.bool, ad.complex64]
    assert ad.full((), ad.tensor(3.0)).item() == 3
    assert ad.full((2,), -1, dtype=ad.uint8).tolist() == [255, 255]
    assert ad.full((), 2.9, dtype=ad.int32).item() == 2
    assert ad.scalar_tensor(3).dtype is ad.float32


def test_requires_grad_makes_a_leaf():
    for tensor in (ad.zeros(2, requires_grad=True), ad.rand(2, requires_grad=True), ad.tensor([1.0], requires_grad=True)):
        assert tensor.requires_grad
        assert tensor.is_leaf


def test_out_is_written_and_resized():
    out = ad.ones(2, 3)
    memory = out.data_ptr()
    assert ad.zeros(2, 3, out=out) is out
    assert out.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert out.data_ptr() == memory
    assert out._version == 1
    empty = ad.empty(0, dtype=ad.int64)
    assert ad.arange(3, out=empty).tolist() == [0, 1, 2]
    assert empty.dtype is ad.int64
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        ad.ones(4, out=out)
    assert out.shape == (4,)


def test_memory_formats():
    assert ad.empty((2, 3, 4, 5), memory_format=ad.channels_last).stride() == (60, 1, 15, 3)
    assert ad.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert ad.empty_strided((2, 3), (0, 1)).stride() == (0, 1)
    transposed = ad.ones(2, 3).t()
    assert ad.zeros_like(transposed).stride() == (1, 3)
    assert ad.zeros_like(transposed, memory_format=ad.contiguous_format).stride() == (2, 1)
    assert ad.empty_like(ad.ones(1, 3).expand(2, 3)).stride() == (3, 1)


@pytest.mark.parametrize(
    ("args", "values"),
    [
        ((5,), [0, 1, 2, 3, 4]),
        ((1, 5), [1, 2, 3, 4]),
        ((1, 6, 2), [1, 3, 5]),
        ((5, 1, -2), [5, 3]),
        ((0,), []),
        ((0, 1, 0.25), [0, 0.25, 0.5, 0.75]),
        ((1.5,), [0, 1]),
    ],
)
def test_arange(args, values):
    result = ad.arange(*args)
    assert result.tolist() == values
    assert result.dtype is (ad.float32 if any(isinstance(a, float) for a in args) else ad.int64)


def test_arange_by_keyword():
    assert ad.arange(end=3).tolist() == [0, 1, 2]
    assert ad.arange(start=1, end=3).tolist() == [1, 2]
    assert ad.arange(2, end=4).tolist() == [2, 3]
    assert ad.arange(0, 4, step=2, dtype=ad.float64).tolist() == [0, 2]
    assert ad.arange(ad.tensor(2), np.int64(4)).tolist() == [2, 3]


def test_linspace_is_exact_at_both_ends():
    points = ad.linspace(0.1, 0.7, 10, dtype=ad.float64)
    assert points[0].item() == 0.1
    assert points[-1].item() == 0.7
    assert ad.linspace(0, 10, 5, dtype=ad.int64).tolist() == [0, 2, 5, 7, 10]
    assert ad.linspace(3, 4, 1).tolist() == [3]
    assert ad.linspace(0, 1j, 2).dtype is ad.complex64
    assert ad.logspace(0, 3, 4).tolist() == [1, 10, 100, 1000]


def test_too_large_numbers_become_infinite_in_silence():
    assert ad.arange(0, 200000, 100000, dtype=ad.float16).tolist() == [0, float("inf")]
    assert ad.tensor([1e300]).tolist() == [float("inf")]
    assert ad.tensor(np.array([1e300])).float().tolist() == [float("inf")]


def test_range_includes_its_end_and_is_deprecated():
    with pytest.warns(UserWarning, match=r"torch\.range is deprecated"):
        assert ad.range(1, 3).tolist() == [1, 2, 3]


def test_like_keeps_dtype_device_and_size():
    source = ad.ones(2, 3, dtype=ad.float64)
    for make in (ad.zeros_like, ad.ones_like, ad.empty_like, ad.rand_like, ad.randn_like):
        assert make(source).dtype is ad.float64
        assert make(source, dtype=ad.float16, requires_grad=True).dtype is ad.float16
    assert ad.full_like(source, 2, dtype=ad.int32).tolist() == [[2, 2, 2]] * 2
    assert ad.randint_like(source, 5).dtype is ad.float64
    assert not ad.zeros_like(ad.ones(2, requires_grad=True)).requires_grad


def test_new_methods_take_dtype_and_device_of_the_tensor():
    source = ad.ones(2, dtype=ad.float64)
    assert source.new_zeros(2, 3).dtype is ad.float64
    assert source.new_ones((3,), dtype=ad.int32).tolist() == [1, 1, 1]
    assert source.new_full((2,), 7).tolist() == [7, 7]
    assert source.new_empty(2, 3).shape == (2, 3)
    assert source.new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert source.new_tensor([1, 2]).dtype is ad.float64
    assert source.new([3]).tolist() == [3]
    assert ad.ones(2, device="meta").new_zeros(3).is_meta


# ---- devices ------------------------------------------------------------------------------------------------------


def test_tensors_on_the_meta_device_have_no_elements():
    tensor = ad.zeros(2, 3, device="meta")
    assert tensor.is_meta
    assert repr(tensor) == "tensor(..., device='meta', size=(2, 3))"
    assert ad.tensor([1, 2], device="meta").shape == (2,)
    assert ad.rand_like(tensor).is_meta
    assert ad.ones(2).to("meta").is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        tensor.to("cpu")
    assert ad.zeros_like(tensor, device="cpu").tolist() == [[0, 0, 0]] * 2


def test_the_default_device_can_be_chosen_for_a_block():
    with ad.device("meta"):
        assert ad.zeros(2).is_meta
        assert ad.tensor([1.0]).is_meta
        with ad.device("cpu"):
            assert not ad.zeros(2).is_meta
        assert not ad.zeros(2, device="cpu").is_meta
        assert not ad.from_numpy(np.ones(2)).is_meta
    assert not ad.zeros(2).is_meta
    assert ad.device("meta")(lambda: ad.zeros(2))().is_meta
    with pytest.raises(AssertionError), ad.device("cuda"):
        pass
    assert ad.get_default_device() == ad.device("cpu")


def test_the_default_device_can_be_set():
    ad.set_default_device("meta")
    try:
        assert ad.ones(2).is_meta
    finally:
        ad.set_default_device("cpu")
    assert not ad.ones(2).is_meta


# ---- from data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        (3, "int64", 3),
        (1.5, "float32", 1.5),
        (True, "bool", True),
        (1j, "complex64", 1j),
        ([1, True], "int64", [1, 1]),
        ([1, 2.5, True], "float32", [1, 2.5, 1]),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        (((1, 2), [3, 4]), "int64", [[1, 2], [3, 4]]),
        (range(3), "int64", [0, 1, 2]),
        (bytearray(b"ab"), "int64", [97, 98]),
        ([np.float32(2), 1], "float32", [2, 1]),
        ([np.float32(2), np.float64(3)], "float64", [2, 3]),
        ([[1, 2], np.ones(2, np.float32)], "float32", [[1, 2], [1, 1]]),
        (np.float16(2), "float16", 2),
        (np.ones((1, 2), np.int16), "int16", [[1, 1]]),
        ([2**63 - 1], "int64", [2**63 - 1]),
    ],
)
def test_tensor_infers_dtype_and_shape(data, dtype, values):
    tensor = ad.tensor(data)
    assert tensor.dtype is getattr(ad, dtype)
    assert tensor.tolist() == values


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        ([1.7, -1.7], "int32", [1, -1]),
        ([-1, 255], "uint8", [255, 255]),
        ([0.5, 0.0], "bool", [True, False]),
        ([1, 2], "float16", [1, 2]),
        ([1.5], "bfloat16", [1.5]),
        ([2**63], "uint64", [2**63]),
        (2**70, "float64", float(2**70)),
        ([1], "complex128", [1]),
        (np.array([1.5]), "int64", [1]),
    ],
)
def test_tensor_converts_to_a_given_dtype(data, dtype, values):
    tensor = ad.tensor(data, dtype=getattr(ad, dtype))
    assert tensor.dtype is getattr(ad, dtype)
    assert tensor.tolist() == values


@pytest.mark.parametrize(
    ("data", "options", "error", "words"),
    [
        ([[1, 2], [3, 4, 5]], {}, ValueError, "expected sequence of length 2 at dim 1 (got 3)"),
        ([[1, 2], 3], {}, TypeError, "not a sequence"),
        ([3, [1, 2]], {}, TypeError, "'list' object cannot be interpreted as an integer"),
        ("abc", {}, TypeError, "new(): invalid data type 'str'"),
        (["a"], {}, ValueError, "too many dimensions 'str'"),
        (None, {}, RuntimeError, "Could not infer dtype of NoneType"),
        ([{}], {}, RuntimeError, "Could not infer dtype of dict"),
        ([2**63], {}, ValueError, "Overflow when unpacking long long"),
        ([300], {"dtype": ad.uint8}, RuntimeError, "value cannot be converted to type uint8 without overflow"),
        ([float("nan")], {"dtype": ad.int32}, RuntimeError, "value cannot be converted to type int32 without overflow"),
        ([1j], {"dtype": ad.float32}, TypeError, "must be real number, not complex"),
        ([1], {"requires_grad": True}, RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"),
        ([ad.ones(2), ad.ones(2)], {}, ValueError, "only one element tensors can be converted to Python scalars"),
        (np.ones(2)[::-1], {}, ValueError, "At least one stride in the given numpy array is negative"),
        (np.array(["a"]), {}, TypeError, "can't convert np.ndarray of type numpy.str_"),
    ],
)
def test_tensor_refuses(data, options, error, words):
    with pytest.raises(error) as caught:
        ad.tensor(data, **options)
    assert str(caught.value).startswith(words)


def test_a_list_of_tensors_gives_their_values():
    assert ad.tensor([ad.tensor(1), ad.tensor(2)]).dtype is ad.int64
    assert ad.tensor([ad.tensor([1.0]), 2]).tolist() == [1, 2]
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        assert not ad.tensor([ad.ones((), requires_grad=True)]).requires_grad


def test_tensor_copies_and_says_how_to_copy_a_tensor():
    source = np.ones(2)
    copy = ad.tensor(source)
    source[0] = 5
    assert copy.tolist() == [1, 1]
    tensor = ad.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"To copy construct from a tensor, .* sourceTensor\.detach\(\)\.clone\(\)") as caught:
        twin = ad.tensor(tensor)
    assert caught[0].filename == __file__
    assert not twin.requires_grad
    assert twin.data_ptr() != tensor.data_ptr()


def test_as_tensor_shares_where_it_can():
    array = np.ones(2)
    tensor = ad.as_tensor(array)
    array[0] = 5
    assert tensor.tolist() == [5, 1]
    assert ad.as_tensor(tensor) is tensor
    assert ad.as_tensor(array, dtype=ad.int32).tolist() == [5, 1]
    source = ad.ones(2, requires_grad=True)
    assert ad.as_tensor(source, dtype=ad.float64).requires_grad
    assert ad.as_tensor([1, 2.5]).tolist() == [1, 2.5]


def test_asarray():
    array = np.ones(2)
    assert ad.asarray(array).data_ptr() == array.__array_interface__["data"][0]
    assert ad.asarray(array, copy=True).data_ptr() != array.__array_interface__["data"][0]
    assert ad.asarray(bytearray(b"\0\0\x80?"), dtype=ad.float32).tolist() == [1]
    tensor = ad.ones(2)
    assert ad.asarray(tensor) is tensor
    assert ad.asarray(tensor, requires_grad=True).requires_grad
    assert not ad.asarray(ad.ones(2, requires_grad=True), requires_grad=False).requires_grad
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor"):
        ad.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Int'"):
        ad.asarray(tensor, dtype=ad.int32, copy=False)


def test_from_numpy_shares_memory():
    array = np.zeros((2, 3))
    tensor = ad.from_numpy(array.T)
    array[0, 1] = 7
    assert tensor.stride() == (1, 3)
    assert tensor[1, 0].item() == 7
    tensor[2, 1] = 9
    assert array[1, 2] == 9


def test_from_numpy_warns_of_read_only_arrays():
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        tensor = ad.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        ([1], TypeError, "expected np.ndarray (got list)"),
        (np.float32(1), TypeError, "expected np.ndarray (got numpy.float32)"),
        (np.ones(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
        (np.array([None]), TypeError, "can't convert np.ndarray of type numpy.object_"),
        (np.ones(2, ">f4"), ValueError, "given numpy array has byte order different from the native byte order"),
        (np.zeros(2, [("a", "f4"), ("b", "f8")])["b"], ValueError, "given numpy array strides not a multiple of the element byte size"),
    ],
)
def test_from_numpy_refuses(array, error, words):
    with pytest.raises(error) as caught:
        ad.from_numpy(array)
    assert str(caught.value).startswith(words)


def test_frombuffer():
    buffer = bytearray(np.arange(4, dtype=np.float32).tobytes())
    tensor = ad.frombuffer(buffer, dtype=ad.float32, count=2, offset=4)
    assert tensor.tolist() == [1, 2]
    buffer[4:8] = np.float32(9).tobytes()
    assert tensor[0].item() == 9
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        ad.frombuffer(bytes(8), dtype=ad.int64)


@pytest.mark.parametrize(
    ("buffer", "options", "words"),
    [
        (bytearray(8), {"count": 3}, "requested buffer length (3 * 4 bytes) after offset (0 bytes) must not be greater"),
        (bytearray(8), {"offset": 9}, "offset (9 bytes) must be non-negative"),
        (bytearray(7), {}, "buffer length (7 bytes) after offset (0 bytes) must be a multiple of element size (4)"),
        (bytearray(0), {}, "both buffer length (0) and count (-1) must not be 0"),
        (bytearray(8), {"count": 0}, "both buffer length (8) and count (0) must not be 0"),
        ([1], {}, "object does not implement Python buffer protocol"),
    ],
)
def test_frombuffer_refuses(buffer, options, words):
    with pytest.raises(ValueError) as caught:
        ad.frombuffer(buffer, dtype=ad.float32, **options)
    assert str(caught.value).startswith(words)


# ---- old constructors ---------------------------------------------------------------------------------------------


def test_the_tensor_class_makes_tensors_of_the_default_dtype():
    assert ad.Tensor().shape == (0,)
    assert ad.Tensor(2, 3).shape == (2, 3)
    assert ad.Tensor(ad.Size([2, 3])).shape == (2, 3)
    assert ad.Tensor([1, True]).dtype is ad.float32
    assert ad.Tensor(np.ones(2)).dtype is ad.float32
    source = ad.ones(2, requires_grad=True)
    assert ad.Tensor(source * 2).requires_grad  # the same tensor, with its history
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        ad.Tensor(1.5)
    with pytest.raises(TypeError, match=r"new\(\) received an invalid combination of arguments"):
        ad.Tensor([1], dtype=ad.float32)


def test_typed_constructors():
    assert ad.LongTensor([1.5]).tolist() == [1]
    assert ad.DoubleTensor(2).dtype is ad.float64
    assert repr(ad.FloatTensor) == "<class 'torch.FloatTensor'>"
    assert isinstance(ad.ones(1), ad.FloatTensor)
    assert not isinstance(ad.ones(1), ad.DoubleTensor)
    assert ad.ones(1).type() == "torch.FloatTensor"
    assert ad.ones(1).type(ad.LongTensor).dtype is ad.int64
    with pytest.raises(TypeError, match=r"expected a tensor of torch\.int64"):
        ad.LongTensor(ad.ones(2))


# ---- conversions --------------------------------------------------------------------------------------------------


def test_to_returns_the_tensor_itself_when_nothing_changes():
    tensor = ad.ones(2)
    other = ad.ones(1)
    same = (tensor.to(), tensor.to(ad.float32), tensor.to("cpu"), tensor.to(other), tensor.float(), tensor.cpu(), tensor.type_as(other))
    assert all(result is tensor for result in same)
    assert tensor.to(ad.float32, copy=True) is not tensor
    assert tensor.to("cpu", ad.float64).dtype is ad.float64
    assert tensor.to(device="cpu", dtype=ad.int32, non_blocking=True).dtype is ad.int32
    assert tensor.to(ad.float16, True, True).dtype is ad.float16


def test_conversion_between_floating_types_is_differentiable():
    tensor = ad.tensor([1.0, 2.0], requires_grad=True)
    converted = tensor.double()
    assert converted.grad_fn.name() == "ToCopyBackward0"
    (converted * ad.tensor([3.0, 4.0], dtype=ad.float64)).sum().backward()
    assert tensor.grad.dtype is ad.float32
    assert tensor.grad.tolist() == [3, 4]


def test_conversion_to_complex_and_back():
    tensor = ad.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = ad.autograd.grad(tensor.to(ad.complex64), tensor, ad.tensor([1 + 2j, 3j]))
    assert gradient.tolist() == [1, 0]
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part") as caught:
        assert ad.tensor([1 + 2j]).float().tolist() == [1]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_conversion_to_integers_cuts_the_graph(dtype):
    tensor = ad.tensor([1.0, 2.0], requires_grad=True)
    converted = tensor.to(getattr(ad, dtype))
    assert not converted.requires_grad
    assert converted.dtype is getattr(ad, dtype)


def test_each_dtype_has_its_method():
    names = {
        "bool": "bool", "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
        "bfloat16": "bfloat16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
    }  # fmt: skip
    for method, dtype in names.items():
        assert getattr(ad.zeros(2, dtype=ad.float64 if dtype != "float64" else ad.int8), method)().dtype is getattr(ad, dtype)


def test_conversion_keeps_or_changes_the_memory_format():
    assert ad.ones(2, 3).t().double().stride() == (1, 3)
    assert ad.ones(2, 3).t().to(ad.float64, memory_format=ad.contiguous_format).stride() == (2, 1)
    assert ad.ones(2, 3, 4, 5).to(memory_format=ad.channels_last).stride() == (60, 1, 15, 3)
    assert ad.ones(1, 3).expand(2, 3).double().stride() == (3, 1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.to("cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda x: x.cuda(), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda x: x.to("float64"), RuntimeError, "Invalid device string: 'float64'"),
        (lambda x: x.to(ad.float64, foo=1), TypeError, "to() received an invalid combination of arguments"),
        (lambda x: x.to(ad.float64, True, True, True), TypeError, "to() received an invalid combination of arguments"),
        (lambda x: x.type("foo"), ValueError, "invalid type: 'foo'"),
        (lambda x: ad.is_floating_point(3), TypeError, "is_floating_point(): argument 'input' (position 1) must be Tensor, not int"),
        (ad.is_nonzero, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    ],
)
def test_conversions_refuse(call, error, words):
    with pytest.raises(error) as caught:
        call(ad.ones(2))
    assert str(caught.value).startswith(words)


def test_questions_about_tensors():
    tensor = ad.ones(2, 3)
    assert ad.is_tensor(tensor)
    assert not ad.is_tensor(3)
    assert ad.is_floating_point(tensor)
    assert not ad.is_complex(tensor)
    assert ad.numel(tensor) == 6
    assert ad.result_type(ad.ones(2, dtype=ad.int32), 1.0) is ad.float32
    assert ad.can_cast(ad.int32, ad.float32)
    assert not ad.can_cast(ad.float32, ad.int32)
    assert ad.promote_types(ad.int32, ad.float16) is ad.float16


# ---- at random ----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_numbers():
    ad.manual_seed(3)
    first = [ad.rand(3), ad.randn(3), ad.randperm(9), ad.randint(100, (3,)), ad.ones(3).exponential_()]
    assert ad.initial_seed() == 3
    ad.manual_seed(3)
    again = [ad.rand(3), ad.randn(3), ad.randperm(9), ad.randint(100, (3,)), ad.ones(3).exponential_()]
    for a, b in zip(first, again, strict=True):
        assert a.tolist() == b.tolist()


def test_generators_are_streams_of_their_own():
    generator = ad.Generator().manual_seed(5)
    state = generator.get_state()
    assert state.dtype is ad.uint8
    before = ad.get_rng_state().tolist()
    first = ad.rand(3, generator=generator)
    assert ad.get_rng_state().tolist() == before
    generator.set_state(state)
    assert ad.rand(3, generator=generator).tolist() == first.tolist()
    assert isinstance(ad.default_generator, ad.Generator)
    ad.set_rng_state(state)
    assert ad.rand(3).tolist() == first.tolist()


def test_fork_rng_puts_the_generator_back():
    before = ad.get_rng_state().tolist()
    with pytest.raises(KeyError), ad.random.fork_rng():
        ad.rand(3)
        raise KeyError
    assert ad.get_rng_state().tolist() == before


def test_randint_takes_its_bounds_by_position_and_by_name():
    for tensor in (
        ad.randint(3, (50,)),
        ad.randint(0, 3, (50,)),
        ad.randint(high=3, size=(50,)),
        ad.randint(0, high=3, size=(50,)),
        ad.randint_like(ad.ones(50), 0, 3),
    ):
        assert set(tensor.tolist()) == {0, 1, 2}


FILLS = {
    "uniform_": (2, 3), "normal_": (1, 2), "log_normal_": (), "exponential_": (2,), "geometric_": (0.5,), "cauchy_": (), "random_": (5,),
    "bernoulli_": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize(("name", "args"), FILLS.items())
def test_fills_write_in_place(name, args):
    tensor = ad.full((40,), -7.0)
    assert getattr(tensor, name)(*args) is tensor
    assert tensor._version == 1
    assert -7 not in tensor.tolist()


@pytest.mark.parametrize(("name", "args"), FILLS.items())
def test_fills_have_gradient_zero_and_refuse_leaves(name, args):
    leaf = ad.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(leaf, name)(*args)
    assert leaf.tolist() == [1, 1, 1]
    filled = getattr(leaf * 2, name)(*args)
    assert filled.grad_fn.name().startswith("".join(part.capitalize() for part in name.split("_")))
    (gradient,) = ad.autograd.grad(filled.sum(), leaf, create_graph=True)
    assert gradient.tolist() == [0, 0, 0]
    with ad.no_grad():
        getattr(leaf, name)(*args)


def test_fills_take_the_argument_that_python_cannot_name():
    assert all(2 <= x < 3 for x in ad.empty(50).uniform_(**{"from": 2, "to": 3}).tolist())
    assert set(ad.empty(50).random_(**{"from": 2, "to": 4}).tolist()) == {2, 3}
    assert set(ad.empty(50).random_(to=2).tolist()) == {0, 1}
    assert ad.empty(50, dtype=ad.uint8).random_().max().item() > 127


def test_normal_of_tensors():
    mean = ad.tensor([[0.0], [100.0]], requires_grad=True)
    drawn = ad.normal(mean, ad.ones(3))
    assert drawn.shape == (2, 3)
    assert (drawn[1] > 50).all()
    assert drawn.grad_fn.name() == "NormalBackward3"
    (gradient,) = ad.autograd.grad(drawn.sum(), mean)
    assert gradient.tolist() == [[0], [0]]
    assert ad.normal(5.0, 0.0, (2,)).tolist() == [5, 5]
    std = ad.ones(3, requires_grad=True)
    (gradient,) = ad.autograd.grad(ad.normal(mean.detach().double(), std).sum(), std)
    assert gradient.dtype is ad.float32


def test_bernoulli_and_multinomial():
    p = ad.tensor([0.0, 1.0], requires_grad=True)
    drawn = ad.bernoulli(p)
    assert drawn.tolist() == [0, 1]
    assert drawn.grad_fn.name() == "BernoulliBackward0"
    assert ad.ones(3).bernoulli_(ad.tensor([0.0, 1.0, 0.0])).tolist() == [0, 1, 0]
    assert ad.multinomial(ad.tensor([0.0, 1.0, 0.0]), 1).tolist() == [1]
    with pytest.raises(RuntimeError, match="cannot sample n_sample > prob_dist"):
        ad.multinomial(ad.ones(2), 3)


# ---- the namespace ------------------------------------------------------------------------------------------------


def test_the_namespace_is_laid_out_as_pytorchs():
    assert ad.float is ad.float32
    assert ad.newaxis is None
    assert np.isnan(ad.nan)
    assert repr(ad.strided) == "torch.strided"
    assert ad.ones(1).layout is ad.strided
    assert ad.cuda.is_available() is False
    assert ad.cuda.device_count() == 0
    assert ad.backends.cudnn.is_available() is False
    assert ad.version.cuda is None
    assert ad.get_num_threads() >= 1
    assert {"nn", "zeros", "exp", "float32"} <= set(dir(ad))
    with pytest.raises(AttributeError, match="module 'adjoint' has no attribute 'exponential'"):
        _ = ad.exponential


def test_settings_without_a_choice_are_kept():
    ad.use_deterministic_algorithms(True)
    assert ad.are_deterministic_algorithms_enabled()
    ad.use_deterministic_algorithms(False)
    ad.set_float32_matmul_precision("high")
    assert ad.get_float32_matmul_precision() == "high"
    ad.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="low is not one of"):
        ad.set_float32_matmul_precision("low")
    assert ad.typename(ad.ones(1)) == "torch.FloatTensor"
    assert ad.typename(3) == "int"
    with pytest.warns(UserWarning, match=r"torch\.set_default_tensor_type\(\) is deprecated"):
        ad.set_default_tensor_type(ad.FloatTensor)


def test_inference_mode_makes_inference_tensors():
    with ad.inference_mode():
        assert ad.zeros(2).is_inference()
        assert ad.from_numpy(np.ones(2)).is_inference()
    assert not ad.zeros(2).is_inference()


def test_complex_and_polar_are_differentiable():
    real, imag = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, float("inf")], requires_grad=True)
    assert ad.complex(real, imag).tolist() == [1 + 3j, complex(2, float("inf"))]
    (ad.complex(real, imag).real * 5).sum().backward()
    assert real.grad.tolist() == [5, 5]
    size, angle = (ad.tensor([0.5, 2.0], dtype=ad.float64, requires_grad=True) for _ in range(2))
    assert ad.autograd.gradcheck(ad.polar, (size, angle))
    assert ad.autograd.gradgradcheck(ad.polar, (size, angle))


def test_making_tensors_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ad.tensor([float("nan"), 1e300]).to(ad.float16).to(ad.int8)
