"""Samples of interpolation, padding, blocks, grids and pixels: more cases than the ops behind them have in `nn.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

Generator = Callable[[Make], Iterator[Sample]]


def functional(name: str) -> Callable[[Generator], Generator]:
    return samples(name, ours=f"nn.functional.{name}", torch=f"nn.functional.{name}")


@functional("interpolate")
def interpolations(make: Make) -> Iterator[Sample]:
    sizes: list[dict[str, Any]] = [
        {"size": 9}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6},
        {"scale_factor": 1.7, "recompute_scale_factor": True},
    ]  # fmt: skip
    for dims, modes in ((1, ("nearest", "linear", "area")), (2, ("nearest-exact", "bilinear", "bicubic", "area")), (3, ("trilinear",))):
        for mode in modes:
            for how in sizes:
                yield Sample(make(1, 2, *(5, 4, 3)[:dims]), mode=mode, **how)
                if mode not in ("nearest", "nearest-exact", "area"):
                    yield Sample(make(1, 2, *(5, 4, 3)[:dims]), mode=mode, align_corners=True, **how)
    for mode in ("bilinear", "bicubic", "lanczos"):
        yield Sample(make(2, 3, 9, 8), size=(3, 4), mode=mode, antialias=True)
        yield Sample(make(2, 3, 4, 5), scale_factor=(1.5, 2.5), mode=mode, antialias=True)
    yield Sample(make(2, 3, 4, 5), size=(8, 3))
    yield Sample(make(0, 3, 4, 5), size=(8, 3)).only_values()
    yield Sample(make(2, 3, 4, 5, dtype="uint8", high=255), scale_factor=2, mode="nearest")
    yield Sample(make(2, 3, 4, 5, dtype="uint8", high=255), scale_factor=2, mode="bilinear")


@error_samples("interpolate")
def bad_interpolations(make: Make) -> Iterator[ErrorSample]:
    x = make(1, 1, 4, 4)
    yield ErrorSample(ValueError, "only one of size or scale_factor should be defined", x, size=2, scale_factor=2)
    yield ErrorSample(ValueError, "either size or scale_factor should be defined", x)
    yield ErrorSample(NotImplementedError, "Got 4D input, but linear mode needs 3D input", x, size=2, mode="linear")
    yield ErrorSample(NotImplementedError, "Input Error: Only 3D, 4D and 5D input Tensors supported", x, size=2, mode="none")
    yield ErrorSample(NotImplementedError, "Input Error: Only 3D, 4D and 5D input Tensors supported", make(4, 4), size=2)
    yield ErrorSample(ValueError, "align_corners option can only be set with the interpolating modes", x, size=2, align_corners=True)
    yield ErrorSample(ValueError, "Input and output must have the same number of spatial dimensions", x, size=(2, 3, 4))
    yield ErrorSample(ValueError, "Input and scale_factor must have the same number of spatial dimensions", x, scale_factor=(2, 3, 4))
    yield ErrorSample(RuntimeError, r"Input and output sizes should be greater than 0, but got input \(H: 4, W: 4\) output", x, size=0)
    yield ErrorSample(ValueError, "recompute_scale_factor is not meaningful with an explicit size", x, size=2, recompute_scale_factor=True)
    yield ErrorSample(ValueError, "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes", x, size=2, antialias=True)
    yield ErrorSample(ValueError, "Lanczos mode requires antialias=True", x, size=2, mode="lanczos")
    yield ErrorSample(NotImplementedError, "not implemented for 'Long'", make(1, 1, 4, 4, dtype="int64"), size=2)


@functional("pad")
def paddings(make: Make) -> Iterator[Sample]:
    for mode in ("reflect", "replicate", "circular"):
        yield Sample(make(3, 5), (2, 1), mode)
        yield Sample(make(2, 3, 5), (-1, 2), mode)
        yield Sample(make(2, 3, 4, 5), (3, -1, 0, 2), mode)
        yield Sample(make(3, 3, 4, 3), (1, 1, 0, 2, 1, 0), mode)
        yield Sample(make(2, 3, 5, dtype="int64"), (2, 1), mode)
    yield Sample(make(3, 5), (1, 2, -1, 1), value=2.5)
    yield Sample(make(3, 5), (1, 2), "constant", None)
    yield Sample(make(2, 2, 2, 2, 2), (1, 0) * 5)


@error_samples("pad")
def bad_paddings(make: Make) -> Iterator[ErrorSample]:
    x = make(1, 1, 4)
    yield ErrorSample(RuntimeError, "Padding length must be divisible by 2", x, (1,))
    yield ErrorSample(RuntimeError, "Padding length should be less than or equal to two times the input dimension", make(4), (1, 1, 1, 1))
    yield ErrorSample(NotImplementedError, "Unrecognised padding mode none", x, (1, 1), "none")
    yield ErrorSample(RuntimeError, 'Padding mode "reflect" doesn\'t take in value argument', x, (1, 1), "reflect", 2)
    yield ErrorSample(RuntimeError, r"Padding size should be less than the corresponding input dimension", x, (4, 1), "reflect")
    yield ErrorSample(RuntimeError, "Padding value causes wrapping around more than once", x, (5, 1), "circular")
    yield ErrorSample(NotImplementedError, "Padding size 2 is not supported for 4D input tensor", make(1, 1, 4, 4), (1, 1), "reflect")
    yield ErrorSample(RuntimeError, r"input \(W: 4\) is too small. Calculated output W: -1", x, (-3, -2), "replicate")
    yield ErrorSample(RuntimeError, "with possibly 0 batch size and other non-zero dimensions", make(1, 1, 0), (1, 1), "replicate")


@samples("im2col", ours="nn.functional.unfold", torch="nn.functional.unfold")  # Tensor.unfold is another function
def blocks(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5, 6), 2)
    yield Sample(make(3, 5, 6), (3, 2), dilation=(1, 2), padding=1, stride=2)
    yield Sample(make(0, 3, 5, 6), 2).only_values()


@error_samples("im2col")
def bad_blocks(make: Make) -> Iterator[ErrorSample]:
    x = make(1, 1, 4, 4)
    yield ErrorSample(RuntimeError, r"Given input with spatial size \(4, 4\), kernel_size=\(5, 5\), dilation=\(1, 1\)", x, 5)
    yield ErrorSample(RuntimeError, "stride should be greater than zero, but got stride_height: 0 stride_width: 0", x, 2, stride=0)
    yield ErrorSample(RuntimeError, "padding should be non-negative, but got pad_height: -1", x, 2, padding=-1)
    yield ErrorSample(RuntimeError, "dilation should be greater than zero, but got dilation_height: 0", x, 2, dilation=0)
    yield ErrorSample(RuntimeError, "kernel size should be greater than zero, but got kernel_height: 0", x, 0)
    yield ErrorSample(RuntimeError, "It is expected kernel_size equals to 2, but got size 3", x, (1, 2, 3))
    yield ErrorSample(RuntimeError, r"Expected 3D or 4D \(batch mode\) tensor", make(1, 1, 4, 4, 4), 2)


@samples("col2im", ours="nn.functional.fold", torch="nn.functional.fold")
def images(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 12, 20), (5, 6), 2)
    yield Sample(make(18, 9), (5, 6), (3, 2), dilation=(1, 2), padding=1, stride=2)


@error_samples("col2im")
def bad_images(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "to be divisible by the product of kernel_size, but got input.size", make(1, 5, 9), (4, 4), 2)
    yield ErrorSample(
        RuntimeError, r"to match the calculated number of sliding blocks 3 \* 3 = 9, but got input.size\(2\)=8", make(1, 4, 8), (4, 4), 2
    )
    yield ErrorSample(RuntimeError, r"Expected 2D or 3D \(batch mode\) tensor for input", make(4), (4, 4), 2)


@functional("grid_sample")
def points(make: Make) -> Iterator[Sample]:
    for dims in (2, 3):
        for mode in ("bilinear", "nearest", "bicubic")[: 5 - dims]:
            for padding_mode in ("zeros", "border", "reflection"):
                for align_corners in (False, True):
                    image, grid = make(2, 3, *(4, 5, 3)[:dims]), inside_cells(make, dims)
                    sample = Sample(image, grid, mode, padding_mode, align_corners)
                    yield sample if mode != "nearest" else sample.only_values()
    yield Sample(make(0, 3, 4, 5), make(0, 2, 3, 2), "bilinear", "zeros", False)


def inside_cells(make: Make, dims: int) -> np.ndarray:
    """Points of a grid that are not at the edge of a cell of the image, where the slope jumps, whichever way edges are counted."""
    edges = np.unique(np.concatenate([np.arange(-2 * n - 1, 2 * n + 2) * k / (n * (n - 1) * 2) for n in (4, 5, 3) for k in (n, n - 1)]))
    points = make(2, *(2, 3, 2)[:dims], dims, low=-1.6, high=1.6)
    nearest = edges[np.abs(points[..., None] - edges).argmin(-1)]
    return np.asarray(np.where(np.abs(points - nearest) < 1e-3, points + 2e-3, points))


@error_samples("grid_sample")
def bad_points(make: Make) -> Iterator[ErrorSample]:
    x, grid = make(2, 1, 4, 4), make(2, 3, 3, 2)
    yield ErrorSample(RuntimeError, "expected grid and input to have same batch size", x, grid[:1], align_corners=True)
    yield ErrorSample(RuntimeError, "expected grid to have size 2 in last dimension", x, make(2, 3, 3, 3), align_corners=True)
    yield ErrorSample(ValueError, "expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: 'none'", x, grid, "none")
    yield ErrorSample(ValueError, "expected padding_mode to be 'zeros', 'border', or 'reflection'", x, grid, padding_mode="none")
    yield ErrorSample(RuntimeError, "bicubic interpolation only supports 4D input", make(2, 1, 4, 4, 4), make(2, 3, 3, 3, 3), "bicubic",
                      align_corners=True)  # fmt: skip
    yield ErrorSample(RuntimeError, "expected scalar type Double but found Float", x, grid.astype("float32"), align_corners=True)
    yield ErrorSample(RuntimeError, "expected input to have non-empty spatial dimensions", x[:, :, :0], grid, align_corners=True)


@functional("affine_grid")
def grids(make: Make) -> Iterator[Sample]:
    for align_corners in (False, True):
        yield Sample(make(2, 2, 3), (2, 3, 4, 5), align_corners)
        yield Sample(make(2, 3, 4), (2, 3, 2, 4, 5), align_corners)


@error_samples("affine_grid")
def bad_grids(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "Expected a batch of 2D affine matrices of shape Nx2x3", make(2, 3), (2, 1, 3, 3), True)
    yield ErrorSample(ValueError, "Expected non-zero, positive output size", make(2, 2, 3), (2, 1, 0, 3), True)
    yield ErrorSample(NotImplementedError, "affine_grid only supports 4D and 5D sizes", make(2, 2, 3), (2, 1, 3), True)
    yield ErrorSample(ValueError, "Expected theta to have floating point type", make(2, 2, 3, dtype="int64"), (2, 1, 3, 3), True)


@samples("pixel_shuffle")
def shuffled(make: Make) -> Iterator[Sample]:
    yield Sample(make(12, 2, 3), 2)
    yield Sample(make(2, 2, 9, 2, 1), 3)


@samples("pixel_unshuffle")
def unshuffled(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, 6), 2)
    yield Sample(make(2, 2, 1, 3, 6), 3)


@samples("channel_shuffle")
def mixed(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 6, 3), 2)
    yield Sample(make(1, 4, 2, 1, 2), 4)


@error_samples("pixel_shuffle")
def bad_shuffles(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "pixel_shuffle expects input to have at least 3 dimensions", make(3, 4), 2)
    yield ErrorSample(RuntimeError, "'channel' dimension to be divisible by the square of upscale_factor", make(1, 3, 4, 4), 2)
    yield ErrorSample(RuntimeError, "pixel_shuffle expects a positive upscale_factor, but got 0", make(1, 3, 4, 4), 0)


@error_samples("channel_shuffle")
def bad_mixes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Number of channels must be divisible by groups. Got 3 channels and 2 groups", make(1, 3, 4, 4), 2)
    yield ErrorSample(RuntimeError, "Number of groups to divide channels in must be positive. Value of groups:0", make(1, 3, 4, 4), 0)
    yield ErrorSample(RuntimeError, "channel_shuffle expects input with > 2 dims", make(1, 3), 3)
