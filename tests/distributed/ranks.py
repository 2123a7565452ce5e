"""Running a program in several processes under `mpiexec`, for tests: what each rank has printed, and no process left behind, ever.

    job = run(2, '''
    import adjoint as ad
    ...
    ''')
    assert job.code == 0, job

A start costs half a second or more, so one program should check many things.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjoint.distributed._mpiexec import mpi_environment, mpiexec

ROOT = Path(__file__).parents[2]
MARK = "ADJOINT_TEST_JOB"  # in the environment of every process of a job, by which they are found again
# Each rank writes to a file of its own: what mpiexec passes on may be mixed, and cut off when it ends the others.
_TO_FILES = 'exec "$@" >"$0/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}" 2>&1'


@dataclass
class Job:
    """How a command has ended."""

    code: int
    text: str  # what it has printed itself, to either stream
    ranks: list[str]  # what each rank has printed, to either stream, without the folder in which the program lay

    def __str__(self) -> str:
        parts = [f"exit code {self.code}", self.text, *(f"---- rank {i}\n{text}" for i, text in enumerate(self.ranks))]
        return "\n".join(parts)


def run(ranks: int, program: str | Path, *arguments: str, timeout: float = 90, env: Mapping[str, str] | None = None) -> Job:
    """Run a program, its text or its file, in `ranks` processes. TimeoutError, with what was printed, if it does not end."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(program, str):
            path = Path(folder, "program.py")
            path.write_text(textwrap.dedent(program), encoding="utf-8")
        else:
            path = program
        outputs = Path(folder, "outputs")
        outputs.mkdir()
        python = [sys.executable, str(path), *arguments]
        command = [mpiexec(), "-n", str(ranks), "sh", "-c", _TO_FILES, str(outputs), *python]
        try:
            job = finish(command, timeout, {**mpi_environment(ranks), "TMPDIR": folder, **(env or {})})  # killed jobs leave files
        except TimeoutError as error:
            raise TimeoutError(str(Job(-1, str(error), _texts(outputs, ranks)))) from None
        job.ranks = [text.replace(f"{folder}{os.sep}", "") for text in _texts(outputs, ranks)]
        return job


def _texts(outputs: Path, ranks: int) -> list[str]:
    files = [outputs / str(i) for i in range(ranks)]
    return [file.read_text(encoding="utf-8", errors="replace") if file.exists() else "(did not start)" for file in files]


def finish(command: Sequence[str], timeout: float = 90, env: Mapping[str, str] | None = None, cwd: str | Path = ROOT) -> Job:
    """Run any command that starts processes; when it has ended, or has not in time, all of them are gone."""
    mark = uuid.uuid4().hex
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **(env or {}), MARK: mark}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=cwd, start_new_session=True
        )
        try:
            code: int | None = started.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            while remaining := processes(mark):  # killed ones may have started others meanwhile
                for pid in remaining:
                    _kill(pid)
            started.wait()
        output.seek(0)
        text = output.read()
    if code is None:
        raise TimeoutError(f"{command[0]} has not ended within {timeout} s\n{text}")
    return Job(code, text, [])


def processes(mark: str) -> set[int]:
    """The processes that have the mark in their environment, whoever their parents are by now."""
    found = set()
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
        except OSError:  # it has just ended, or is somebody else's
            continue
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
