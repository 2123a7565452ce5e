"""Images: machine code that is linked once and runs wherever it is put."""

import ctypes
import platform
import sys
from pathlib import Path

import pytest

from adjoint._kernels import image, jit

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM links what it compiles for other systems"
)

FUNCTIONS = """
declare double @sqrt(double)
declare ptr @memset(ptr, i32, i64)
declare i64 @given(i64)
@number = internal global i64 40
@places = internal global [4 x i64] zeroinitializer
@constants = internal constant [4 x double] [double 0.5, double 1.5, double 2.5, double 3.5]

define i64 @count() {
  %n = load i64, ptr @number
  %m = add i64 %n, 1
  store i64 %m, ptr @number
  ret i64 %m
}
define double @chosen(i64 %i) {
  %p = getelementptr double, ptr @constants, i64 %i
  %x = load double, ptr %p
  ret double %x
}
define double @root(double %x) {
  %y = call double @sqrt(double %x)
  %z = fadd double %y, 0.25
  ret double %z
}
define i64 @outside(i64 %x) {
  %y = call i64 @given(i64 %x)
  ret i64 %y
}
define i64 @filled(i64 %n) {
  %r = call ptr @memset(ptr @places, i32 1, i64 %n)
  %x = load i64, ptr @places
  ret i64 %x
}
define i64 @choice(i64 %x) {
  switch i64 %x, label %other [i64 0, label %a  i64 1, label %b  i64 2, label %c  i64 3, label %d  i64 4, label %e]
a:
  ret i64 7
b:
  ret i64 77
c:
  ret i64 -5
d:
  ret i64 1234567
e:
  ret i64 12
other:
  ret i64 0
}
"""


@pytest.fixture(scope="module")
def linked():
    made = image.link(jit.object_code(FUNCTIONS))
    assert made is not None
    return made


def function(address, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(address)


def test_functions_constants_memory_and_calls(linked):
    double, word = ctypes.c_double, ctypes.c_int64
    given = ctypes.CFUNCTYPE(word, word)(lambda x: 3 * x)
    at = image.place(linked, {"given": ctypes.cast(given, ctypes.c_void_p).value or 0})
    assert [function(at["count"], word)() for _ in range(3)] == [41, 42, 43]
    assert [function(at["chosen"], double, word)(i) for i in range(4)] == [0.5, 1.5, 2.5, 3.5]
    assert function(at["root"], double, double)(16.0) == 4.25
    assert function(at["outside"], word, word)(14) == 42
    assert function(at["filled"], word, word)(4) == 0x01010101
    assert [function(at["choice"], word, word)(i) for i in range(6)] == [7, 77, -5, 1234567, 12, 0]


def test_two_places_do_not_share_memory(linked):
    one, other = (function(image.place(linked, {"given": 0})["count"], ctypes.c_int64) for _ in range(2))
    assert [one(), one(), other()] == [41, 42, 41]


def test_an_image_is_kept_as_bytes(linked):
    assert image.Image.unpack(linked.pack()) == linked
    assert {"count", "chosen", "root", "outside", "filled", "choice"} <= set(linked.symbols)
    assert set(linked.imports) == {"sqrt", "memset", "given"} - ({"sqrt"} - set(linked.imports))  # LLVM may know an instruction for it


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\xcf\xfa\xed\xfe" + bytes(100), b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_other_files_are_left_to_llvm(content):
    assert image.link(content) is None


def test_code_cannot_be_written_to(linked):
    """Nothing is writable and executable at once."""
    at = image.place(linked, {"given": 0})["root"]
    ranges = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
    (rights,) = [r for where, r in ranges if int(where.split("-")[0], 16) <= at < int(where.split("-")[1], 16)]
    assert rights.startswith("r-x")
