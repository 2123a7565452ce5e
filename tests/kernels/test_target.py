"""Which CPU kernels are made for."""

import os
import subprocess
import sys

import pytest

from adjoint._kernels import target


@pytest.fixture
def asking(monkeypatch):
    """The target for a value of ADJOINT_CPU, on an x86 with these levels."""

    def asking(name, levels=("x86-64-v2", "x86-64-v3"), architecture="x86_64"):
        monkeypatch.setenv("ADJOINT_CPU", name)
        monkeypatch.setattr(target, "architecture", lambda: architecture)
        monkeypatch.setattr(target, "host_levels", lambda: list(levels))
        return target.current.__wrapped__()

    return asking


@pytest.mark.parametrize(
    "name, level",
    [("v2", "v2"), ("v3", "v3"), ("x86-64-v2", "v2"), ("V3", "v3"), ("native", "v3"), ("", "v3"), ("haswell", "v3"), ("nehalem", "v2")],
)
def test_the_setting_names_a_level(asking, name, level):
    assert asking(name).name == f"x86-64-{level}"


def test_any_arm_is_one_level(asking):
    assert asking("native", architecture="aarch64") is asking("generic", architecture="aarch64") is target.ARM


@pytest.mark.parametrize("name", ["v4", "x86-64-v4", "znver4"])
def test_a_level_that_the_cpu_has_not_is_refused(asking, name):
    with pytest.raises(ValueError, match=f"ADJOINT_CPU={name}: this CPU has no x86-64-v4; possible here: x86-64-v2, x86-64-v3, native"):
        asking(name)


@pytest.mark.parametrize("name", ["v5", "8086", "x86-64-v", "none"])
def test_a_name_that_means_nothing_is_refused(asking, name):
    with pytest.raises(ValueError, match=f"ADJOINT_CPU={name}: there is no such level, nor a CPU of that name; possible here"):
        asking(name)


def test_an_older_numpy_tells_single_features(monkeypatch):
    from numpy._core import _multiarray_umath

    found = {name: True for _, signs in target.SIGNS.values() for name in signs}
    monkeypatch.setattr(_multiarray_umath, "__cpu_features__", found)
    assert target.host_levels() == list(target.LEVELS)
    monkeypatch.setitem(found, "FMA3", False)
    assert target.host_levels() == ["x86-64-v2"]


def test_llvm_agrees_with_numpy(monkeypatch):
    found = target.host_levels()
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", None)
    assert target.host_levels() == found


def run(program, **environment):
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_what_the_code_is_for_is_known_without_llvm():
    program = "import sys; from adjoint._kernels import target; target.identity(); sys.exit('llvmlite' in sys.modules)"
    assert run(program).returncode == 0


def test_a_refusal_reaches_the_user():
    done = run("import adjoint as ad; ad.ones(3).exp()", ADJOINT_CPU="fast", ADJOINT_KERNELS="now")
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("ValueError: ADJOINT_CPU=fast: there is no such level")
