"""Compiled code and the life of a process: its end, forks, and finalizers that run at any moment."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from adjoint._kernels import builtin, jit, memory
from adjoint._kernels.expr import Expr
from adjoint._kernels.lifetime import compiling

USE_KERNELS = textwrap.dedent(
    """
    import adjoint as ad
    x = ad.ones(300, 300, requires_grad=True)
    for _ in range(300):
        y = (x[:8, :8].exp() * 2).softmax(1)
        ad.cat([y, y.split(4)[0]]).sum().backward()
    (ad.ones(2_000_000) * 2).exp()
    """
)


def run(program, **environment):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment)


@pytest.mark.parametrize("fill", ["255", "1"])
def test_nothing_is_used_after_it_was_freed_at_the_end(fill):
    # The C library fills what is freed. A built-in function whose definition is gone would take another object for its class.
    done = run(USE_KERNELS, PYTHONMALLOC="malloc", MALLOC_PERTURB_=fill)
    assert done.returncode == 0, done.stderr


def test_kernels_work_while_python_takes_its_modules_apart():
    program = """
    import builtins
    class Late:
        def __init__(self):
            self.exp, self.x, self.large = ad.exp, x.detach()[:2, :2].clone(), ad.ones(1_000_000)
        def __del__(self):
            print(self.exp(self.x)._data[0, 0] == self.exp(self.large)._data[-1])
    builtins.late = Late()
    """
    done = run(USE_KERNELS + textwrap.dedent(program), PYTHONMALLOC="malloc", MALLOC_PERTURB_="255")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_memory_in_pieces_far_apart():
    # Single free pages above 4 GB that are taken, and all other free memory below them: constants fit above, code below.
    done = run(
        textwrap.dedent(
            """
            import mmap
            import numpy as np
            import adjoint as ad

            def piece(size):
                return np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ), np.uint8)

            ad.ones(4).exp()
            pieces = [piece(4 << 30)]
            while pieces[-1].ctypes.data >= pieces[0].ctypes.data:
                pieces.append(piece(mmap.PAGESIZE))
            del pieces[1::2]
            x = ad.ones(64, 64)
            x.sum(0), x.softmax(1), x.sort(), x.lgamma(), x.digamma(), x.erfinv(), x.var(0)
            """
        ),
        ADJOINT_KERNELS="now",
    )
    assert done.returncode == 0, done.stderr


def in_time(work):
    """Whether a thread comes to an end with it."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    return not thread.is_alive()


def kernel(name):
    (x,) = Expr.inputs(1)
    return builtin.load([builtin.Formula(name, x * x + 1, "T")], [None])[0]


def test_a_finalizer_may_call_an_op_in_the_middle_of_a_compilation():
    found = []

    def text():
        found.append(float(kernel("inner")(np.array([2.0]))[0]))  # as the garbage collector would have it
        return "define i64 @seven() {\n  ret i64 7\n}\n"

    assert in_time(lambda: jit.load(f"interrupted {os.getpid()}", text, ["seven"]))
    assert found == [5.0]


def test_a_block_may_be_freed_while_another_is_taken():
    def free_within():
        with memory._lock:
            memory.keep(np.empty(memory.HUGE, np.uint8))

    memory.release()
    assert in_time(free_within)
    assert memory.release() == memory.HUGE


def test_a_fork_waits_for_a_compilation():
    started, allowed = threading.Event(), threading.Event()

    def compile_slowly():
        with compiling:
            started.set()
            allowed.wait(30)

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    started.wait(30)
    threading.Timer(0.2, allowed.set).start()
    child = os.fork()
    if not child:
        os._exit(0 if in_time(lambda: kernel("child")) else 1)
    assert allowed.is_set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
