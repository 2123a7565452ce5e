"""Functions on images: blocks, points and grids."""

from __future__ import annotations

from collections.abc import Sequence

from .._site import warn
from .._tensor import Tensor
from ..ops.fold import col2im, im2col
from ..ops.grid import affine_grid_generator, grid_sampler_2d, grid_sampler_3d

Numbers = int | Sequence[int]

CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the "
    "old behavior is desired. See the documentation of grid_sample for details."
)


def _pair(name: str, value: Numbers) -> tuple[int, int]:
    sizes = (value, value) if isinstance(value, int) else tuple(value)
    if len(sizes) == 1:
        sizes *= 2
    if len(sizes) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(sizes)}")
    return sizes


# ---- blocks -------------------------------------------------------------------------------------------------------------------------


def unfold(input: Tensor, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1) -> Tensor:
    """The blocks of images (N, C, H, W) or (C, H, W) as columns (N, C * KH * KW, L) or (C * KH * KW, L)."""
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    kernel, spread = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    return im2col(input, kernel, spread, _pair("padding", padding), _pair("stride", stride))  # type: ignore[no-any-return]


def fold(
    input: Tensor, output_size: Numbers, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1
) -> Tensor:
    """Columns (N, C * KH * KW, L) or (C * KH * KW, L) as the blocks of images (N, C, H, W) or (C, H, W), added up where they overlap."""
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    size, kernel, spread = _pair("output_size", output_size), _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    return col2im(input, size, kernel, spread, _pair("padding", padding), _pair("stride", stride))  # type: ignore[no-any-return]


# ---- points -------------------------------------------------------------------------------------------------------------------------


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images (N, C, H, W) at the points of a grid (N, H', W', 2) in [-1, 1]; likewise in three dimensions. The coordinates of
    a point count from the last dimension to the first."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn(CHANGED)
        align_corners = False
    _check_grid(input, grid, mode)
    sample = grid_sampler_2d if len(input._data.shape) == 4 else grid_sampler_3d
    return sample(input, grid, mode, padding_mode, align_corners)  # type: ignore[no-any-return]


def _check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    shape, of_grid = input._data.shape, grid._data.shape
    dims = len(shape)
    if len(of_grid) == dims in (4, 5) and shape[0] == of_grid[0] and of_grid[-1] == dims - 2 and all(shape[2:]):
        if mode == "bicubic" and dims != 4:
            raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
        return
    sizes = f"input with sizes {list(shape)} and grid with sizes {list(of_grid)}"
    if shape[0] != of_grid[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if of_grid[-1] != dims - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {dims - 2} in last dimension, but got grid with sizes {list(of_grid)}"
        )
    if 0 in shape[2:]:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(shape)} with "
            f"dimension {shape.index(0, 2)} being empty"
        )
    wanted = f"{dims}D" if dims in (4, 5) else "4D or 5D"
    raise RuntimeError(f"grid_sampler(): expected {wanted} input and grid with same number of dimensions, but got {sizes}")


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points of images of a size (N, C, H, W) or (N, C, D, H, W) after affine maps (N, 2, 3) or (N, 3, 4), for `grid_sample`."""
    if align_corners is None:
        warn(CHANGED)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    wanted = tuple(size)
    if len(wanted) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    count = len(wanted) - 2
    if theta.ndim != 3 or theta.shape[-2:] != (count, count + 1):
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(wanted[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended "
            "use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(wanted) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta.shape[0] != wanted[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{wanted[0]}, {count + 1}] but got: "
            f"[{theta.shape[0]}, {count + 1}]: the size names {wanted[0]} samples and there are {theta.shape[0]} matrices"
        )
    return affine_grid_generator(theta, wanted, align_corners)  # type: ignore[no-any-return]


