"""Matrix products, convolutions and pooling, forward and training."""

from __future__ import annotations

from typing import Any

from ._passes import Build, Case, register

MATRICES: tuple[tuple[int, ...], ...] = (
    (8, 8, 8), (32, 32, 32), (64, 784, 256), (128, 128, 128), (512, 512, 512), (768, 128, 512), (1024, 1024, 1024), (4096, 64, 64),
)  # fmt: skip
BATCHES: tuple[tuple[int, ...], ...] = (
    (16, 8, 8, 8), (48, 64, 32, 64), (48, 64, 64, 32), (8, 128, 128, 128), (64, 16, 64, 16), (256, 32, 32, 32), (4, 512, 512, 512),
    (1024, 4, 4, 4),
)  # fmt: skip


def product(*shape: int) -> Build:
    *batch, n, k, m = shape

    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        return lib.matmul, [lib.randn(*batch, n, k), lib.randn(*batch, k, m)]

    return build


def linear(rows: int, inputs: int, outputs: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        return lib.nn.functional.linear, [lib.randn(rows, inputs), lib.randn(outputs, inputs), lib.randn(outputs)]

    return build


for _shape in MATRICES:
    register(f"matmul {_shape[0]}x{_shape[1]} by {_shape[1]}x{_shape[2]}", product(*_shape))
for _shape in BATCHES:
    register(f"matmul of {_shape[0]} matrices {_shape[1]}x{_shape[2]} by {_shape[2]}x{_shape[3]}", product(*_shape))
register("linear 32x16 to 16", linear(32, 16, 16))
register("linear 768x128 to 512", linear(768, 128, 512))
register("linear 1x784 to 256", linear(1, 784, 256))


def added(size: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        return lib.addmm, [lib.randn(size, size) for _ in range(3)]

    return build


def summed(equation: str, *shapes: tuple[int, ...]) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        return (lambda *tensors: lib.einsum(equation, *tensors)), [lib.randn(*shape) for shape in shapes]

    return build


register("addmm 16x16", added(16))
register("einsum bi,bi->b 256x256", summed("bi,bi->b", (256, 256), (256, 256)))


def attended(*shape: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        return lib.nn.functional.scaled_dot_product_attention, [lib.randn(*shape) for _ in range(3)]

    return build


for _shape in ((2, 2, 8, 16), (8, 8, 64, 32), (1, 8, 1024, 64)):
    register(f"attention {'x'.join(map(str, _shape))}", attended(*_shape))

# batch, channels, height and width, kernels, size of a kernel, stride, padding
CONVOLUTIONS = (
    (64, 1, 28, 32, 3, 1, 0),  # the first layer of an MNIST network
    (64, 32, 26, 64, 3, 1, 0),  # its second
    (64, 32, 12, 64, 5, 1, 0),  # the second layer of a network with 5x5 kernels
    (16, 16, 32, 16, 3, 1, 1),  # CIFAR
    (8, 3, 224, 64, 7, 2, 3),  # the stem of a ResNet
    (8, 64, 56, 64, 3, 1, 1),  # its first blocks
    (8, 256, 14, 512, 1, 1, 0),  # a projection by 1x1
    (8, 128, 28, 256, 3, 2, 1),  # a step down
    (4, 512, 7, 512, 3, 1, 1),  # the last blocks
    (1, 256, 14, 256, 3, 1, 1),  # a single image
    (1, 512, 7, 2048, 1, 1, 0),  # the last projection of a ResNet for it
    (1, 3, 224, 192, 16, 16, 0),  # the patches of a vision transformer
    (1, 3, 8, 4, 3, 1, 0),  # a tiny one
)


def convolution(batch: int, channels: int, size: int, kernels: int, width: int, stride: int, padding: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x, weight, bias = lib.randn(batch, channels, size, size), lib.randn(kernels, channels, width, width), lib.randn(kernels)
        return (lambda x, w, b: lib.nn.functional.conv2d(x, w, b, stride=stride, padding=padding)), [x, weight, bias]

    return build


for _case in CONVOLUTIONS:
    _batch, _channels, _size, _kernels, _width, _stride, _padding = _case
    register(
        f"conv2d {_batch}x{_channels}x{_size}x{_size}, {_kernels} kernels {_width}x{_width}, stride {_stride}, padding {_padding}",
        convolution(*_case),
    )


def depthwise(lib: Any) -> Case:
    lib.manual_seed(0)
    return (lambda x, w: lib.nn.functional.conv2d(x, w, padding=1, groups=64)), [lib.randn(16, 64, 28, 28), lib.randn(64, 1, 3, 3)]


def transposed(lib: Any) -> Case:
    lib.manual_seed(0)
    fn = lib.nn.functional.conv_transpose2d
    return (lambda x, w: fn(x, w, stride=2, padding=1)), [lib.randn(16, 64, 14, 14), lib.randn(64, 32, 4, 4)]


def signal(lib: Any) -> Case:
    lib.manual_seed(0)
    return (lambda x, w: lib.nn.functional.conv1d(x, w, padding=2)), [lib.randn(32, 64, 128), lib.randn(64, 64, 5)]


def volume(lib: Any) -> Case:
    lib.manual_seed(0)
    return (lambda x, w: lib.nn.functional.conv3d(x, w, padding=1)), [lib.randn(4, 8, 16, 16, 16), lib.randn(16, 8, 3, 3, 3)]


register("depthwise conv2d 16x64x28x28, 3x3", depthwise)
register("conv_transpose2d 16x64x14x14, 32 kernels 4x4, stride 2", transposed)
register("conv1d 32x64x128, 64 kernels of 5", signal)
register("conv3d 4x8x16x16x16, 16 kernels 3x3x3", volume)


def pooled(name: str, shape: tuple[int, ...], *arguments: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        fn = getattr(lib.nn.functional, name)
        return (lambda x: fn(x, *arguments)), [lib.randn(*shape)]

    return build


for _name in ("max_pool2d", "avg_pool2d"):
    register(f"{_name} 64x64x24x24 by 2", pooled(_name, (64, 64, 24, 24), 2))
    register(f"{_name} 8x64x112x112 by 3, stride 2, padding 1", pooled(_name, (8, 64, 112, 112), 3, 2, 1))
    register(f"{_name} 2x4x8x8 by 2", pooled(_name, (2, 4, 8, 8), 2))
for _name in ("adaptive_max_pool2d", "adaptive_avg_pool2d"):
    register(f"{_name} 8x64x30x30 to 7x7", pooled(_name, (8, 64, 30, 30), 7))
    register(f"{_name} 8x512x7x7 to 1x1", pooled(_name, (8, 512, 7, 7), 1))
