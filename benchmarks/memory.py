"""What a library weighs: growth of a training process, time and modules of its import. Each in a fresh process."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

from ._timing import measured
from .overhead import small_training_step

WARM_UP = 200
ITERATIONS = 2000
IMPORT_TRIES = 5


def in_fresh_process(function: str, *arguments: str) -> float:
    """Return what a function of this module returns in a new Python."""
    code = f"from {__name__} import {function}; print({function}{arguments!r})"
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def resident_bytes() -> int:
    """Return the memory this process holds now; where the system does not tell, the most it has held."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def growth_of(library: str) -> float:
    """Return by how many MB training grows this process, once everything has been allocated and compiled."""
    step = small_training_step(importlib.import_module(library))
    for _ in range(WARM_UP):
        step()
    before = resident_bytes()
    for _ in range(ITERATIONS):
        step()
    return (resident_bytes() - before) / 1e6


def import_milliseconds_of(library: str) -> float:
    start = time.perf_counter()
    importlib.import_module(library)
    return (time.perf_counter() - start) * 1e3


def imported_modules_of(library: str) -> float:
    before = len(sys.modules)
    importlib.import_module(library)
    return len(sys.modules) - before


@measured(f"memory growth over {ITERATIONS} training steps", "MB")
def memory_growth(library: str) -> float:
    return in_fresh_process("growth_of", library)


def peak_bytes() -> int:
    """Return the most memory that this process has held; what it began with as a copy of another does not count, where that is known."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resident_bytes()


def peak_of(library: str, model: str) -> float:
    """Return by how many MB a few training steps raise the most memory that this process has held."""
    from . import models

    module = importlib.import_module(library)
    before = peak_bytes()
    step = getattr(models, model)(module)
    for _ in range(5):
        step()
    return (peak_bytes() - before) / 1e6


def measure_peak(label: str, model: str) -> None:
    @measured(f"peak memory of a training step, {label}", "MB")
    def peak(library: str) -> float:
        return in_fresh_process("peak_of", library, model)


measure_peak("CNN of the MNIST example", "convolutional_network")
measure_peak("GPT", "language_model")


@measured("import time", "ms")
def import_time(library: str) -> float:
    return min(in_fresh_process("import_milliseconds_of", library) for _ in range(IMPORT_TRIES))


@measured("modules imported", "modules")
def module_count(library: str) -> float:
    return in_fresh_process("imported_modules_of", library)
