"""Embedding, gathering, scattering, joining and cutting."""

from __future__ import annotations

from typing import Any

from ._passes import Build, Case, register


def embedding(rows: int, width: int, *shape: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        indices = lib.randint(0, rows, shape)
        return (lambda weight: lib.nn.functional.embedding(indices, weight)), [lib.randn(rows, width)]

    return build


register("embedding of 12x64 in 65x128", embedding(65, 128, 12, 64))
register("embedding of 32x128 in 10000x256", embedding(10_000, 256, 32, 128))
register("embedding of 8 in 10x4", embedding(10, 4, 8))

SIZES = {"8x4": (8, 4), "512x512": (512, 512)}


def with_indices(name: str, rows: int, width: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x, y = lib.randn(rows, width), lib.randn(rows, width)
        index = lib.randint(0, rows, (rows, width))
        line = lib.randint(0, rows, (rows,))
        calls: dict[str, Case] = {
            "gather": (lambda x: lib.gather(x, 0, index), [x]),
            "scatter_add": (lambda x, y: lib.scatter_add(x, 0, index, y), [x, y]),
            "index_select": (lambda x: lib.index_select(x, 0, line), [x]),
            "index_add": (lambda x, y: lib.index_add(x, 0, line, y), [x, y]),
            "advanced indexing": (lambda x: x[line], [x]),
            "masked_fill": (lambda x: lib.masked_fill(x, index > rows // 2, 0.0), [x]),
            "scatter": (lambda x, y: lib.scatter(x, 0, index, y), [x, y]),
            "scatter_reduce": (lambda x, y: lib.scatter_reduce(x, 0, index, y, "amax", include_self=False), [x, y]),
            "index_put": (lambda x, y: lib.index_put(x, (line,), y), [x, y]),
        }
        return calls[name]

    return build


def by_shape(name: str, rows: int, width: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x, y = lib.randn(rows, width), lib.randn(rows, width)
        calls: dict[str, Case] = {
            "cat": (lambda x, y: lib.cat([x, y], dim=1), [x, y]),
            "stack": (lambda x, y: lib.stack([x, y]), [x, y]),
            "split": (lambda x: lib.split(x, width // 2, dim=1), [x]),
            "chunk": (lambda x: lib.chunk(x, 2), [x]),
            "unbind": (lambda x: lib.unbind(x[:4]), [x]),
            "slicing": (lambda x: x[1:, :-1], [x]),
            "transpose and contiguous": (lambda x: x.t().contiguous(), [x]),
            "permute and reshape": (lambda x: x.view(rows, 2, width // 2).permute(1, 0, 2).reshape(-1), [x]),
            "expand and add": (lambda x, y: x[:1].expand(rows, width) + y, [x, y]),
            "flip": (lambda x: lib.flip(x, (0,)), [x]),
            "roll": (lambda x: lib.roll(x, 1, 0), [x]),
            "tril": (lib.tril, [x]),
            "repeat": (lambda x: x.repeat(2, 2), [x]),
            "pad": (lambda x: lib.nn.functional.pad(x, (1, 1)), [x]),
            "sort": (lambda x: lib.sort(x, dim=-1)[0], [x]),
            "topk": (lambda x: lib.topk(x, 3, dim=-1)[0], [x]),
            "median": (lambda x: lib.median(x, dim=-1)[0], [x]),
            "cummax": (lambda x: lib.cummax(x, dim=0)[0], [x]),
            "repeat_interleave": (lambda x: lib.repeat_interleave(x, 2, dim=-1), [x]),
            "strided slicing": (lambda x: x[::2, ::2], [x]),
            "cross": (lambda x, y: lib.linalg.cross(x[:, :3], y[:, :3]), [x, y]),
        }
        return calls[name]

    return build


for _label, (_rows, _width) in SIZES.items():
    for _name in (
        "gather", "scatter_add", "index_select", "index_add", "advanced indexing", "masked_fill", "scatter", "scatter_reduce", "index_put",
    ):  # fmt: skip
        register(f"{_name} {_label}", with_indices(_name, _rows, _width))
    for _name in (
        "cat", "stack", "split", "chunk", "unbind", "slicing", "transpose and contiguous", "permute and reshape", "expand and add", "flip",
        "roll", "tril", "repeat", "pad", "sort", "topk", "median", "cummax", "repeat_interleave", "strided slicing", "cross",
    ):  # fmt: skip
        register(f"{_name} {_label}", by_shape(_name, _rows, _width))
