"""Linear algebra, Fourier transforms, distances and counting."""

from __future__ import annotations

from typing import Any

from ._passes import Build, Case, register

MATRICES = {"4x4": (4, 4), "64x64": (64, 64), "64 of 4x4": (64, 4, 4)}
SIGNALS = {"64": (64,), "1024": (1024,), "32x256": (32, 256)}
POINTS = {"16x3": (16, 3), "512x16": (512, 16)}
LENGTHS = {"1k": 1000, "100k": 100_000}


def of_matrices(name: str, *shape: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x = lib.randn(*shape) / shape[-1] + 2 * lib.eye(shape[-1])
        positive, right = x @ x.mT, lib.randn(*shape[:-1], 3)
        calls: dict[str, Case] = {
            "inv": (lib.linalg.inv, [x]),
            "solve": (lib.linalg.solve, [x, right]),
            "solve_triangular": (lambda x, y: lib.linalg.solve_triangular(x, y, upper=True), [x, right]),
            "det": (lib.linalg.det, [x]),
            "cholesky": (lib.linalg.cholesky, [positive]),
            "lu_factor": (lambda x: lib.linalg.lu_factor(x)[0], [x]),
            "qr": (lambda x: lib.linalg.qr(x)[1], [x]),
            "eigvalsh": (lib.linalg.eigvalsh, [positive]),
            "svdvals": (lib.linalg.svdvals, [x]),
            "lstsq": (lambda x, y: lib.linalg.lstsq(x, y)[0], [x, right]),
            "matrix_exp": (lib.linalg.matrix_exp, [x]),
        }
        return calls[name]

    return build


def of_signals(name: str, *shape: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x = lib.randn(*shape)
        return getattr(lib.fft, name), [x if name == "rfft" else lib.complex(x, x)]

    return build


def of_points(name: str, *shape: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x, y = lib.randn(*shape), lib.randn(*shape)
        calls: dict[str, Case] = {
            "pdist": (lib.nn.functional.pdist, [x]),
            "cdist": (lib.cdist, [x, y]),
            "cdist, p=1": (lambda x, y: lib.cdist(x, y, 1.0), [x, y]),
        }
        return calls[name]

    return build


def of_counts(name: str, size: int) -> Build:
    def build(lib: Any) -> Case:
        lib.manual_seed(0)
        x = lib.randint(0, size // 10, (size,))
        calls: dict[str, Case] = {
            "unique": (lambda x: lib.unique(x, return_inverse=True, return_counts=True), [x]),
            "unique_consecutive": (lambda x: lib.unique_consecutive(x, return_inverse=True, return_counts=True), [x]),
            "mode": (lambda x: lib.mode(x)[0], [x]),
            "bincount": (lib.bincount, [x]),
            "histc": (lambda x: lib.histc(x, 20), [x.float()]),
        }
        return calls[name]

    return build


for _label, _shape in MATRICES.items():
    for _name in ("inv", "solve", "solve_triangular", "det", "cholesky", "lu_factor", "qr", "eigvalsh", "svdvals", "lstsq", "matrix_exp"):
        register(f"{_name} {_label}", of_matrices(_name, *_shape))
for _label, _shape in SIGNALS.items():
    for _name in ("fft", "ifft", "rfft"):
        register(f"{_name} {_label}", of_signals(_name, *_shape))
for _label, _shape in POINTS.items():
    for _name in ("pdist", "cdist", "cdist, p=1"):
        register(f"{_name} {_label}", of_points(_name, *_shape))
for _label, _size in LENGTHS.items():
    for _name in ("unique", "unique_consecutive", "mode", "bincount", "histc"):
        register(f"{_name} {_label}", of_counts(_name, _size), backward=False)
