"""Work of hand-written kernels (blocks.py) on several threads, and memory that lasts from call to call.

A shared kernel takes its table and a range of pieces: `void work(ptr facts, i64 first, i64 last)`. How work is cut into pieces is the
caller's business, and must not depend on the number of threads.

A kernel that needs room for intermediate results takes one of a few rooms, as many as there are threads (`Rooms` in Python, `with room(f,
...)` in the kernel). Rooms are not cleared, and belong to the thread that calls the kernel: fresh memory would cost more than what most
kernels do with it, because the system has to clear it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from . import calls, jit, pool, workers
from .blocks import Function, Table

Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Share = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)
KEPT = 1 << 25  # bytes of rooms that a thread keeps


@cache
def work(family: str, name: str, kind: str, text: Callable[[str], str]) -> int:
    """The address of a kernel for float32 or float64."""
    symbol = f"{name}_{kind}"
    return jit.load(f"{family} {symbol}", lambda: text(kind), [symbol], jit.VECTORS)[symbol]


@cache
def sharer() -> Callable[[int, int, int, int, int], None]:
    return Share(workers.workers().share)


def share(kernel: int, facts: Table, pieces: int, step: int, *, alone: bool = False) -> None:
    """Do all pieces, `step` at a time, on several threads; on this one only if it is to be `alone`."""
    where = ctypes.addressof(facts)
    if alone or pieces <= step:
        Work(kernel)(where, 0, pieces)
    elif workers.supported():
        sharer()(workers.workers().address, kernel, where, pieces, step)
    else:
        call = Work(kernel)
        pool.run(lambda i: call(where, i * step, min(pieces, (i + 1) * step)), -(-pieces // step))


@cache
def builtin(family: str, name: str, names: str, text: Callable[[str], str]) -> Callable[..., bool | None]:
    """A shared kernel as a built-in, which is called like a `Loop` (loops.py). Its arguments are those in the table, the number of pieces,
    and how many elements there are to a piece. After the star of an array's name is its kind: T for floating numbers, I for int64, a
    question mark if it may be None, an exclamation mark if it is written to."""
    marks = " ".join([*(kind or "i" for _, _, kind in (name.partition("*") for name in names.split())), "r"])
    return calls.Kernel(name, marks, lambda kind: work(family, name, kind, text)).call


# ---- rooms --------------------------------------------------------------------------------------------------------------------------


class Rooms(threading.local):
    """Memory for the kernels that this thread calls."""

    def __init__(self) -> None:
        self.memory = np.empty(0, np.int64)
        self.flags = 0  # rooms whose flags are known to be zero, which kernels leave them

    def take(self, size: int) -> tuple[np.ndarray, int, int]:
        """At least `size` bytes for each thread: their memory, how far apart they are, and how many. Before the rooms are as many flags,
        all zero, that say which are taken."""
        count = pool.get_num_threads()
        size = -(-size // 64) * 64 + 64
        words = count * (size + 64) // 8
        memory = self.memory
        if memory.size < words:
            memory = np.empty(words + 8, np.int64)
            memory = memory[-memory.ctypes.data % 64 // 8 :]
            self.flags = 0
            if memory.nbytes <= KEPT:
                self.memory = memory
        if self.flags != count:
            memory[: 8 * count] = 0
            self.flags = count if memory is self.memory else 0
        return memory, size, count


rooms = Rooms()
ROOMS = "rooms*I! room_size room_count"  # the fields that `room` needs


@contextmanager
def room(f: Function, a: dict[str, str]) -> Iterator[str]:
    """Take a room that no other thread uses, and give it back. There are as many rooms as threads, so one is free."""
    flags, count = a["rooms"], a["room_count"]
    mark, number = f.fresh(), f.variable("i64", "0")
    f.label(f"claim{mark}")
    current = number.get()
    flag = f.at("i64", flags, f.mul(current, 8))
    taken = f.let(f"atomicrmw xchg ptr {flag}, i64 1 seq_cst")
    f.do(f"br i1 {f.equal(taken, 0)}, label %claimed{mark}, label %other{mark}")
    f.lines.append(f"other{mark}:")
    following = f.add(current, 1)
    number.set(f.let(f"select i1 {f.equal(following, count)}, i64 0, i64 {following}"))
    f.do(f"br label %claim{mark}")
    f.lines.append(f"claimed{mark}:")
    first = f.at("i64", flags, f.mul(count, 8))
    yield f.at("i8", first, f.mul(current, a["room_size"]))
    f.do(f"store atomic i64 0, ptr {flag} seq_cst, align 8")
