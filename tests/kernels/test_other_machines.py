"""Machines that are not here: code for them is at least written and assembled, from kernels that ordinary programs use."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from llvmlite import binding
from adjoint._kernels import jit, target
from adjoint.cli import build

texts, load = {}, jit.load

def remember(description, text, symbols, written=jit.LOOPS, called=None):
    texts.setdefault(description, (text, written))
    return load(description, text, symbols, written, called)

jit.load = remember
jobs = dict(build.standard())
for name in "exp sums softmax add Adam".split():
    jobs[name]()
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
machine = binding.Target.from_triple(sys.argv[1]).create_target_machine(cpu=target.ARM.name, features="", opt=3, reloc="pic")
jit.machine, target.current = lambda *level: machine, lambda: target.ARM
starts = {jit.object_code(text(), written)[:4].hex() for text, written in texts.values()}
print(len(texts), *starts)
"""


@pytest.mark.parametrize(
    ("triple", "start"),
    [("aarch64-unknown-linux-gnu", "7f454c46"), ("arm64-apple-macosx11", "cffaedfe"), ("aarch64-pc-windows-msvc", "64aa")],
)
def test_kernels_for_64_bit_arm(own_cache, triple, start):
    environment = {**os.environ, "ADJOINT_CACHE_DIR": str(own_cache)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, triple], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    count, *starts = done.stdout.split()
    assert int(count) > 20
    assert {found[: len(start)] for found in starts} == {start}
