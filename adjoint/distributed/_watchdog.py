"""Nobody waits for ever: a thread that knows how long this process has waited for others, and asks theirs where they are.

The thread looks now and then at what is under way (`_work.py`), which costs the communications nothing. When this process has been held up
by one for longer than the group's timeout, the thread asks those of the other processes where they are, by datagrams, which reach them
whatever MPI is doing and whoever is stopped; tells what it has learnt; and ends the program. A process that leaves says so too: who needs
it after that waits in vain.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Thread, Timer, main_thread
from typing import Any

from .._site import Site, user_frame
from . import _endings, _ulfm
from ._groups import TIMEOUT, ProcessGroup
from ._objects import all_gather_object
from ._work import ANYONE, Work, under_way

_LOOK = 0.5  # seconds between two looks; less where a timeout is short
_ANSWERS = 1.0  # seconds within which a thread that runs at all has answered
_SHOWN = 16  # ranks that a report speaks of
_SIOCGIFADDR = 0x8915  # Linux: the address of an interface


class Watchdog:
    """The thread of one process, and what it knows."""

    def __init__(self, world: ProcessGroup) -> None:
        self.world, self._rank, self._left = world, world.rank(), ""  # how this process has left, in words
        self._groups = [world]
        self._since: dict[Work, float] = {}  # what this process was held up by at the last look, and since when
        self._answers: dict[int, dict[str, Any]] = {}
        self._gone: dict[int, dict[str, Any]] = {}  # the last words of those that have left
        self._summons = ""  # why another rank wants everybody's report
        self._token = ""
        self._addresses: list[list[tuple[str, int]]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("", 0))
        self._stopped = False
        Thread(target=self._run, name="adjoint watchdog", daemon=True).start()
        self._introduce()

    def _introduce(self) -> None:
        """Learn where the others' threads are to be reached."""
        self._exit = self.world._transport.part(self.world._ranks)  # a way to meet them that no other communication is in the way of
        here = socket.gethostname()
        cards: list[Any] = [None] * self.world.size()
        all_gather_object(cards, (here, _addresses(), self._socket.getsockname()[1], os.getpid(), secrets.token_hex(8)), self.world)
        self._token = cards[0][-1]
        self._addresses = [[(one, port) for one in (["127.0.0.1"] if host == here else found)] for host, found, port, *_ in cards]
        self._pids = {rank: pid for rank, (host, _, _, pid, _) in enumerate(cards) if host == here}

    def watch(self, group: ProcessGroup) -> None:
        self._groups.append(group)

    def forget(self, group: ProcessGroup) -> None:
        self._groups.remove(group)

    def leave(self, how: str) -> None:
        """Say that this process takes part in nothing any more."""
        self._left = self._left or how
        self._tell(self._addresses, "left")

    def meet(self, seconds: float) -> bool:
        """Wait, so many seconds at most, until all processes have left; whether they have."""
        assert self._exit is not None
        all_here, end = self._exit.barrier(later=True), time.monotonic() + seconds
        while not (done := all_here is None or all_here.Test()) and time.monotonic() < end:
            time.sleep(0.01)
        return done

    def stop(self) -> None:
        self._stopped = True

    # ---- the thread ----

    def _run(self) -> None:
        while not self._stopped:
            shortest = min(_limit(group) for group in self._groups)
            self._hear(min(_LOOK, shortest / 5))
            self._look()
            if self._left:
                self._tell(self._addresses, "left")  # datagrams get lost
        self._socket.close()

    def _look(self) -> None:
        now = time.monotonic()
        held = [work for work in list(under_way) if work.is_waited_for()]
        self._since = {work: self._since.get(work, work.since if work.is_blocking() else now) for work in held}
        for work, since in self._since.items():
            assert work.group is not None
            waited, limit = now - since, work.timeout.total_seconds()
            if _ulfm.enabled():
                if waited > limit:
                    self._expel(work, waited)
                    break
            elif waited > limit:
                longer = f"init_process_group(timeout=...) or {TIMEOUT}=SECONDS lets processes wait longer."
                self._fail(work, waited, f"longer than the timeout of {limit:g} s", longer)
            elif waited > _LOOK and (gone := self._in_vain(work)) is not None:
                self._fail(work, waited, f"but rank {gone} {self._gone[gone]['left']}")
            elif self._summons:
                self._fail(work, waited, self._summons)

    def _in_vain(self, work: Work) -> int | None:
        """A process that is needed and has left before it came."""
        return next((rank for rank, words in self._gone.items() if self._needed(work, rank) and not _come(words, work)), None)

    def _needed(self, work: Work, rank: int) -> bool:
        assert work.group is not None
        if work.peer is None:
            return rank in work.group._ranks
        return work.peer != ANYONE and rank == work.group._ranks[work.peer]

    # ---- what the threads tell each other ----

    def _tell(self, addresses: Sequence[Sequence[tuple[str, int]]], kind: str, **content: Any) -> None:
        turns = {group.group_name: group._turns for group in self._groups}
        body = {"token": self._token, "kind": kind, "rank": self._rank, "turns": turns, "left": self._left, **content}
        for place in (place for places in addresses for place in places):
            with contextlib.suppress(OSError):  # unreachable, or gone
                self._socket.sendto(json.dumps(body).encode(), place)

    def _hear(self, seconds: float) -> None:
        """Answer what comes within some seconds, and until nothing more does."""
        while select.select([self._socket], [], [], seconds)[0]:
            seconds = 0
            with contextlib.suppress(OSError, ValueError):  # an answer that did not get through comes back as an error
                data, sender = self._socket.recvfrom(65536)
                heard = json.loads(data)
                if heard["token"] == self._token and self._token:
                    self._take(heard, sender)

    def _hear_for(self, seconds: float, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while not enough() and (rest := end - time.monotonic()) > 0:
            self._hear(rest)

    def _take(self, heard: dict[str, Any], sender: tuple[str, int]) -> None:
        kind, rank = heard["kind"], heard["rank"]
        if kind == "where":
            self._tell([[sender]], "here", **self._position())
        elif kind == "here":
            self._answers[rank] = heard
        elif kind == "left":
            self._gone[rank] = heard
        elif kind == "report":
            self._summons = f"when rank {rank} gave up"
        elif kind == "end":
            os._exit(1)

    def _position(self) -> dict[str, Any]:
        """Where this process is: the line of its main thread, and what holds it up."""
        frame = user_frame(sys._current_frames()[main_thread().ident or 0])
        inside = [f"{work.name} for {time.monotonic() - since:.1f} s" for work, since in self._since.items() if work in under_way]
        return {"line": str(Site(frame.f_code, frame.f_lasti)), "inside": " and ".join(inside)}

    # ---- the end ----

    def _fail(self, work: Work, waited: float, why: str, hint: str = "") -> None:
        """Report, have everybody who waits report, and end the program."""
        asked = self._ask(work)
        self._report(work, f"{waited:.1f} s in {work.name}, {why}", f"The program is ended. {hint}")
        self._tell(asked, "report")
        self._hear_for(2 * _ANSWERS, lambda: False)  # the others need their time to ask and report
        _endings.end(1)

    def _expel(self, work: Work, waited: float) -> None:
        """Where training goes on without those that are lost, those that do not come are, too."""
        self._ask(work)
        missing = [rank for rank in self._others(work) if not self._told(rank, work)[0]]
        held_up = [rank for rank in missing if self._answers.get(rank, {}).get("inside")]  # by others, who are
        guilty = [rank for rank in missing if rank not in held_up]
        self._report(work, f"{waited:.1f} s in {work.name}", f"Rank {', '.join(map(str, guilty))} is ended.")
        for rank in guilty:
            if rank in self._pids:
                with contextlib.suppress(OSError):
                    os.kill(self._pids[rank], signal.SIGKILL)
            elif rank in self._answers:
                self._tell([self._addresses[rank]], "end")
            else:
                _endings.end(1)  # nobody can reach it
        self._since.clear()  # and wait again

    def _others(self, work: Work) -> list[int]:
        assert work.group is not None
        return [rank for rank in work.group._ranks if rank != self._rank]

    def _ask(self, work: Work) -> list[list[tuple[str, int]]]:
        """Where the others are; whom it has asked."""
        asked = [self._addresses[rank] for rank in self._others(work)] if self._addresses else []
        self._answers.clear()
        self._tell(asked, "where")
        self._hear_for(_ANSWERS, lambda: len(self._answers) == len(asked))
        return asked

    def _report(self, work: Work, what: str, consequence: str) -> None:
        told = sorted(self._told(rank, work) for rank in self._others(work))
        lines = [f"adjoint: rank {self._rank} has waited {what}", f"    {work.site}", *(f"  {words}" for _, _, words in told[:_SHOWN])]
        if len(told) > _SHOWN:
            lines.append(f"  ... and {len(told) - _SHOWN} more")
        _print("\n".join([*lines, f"  {consequence}".rstrip()]))

    def _told(self, rank: int, work: Work) -> tuple[bool, int, str]:
        """Whether a process has come, its rank, and where it is, in words."""
        answer = self._gone.get(rank) or self._answers.get(rank)
        if answer is None:
            return False, rank, f"rank {rank} does not answer: it is stopped, or its machine cannot be reached"
        if answer["left"]:
            return False, rank, f"rank {rank} {answer['left']}"
        where = f"{answer['line']} has been in {answer['inside']}" if answer["inside"] else answer["line"]
        come = _come(answer, work) or not self._needed(work, rank)
        return come, rank, f"rank {rank} {'has come' if come else 'has not come'}: {where}"


def _limit(group: ProcessGroup) -> float:
    return group._timeout.total_seconds()


def _come(said: dict[str, Any], work: Work) -> bool:
    """Whether a process that says where it is takes part in a collective. Of a message nobody can know."""
    assert work.group is not None
    return work.peer is None and said["turns"].get(work.group.group_name, 0) >= work.turn


# ---- what groups say ----------------------------------------------------------------------------------------------------------------

current: list[Watchdog] = []  # at most one


@contextlib.contextmanager
def starting(timeout: timedelta) -> Iterator[None]:
    """A `with` block that starts MPI, which waits until all processes do."""

    def give_up() -> None:
        _print(
            f"adjoint: init_process_group has waited {timeout.total_seconds():g} s for the other processes: one of them has ended or is "
            "stopped and has not called it. The program is ended."
        )
        os._exit(1)

    timer = Timer(timeout.total_seconds(), give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def start(world: ProcessGroup) -> None:
    """Keep an eye on the group of all processes."""
    for old in current:
        old.stop()
    current[:] = [Watchdog(world)]
    _endings.install()


def watch(group: ProcessGroup) -> None:
    """Keep an eye on a group of several of them."""
    for dog in current:
        dog.watch(group)


def forget(group: ProcessGroup) -> None:
    """A group has been destroyed."""
    for dog in current:
        if group is dog.world:
            dog.leave("has called destroy_process_group")
        else:
            dog.forget(group)


def _addresses() -> list[str]:
    """Those that this machine has in its networks."""
    found = []
    for _, name in socket.if_nameindex():
        with contextlib.suppress(ImportError, OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            import fcntl

            answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()))
            found.append(socket.inet_ntoa(answer[20:24]))
    return [one for one in found if not one.startswith("127.")]


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())  # in one piece, whatever else is being written
