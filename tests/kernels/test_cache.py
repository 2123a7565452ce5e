"""The object cache: a right answer whatever happens to the files."""

import os
import platform
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from adjoint._kernels import builtin, cache, entry, jit, target, workers
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
def folder(tmp_path, monkeypatch, nothing_compiled):
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "elsewhere"))
    for into in (entry.NEW, entry.FIRST, entry.GIVEN):
        builtin.entry_address(into)  # compiled once for all kernels, as the threads are: not what is looked at here
    workers.workers()
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def the_file(folder):
    (found,) = folder.glob("*.kernels")
    return found


def forget():
    """Let this process look at the files anew."""
    cache._stores.cache_clear()


def test_an_entry_is_written_once_and_read_again(folder, monkeypatch):
    assert cubed() == 8
    content = the_file(folder).read_bytes()
    forget()
    monkeypatch.setattr(jit, "object_code", lambda *args: pytest.fail("compiled again"))
    assert cubed() == 8
    assert the_file(folder).read_bytes() == content


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 5000, cache._MARK, cache._MARK * 40])
def test_a_damaged_file_is_added_to(folder, damage):
    cubed()
    good = the_file(folder).read_bytes()
    the_file(folder).write_bytes(damage)
    forget()
    assert cubed() == 8
    assert the_file(folder).read_bytes() == damage + good
    forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "object_code", lambda *args: pytest.fail("compiled again"))
        assert cubed() == 8


def test_a_record_that_was_cut_short_does_not_hide_the_next(folder):
    for name, content in (("aa", b"one"), ("bb", b"two" * 100), ("cc", b"three")):
        cache.write("0" * 64, name * 32, content)
    file = folder / ("0" * 32 + ".kernels")
    whole = file.read_bytes()
    first = whole.index(b"one") + 3
    for cut in range(first + 1, whole.index(b"three") - cache._RECORD.size, 7):
        file.write_bytes(whole[:cut] + whole[whole.index(b"three") - cache._RECORD.size :])
        forget()
        assert cache.read("0" * 64, "aa" * 32) == b"one" and cache.read("0" * 64, "cc" * 32) == b"three"
        assert cache.read("0" * 64, "bb" * 32) is None


def test_one_flipped_bit_is_noticed(folder):
    cubed()
    file = the_file(folder)
    whole = file.read_bytes()
    (name, begin, end), *_ = cache.records(whole)
    for place in range(begin + len(cache._MARK), end, 97):
        content = bytearray(whole)
        content[place] ^= 1
        file.write_bytes(content)
        forget()
        assert cache.read(file.stem + 32 * "0", name.hex()) is None
    assert cubed() == 8


# ---- whom to trust ------------------------------------------------------------------------------------------------------------------


def untouched(folder, monkeypatch):
    """A kernel is right, nothing was read from the file and nothing written to it."""
    before = {path.name: path.lstat() for path in folder.iterdir()}
    forget()
    compiled = []
    monkeypatch.setattr(jit, "object_code", lambda *args, known=jit.object_code: compiled.append(1) or known(*args))
    assert cubed() == 8 and compiled
    assert {path.name: path.lstat() for path in folder.iterdir()} == before


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602])
def test_a_file_that_others_may_write_is_not_read(folder, monkeypatch, mode):
    cubed()
    the_file(folder).chmod(mode)
    untouched(folder, monkeypatch)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_directory_that_others_may_write_is_not_used(folder, monkeypatch, mode):
    cubed()
    folder.chmod(mode)
    untouched(folder, monkeypatch)
    assert "may be written by other users" in cache.obstacle()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
def test_a_file_of_another_user_is_not_read(folder, monkeypatch):
    cubed()
    os.chown(the_file(folder), 65534, 65534)
    untouched(folder, monkeypatch)
    os.chown(the_file(folder), 0, 0)
    os.chown(folder, 65534, 65534)
    untouched(folder, monkeypatch)
    assert "belongs to another user" in cache.obstacle()


@pytest.mark.parametrize("what", ["link", "fifo", "directory"])
def test_what_is_no_file_is_left_alone(folder, tmp_path, monkeypatch, what):
    cubed()
    file = the_file(folder)
    content = file.read_bytes()
    file.unlink()
    if what == "link":
        (tmp_path / "target").write_bytes(content)
        file.symlink_to(tmp_path / "target")
    elif what == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    untouched(folder, monkeypatch)


def test_files_of_others_are_never_removed(folder):
    cubed()
    others = ["main.o", "a" * 64 + ".o", "x.kernels", "0" * 31 + ".kernels", "0" * 32 + ".kernels.bak"]
    for name in others:
        (folder / name).write_bytes(b"somebody's")
    cache.prune(folder, limit=0)
    assert cache.clear() == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(others)


# ---- what can go wrong --------------------------------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cubed() == 8


def test_a_full_disk(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "write", full)
    assert cubed() == 8
    assert not the_file(folder).read_bytes()


def test_processes_at_once(folder):
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in running] == ["8.0"] * 3
    names = [name for name, _, _ in cache.records(the_file(folder).read_bytes())]
    assert len(set(names)) == cache.kept()[0] >= 3  # the kernel's loop, the entry that all kernels share, the threads, and facts


def test_the_oldest_files_go_first(tmp_path):
    names = [f"{number:032x}.kernels" for number in range(3)]
    for age, name in enumerate(names):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache.prune(tmp_path, limit=250)
    assert sorted(path.name for path in tmp_path.iterdir()) == names[:2]
    cache.prune(tmp_path, names[1], limit=150)
    assert [path.name for path in tmp_path.iterdir()] == names[1:2]


def test_clear(folder):
    cubed()
    count, size = cache.kept()
    assert count > 0 and size == the_file(folder).stat().st_size
    assert cache.clear() == count
    assert not list(folder.iterdir())


def test_numpy_serves_where_nothing_can_be_compiled(monkeypatch):
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


def test_a_limit_on_the_size_of_files(folder):
    """Every write stops half way, as on a full disk, and so does a process that is killed. What is left is skipped."""
    limit = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    )
    assert run(prefix=limit) == "8.0"
    assert the_file(folder).stat().st_size == 100
    assert run() == run() == "8.0"


@pytest.mark.parametrize(
    "where", [{"ADJOINT_CACHE_DIR": "/proc/none"}, {"ADJOINT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/proc/none"}]
)
def test_no_place_for_the_cache(where):
    assert run(**where) == "8.0"


def test_no_home_at_all():
    assert run(prefix="import os\nfor name in ('HOME', 'XDG_CACHE_HOME', 'ADJOINT_CACHE_DIR'): os.environ.pop(name, None)\n") == "8.0"


def test_another_level_of_cpus_has_a_file_of_its_own(folder):
    run()
    other = {"x86-64-v2": "native", "generic": "generic"}.get(target.current().name, "x86-64-v2")
    assert run(ADJOINT_CPU=other) == "8.0"
    assert len(list(folder.iterdir())) == (2 if platform.machine() == "x86_64" else 1)


def test_another_cpu_of_the_same_level_has_the_same_file(folder):
    run()
    before = the_file(folder).read_bytes()
    assert run(prefix="import llvmlite.binding\nllvmlite.binding.get_host_cpu_name = lambda: 'another'\n") == "8.0"
    assert the_file(folder).read_bytes() == before


def test_the_standard_set_is_built_once(folder, monkeypatch, capsys):
    from adjoint.cli import build

    monkeypatch.setattr(build, "standard", lambda: [(name, None) for name in ("exp", "softmax", "Adam")])
    assert build.build() == 0
    found = capsys.readouterr().out
    made, _ = cache.kept()
    assert made > 8 and f"{made} kernels compiled in" in found and "3 of 3" in found
    assert build.build() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0 kernels compiled in")


def test_nothing_is_built_that_cannot_be_kept(tmp_path, monkeypatch, capsys):
    from adjoint.cli import build

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert build.build() == 1
    assert "could not be kept" in capsys.readouterr().out
    monkeypatch.setattr(cache, "read_only", lambda folder: True)
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    assert build.build() == 1
    assert "cannot be written to; name another directory by ADJOINT_CACHE_DIR" in capsys.readouterr().out


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
    assert list(folder.glob("*.kernels"))
