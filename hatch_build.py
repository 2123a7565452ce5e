"""What happens when adjoint is installed from its source: the standard set of kernels is compiled into the package, if it has llvmlite.

A program's first step then compiles nothing, also where no cache can be kept. The kernels are for the level of CPUs of the machine at
hand, or for those that ADJOINT_BUILD_CPUS names ("v2 v3 v4" for a wheel that is published). A machine of another level, or another version
of Python, does not find its kernels there and compiles them as ever: the package stays pure Python. So does everything if this fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

TIME = 300  # seconds for a level; ten are usual


WITHOUT_LLVM = os.environ.get("ADJOINT_BUILD_LLVM") == "0"


class RequirementsHook(MetadataHookInterface):
    """llvmlite is a requirement, because adjoint is fast with it, unless ADJOINT_BUILD_LLVM=0 says that NumPy shall do everything.

    An extra can add requirements and cannot take one away, so that those who ask for nothing would be those who get no kernels.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = ["numpy>=2.0,<3", *([] if WITHOUT_LLVM else ["llvmlite>=0.44"])]


class KernelsHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        packs = Path(self.root, "adjoint", "_kernels", "packs")
        shutil.rmtree(packs, ignore_errors=True)
        if WITHOUT_LLVM:
            return  # who has no llvmlite uses no kernels
        for level in os.environ.get("ADJOINT_BUILD_CPUS", "native").split():
            try:
                self.build(level, packs)
            except (OSError, subprocess.SubprocessError) as error:
                said = getattr(error, "stdout", None) or str(error)
                self.app.display_warning(f"no kernels for {level} are in the package: {str(said).strip().splitlines()[-1:]}")
        build_data["artifacts"].append("/adjoint/_kernels/packs/*.kernels")

    def build(self, level: str, packs: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"ADJOINT_CACHE_DIR": folder, "ADJOINT_CPU": level}
            # Not by PYTHONPATH: pip's own environment takes the places of editable installations, such as an earlier one of this, out.
            program = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('adjoint', run_name='__main__')"
            command = [sys.executable, "-c", program, self.root, "cache", "build"]
            subprocess.run(
                command, env=os.environ | settings, cwd=folder, check=True, timeout=TIME, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            packs.mkdir(exist_ok=True)
            for file in Path(folder).glob("*.kernels"):
                shutil.copy(file, packs)
