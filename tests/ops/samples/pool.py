"""Samples of pooling, through the functions with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

SIZES = (7, 6, 5)
Generator = Callable[[Make], Iterator[Sample]]


def functional(name: str) -> Callable[[Generator], Generator]:
    return samples(name, ours=f"nn.functional.{name}", torch=f"nn.functional.{name}")


def max_pool(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size = SIZES[:dims]
        yield Sample(make.distinct(2, 3, *size), 2)
        yield Sample(make.distinct(2, 3, *size), 3, 2, 1, return_indices=True)
        yield Sample(make.distinct(3, *size), 2, stride=1, dilation=2, return_indices=True)
        yield Sample(make.distinct(1, 2, *size), (3, 2, 2)[:dims], (2, 3, 1)[:dims], (1, 0, 1)[:dims], ceil_mode=True, return_indices=True)
        yield Sample(make.distinct(1, 1, *size), 4, 3, 2, ceil_mode=True)
        special = make(1, 1, *size)
        special.reshape(-1)[::3] = -np.inf
        special.reshape(-1)[::5] = np.nan
        yield Sample(special, 2, return_indices=True).no_gradient()
        yield Sample(np.full((1, 1, *size), -np.inf), 3, 2, 1, return_indices=True).no_gradient()
        yield Sample(np.ones((1, 1, *size)), 3, 1, return_indices=True).only_values()
        if dims > 1:
            yield Sample(make(1, 2, *size, dtype="int64"), 2, return_indices=True)
            yield Sample(make(0, 2, *size), 2).only_values()
        yield Sample(make(1, 2, *size, dtype="float16"), 2).only_values()

    return generate


def avg_pool(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size = SIZES[:dims]
        yield Sample(make(2, 3, *size), 2)
        yield Sample(make(2, 3, *size), 3, 2, 1)
        yield Sample(make(3, *size), 3, 2, 1, count_include_pad=False)
        yield Sample(make(1, 2, *size), (3, 2, 2)[:dims], (2, 3, 1)[:dims], (1, 0, 1)[:dims], ceil_mode=True)
        yield Sample(make(1, 2, *size), 4, 3, 2, ceil_mode=True, count_include_pad=False)
        if dims > 1:
            yield Sample(make(1, 2, *size), 3, 1, 1, divisor_override=2)
        infinite = make(1, 1, *size)
        infinite.reshape(-1)[3] = np.inf
        yield Sample(infinite, 2).only_values()

    return generate


def adaptive(dims: int, indices: bool) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size, options = SIZES[:dims], {"return_indices": True} if indices else {}
        values = make.distinct if indices else make
        for wanted in (1, 2, 3, 9):
            yield Sample(values(2, 3, *size), wanted, **options)
        yield Sample(values(3, *size), (3, 6, 2)[:dims] if dims > 1 else 4, **options)
        if dims > 1:
            yield Sample(values(1, 2, *size), (None, 3, 1)[:dims], **options)

    return generate


def norms(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size = SIZES[:dims]
        yield Sample(make(2, 3, *size, low=0.2), 2, 2)
        yield Sample(make(2, 3, *size, low=0.2), 3.0, 3, stride=2, ceil_mode=True)
        yield Sample(make(3, *size, low=0.2), 1, 2, stride=1)

    return generate


def put_back(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        shape = (2, 3, *[2] * dims)
        volume = 4**dims
        index = np.stack([make.random.permutation(volume)[: 2**dims] for _ in range(6)]).reshape(shape)
        yield Sample(make(*shape), index, 2)
        yield Sample(make(*shape[1:]), index[0], 2, stride=2)
        yield Sample(make(*shape), index, 2, output_size=[5] * dims)
        yield Sample(make(*shape), index, 2, output_size=[2, 3] + [4] * dims)

    return generate


for _dims in (1, 2, 3):
    functional(f"max_pool{_dims}d")(max_pool(_dims))
    functional(f"avg_pool{_dims}d")(avg_pool(_dims))
    functional(f"adaptive_avg_pool{_dims}d")(adaptive(_dims, False))
    functional(f"adaptive_max_pool{_dims}d")(adaptive(_dims, True))
    functional(f"lp_pool{_dims}d")(norms(_dims))
    functional(f"max_unpool{_dims}d")(put_back(_dims))


@error_samples("max_pool2d")
def bad_max_pool2d(make: Make) -> Iterator[ErrorSample]:
    x = make(1, 1, 4, 4)
    error = RuntimeError
    yield ErrorSample(error, "stride should not be zero", x, 2, 0)
    yield ErrorSample(error, "kernel size should be greater than zero, but got kH: -1 kW: -1", x, -1)
    yield ErrorSample(error, "max_pool2d: kernel_size must either be a single int, or a tuple of two ints", x, (1, 2, 3))
    yield ErrorSample(error, "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2", x, 2, padding=2)
    yield ErrorSample(error, "pad must be non-negative, but got pad: -1", x, 2, padding=-1)
    yield ErrorSample(error, "dilation should be greater than zero, but got dilationH: 0 dilationW: 0", x, 2, dilation=0)
    yield ErrorSample(error, r"Given input size: \(1x4x4\). Calculated output size: \(1x0x0\). Output size is too small", x, 5)
    yield ErrorSample(error, r"non-empty 3D or 4D \(batch mode\) tensor expected for input", make(4, 4), 2)
    yield ErrorSample(error, "with optional 0 dim batch size for input, but got", make(1, 1, 0, 4), 2)
    yield ErrorSample(NotImplementedError, "\"max_pool2d\" not implemented for 'Bool'", make(1, 1, 4, 4, dtype="bool"), 2)


@error_samples("max_pool1d")
def bad_max_pool1d(make: Make) -> Iterator[ErrorSample]:
    # PyTorch words these differently when a gradient is wanted.
    x = make(1, 1, 4)
    error = RuntimeError
    yield ErrorSample(error, r"max_pool1d\(\) kernel_size must be greater than zero, but got 0", x, 0)
    yield ErrorSample(error, r"max_pool1d\(\) stride must be greater than zero, but got 0", x, 2, 0)
    yield ErrorSample(error, r"max_pool1d\(\) padding should be at most half of kernel size, but got padding=2", x, 2, padding=2)
    yield ErrorSample(error, r"max_pool1d\(\) padding must be non-negative, but got -1", x, 2, padding=-1)
    yield ErrorSample(error, r"max_pool1d\(\) Invalid computed output size: 0", x, 5)
    yield ErrorSample(error, r"max_pool1d\(\) kernel_size must be an int, list of ints or tuple of ints of size 1", x, (2, 2))
    yield ErrorSample(error, r"max_pool1d: Expected 2D or 3D \(batch mode\) tensor", make(4), 2)
    yield ErrorSample(error, r"max_pool1d: Expected 2D or 3D \(batch mode\) tensor", make(2, 3, 0), 1)
    yield ErrorSample(error, "pad must be non-negative, but got pad: -1", x, 2, padding=-1, return_indices=True)
    yield ErrorSample(error, "pad should be at most half of effective kernel size", x, 2, padding=2, return_indices=True)


@error_samples("avg_pool2d")
def bad_avg_pool2d(make: Make) -> Iterator[ErrorSample]:
    x = make(1, 1, 4, 4)
    yield ErrorSample(RuntimeError, "divisor must be not zero", x, 2, divisor_override=0)
    yield ErrorSample(RuntimeError, "pad should be at most half of effective kernel size", x, 2, padding=2)
    yield ErrorSample(NotImplementedError, "\"avg_pool2d\" not implemented for 'Int'", make(1, 1, 4, 4, dtype="int32"), 2)


@error_samples("adaptive_avg_pool2d")
def bad_adaptive_avg_pool2d(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "elements of output_size must be greater than or equal to 0 but received", make(1, 1, 4, 4), -1)
    yield ErrorSample(RuntimeError, r"adaptive_avg_pool2d\(\): Expected 3D or 4D tensor, but got \[4, 4\]", make(4, 4), 2)
    yield ErrorSample(RuntimeError, "Expected input to have non-zero size for non-batch dimensions", make(1, 1, 0, 4), 2)
    yield ErrorSample(ValueError, "Input dimension should be at least 3", make(4, 4), (2, 2))


@error_samples("adaptive_max_pool2d")
def bad_adaptive_max_pool2d(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"adaptive_max_pool2d\(\): Expected 3D or 4D tensor, but got: \[4, 4\]", make(4, 4), 2)
    yield ErrorSample(NotImplementedError, "\"adaptive_max_pool2d\" not implemented for 'Long'", make(1, 1, 4, 4, dtype="int64"), 2)
    yield ErrorSample(ValueError, "Input dimension should be at least 3", make(4, 4), (2, 2))
    yield ErrorSample(RuntimeError, "Trying to create tensor with negative dimension -2", make(1, 1, 4, 4), (3, -2))


@error_samples("max_unpool2d")
def bad_max_unpool2d(make: Make) -> Iterator[ErrorSample]:
    x, index = make(1, 1, 4, 4), np.zeros((1, 1, 4, 4), "int64")
    yield ErrorSample(RuntimeError, "Input to max_unpooling2d should be a 3d or 4d Tensor", make(4, 4), np.zeros((4, 4), "int64"), 2)
    yield ErrorSample(RuntimeError, "Expected shape of indices to be same as that of the input tensor", x, index[..., :2], 2)
    yield ErrorSample(RuntimeError, "elements in indices should be type int64 but got: Int", x, index.astype("int32"), 2)
    yield ErrorSample(RuntimeError, r"Found an invalid max index: 99 \(output volumes are of size 8x8\)", x, index + 99, 2)
    yield ErrorSample(ValueError, r'invalid output_size "\(20, 20\)" \(dim 0 must be between 6 and 10\)', x, index, 2, output_size=(20, 20))
    yield ErrorSample(ValueError, "output_size should be a sequence containing 2 or 4 elements", x, index, 2, output_size=(8,))
