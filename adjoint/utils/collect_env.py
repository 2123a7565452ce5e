"""PyTorch's `torch.utils.collect_env`: what a report of a problem should say about the machine. `python -m adjoint.utils.collect_env`."""

from __future__ import annotations

import locale
import platform
import subprocess
import sys
from collections import namedtuple
from typing import Any

import numpy

from .._version import __version__

SystemEnv = namedtuple(
    "SystemEnv",
    ["torch_version", "is_debug_build", "cuda_compiled_version", "os", "python_version", "python_platform", "is_cuda_available", "cpu_info",
     "numpy_version", "caching_allocator_config", "is_xnnpack_available"],
)  # fmt: skip


def run(command: Any) -> tuple[int, str, str]:
    """The return code, the output and the errors of a command."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, check=False)
    encoding = locale.getpreferredencoding()
    return done.returncode, done.stdout.decode(encoding, "replace").strip(), done.stderr.decode(encoding, "replace").strip()


def get_platform() -> str:
    return sys.platform if not sys.platform.startswith("linux") else "linux"


def get_env_info() -> Any:
    """Facts about the machine and what is installed on it."""
    return SystemEnv(
        torch_version=__version__,
        is_debug_build="False",
        cuda_compiled_version="None",
        os=platform.platform(),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available="False",
        cpu_info=platform.processor() or platform.machine(),
        numpy_version=numpy.__version__,
        caching_allocator_config="N/A",
        is_xnnpack_available="False",
    )


def pretty_str(envinfo: Any) -> str:
    rows = (
        ("PyTorch version", envinfo.torch_version), ("Is debug build", envinfo.is_debug_build),
        ("CUDA used to build PyTorch", envinfo.cuda_compiled_version), ("OS", envinfo.os), ("Python version", envinfo.python_version),
        ("Python platform", envinfo.python_platform), ("Is CUDA available", envinfo.is_cuda_available), ("CPU", envinfo.cpu_info),
        ("Versions of relevant libraries", f"numpy=={envinfo.numpy_version}"),
    )  # fmt: skip
    return "\n".join(f"{name}: {value}" for name, value in rows)


def get_pretty_env_info() -> str:
    """The same as a text."""
    return pretty_str(get_env_info())


def main() -> None:
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
