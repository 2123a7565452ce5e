"""What every test gets: Hypothesis profiles, a check that no global state leaks, and on request llvmlite hidden and another order."""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest

WITHOUT_LLVM = os.environ.get("ADJOINT_TEST_NO_LLVM") == "1"

# ----- Hypothesis: ADJOINT_HYPOTHESIS_PROFILE=dev|ci|intense -----

hypothesis.settings.register_profile("dev", max_examples=20, deadline=None, derandomize=True)
hypothesis.settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
hypothesis.settings.register_profile("intense", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("ADJOINT_HYPOTHESIS_PROFILE", "dev"))

# ----- PyTorch -----

# With AVX-512 a library that it calls is less precise, and gives NaN for infinity. We compare with what other CPUs compute.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")

# ----- Running without llvmlite -----


def _hide_llvmlite() -> None:
    folder = str(Path(__file__).parent / "without_llvm")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))  # child processes
    sys.path.insert(0, folder)
    # It may have been imported by Python itself, before pytest added its finder; hence the explicit call.
    importlib.import_module("sitecustomize").hide_llvmlite()
    sys.path.remove(folder)


if WITHOUT_LLVM:
    _hide_llvmlite()

# ----- Another order: --random-order, and --order-seed N to have the same again -----


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--random-order", action="store_true", help="run the files, and the tests in each of them, in random order")
    parser.addoption("--order-seed", type=int, help="the order that belongs to this number")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.random_order and config.option.order_seed is None:
        # The processes of xdist, which inherit the variable, have to agree.
        config.option.order_seed = int(os.environ.setdefault("ADJOINT_TEST_ORDER", str(random.SystemRandom().randrange(10**6))))


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.option.order_seed
    return [] if seed is None else [f"random order: repeat it with --order-seed={seed}"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.order_seed is None:
        return
    order = random.Random(config.option.order_seed)
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    shuffled = list(files.values())
    order.shuffle(shuffled)
    for tests in shuffled:
        order.shuffle(tests)
    items[:] = [item for tests in shuffled for item in tests]


# ----- Global state -----


def global_state() -> dict[str, object]:
    """Everything a test must leave as it found it. A new global switch of adjoint gets its row here."""
    import adjoint as ad

    numpy_state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return {
        "grad mode": ad.is_grad_enabled(),
        "inference mode": ad.is_inference_mode_enabled(),
        "anomaly mode": ad.is_anomaly_enabled(),
        "default dtype": ad.get_default_dtype(),
        # adjoint has generators of its own and must not draw from the global ones of others.
        "NumPy's global generator": (numpy_state["key"].tobytes(), numpy_state["pos"]),
        "Python's global generator": hash(random.getstate()),
        "llvmlite imported in a run without it": WITHOUT_LLVM and "llvmlite" in sys.modules,
    }


@pytest.fixture(autouse=True)
def fail_on_leaked_state() -> Iterator[None]:
    """Start each test from the same random numbers, and fail the one that changes a global setting for the others."""
    import adjoint as ad

    if not hasattr(ad, "Tensor"):  # the package is not assembled yet; its lower layers can be tested already
        yield
        return
    ad.manual_seed(0)
    before = global_state()
    yield
    after = global_state()
    leaked = [name for name, value in before.items() if after[name] != value]
    if leaked:
        pytest.fail(f"this test leaks global state: {', '.join(leaked)}", pytrace=False)
