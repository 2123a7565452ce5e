"""Batches out of datasets, by no and by two worker processes, and files of 100 MB."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ._timing import Step, timed

SAMPLES, WIDTH, BATCH = 4096, 64, 64


def rows(lib: Any) -> Any:
    lib.manual_seed(0)
    return lib.utils.data.TensorDataset(lib.randn(SAMPLES, WIDTH), lib.randint(0, 10, (SAMPLES,)))


def pictures(lib: Any) -> Any:
    """A map-style dataset: a tensor and a number for each index."""

    class Pictures(lib.utils.data.Dataset):  # type: ignore[misc]
        def __init__(self) -> None:
            lib.manual_seed(0)
            self.images = lib.rand(SAMPLES // 4, 3, 32, 32)

        def __len__(self) -> int:
            return SAMPLES // 4

        def __getitem__(self, index: int) -> tuple[Any, int]:
            return (self.images[index] - 0.5) / 0.5, index % 10

    return Pictures()


def register(name: str, make: Any, workers: int) -> None:
    @timed(f"{name} in shuffled batches of {BATCH}, {workers} workers")
    def epoch(lib: Any) -> Step:
        loader = lib.utils.data.DataLoader(
            make(lib), batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0
        )

        def step() -> None:
            for _ in loader:
                pass

        return step


for _workers in (0, 2):
    register(f"TensorDataset of {SAMPLES}x{WIDTH}", rows, _workers)
    register(f"dataset of {SAMPLES // 4} pictures 3x32x32", pictures, _workers)

_folder = tempfile.TemporaryDirectory(prefix="adjoint-benchmark-")


def state(lib: Any) -> dict[str, Any]:
    return {f"layer{number}.weight": lib.ones(1024, 1024) for number in range(25)}


@timed("save of 100 MB")
def save(lib: Any) -> Step:
    tensors, path = state(lib), Path(_folder.name) / f"{lib.__name__}_saved.pt"
    return lambda: lib.save(tensors, path)


@timed("load of 100 MB")
def load(lib: Any) -> Step:
    path = Path(_folder.name) / f"{lib.__name__}.pt"
    lib.save(state(lib), path)
    return lambda: lib.load(path)
