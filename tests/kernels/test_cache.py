"""The object cache: a right answer whatever happens to the files."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from adjoint._kernels import builtin, cache, entry, workers
from adjoint._kernels.expr import Expr

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    from adjoint._kernels import builtin
    from adjoint._kernels.expr import Expr
    (x,) = Expr.inputs(1)
    (kernel,) = builtin.load([builtin.Formula("cubed", x * x * x, "T")], [None])
    print(kernel(np.array([2.0]))[0])
    """
)


def cubed():
    (x,) = Expr.inputs(1)
    (kernel,) = builtin.load([builtin.Formula("cubed", x * x * x, "T")], [None])
    return float(kernel(np.array([2.0]))[0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "elsewhere"))
    for into in (entry.NEW, entry.FIRST, entry.GIVEN):
        builtin.entry_address(into)  # compiled once for all kernels, as the threads are: not what is looked at here
    workers.workers()
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_entry_is_written_once_and_read_again(folder, monkeypatch):
    assert cubed() == 8
    (entry,) = folder.glob("*.o")
    from adjoint._kernels import jit

    monkeypatch.setattr(jit, "object_code", lambda *args: pytest.fail("compiled again"))
    assert cubed() == 8
    assert [entry] == list(folder.iterdir())


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 5000])
def test_a_damaged_entry_is_compiled_again(folder, damage):
    cubed()
    (entry,) = folder.glob("*.o")
    good = entry.read_bytes()
    entry.write_bytes(damage)
    assert cubed() == 8
    assert entry.read_bytes() == good


def test_one_flipped_bit_is_noticed(folder):
    cubed()
    (entry,) = folder.glob("*.o")
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 1
    entry.write_bytes(content)
    assert cache.read(entry.stem) is None
    assert cubed() == 8


def test_a_directory_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cubed() == 8


def test_a_full_disk(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "fdopen", full)
    assert cubed() == 8
    assert not list(folder.glob("*.o"))


def test_processes_at_once(folder):
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in running] == ["8.0"] * 3
    assert len(list(folder.iterdir())) == 3  # the kernel's loop, the entries that all kernels share, and the threads


def test_the_oldest_entries_go_first(tmp_path):
    for age, name in enumerate("abc"):
        (tmp_path / f"{name}.o").write_bytes(b"x" * 100)
        os.utime(tmp_path / f"{name}.o", (1000 - age, 1000 - age))
    cache.prune(tmp_path, limit=250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.o", "b.o"]


def test_clear(folder):
    cubed()
    assert cache.clear() == 1
    assert not list(folder.glob("*.o"))


def test_numpy_serves_where_nothing_can_be_compiled(monkeypatch):
    from adjoint._kernels import jit

    def forbidden(*args):
        raise RuntimeError("memory may not be made executable")

    monkeypatch.setattr(jit, "load", forbidden)
    jit.available.cache_clear()
    try:
        assert not jit.available()
    finally:
        monkeypatch.undo()
        jit.available.cache_clear()
    assert jit.available()


# ---- processes ----------------------------------------------------------------------------------------------------------------------


def run(program=PROGRAM, prefix="", **environment):
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", prefix + program], env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_killed_in_the_middle_of_writing(folder):
    """What it leaves is a temporary file, which nobody reads, and which goes with the oldest entries."""
    killed = "import os, pathlib\npathlib.Path.replace = lambda *args: os.kill(os.getpid(), 9)\n"
    done = subprocess.run([sys.executable, "-c", killed + PROGRAM], capture_output=True, timeout=120, check=False)
    assert done.returncode == -9
    (left,) = folder.iterdir()
    assert left.suffix == ".tmp"
    assert run() == "8.0"
    os.utime(left, (1, 1))
    cache.prune(folder)
    assert not left.exists()


def test_a_limit_on_the_size_of_files(folder):
    """Every write stops half way, as on a full disk."""
    limit = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    )
    assert run(prefix=limit) == "8.0"
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "where", [{"ADJOINT_CACHE_DIR": "/proc/none"}, {"ADJOINT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/proc/none"}]
)
def test_no_place_for_the_cache(where):
    assert run(**where) == "8.0"


def test_no_home_at_all():
    assert run(prefix="import os\nfor name in ('HOME', 'XDG_CACHE_HOME', 'ADJOINT_CACHE_DIR'): os.environ.pop(name, None)\n") == "8.0"


def test_another_cpu_has_entries_of_its_own(folder):
    run()
    before = set(folder.iterdir())
    other = "from adjoint._kernels import jit\njit.llvm().get_host_cpu_name = lambda: 'generic'\n"
    assert run(prefix=other) == "8.0"
    assert len(set(folder.iterdir()) - before) == len(before)


def test_the_standard_set_is_built_once(folder, monkeypatch, capsys):
    from adjoint.cli import build

    monkeypatch.setattr(build, "standard", lambda: [(name, None) for name in ("exp", "softmax", "Adam")])
    assert build.build() == 0
    found = capsys.readouterr().out
    made = len(list(folder.glob("*.o")))
    assert made > 8 and f"{made} kernels compiled in" in found and "3 of 3" in found
    assert build.build() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0 kernels compiled in")


def test_every_job_of_the_standard_set_has_a_name_of_its_own():
    from adjoint.cli import build

    names = [name for name, _ in build.standard()]
    assert len(names) == len(set(names)) > 50


def test_an_interrupted_build_keeps_what_it_has(folder):
    command = [sys.executable, "-m", "adjoint", "cache", "build"]
    # A test run in the background of a shell ignores interrupts, and so would its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    try:
        while " of " not in (seen := process.stdout.read(8)):
            assert seen, "it ended before anything was built"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "kernels were compiled and are kept" in rest and "Traceback" not in errors
    assert list(folder.glob("*.o"))
