"""Matrix products. `linear`, the hot op of training, is one op with one node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .._dtype import from_numpy_dtype, result_numpy_dtype
from .._errors import spelled
from .._quiet import mute, unmute
from .._serving import KINDS
from .._tensor import Tensor, wrap
from ._batching import behind_batch
from ._out import into
from ._precision import FLOAT32, is_half
from ._primitives import loops
from ._registry import MULTILINEAR, SAME, Array, composite, op
from ._rules import cast, sum_to

# ---- what the ops are made of -------------------------------------------------------------------------------------------------------


FLOAT64 = np.dtype("float64")
KERNELS: dict[np.dtype[Any], Callable[..., Array | None]] = {}  # compiled products, once one has been asked for


def product(a: Array, b: Array, bias: Array | None = None) -> Array:
    """The matrix product the fastest way there is, with a bias added to its rows, or of one number for each; half precision is computed in
    single.

    NumPy's warnings do not get out of it.
    """
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray:
        return np.matmul(a, b) if bias is None else np.matmul(a, b) + bias
    dtype = a.dtype
    if is_half(dtype):
        token = mute()
        try:
            widened = None if bias is None else cast(bias, FLOAT32)
            return cast(product(cast(a, FLOAT32), cast(b, FLOAT32), widened), dtype)
        finally:
            unmute(token)
    if a.ndim > 2 and b.ndim <= 2:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return product(rows, b, bias).reshape(*a.shape[:-1], *b.shape[1:])
    if a.ndim > 1 < b.ndim and a.shape[-1] == 1 and bias is None and (result := loops("outer").outer(a, b)) is not None:
        return result
    kernel = KERNELS.get(dtype) or kernel_for(dtype)
    result = kernel(a, b, bias) if kernel else None
    if result is None and kernel and a.ndim == 2 == b.ndim and len(a) == 1:
        result = one_row(a, b, bias)
    return multiplied_by_numpy(a, b, bias) if result is None else result


def one_row(a: Array, b: Array, bias: Array | None) -> Array | None:
    """The product of a row and a transposed matrix."""
    fits = b.dtype is a.dtype and len(b) == a.shape[1] and (bias is None or (bias.dtype is a.dtype and bias.shape == b.shape[1:]))
    if not fits or not b.flags.f_contiguous:
        return None
    if (result := loops("outer").times_vector(b.T, a[0])) is None:
        return None
    return (result if bias is None else np.add(result, bias, result))[None]


def multiplied_by_numpy(a: Array, b: Array, bias: Array | None) -> Array:
    token = mute()
    try:
        result = a.dot(b) if b.ndim <= 2 else np.matmul(a, b)  # half the overhead of np.matmul
        return result if bias is None else np.add(result, bias, result)
    finally:
        unmute(token)


def kernel_for(dtype: np.dtype[Any]) -> Callable[..., Array | None] | None:
    """The compiled product, where there is one for such numbers."""
    if dtype.char not in KINDS or not dtype.isnative:
        return None
    from .._kernels.products import function

    kernel = KERNELS[dtype] = function(KINDS[dtype.char])
    return kernel


def outer_product(column: Array, row: Array) -> Array:
    """Each number of one vector times each of another."""
    if column.__class__ is row.__class__ is np.ndarray and (result := loops("outer").outer(column[:, None], row[None])) is not None:
        return result
    return np.expand_dims(column, -1) * row


def transposed(x: Array) -> Array:
    """The last two dimensions exchanged."""
    return x.mT if x.__class__ is np.ndarray else np.swapaxes(x, -1, -2)


def as_rows(x: Array) -> Array:
    """All dimensions but the last folded into one."""
    return x if len(x.shape) == 2 else np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def sum_rows(g: Array, bias_shape: tuple[int, ...]) -> Array:
    """The gradient of a bias that was added to each row."""
    if g.__class__ is np.ndarray and g.ndim == 2 and bias_shape == g.shape[1:] and not is_half(g.dtype):
        return np.add.reduce(g, 0)
    return sum_to(g, bias_shape)


MULTIPLIED = "expected m1 and m2 to have the same dtype, but got: {} != {}"
ADDED = "mat1 and mat2 must have the same dtype, but got {0} and {1}"  # said where something is added to the product
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def plain_pair(a: Array, b: Array) -> bool:
    """Whether these are two arrays of the same of the dtypes that there are kernels for."""
    return a.__class__ is b.__class__ is np.ndarray and a.dtype is b.dtype and a.dtype.char in KINDS


def check_dtypes(first: str, a: Array, second: str, b: Array, words: str = MULTIPLIED, keep: str = "") -> None:
    """Refuse operands of different dtypes. `words` is said of their names: those of C++, or with "{0}" and "{1}" those of PyTorch. The
    narrower one is to be converted, unless that is the one to `keep`, a layer's weight."""
    if a.dtype != b.dtype:
        left, right = from_numpy_dtype(a.dtype), from_numpy_dtype(b.dtype)
        narrow, name = (left, first) if (left.category, left.itemsize) < (right.category, right.itemsize) else (right, second)
        if name == keep:
            narrow, name = (right, second) if narrow is left else (left, first)
        wide = right if narrow is left else left
        names = (C_NAMES[left.name], C_NAMES[right.name]) if "{}" in words else (left.scalar_name, right.scalar_name)
        from .._source import called, converted

        fix = converted(called(a if narrow is left else b, name), wide)
        raise RuntimeError(spelled(f"{words.format(*names)}\n  {first} is {left} and {second} is {right}\n  fix: {fix}"))
    if a.dtype.kind == "b":
        raise NotImplementedError(
            f"\"addmm_impl_cpu_\" not implemented for 'Bool'\n  fix: {first}.float() and {second}.float(), or .long() to count"
        )


def refuse_shapes(first: str, a: tuple[int, ...], second: str, b: tuple[int, ...]) -> NoReturn:
    """Two matrices that do not fit, and the transposition that would make them fit."""
    if a[1] == b[1]:
        fix = f"{first} @ {second}.T"
    elif a[0] == b[0]:
        fix = f"{first}.T @ {second}"
    elif a[0] == b[1]:
        fix = f"{second} @ {first}"
    else:
        fix = f"make the columns of {first} ({a[1]}) as many as the rows of {second} ({b[0]})"
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})\n"
        f"  {first} has {a[1]} columns and {second} has {b[0]} rows\n  fix: {fix}"
    )


def check_matrices(first: str, a: Array, second: str, b: Array, *words: str) -> None:
    for name, x in ((first, a), (second, b)):
        if len(x.shape) != 2:
            raise RuntimeError(spelled(
                f"{name} must be a matrix, got {len(x.shape)}-D tensor\n  fix: torch.matmul takes vectors and batches too"
            ))
    if a.shape[1] != b.shape[0]:
        refuse_shapes(first, a.shape, second, b.shape)
    if a.dtype != b.dtype or a.dtype.kind == "b":
        check_dtypes(first, a, second, b, *words)


def check_vector(matrix: Array, vec: Array) -> None:
    if len(matrix.shape) != 2 or len(vec.shape) != 1:
        raise RuntimeError(
            spelled(
                f"vector + matrix @ vector expected, got 1, {len(matrix.shape)}, {len(vec.shape)}\n  fix: torch.matmul takes any of them"
            )
        )
    rows, columns = matrix.shape
    if columns != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({vec.shape[0]}): "
            f"the matrix has {columns} columns and the vector {vec.shape[0]} elements"
        )
    if matrix.dtype != vec.dtype or matrix.dtype.kind == "b":
        check_dtypes("mat", matrix, "vec", vec, "addmv input tensors must have the same dtype, but got {1}, {0}, and {1}")


def check_batches(a: Array, b: Array) -> None:
    for name, x in (("batch1", a), ("batch2", b)):
        if len(x.shape) != 3:
            raise RuntimeError(spelled(
                f"{name} must be a 3D tensor, got {len(x.shape)}-D\n  fix: torch.matmul takes any number of dimensions"
            ))
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] "
            f"but got: [{b.shape[0]}, {b.shape[1]}]."
            + ("\n  fix: batch2.mT" if a.shape[0] == b.shape[0] and a.shape[2] == b.shape[2] else "")
        )
    if a.dtype is not b.dtype or a.dtype.kind == "b":
        check_batch_dtypes(a, b)


def check_batch_dtypes(a: Array, b: Array) -> None:
    if a.dtype != b.dtype:
        left, right = from_numpy_dtype(a.dtype), from_numpy_dtype(b.dtype)
        raise RuntimeError(f"expected scalar type {left.scalar_name} but found {right.scalar_name}\n  fix: b.to({left})")
    check_dtypes("a", a, "b", b)


def check_examples(name: str, a: Array, b: Array, ranks: tuple[int, int], batched: Sequence[bool] = (True, True)) -> None:
    """Refuse examples that have another number of dimensions than the op takes: the batch would hide it."""
    found = a.ndim - batched[0], b.ndim - batched[1]
    if found != ranks:
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {found[0]}and b has dim {found[1]}but expected them to have "
            f"dim {ranks[0]} and dim {ranks[1]}"
        )


def matrices_batch(input: Array, mat2: Array, batched: list[bool]) -> Array:
    check_examples("mm", input, mat2, (2, 2), batched)
    return matmul(input, mat2)


def batches_batch(input: Array, mat2: Array, batched: list[bool]) -> Array:
    check_examples("bmm", input, mat2, (3, 3), batched)
    return matmul(input, mat2)


# ---- products of two ----------------------------------------------------------------------------------------------------------------


@op(jvp=MULTILINEAR, warns=False, batch=matrices_batch,
    input=lambda g, mat2: product(g, transposed(mat2)),
    mat2=lambda g, input: product(transposed(input), g))  # fmt: skip
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices."""
    kernel = KERNELS.get(input.dtype)
    if kernel and input.ndim == 2 == mat2.ndim:
        result = kernel(input, mat2, None)
        if result is not None:
            return result
    check_matrices("self", input, "mat2", mat2)
    return product(input, mat2)


@op(jvp=MULTILINEAR, warns=False, batch=batches_batch,
    input=lambda g, mat2: product(g, transposed(mat2)),
    mat2=lambda g, input: product(transposed(input), g))  # fmt: skip
def bmm(input: Array, mat2: Array) -> Array:
    """The products of two batches of matrices of the same length."""
    if (kernel := KERNELS.get(input.dtype)) and input.ndim == 3 == mat2.ndim and len(input) == len(mat2):
        result = kernel(input, mat2, None)
        if result is not None:
            return result
    check_batches(input, mat2)
    return product(input, mat2)


def mv_batch(input: Array, vec: Array, batched: list[bool]) -> Array:
    check_examples("mv", input, vec, (2, 1), batched)
    if not batched[1]:
        return matmul(input, vec)
    return matmul(input, vec.unsqueeze(-1)).squeeze(-1) if batched[0] else matmul(vec, transposed(input))  # one product for all examples


@op(jvp=MULTILINEAR, warns=False, batch=mv_batch,
    input=lambda g, vec: outer_product(g, vec),
    vec=lambda g, input: product(transposed(input), g))  # fmt: skip
def mv(input: Array, vec: Array) -> Array:
    """The product of a matrix and a vector."""
    if plain_pair(input, vec) and input.ndim == 2 and input.shape[1:] == vec.shape:
        return input.dot(vec)
    check_vector(input, vec)
    return product(input, vec)


def dot_batch(input: Array, tensor: Array) -> Array:
    if input.ndim != 2 or tensor.ndim != 2:
        raise RuntimeError("Got wrong shapes for dot")
    return matmul(input.unsqueeze(-2), tensor.unsqueeze(-1)).squeeze(-1).squeeze(-1)


@op(jvp=MULTILINEAR, warns=False, same="result dtype {given} does not match input dtype {wanted}",
    input=lambda g, tensor: g * tensor, tensor=lambda g, input: g * input, batch=dot_batch)  # fmt: skip
def dot(input: Array, tensor: Array) -> Array:
    """The scalar product of two vectors."""
    if plain_pair(input, tensor) and input.ndim == 1 and input.shape == tensor.shape:
        return input.dot(tensor)
    if len(input.shape) != 1 or len(tensor.shape) != 1:
        raise RuntimeError(
            spelled(
                f"1D tensors expected, but got {len(input.shape)}D and {len(tensor.shape)}D tensors\n  fix: torch.matmul, or (a * b).sum()"
            )
        )
    if input.dtype != tensor.dtype:
        names = from_numpy_dtype(input.dtype).scalar_name, from_numpy_dtype(tensor.dtype).scalar_name
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {names[0]} and {names[1]}"
            f"\n  fix: b.to({from_numpy_dtype(input.dtype)})"
        )
    if input.dtype.kind == "b":
        raise NotImplementedError("\"dot\" not implemented for 'Bool'\n  fix: (a & b).sum() counts")
    if input.shape != tensor.shape:
        m, n = input.shape[0], tensor.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{m}] and src [{n}] to have the same number of elements, "
            f"but got {m} and {n} elements respectively"
        )
    return product(input, tensor)


def multiplied_batches(input: Array, other: Array, batched: list[bool]) -> Array:
    ndim = max(input.ndim - batched[0], other.ndim - batched[1])
    return matmul(*(behind_batch(x, ndim + 1) if is_batched else x for x, is_batched in zip((input, other), batched, strict=True)))


def batched_other(g: Array, input: Array, other_shape: tuple[int, ...]) -> Array:
    if len(other_shape) == 2:
        return product(transposed(as_rows(input)), as_rows(g))
    return sum_to(product(transposed(input), g), other_shape)


@op(nodes="UnsafeViewBackward0", method=False, function=False, jvp=MULTILINEAR, warns=False, batch=multiplied_batches,
    input=lambda g, other, input_shape: sum_to(product(g, transposed(other)), input_shape),
    other=batched_other)  # fmt: skip
def matmul_batched(input: Array, other: Array) -> Array:
    """Products of matrices in the last two dimensions; those before them are broadcast."""
    a, b = input.shape, other.shape
    if a[-1] != b[-2]:
        if len(a) == len(b) and a[:-2] == b[:-2]:
            swap = "\n  fix: a @ b.mT" if a[-1] == b[-1] else ""
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{math.prod(a[:-2])}, {a[-1]}] "
                f"but got: [{math.prod(b[:-2])}, {b[-2]}].{swap}"
            )
        refuse_shapes("mat1", (math.prod(a[:-1]), a[-1]), "mat2", b[-2:])
    for i in range(1, min(len(a), len(b)) - 1):
        if a[-2 - i] != b[-2 - i] and a[-2 - i] != 1 and b[-2 - i] != 1:
            raise RuntimeError(
                f"The size of tensor a ({a[-2 - i]}) must match the size of tensor b ({b[-2 - i]}) at non-singleton dimension "
                f"{max(len(a), len(b)) - 2 - i}: the batch dimensions are {list(a[:-2])} and {list(b[:-2])}"
            )
    check_batch_dtypes(input, other)
    return product(input, other)


ARRAYS = (Tensor, np.ndarray)


def dims_of(name: str, x: Array) -> int:
    if not isinstance(x, ARRAYS):
        raise TypeError(f"matmul(): argument '{name}' (position {1 if name == 'input' else 2}) must be Tensor, not {type(x).__name__}")
    return (x._data if isinstance(x, Tensor) else x).ndim


def promoted(*operands: Array) -> list[Tensor]:
    """A tensor beside NumPy's arrays: of these nobody chose the dtype, so it is promoted as in other arithmetic with them."""
    dtype = from_numpy_dtype(result_numpy_dtype([x._data if isinstance(x, Tensor) else x for x in operands]))
    return [(x if isinstance(x, Tensor) else wrap(x)).to(dtype) for x in operands]


@composite(direct=True)
def matmul(input: Array, other: Array, *, out: Any = None) -> Array:
    """The matrix product: of vectors, matrices and batches of them, broadcasting the batches."""
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        left, right = input._data.ndim, other._data.ndim
    else:
        left, right = dims_of("input", input), dims_of("other", other)
        input, other = promoted(input, other)
    if left == 2 and right == 2:
        return mm(input, other) if out is None else mm(input, other, out=out)
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D\n  fix: a * b multiplies by a number"
        )
    if left == 1 and right == 1:
        return dot(input, other, out=out)
    if left == 2 and right == 1:
        return mv(input, other, out=out)
    if left == 1 and right == 2:  # a row
        return into(out, mm(input[None], other)[0])
    result = matmul_batched(input[None] if left == 1 else input, other[:, None] if right == 1 else other)
    result = result[..., 0] if right == 1 else result[..., 0, :] if left == 1 else result
    return into(out, result, SAME)


@composite(method=False, function=False, operators=("__matmul__",))
def matmul_operator(input: Array, other: Array) -> Array:
    return matmul(input, other) if isinstance(other, ARRAYS) else NotImplemented


@composite(method=False, function=False, operators=("__rmatmul__",))
def reflected_matmul_operator(input: Array, other: Array) -> Array:
    return matmul(other, input) if isinstance(other, ARRAYS) else NotImplemented


# ---- linear -------------------------------------------------------------------------------------------------------------------------


def linear_input(g: Array, weight: Array) -> Array:
    return product(g, weight) if len(weight.shape) == 2 else np.expand_dims(g, -1) * weight


def linear_weight(g: Array, input: Array, weight_shape: tuple[int, ...]) -> Array:
    if len(weight_shape) == 1:
        return product(np.reshape(g, (-1,)), as_rows(input))
    return product(transposed(as_rows(g)), as_rows(input))


def linear_jvp(input: Array, weight: Array, out: Array, input_t: Array, weight_t: Array, bias_t: Array) -> Array:
    tangent = out.new_zeros(out.shape) if bias_t is None else np.broadcast_to(bias_t, out.shape)
    if input_t is not None:
        tangent = tangent + linear(input_t, weight)
    return tangent if weight_t is None else tangent + linear(input, weight_t)


def linear_batch(input: Array, weight: Array, bias: Array | None, batched: list[bool]) -> Array:
    if not batched[1] and not batched[2]:
        return linear(input, weight, bias)
    if weight.ndim == batched[1] + 1:  # one output without a dimension of its own
        return linear_batch(input, weight.unsqueeze(-2), None if bias is None else bias.unsqueeze(-1), batched).squeeze(-1)
    rows = input if batched[0] else input.unsqueeze(0)
    single = rows.ndim == 2  # an example is one row
    result = matmul(rows.unsqueeze(1) if single else rows.reshape(rows.shape[0], -1, rows.shape[-1]), transposed(weight))
    result = result.squeeze(1) if single else result.reshape(result.shape[0], *rows.shape[1:-1], result.shape[-1])
    if bias is None:
        return result
    return result + (behind_batch(bias, result.ndim) if batched[2] else bias)


@op(method=False, function=False, nodes={"TTT": "AddmmBackward0", "default": "MmBackward0"}, edges=(2, 0, 1), warns=False,
    holomorphic=True, jvp=linear_jvp, batch=linear_batch, input=linear_input, weight=linear_weight, bias=sum_rows)  # fmt: skip
def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input @ weight.T + bias`."""
    if (kernel := KERNELS.get(input.dtype)) and input.ndim == 2 == weight.ndim:
        result = kernel(input, turned := weight.T, bias)
        if result is None and len(input) == 1:
            result = one_row(input, turned, bias)
        if result is not None:
            return result
    if input.shape[-1:] != weight.shape[-1:] or weight.dtype != input.dtype or len(weight.shape) > 2 or input.dtype.kind == "b":
        refuse_linear(input, weight, bias)
    if bias is not None and (bias.shape != weight.shape[:-1] or bias.dtype != input.dtype):
        check_bias((*input.shape[:-1], *weight.shape[:-1]), bias, input)
    return product(input, weight.T, bias)


def refuse_linear(input: Array, weight: Array, bias: Array | None) -> NoReturn:
    if len(weight.shape) > 2 or not weight.shape or not input.shape:
        dims = f"{len(input.shape)}D and {len(weight.shape)}D"
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {dims}; a weight has 1 or 2 dimensions")
    if input.shape[-1] != weight.shape[-1]:
        rows, columns = math.prod(input.shape[:-1]), input.shape[-1]
        takes = weight.shape[-1]
        outputs = weight.shape[0] if len(weight.shape) == 2 else 1
        from .._source import called
        from ..nn._owners import layer_here

        what, fits = layer_here() or "the layer", f"Linear(in_features={columns}, out_features={outputs})"
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and {takes}x{outputs})\n"
            f"  the last dimension of the input {list(input.shape)} is {columns}, but {what} takes {takes} features\n"
            f"  fix: {rows_of_features(called(input, 'input'), input.shape, takes) or fits}"
        )
    check_dtypes("input", input, "weight", weight, MULTIPLIED if bias is None else ADDED, keep="weight")
    raise AssertionError("unreachable: nothing is wrong with these operands")


def rows_of_features(name: str, shape: Sequence[int], features: int) -> str:
    """What makes rows of so many numbers of an input: images, for example, that were not flattened; empty if nothing does."""
    dims = [dim for dim in range(1, len(shape) - 1) if math.prod(shape[dim:]) == features]
    return f"{name}.flatten({dims[0]}), which has {features} features in each row" if dims else ""


def check_bias(shape: tuple[int, ...], bias: Array, input: Array) -> None:
    if bias.dtype != input.dtype:
        names = from_numpy_dtype(bias.dtype).scalar_name, from_numpy_dtype(input.dtype).scalar_name
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}\n  fix: bias.to({from_numpy_dtype(input.dtype)})"
        )
    check_expands(bias.shape, shape)


def check_expands(small: tuple[int, ...], large: tuple[int, ...]) -> None:
    """Refuse an added operand that does not broadcast to the product's shape."""
    for i in range(1, len(small) + 1):
        if i > len(large) or small[-i] not in (1, large[-i]):
            size = large[-i] if i <= len(large) else 1
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({small[-i]}) at non-singleton dimension "
                f"{max(len(large) - i, 0)}.  Target sizes: {list(large)}.  Tensor sizes: {list(small)}"
            )
