"""Samples of Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator

import adjoint.fft  # noqa: F401  (its ops are registered when it is first used)
from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples


def family(kind: str, names: tuple[str, ...]) -> None:
    """One row for each function of `fft`, with inputs of its kind."""
    for name in names:
        dtypes = ("float64",) if kind == "real" else ("complex128", "float64")
        _rows(name, dtypes)


def _rows(name: str, dtypes: tuple[str, ...]) -> None:
    several = name.endswith(("n", "2"))

    @samples(f"fft_{name}", ours=f"fft.{name}", torch=f"fft.{name}")
    def transforms(make: Make) -> Iterator[Sample]:
        for dtype in dtypes:
            yield Sample(make(3, 4, dtype=dtype))
            if several:
                yield Sample(make(3, 4, dtype=dtype), s=(4, 3))
                yield Sample(make(3, 4, 5, dtype=dtype), dim=(2, 0), norm="ortho")
                yield Sample(make(3, 4, 2, dtype=dtype), (2, 4), (0, 1), "forward")
            else:
                yield Sample(make(4, dtype=dtype), 5, norm="backward")
                yield Sample(make(5, 3, dtype=dtype), 4, 0, "ortho")
                yield Sample(make(5, 3, dtype=dtype), n=5, dim=-2, norm="forward")
        if name[0] not in "ir" or name == "rfft":
            yield Sample(make(3, 4, dtype="int64"))

    @error_samples(f"fft_{name}")
    def mistakes(make: Make) -> Iterator[ErrorSample]:
        yield ErrorSample(RuntimeError, 'Invalid normalization mode: "x"', make(3, 4), norm="x")
        yield ErrorSample(RuntimeError, "Unsupported dtype Half", make(3, 4, dtype="float16"))
        if several:
            yield ErrorSample(RuntimeError, "FFT dims must be unique", make(3, 4), dim=(0, 0))
            yield ErrorSample(RuntimeError, "When given, dim and shape arguments must have the same length", make(3, 4), (2,), (0, 1))
        else:
            yield ErrorSample(RuntimeError, r"Invalid number of data points \(0\) specified", make(3), 0)
            yield ErrorSample(IndexError, "Dimension out of range", make(3), dim=1)
        if dtypes == ("float64",):
            yield ErrorSample(RuntimeError, "(expects a real|floating-point).* ComplexDouble", make(3, 4, dtype="complex128"))


family("complex", ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "hfft", "irfft2", "hfft2", "irfftn", "hfftn"))
family("real", ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"))


@samples("fft_fftshift", ours="fft.fftshift", torch="fft.fftshift")
@samples("fft_ifftshift", ours="fft.ifftshift", torch="fft.ifftshift")
def shifts(make: Make) -> Iterator[Sample]:
    yield Sample(make(5))
    yield Sample(make(4, 5))
    yield Sample(make(4, 5), 1)
    yield Sample(make(4, 5, 3), dim=(0, -1))


@samples("fft_c2c", torch="_fft_c2c")
def complex_transforms(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="complex128"), (0, 1), 0.5, False).not_in_torch()  # PyTorch's has a code for the scale
    yield Sample(make(3, 4, dtype="complex128"), (1,), 1.0, True).not_in_torch()


@samples("fft_r2c", torch="_fft_r2c")
def halves(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 0.5).not_in_torch()
    yield Sample(make(5, 2), 0, 1.0).not_in_torch()


@samples("fft_c2r", torch="_fft_c2r")
def from_halves(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="complex128"), 1, 0.5, 6).not_in_torch()
    yield Sample(make(3, 2, dtype="complex128"), 0, 1.0, 5).not_in_torch()
