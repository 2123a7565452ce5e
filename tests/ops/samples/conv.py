"""Samples of the convolutions, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

SIZES = (6, 5, 4)
KERNEL = (3, 2, 2)
Generator = Callable[[Make], Iterator[Sample]]


def functional(name: str) -> Callable[[Generator], Generator]:
    return samples(name, ours=f"nn.functional.{name}", torch=f"nn.functional.{name}")


def convolutions(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size, kernel = SIZES[:dims], KERNEL[:dims]
        yield Sample(make(2, 4, *size), make(6, 4, *kernel), make(6))
        yield Sample(make(2, 4, *size), make(6, 4, *kernel), stride=2, padding=1)
        yield Sample(make(2, 4, *size), make(6, 2, *kernel), make(6), padding=(2, 1, 0)[:dims], dilation=2, groups=2)
        yield Sample(make(4, *size), make(3, 4, *kernel), make(3), stride=(3, 1, 2)[:dims])
        yield Sample(make(1, 3, *size), make(3, 1, *kernel), groups=3, padding=1)
        yield Sample(make(1, 2, *size), make(3, 2, *[3] * dims), padding="same", dilation=1)
        yield Sample(make(1, 2, *size), make(3, 2, *[3] * dims), padding="same", dilation=2 if dims == 1 else 1)
        yield Sample(make(2, 2, *size), make(3, 2, *[1] * dims), make(3), padding="valid")
        yield Sample(make(0, 2, *size), make(3, 2, *kernel)).only_values()
        yield Sample(make(1, 2, *size, dtype="int64"), make(3, 2, *kernel, dtype="int64"))
        yield Sample(make(1, 2, *size, dtype="complex128"), make(3, 2, *kernel, dtype="complex128"))

    return generate


def transposed(dims: int) -> Generator:
    def generate(make: Make) -> Iterator[Sample]:
        size, kernel = tuple(n - 2 for n in SIZES[:dims]), KERNEL[:dims]
        yield Sample(make(2, 4, *size), make(4, 3, *kernel), make(3))
        yield Sample(make(2, 4, *size), make(4, 3, *kernel), stride=2, padding=1, output_padding=1)
        yield Sample(make(2, 4, *size), make(4, 2, *kernel), make(4), stride=(3, 1, 2)[:dims], groups=2)
        yield Sample(make(2, 4, *size), make(4, 3, *kernel), make(3), dilation=2, output_padding=1)
        yield Sample(make(4, *size), make(4, 3, *kernel), padding=(1, 0, 1)[:dims])
        yield Sample(make(0, 2, *size), make(2, 3, *kernel)).only_values()

    return generate


for _dims in (1, 2, 3):
    functional(f"conv{_dims}d")(convolutions(_dims))
    functional(f"conv_transpose{_dims}d")(transposed(_dims))


@functional("conv_tbc")
def conv_tbc(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, 2, 3), make(2, 3, 4), make(4))
    yield Sample(make(5, 2, 3), make(3, 3, 4), make(4), pad=1)


@error_samples("conv2d")
def bad_convolutions(make: Make) -> Iterator[ErrorSample]:
    x, w = make(1, 3, 5, 5), make(2, 3, 3, 3)
    error = RuntimeError
    yield ErrorSample(error, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: \[5, 5\]", make(5, 5), w)
    yield ErrorSample(
        error, r"Given groups=1, weight of size \[2, 3, 3, 3\], expected input\[1, 4, 5, 5\] to have 3 channels", make(1, 4, 5, 5), w
    )
    yield ErrorSample(error, "expected weight to be divisible by 2 at dimension 0", make(1, 6, 5, 5), make(3, 3, 3, 3), groups=2)
    yield ErrorSample(error, "expected bias to be 1-dimensional with 2 elements, but got bias of size", x, w, make(3))
    yield ErrorSample(
        error, r"Calculated padded input size per channel: \(2 x 5\). Kernel size: \(3 x 3\). Kernel size can't", make(1, 3, 2, 5), w
    )
    yield ErrorSample(error, "weight should have at least three dimensions", x, make(3, 3))
    yield ErrorSample(error, "Expected 3-dimensional input for 3-dimensional weight", x, make(2, 3, 3), padding="same")
    yield ErrorSample(error, "non-positive stride is not supported", x, w, stride=0)
    yield ErrorSample(error, "negative padding is not supported", x, w, padding=-1)
    yield ErrorSample(error, "dilation should be greater than zero", x, w, dilation=0)
    yield ErrorSample(error, "non-positive groups is not supported", x, w, groups=0)
    yield ErrorSample(error, "expected stride to be a single integer value or a list of 2 values", x, w, stride=(1, 2, 3))
    yield ErrorSample(error, "padding='same' is not supported for strided convolutions", x, w, stride=2, padding="same")
    yield ErrorSample(error, "Invalid padding string: 'full'", x, w, padding="full")
    yield ErrorSample(error, "expected scalar type Double but found Float", x, make(2, 3, 3, 3, dtype="float32"))
    yield ErrorSample(error, r"Input type \(double\) and bias type \(float\) should be the same", x, w, make(2, dtype="float32"))
    yield ErrorSample(error, "expected stride to be a single integer value or a list of 1 values", x, make(2, 3, 3))
    yield ErrorSample(error, "kernel size should be greater than zero", x, make(2, 3, 0, 3))
    yield ErrorSample(TypeError, r"conv2d\(\) received an invalid combination of arguments", x, w, stride=1.5)
    yield ErrorSample(TypeError, r"conv2d\(\) received an invalid combination of arguments - got \(list", [1], w)
    yield ErrorSample(NotImplementedError, "not implemented for 'Bool'", make(1, 3, 5, 5, dtype="bool"), make(2, 3, 3, 3, dtype="bool"))


@error_samples("conv_transpose2d")
def bad_transposed_convolutions(make: Make) -> Iterator[ErrorSample]:
    x, w = make(1, 3, 5, 5), make(3, 2, 3, 3)
    error = RuntimeError
    yield ErrorSample(error, r"Given transposed=1, weight of size \[3, 2, 3, 3\], expected input\[1, 4, 5, 5\]", make(1, 4, 5, 5), w)
    yield ErrorSample(error, "Given transposed=1, weight of size .*, expected bias to be 1-dimensional with 2 elements", x, w, make(3))
    yield ErrorSample(error, "output padding must be smaller than either stride or dilation, but got output_padding_height: 1", x, w,
                      output_padding=1)  # fmt: skip
    yield ErrorSample(error, "negative output_padding is not supported", x, w, output_padding=-1)
    yield ErrorSample(error, r"Given input size per channel: \(1 x 1\). Calculated output size per channel: \(-3 x -3\)", make(1, 3, 1, 1),
                      make(3, 2, 1, 1), padding=2)  # fmt: skip
    yield ErrorSample(TypeError, "argument 'padding' must be tuple of ints, not str", x, w, padding="same")
