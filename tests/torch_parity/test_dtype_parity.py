"""Element types, promotion, devices and sizes: every combination against PyTorch's answer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from adjoint import _dtype as dt
from adjoint._device import device
from adjoint._size import Size

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

NAMES = sorted({d.name for d in dt.PUBLIC.values()})
PAIRS = list(itertools.product(NAMES, NAMES))
NUMBERS = [True, 2, 2.5, 2j]
DEFAULTS = ["float16", "float32", "float64"]


@pytest.fixture
def default_dtype(request):
    dt.set_default_dtype(dt.PUBLIC[request.param])
    torch.set_default_dtype(getattr(torch, request.param))
    yield request.param
    dt.set_default_dtype(dt.float32)
    torch.set_default_dtype(torch.float32)


def outcome(function, *args) -> str:
    """The result as text, or the type and the opening words of the error."""
    try:
        result = str(function(*args))
    except Exception as error:
        opening = str(error).split(";")[0].split(":")[0].splitlines()[0].rstrip(".")
        return f"{type(error).__name__}: {opening}"
    return result.replace("torch.complex32", "torch.complex64")  # we have no complex32: the next wider type stands in


def our_result(*operands: Any) -> dt.dtype:
    return dt.from_numpy_dtype(dt.result_numpy_dtype(operands))


@pytest.mark.parametrize("name", sorted(dt.PUBLIC))
def test_dtype_attributes(name):
    ours, theirs = dt.PUBLIC[name], getattr(torch, name)
    assert repr(ours) == repr(theirs)
    for attribute in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert outcome(ours.to_real) == outcome(theirs.to_real)
    assert outcome(ours.to_complex) == outcome(theirs.to_complex)
    assert outcome(lambda: setattr(ours, "itemsize", 1)) == outcome(lambda: setattr(theirs, "itemsize", 1))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_counterpart(name):
    if name != "bfloat16":
        assert torch.from_numpy(np.zeros(1, dt.PUBLIC[name].numpy)).dtype is getattr(torch, name)


@pytest.mark.parametrize("bad", [np.str_, np.object_, np.longdouble, np.dtype("M8[s]"), np.dtype([("a", "f4")]), ">f4"])
def test_numpy_types_refused(bad):
    numpy_dtype: np.dtype[Any] = np.dtype(bad)
    with pytest.raises(Exception) as theirs:
        torch.from_numpy(np.zeros(1, numpy_dtype))
    with pytest.raises(theirs.type) as ours:
        dt.from_numpy_dtype(numpy_dtype)
    words = str(theirs.value).split(", and bool")[0].rstrip(".")
    assert str(ours.value).startswith(words)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_promote_types_and_can_cast(a, b):
    ours, theirs = (dt.PUBLIC[a], dt.PUBLIC[b]), (getattr(torch, a), getattr(torch, b))
    assert outcome(dt.promote_types, *ours) == outcome(torch.promote_types, *theirs)
    assert dt.can_cast(*ours) == torch.can_cast(*theirs)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("default_dtype", DEFAULTS, indirect=True)
@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("a_shape", [(), (1,)])
def test_result_dtype(default_dtype, a, a_shape):
    x_ours, x_theirs = np.zeros(a_shape, dt.PUBLIC[a].numpy), torch.zeros(a_shape, dtype=getattr(torch, a))
    for number in NUMBERS:
        expected = outcome(torch.result_type, x_theirs, number)
        assert outcome(our_result, x_ours, number) == outcome(our_result, number, x_ours) == expected, number
    for b, b_shape in itertools.product(NAMES, [(), (1,)]):
        y_ours, y_theirs = np.zeros(b_shape, dt.PUBLIC[b].numpy), torch.zeros(b_shape, dtype=getattr(torch, b))
        assert outcome(our_result, x_ours, y_ours) == outcome(torch.result_type, x_theirs, y_theirs), (b, b_shape)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("default_dtype", DEFAULTS, indirect=True)
def test_result_dtype_of_numbers(default_dtype):
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert outcome(our_result, a, b) == outcome(torch.result_type, a, b), (a, b)
        assert outcome(lambda x: dt.from_numpy_dtype(dt.infer_numpy_dtype(x)), a) == outcome(
            lambda x: torch.tensor(x).dtype, a
        )


@pytest.mark.parametrize("c", ["bool", "int16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("c_shape", [(), (1,)])
def test_result_dtype_of_three_operands(c, c_shape):
    """`addcmul` takes its dtype from three tensors."""
    names = ["bool", "uint8", "int32", "float32", "float64", "complex64"]
    z_ours, z_theirs = np.ones(c_shape, c), torch.ones(c_shape, dtype=getattr(torch, c))
    for (a, a_shape), (b, b_shape) in itertools.product(itertools.product(names, [(), (1,)]), repeat=2):
        if {a, b, c} == {"bool"}:
            continue  # addcmul is not defined on bool
        x_ours, x_theirs = np.ones(a_shape, a), torch.ones(a_shape, dtype=getattr(torch, a))
        y_ours, y_theirs = np.ones(b_shape, b), torch.ones(b_shape, dtype=getattr(torch, b))
        expected = torch.addcmul(z_theirs, x_theirs, y_theirs).dtype
        assert str(our_result(z_ours, x_ours, y_ours)) == str(expected), (a, a_shape, b, b_shape)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name):
    ours, theirs = dt.PUBLIC[name], getattr(torch, name)
    assert outcome(dt.finfo, ours) == outcome(torch.finfo, theirs)
    assert outcome(dt.iinfo, ours) == outcome(torch.iinfo, theirs)
    for our_info, their_info, attributes in (
        (dt.finfo, torch.finfo, ("bits", "dtype", "eps", "max", "min", "tiny", "smallest_normal", "resolution")),
        (dt.iinfo, torch.iinfo, ("bits", "dtype", "max", "min")),
    ):
        for attribute in attributes:
            assert outcome(lambda i, a=attribute: getattr(i(ours), a), our_info) == outcome(
                lambda i, a=attribute: getattr(i(theirs), a), their_info
            )


@pytest.mark.parametrize("bad", ["int32", "bool", "complex64"])
def test_default_dtype_refused(bad):
    with pytest.raises(TypeError) as theirs:
        torch.set_default_dtype(getattr(torch, bad))
    with pytest.raises(TypeError) as ours:
        dt.set_default_dtype(dt.PUBLIC[bad])
    assert str(ours.value).startswith(str(theirs.value))


@pytest.mark.filterwarnings("ignore:'mkldnn' is no longer used")
@pytest.mark.parametrize(
    "args",
    [
        *[(kind,) for kind in (
            "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla",
            "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone", "ort", "foo", "CPU", "", " cpu", "cpu:",
            "cpu:0", "cuda:1", "cuda:10", "cuda:-1", "cuda:01", "cuda:+1", "cuda:a", "cuda:1:2", ":0", "meta:0", "cpu ",
            "cuda:1\n", "cpu1", "cuda:٣", "a-b",
        )],
        ("cuda", 1), ("cuda", -1), ("cuda:1", 1), ("cpu", None), ("cpu", "0"), ("cpu", True), ("cpu", 1.0), ("foo", 0),
        (1,), (-1,), (), (1.0,), (None,), (True,),
    ],
)  # fmt: skip
def test_device(args):
    def opening(make):
        return outcome(lambda: repr(make(*args))).split(" - got")[0]

    assert opening(device) == opening(torch.device)
    try:
        theirs = torch.device(*args)
    except (RuntimeError, TypeError):
        return
    assert (str(device(*args)), device(*args).type, device(*args).index) == (str(theirs), theirs.type, theirs.index)


SIZE_EXPRESSIONS = [
    "Size()", "Size([1, 2])", "Size((1, 2))", "Size(range(3))", "Size(x for x in (1, 2))", "Size([1.0])", "Size(['a'])",
    "Size([None])", "Size([1, [2]])", "Size(3)", "Size(None)", "Size([True])", "Size([np.int64(2)])",
    "Size([np.array(3)])", "Size([-1])", "Size([1, 2]) + (3,)", "(3,) + Size([1, 2])", "Size([1, 2]) + Size([3])",
    "Size([1]) + (1.0,)", "(1.0,) + Size([1])", "Size([1]) + [1]", "Size([1]) + 1", "1 + Size([1])", "Size([1]) + ()",
    "Size([1, 2]) * 2", "2 * Size([1, 2])", "Size([1, 2]) * 0", "Size([1, 2]) * 1.5", "Size([1, 2, 3])[1:]",
    "Size([1, 2, 3])[::2]", "Size([1, 2, 3])[0]", "Size([1, 2, 3])[-1]", "Size([1])[1]", "Size([1, 2]) == (1, 2)",
    "Size([2, 3]).numel()", "Size().numel()", "Size([0, 3]).numel()", "hash(Size([1, 2])) == hash((1, 2))",
    "type(Size([1, 2])[1:]) is Size", "type((3,) + Size([1, 2])) is Size", "Size([1, 2]).index(2)", "len(Size([1, 2]))",
    "Size([1, 2]) * np.array([3, 4])", "Size([1, 2]) * np.int64(2)",
]  # fmt: skip


@pytest.mark.parametrize("expression", SIZE_EXPRESSIONS)
def test_size(expression):
    def evaluate(size_class):
        return repr(eval(expression, {"Size": size_class, "np": np}))

    ours, theirs = outcome(evaluate, Size), outcome(evaluate, torch.Size)
    assert ours.replace("'Size'", "'torch.Size'") == theirs
