"""Threads that wait inside compiled code, so that a kernel can share its work without going through Python.

Waking a thread by way of Python costs 60 to 100 µs, as long as a kernel takes for a hundred thousand numbers. These threads are made by
Python but live in `serve`, without the GIL: they look for work for a moment after their last job, and sleep then. `share` hands out the
pieces of a job and works on them itself; it never waits for a thread that has not begun.

    void work(ptr arguments, i64 first, i64 last)                       # a job: called for ranges of units
    void share(ptr state, ptr work, ptr arguments, i64 units, i64 step)

How units are cut into pieces of `step` does not depend on the number of threads, so results do not either. Which thread does which pieces
is the same from job to job, as far as they keep pace: each has a seat, begins with the pieces of its seat, and helps at the others when it
is done with them. So it finds in its own caches what it had in the last job; if the next piece went to whoever comes first, a function of a
million numbers would take up to half as long again. While one thread of the program shares a job, the jobs of others run where they are.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache
from threading import Lock, Thread

from . import jit, memory, target
from .lifetime import forever
from .pool import get_num_threads, helpers_at_most, on_change

# The state, in 64-bit words; what different threads write is a cache line or more apart.
GENERATION, OPEN, WORK, ARGUMENTS, UNITS, STEP, SEATED, HELPERS, MUTEX, CONDITION = 0, 8, 9, 10, 11, 12, 13, 14, 15, 16
ACTIVE, SLEEPING, BUSY = 32, 48, 64
LOCK, UNLOCK, WAIT, BROADCAST, YIELD = range(80, 85)  # addresses of functions
NEXT, APART, SEATS = 96, 16, 16  # the next piece of each seat; more threads than there are seats share them
WORDS = NEXT + APART * SEATS

PATIENCE = 500  # looks at the state before a thread sleeps, each with a few pauses


def text() -> str:
    declaration, wait = target.current().pause
    pauses = "\n  ".join([wait] * 8)
    share = claim_text() + publish_text() + finish_text(pauses)
    serve = look_text(pauses) + sleep_text() + join_text()
    return f"{declaration}\n{pieces_text()}{share}{serve}"


def at(register: str, word: int) -> str:
    """Where a word of the state is."""
    return f"%{register} = getelementptr i64, ptr %state, i64 {word}"


def read(register: str, word: int, type_: str = "i64") -> str:
    """Read a word that nobody writes meanwhile."""
    return f"{at(register + '_at', word)}\n  %{register} = load {type_}, ptr %{register}_at"


def now(register: str, word: int) -> str:
    """Read a word that others may be writing."""
    return f"{at(register + '_at', word)}\n  %{register} = load atomic i64, ptr %{register}_at seq_cst, align 8"


def change(register: str, operation: str, word: int, by: int = 1) -> str:
    """Change a word that others may be changing."""
    return f"{at(register + '_at', word)}\n  %{register} = atomicrmw {operation} ptr %{register}_at, i64 {by} seq_cst"


def pieces_text() -> str:
    """`pieces`: work on the pieces of a seat, then on what is left of the others."""
    return f"""define internal i64 @first_piece(i64 %seat, i64 %seats, i64 %units, i64 %step) {{
  %up = add i64 %units, %step
  %up_less = sub i64 %up, 1
  %pieces = sdiv i64 %up_less, %step
  %before = mul i64 %pieces, %seat
  %first = sdiv i64 %before, %seats
  ret i64 %first
}}

define internal void @pieces(ptr %state, i64 %place) {{
entry:
  {read("work", WORK, "ptr")}
  {read("arguments", ARGUMENTS, "ptr")}
  {read("units", UNITS)}
  {read("step", STEP)}
  {read("seats", SEATED)}
  br label %sit
sit:
  %turn = phi i64 [0, %entry], [%turn_next, %stand]
  %moved = add i64 %place, %turn
  %seat = urem i64 %moved, %seats
  %after = add i64 %seat, 1
  %limit = call i64 @first_piece(i64 %after, i64 %seats, i64 %units, i64 %step)
  %next_place = mul i64 %seat, {APART}
  {at("nexts", NEXT)}
  %next = getelementptr i64, ptr %nexts, i64 %next_place
  br label %take
take:
  %piece = atomicrmw add ptr %next, i64 1 seq_cst
  %some = icmp slt i64 %piece, %limit
  br i1 %some, label %do, label %stand
do:
  %first = mul i64 %piece, %step
  %end = add i64 %first, %step
  %short = icmp slt i64 %end, %units
  %last = select i1 %short, i64 %end, i64 %units
  call void %work(ptr %arguments, i64 %first, i64 %last)
  br label %take
stand:
  %turn_next = add i64 %turn, 1
  %everywhere = icmp eq i64 %turn_next, %seats
  br i1 %everywhere, label %done, label %sit
done:
  ret void
}}

"""


def claim_text() -> str:
    """`share`, if there are no helpers or somebody else has them: do it all."""
    return f"""define void @share(ptr %state, ptr %work, ptr %arguments, i64 %units, i64 %step) {{
entry:
  {read("helpers", HELPERS)}
  %alone = icmp sle i64 %helpers, 0
  br i1 %alone, label %all, label %claim
claim:
  {change("taken", "xchg", BUSY)}
  %free = icmp eq i64 %taken, 0
  br i1 %free, label %publish, label %all
all:
  %a_first = phi i64 [0, %entry], [0, %claim], [%a_next, %a_do]
  %a_some = icmp slt i64 %a_first, %units
  br i1 %a_some, label %a_do, label %a_done
a_do:
  %a_next = add i64 %a_first, %step
  %a_short = icmp slt i64 %a_next, %units
  %a_last = select i1 %a_short, i64 %a_next, i64 %units
  call void %work(ptr %arguments, i64 %a_first, i64 %a_last)
  br label %all
a_done:
  ret void
"""


def publish_text() -> str:
    """`share`, otherwise: say what there is to do, and wake who sleeps."""
    return f"""publish:
  {at("p_work", WORK)}
  store ptr %work, ptr %p_work
  {at("p_arguments", ARGUMENTS)}
  store ptr %arguments, ptr %p_arguments
  {at("p_units", UNITS)}
  store i64 %units, ptr %p_units
  {at("p_step", STEP)}
  store i64 %step, ptr %p_step
  {at("p_seats", SEATED)}
  %threads = add i64 %helpers, 1
  %fit = icmp slt i64 %threads, {SEATS}
  %seats = select i1 %fit, i64 %threads, i64 {SEATS}
  store i64 %seats, ptr %p_seats
  {at("p_nexts", NEXT)}
  br label %begin
begin:
  %seat = phi i64 [0, %publish], [%seat_next, %begin]
  %begin_place = mul i64 %seat, {APART}
  %begin_at = getelementptr i64, ptr %p_nexts, i64 %begin_place
  %begin_piece = call i64 @first_piece(i64 %seat, i64 %seats, i64 %units, i64 %step)
  store atomic i64 %begin_piece, ptr %begin_at seq_cst, align 8
  %seat_next = add i64 %seat, 1
  %more_seats = icmp slt i64 %seat_next, %seats
  br i1 %more_seats, label %begin, label %announce
announce:
  {at("p_open", OPEN)}
  store atomic i64 1, ptr %p_open seq_cst, align 8
  {change("before", "add", GENERATION)}
  {now("sleeping", SLEEPING)}
  %some_sleep = icmp sgt i64 %sleeping, 0
  br i1 %some_sleep, label %wake, label %help
wake:
  {read("mutex", MUTEX, "ptr")}
  {read("condition", CONDITION, "ptr")}
  {read("lock", LOCK, "ptr")}
  {read("unlock", UNLOCK, "ptr")}
  {read("broadcast", BROADCAST, "ptr")}
  %l = call i32 %lock(ptr %mutex)
  %b = call i32 %broadcast(ptr %condition)
  %u = call i32 %unlock(ptr %mutex)
  br label %help
"""


def finish_text(pauses: str) -> str:
    """The end of `share`: take part, and wait for those who have begun."""
    return f"""help:
  call void @pieces(ptr %state, i64 0)
  store atomic i64 0, ptr %p_open seq_cst, align 8
  br label %others
others:
  %looks = phi i64 [0, %help], [%looks_next, %others_again]
  {now("active", ACTIVE)}
  %quiet = icmp eq i64 %active, 0
  br i1 %quiet, label %finished, label %others_wait
others_wait:
  {pauses}
  %looks_next = add i64 %looks, 1
  %long = icmp sgt i64 %looks_next, 200
  br i1 %long, label %others_yield, label %others_again
others_yield:
  {read("others_give", YIELD, "ptr")}
  %og = call i32 %others_give()
  br label %others_again
others_again:
  br label %others
finished:
  {at("p_busy", BUSY)}
  store atomic i64 0, ptr %p_busy seq_cst, align 8
  ret void
}}

"""


def look_text(pauses: str) -> str:
    """`serve`: look for a new job, for a while."""
    return f"""define void @serve(ptr %state, i64 %place) {{
entry:
  br label %begin
begin:
  %seen = phi i64 [0, %entry], [%current, %leave]
  br label %look
look:
  %looks = phi i64 [0, %begin], [%looks_next, %again]
  {now("generation", GENERATION)}
  %new = icmp ne i64 %generation, %seen
  br i1 %new, label %arrived, label %patient
patient:
  {pauses}
  %looks_next = add i64 %looks, 1
  %tired = icmp sgt i64 %looks_next, {PATIENCE}
  br i1 %tired, label %sleep, label %gives
gives:
  %turn = and i64 %looks_next, 15
  %polite = icmp eq i64 %turn, 0
  br i1 %polite, label %yields, label %again
yields:
  {read("give", YIELD, "ptr")}
  %g = call i32 %give()
  br label %again
again:
  br label %look
"""


def sleep_text() -> str:
    """`serve`, after a while: sleep until there is one."""
    return f"""sleep:
  {read("mutex", MUTEX, "ptr")}
  {read("condition", CONDITION, "ptr")}
  {read("lock", LOCK, "ptr")}
  {read("unlock", UNLOCK, "ptr")}
  {read("wait", WAIT, "ptr")}
  %l = call i32 %lock(ptr %mutex)
  {change("s", "add", SLEEPING)}
  br label %asleep
asleep:
  {now("woken", GENERATION)}
  %called = icmp ne i64 %woken, %seen
  br i1 %called, label %awake, label %doze
doze:
  %w = call i32 %wait(ptr %condition, ptr %mutex)
  br label %asleep
awake:
  {change("t", "sub", SLEEPING)}
  %u = call i32 %unlock(ptr %mutex)
  br label %arrived
"""


def join_text() -> str:
    """`serve`: take part in a job that is still open, if invited, and look for the next."""
    return f"""arrived:
  {change("a", "add", ACTIVE)}
  {now("current", GENERATION)}
  {now("open", OPEN)}
  {read("helpers", HELPERS)}
  %is_open = icmp ne i64 %open, 0
  %invited = icmp slt i64 %place, %helpers
  %takes_part = and i1 %is_open, %invited
  br i1 %takes_part, label %join, label %leave
join:
  %chair = add i64 %place, 1
  call void @pieces(ptr %state, i64 %chair)
  br label %leave
leave:
  {change("z", "sub", ACTIVE)}
  br label %begin
}}
"""


class Workers:
    """The threads of this process, and the state that they share with kernels."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.state = (ctypes.c_int64 * WORDS)()
        self.rooms = [ctypes.create_string_buffer(256) for _ in range(2)]  # more than any system's mutex and condition
        self.started = 0
        functions = jit.load("workers", text, ["share", "serve"], jit.FINISHED)
        self.share = functions["share"]
        self.serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(functions["serve"])
        self.connect()
        self.adjust()

    @property
    def address(self) -> int:
        return ctypes.addressof(self.state)

    def connect(self) -> None:
        """Make a fresh mutex and condition, and tell the code where the system's functions are."""
        library = ctypes.CDLL(None)
        mutex, condition = self.rooms
        library.pthread_mutex_init(mutex, None)
        library.pthread_cond_init(condition, None)
        self.state[MUTEX], self.state[CONDITION] = ctypes.addressof(mutex), ctypes.addressof(condition)
        names = {
            LOCK: "pthread_mutex_lock", UNLOCK: "pthread_mutex_unlock", WAIT: "pthread_cond_wait", BROADCAST: "pthread_cond_broadcast",
            YIELD: "sched_yield",
        }  # fmt: skip
        for word, name in names.items():
            self.state[word] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0

    def adjust(self) -> None:
        """Have as many threads take part as the user asked for."""
        with self.lock:
            helpers = helpers_at_most(get_num_threads())
            with suppress(RuntimeError):  # the system gives no more threads
                while self.started < helpers:
                    Thread(target=self.serve, args=(self.address, self.started), name="adjoint-kernels", daemon=True).start()
                    self.started += 1
            self.state[HELPERS] = min(helpers, self.started)

    def forget(self) -> None:
        """In a forked child: the threads were not copied, and what they held is in an unknown state. The child computes alone, until it
        sets a number of threads."""
        self.lock = Lock()
        self.started = 0
        for word in (OPEN, ACTIVE, SLEEPING, BUSY, HELPERS):
            self.state[word] = 0
        self.connect()


_made: list[Workers] = forever([])  # their threads never end


@cache
def supported() -> bool:
    """Whether this system has what the threads need."""
    return os.name == "posix" and bool(target.current().pause[0])


def workers() -> Workers:
    if not _made:
        memory.keep_heap()  # as good a moment as any: the first kernel is about to run
        _made.append(Workers())
        on_change(_adjust)
        os.register_at_fork(after_in_child=_forget)
    return _made[0]


def _adjust() -> None:
    _made[0].adjust()


def _forget() -> None:
    _made[0].forget()
