"""Which CPU kernels are made for."""

import ctypes
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from adjoint._kernels import jit, target


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


@pytest.fixture
def lowest(monkeypatch):
    """Code for a CPU without fused operations and half precision."""
    monkeypatch.setattr(target, "current", lambda: target.LEVELS["x86-64-v2"])


def compiled(text, name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(jit.load(f"{name} without instructions", lambda: text, [name])[name])


def test_fused_operations_without_the_instruction(lowest):
    text = "declare double @llvm.fma.f64(double, double, double)\ndefine double @multiply_add(double %a, double %b, double %c) {\n"
    text += "  %r = call double @llvm.fma.f64(double %a, double %b, double %c)\n  ret double %r\n}\n"
    fma = compiled(text, "multiply_add", *[ctypes.c_double] * 4)
    numbers = np.random.default_rng(0).standard_normal((500, 3)) * 10.0 ** np.random.default_rng(1).integers(-9, 9, (500, 3))
    for a, b, c in numbers.tolist():
        for added in (c, -a * b):  # the second is what rounding loses
            assert fma(a, b, added) == float(Fraction(a) * Fraction(b) + Fraction(added))
    assert math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1 and math.copysign(1, fma(1.0, 1.0, -1.0)) == 1
    assert fma(1e308, 1.5, 0.0) == 1.5e308 and fma(1e308, 10.0, 0.0) == math.inf and math.isnan(fma(math.inf, 1.0, -math.inf))


def test_half_precision_without_the_instruction(lowest):
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(np.float16)
    text = "define float @widen(half %x) {\n  %y = fpext half %x to float\n  ret float %y\n}\n"
    text += "define half @narrow(float %x) {\n  %y = fptrunc float %x to half\n  ret half %y\n}\n"
    loops = """
define void @both(ptr %halves, ptr %floats, ptr %back, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %next]
  %from = getelementptr half, ptr %halves, i64 %i
  %float = getelementptr float, ptr %floats, i64 %i
  %to = getelementptr half, ptr %back, i64 %i
  %h = load half, ptr %from
  %w = call float @widen(half %h)
  %f = load float, ptr %float
  %n = call half @narrow(float %f)
  store float %w, ptr %float
  store half %n, ptr %to
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %count
  br i1 %more, label %next, label %end
end:
  ret void
}
"""
    both = compiled(text.replace("define", "define internal") + loops, "both", None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
    exact = halves.astype(np.float32)
    patterns = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32).view(np.float32)
    ends = np.float32([65519.9, 65520, -65536, 1e-8] * (1 << 14))
    with np.errstate(all="ignore"):
        middle = (exact + np.nextafter(halves, np.float16(np.inf)).astype(np.float32)) / 2
    for given in (exact, patterns, middle, np.nextafter(middle, np.float32(0)), ends):
        floats, back = given.copy(), np.empty_like(halves)
        both(halves.ctypes.data, floats.ctypes.data, back.ctypes.data, given.size)
        np.testing.assert_array_equal(floats, exact)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(back, given.astype(np.float16))
