"""The debugger in a terminal or a notebook: reads commands, prints what is there. Commands may also come from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .._errors import AdjointError
from .._tensor import Tensor
from ..autograd.anomaly import array_of, ranges_of
from ..autograd.node import Node
from ..autograd.nonfinite import examine
from ..autograd.stepping import Event
from ..viz.collect import SMALL, small_value
from ..viz.graphs import counted
from .differences import Comparison
from .session import DebuggerError, Session

if TYPE_CHECKING:
    from .page import PassPage

PROMPT = "(debug) "


class Quit(KeyboardInterrupt):
    """The debugger was left, by a command or by Ctrl-C (`interrupted`). Nothing remains of the pass in which that was done."""

    def __init__(self, interrupted: bool) -> None:
        super().__init__("the debugger was left")
        self.interrupted = interrupted


class Terminal:
    """One session's commands. `commands` come before those that are read; what is left of them serves the next session, and so does the
    page that `web` has opened."""

    def __init__(self, session: Session, commands: Sequence[str] = (), page: PassPage | None = None) -> None:
        self.session = session
        self.commands = list(commands)
        self.last = ""  # the last command that went somewhere: an empty line repeats it
        self.page = page

    def run(self) -> None:
        """From the beginning of a pass to its end."""
        self.begin()
        event = self.session.go_on() if self.session.breakpoints else self.session.next()
        self.stopped(event)
        if event is not None:
            self.loop()

    def say(self, text: str) -> None:
        print(text)

    def begin(self, count: int = 1) -> None:
        """Say which pass it is, and what it costs to go back in it."""
        plan, site = self.session.plan, self.session.site
        self.say(f"backward() {f'number {count} ' if count > 1 else ''}at {site}")
        size, unknown = plan.bytes_kept
        more = f", and more for {counted(unknown, 'node', 'nodes')} of unknown shape" if unknown else ""
        kept = f"; to go back, about {bytes_text(size)} are kept{more}" if self.session.steps.keep else ""
        self.say(f"{counted(len(plan.nodes), 'node', 'nodes')} and {counted(len(plan.leaves), 'leaf', 'leaves')}{kept}")

    def loop(self) -> None:
        """Read commands until one of them leaves the pass."""
        while self.obey(self.read()):
            pass

    def read(self) -> str:
        if self.commands:
            command = self.commands.pop(0)
            self.say(PROMPT + command)
            return command
        try:
            command = input(PROMPT)
        except (EOFError, KeyboardInterrupt) as end:
            self.say("")
            self.leave(isinstance(end, KeyboardInterrupt))
        if not sys.stdin.isatty() and "ipykernel" not in sys.modules:
            self.say(command)  # so that what was piped in can be read with the answers
        return command

    def obey(self, command: str) -> bool:
        """Do what a command says. The answer is whether the debugger goes on reading."""
        word, _, rest = (command.strip() or self.last).partition(" ")
        name = next((full for full, (aliases, _) in COMMANDS.items() if word == full or word in aliases), None)
        if not word:
            return True
        if name is None:
            self.say(f"there is no command {word!r}; `help` lists them")
            return True
        if command.strip():
            self.last = command if name in ("next", "step", "back") else ""
        do: Callable[[str], Any] = getattr(self, f"do_{name}")
        try:
            return do(rest.strip()) is not False
        except AdjointError as error:
            if name in MOVES and not isinstance(error, DebuggerError):
                raise  # of a rule or a hook: it ends the pass, as it would end backward()
            self.say(f"  {error}")
            return True
        finally:
            if self.page is not None:
                self.page.show(self.session)

    # ---- going -----------------------------------------------------------------------------------------------------------------------

    def do_next(self, count: str) -> bool | None:
        """[COUNT]: to the next node or leaf, before its rule runs"""
        return self.times(count, self.session.next)

    def do_step(self, count: str) -> bool | None:
        """[COUNT]: half as far, too: after the node's rule has run"""
        return self.times(count, self.session.step)

    def do_back(self, count: str) -> bool | None:
        """[COUNT]: to the node or leaf before; what has happened since is undone, and happens again from memory"""
        event = None
        for _ in range(number_of(count, 1)):
            event = self.session.back()
        if event is None:
            self.say("This is the beginning: nothing has happened yet.")
        else:
            self.show(event)
        return None

    def times(self, count: str, move: Callable[[], Event | None]) -> bool | None:
        if self.session.ended:
            return False
        event = None
        for _ in range(number_of(count, 1)):
            event = move()
        if event is None:
            self.say("This is the end of the pass: `back` goes back, `next` or `continue` leaves the debugger.")
            self.session.ended = True
        else:
            self.show(event)
        return None

    def do_continue(self, rest: str) -> bool:
        """to the next breakpoint, or to the end"""
        return self.go_on()

    def go_on(self) -> bool:
        if self.session.ended:
            return False
        event = self.session.go_on()
        if event is not None:
            self.stopped(event)
        return event is not None

    def stopped(self, event: Event | None) -> None:
        """Say where the pass has stopped, and why."""
        if event is None:
            self.say("The pass has come to its end." if self.session.plan.places else "No gradient goes anywhere.")
            return
        number = self.session.matching(event)
        if number is not None:
            self.say(f"stopped by {number}, {self.session.breakpoints[number].text}")
        self.show(event)
        self.advise(event)

    def do_quit(self, rest: str) -> None:
        """end here: the pass is undone, and the program is interrupted"""
        self.leave()

    def leave(self, interrupted: bool = False) -> NoReturn:
        self.session.undo()
        raise Quit(interrupted)

    # ---- breakpoints -----------------------------------------------------------------------------------------------------------------

    def do_break(self, where: str) -> None:
        """[WHERE]: add a breakpoint (nan, inf, grad>100, line:41, line:model.py:41, node:MulBackward0, param:fc.weight), or list them"""
        session = self.session
        if not where:
            self.say("\n".join(f"  {number}  {one.text}" for number, one in session.breakpoints.items()) or "  there are no breakpoints")
            return
        number = session.add(where)
        self.say(f"  {number}  {session.breakpoints[number].text}")
        if not session.breakpoints[number].reaches(session.plan):
            self.say("  (nothing in this pass matches it; `list` shows what is near)")

    def do_delete(self, number: str) -> None:
        """NUMBER: delete a breakpoint"""
        if not number.isdecimal():
            raise DebuggerError("delete the breakpoint of which number?", fix="`break` lists them")
        self.say(f"  deleted {number}, {self.session.delete(int(number)).text}")

    # ---- looking ---------------------------------------------------------------------------------------------------------------------

    def show(self, event: Event) -> None:
        """Where the pass stands, and the gradients there."""
        self.say(self.headline(event.node or event.target, has_run=event.kind == "applied"))
        if event.node is not None and event.node.site.caret:
            self.say(" " * (len(self.title(event.node, event.kind == "applied")) + 3) + event.node.site.caret)
        self.gradients(event)

    def title(self, place: Any, has_run: bool = False) -> str:
        plan = self.session.plan
        number = f"[{plan.number.get(place, '?')}/{len(plan.places)}]"
        if isinstance(place, Node):
            return f"{number} {place.name()}{' has run' if has_run else ''}"
        return f"{number} leaf {plan.name_of(place) or '(no name)'}, {str(place.dtype).removeprefix('torch.')} {list(place.shape)}"

    def headline(self, place: Any, has_run: bool = False) -> str:
        return self.title(place, has_run) + (f"   {place.site}" if isinstance(place, Node) else "")

    def gradients(self, event: Event) -> None:
        session = self.session
        word = "given" if event.node is not None else "receives"
        rows = {f"{word} {place}" if len(session.given) > 1 else word: shown(one) for place, one in enumerate(session.given)}
        here = {f"gives {name}": shown(one) for name, one in session.gives.items()} or rows
        rows |= {name: text + (", edited" if session.is_edited(place) else "") for place, (name, text) in enumerate(here.items())}
        if event.node is None and isinstance(event.target, Tensor):
            rows[".grad"] = shown(event.target.grad)
        self.say(table(rows))

    def advise(self, event: Event) -> None:
        """Where a gradient has become NaN: why, and what to write instead."""
        if event.kind != "applied" or event.node is None:
            return
        gave = [array for array in map(array_of, event.gradients) if array is not None]
        bad = next((array for array in gave if (array != array).any()), None)
        if bad is not None:
            given = [array_of(one) for one in self.session.given]
            case = examine(event.node, bad, given if len(given) > 1 else given[0], self.session.roots)
            self.say(f"  fix: {case.advice()[1]}")

    def do_where(self, rest: str) -> None:
        """the lines around the one that computed this"""
        import linecache

        site = self.session.node.site
        for line in range(max(1, site.line - 3), site.line + 4):
            text = linecache.getline(site.filename, line).rstrip()
            if text or line == site.line:
                self.say(f"{'->' if line == site.line else '  '} {line:>4}  {text}")

    def do_list(self, count: str) -> None:
        """[COUNT]: the nodes and leaves around this one"""
        for number, place in self.session.around(number_of(count, 4)):
            self.say(("-> " if number == self.session.number else "   ") + self.headline(place))

    def do_grad(self, rest: str) -> None:
        """the gradients that came here, and those that go on, in full"""
        session = self.session
        for place, one in enumerate(session.given):
            self.say(f"given{f' {place}' if len(session.given) > 1 else ''}: {full(one)}")
        for name, one in session.gives.items():
            self.say(f"gives {name}: {full(one)}")

    def do_saved(self, rest: str) -> None:
        """what the node keeps for its rule"""
        self.say(table({name: shown(one) for name, one in self.session.saved.items()} or {"": "nothing"}))

    def do_print(self, expression: str) -> None:
        """EXPRESSION: its value, with the program's variables, `g` (the gradient), `grads` (by input, after the rule), `node`, `saved`"""
        self.say(full(self.evaluate(expression, self.session.given[0] if self.session.given else None)))

    def evaluate(self, expression: str, g: Any) -> Any:
        import adjoint

        session, event = self.session, self.session.event
        names = {"ad": adjoint, "torch": adjoint, **session.variables, "g": g}
        if event is not None and event.node is not None:
            names |= {"node": event.node, "grads": session.gives, "saved": session.saved}
        try:
            return eval(expression, names)
        except Exception as error:
            raise DebuggerError(f"{type(error).__name__}: {error}") from error

    # ---- changing and checking -------------------------------------------------------------------------------------------------------

    def do_set(self, rest: str) -> None:
        """[INPUT =] EXPRESSION: let another gradient go on, such as `g * 0.1` or `0`; of an input (`other = 0`) after the rule has run"""
        session = self.session
        if session.event is None or not rest:
            raise DebuggerError("set needs a gradient and what to put in its place", fix="set g * 0.1")
        name, equals, expression = rest.partition("=")
        named = bool(equals) and name.strip().isidentifier() | name.strip().isdecimal() and not expression.startswith("=")
        input = name.strip() if named else None
        known = list(session.gives.values()) or list(session.given)
        place, begun = session.place_of(input), session.begun
        session.replace(self.evaluate(expression if named else rest, known[place]), input)
        self.gradients(session.event)
        if session.begun > begun:
            self.say("  (the pass was made again up to here: hooks and custom functions have run once more)")

    def do_check(self, rest: str) -> None:
        """compare the node's rule with finite differences"""
        self.say(told(self.session.check()))

    def do_web(self, rest: str) -> None:
        """open this pass in the lab's page, as far as it has come; loaded again, the page shows what has happened since"""
        from .page import PassPage

        self.page = self.page or PassPage()
        self.page.show(self.session)
        self.page.open()

    def do_help(self, rest: str) -> None:
        """this list"""
        for name, (aliases, text) in COMMANDS.items():
            self.say(f"  {', '.join((name, *aliases)):<12}  {text}")


ALIASES = {
    "next": ("n",), "step": ("s",), "back": ("b",), "continue": ("c",), "break": (), "delete": (), "list": ("l",), "where": ("w",),
    "grad": ("g",), "saved": (), "print": ("p",), "set": (), "check": (), "web": (), "help": ("h", "?"), "quit": ("q", "exit"),
}  # fmt: skip
COMMANDS = {name: (aliases, getattr(Terminal, f"do_{name}").__doc__ or "") for name, aliases in ALIASES.items()}


MOVES = ("next", "step", "back", "continue")


# ---- text ----------------------------------------------------------------------------------------------------------------------------


def number_of(text: str, default: int) -> int:
    if text and not text.isdecimal():
        raise DebuggerError(f"{text!r} is no number")
    return int(text or default)


def bytes_text(size: int) -> str:
    """
    >>> bytes_text(44), bytes_text(12_345), bytes_text(3 << 20)
    ('44 bytes', '12 kB', '3.1 MB')
    """
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= limit:
            return f"{size / limit:.2g} {unit}" if size < 10 * limit else f"{size / limit:.0f} {unit}"
    return f"{size} bytes"


def shown(value: Any) -> str:
    """A tensor on one line: few numbers, or their range."""
    if isinstance(value, Tensor):
        array = value._data
        if value.numel() <= SMALL:
            return small_value(array)
        return ranges_of(array) if array_of(value) is not None else f"{value.dtype} {list(value.shape)}"
    return str(value)


def full(value: Any) -> str:
    return repr(value) if not isinstance(value, dict) else "\n".join(f"{name}: {one!r}" for name, one in value.items())


def table(rows: dict[str, str]) -> str:
    width = max(map(len, rows), default=0)
    return "\n".join(f"  {name:<{width}}  {text}" if width else f"  {text}" for name, text in rows.items())


def told(found: Comparison) -> str:
    """What the comparison with finite differences has shown."""
    width = max((len(one.name) for one in found.inputs), default=0)
    lines = []
    for one in found.inputs:
        elements = f"{one.compared} of {one.of} elements" if one.compared < one.of else counted(one.of, "element", "elements")
        word = "agrees" if one.agrees else "DIFFERS"
        at = f" at {list(one.index)}" if one.index else ""
        lines.append(f"  {one.name:<{width}}  {word} on {elements}; most apart{at}: rule {one.rule:.6g}, measured {one.measured:.6g}")
        if one.sides is not None:
            lines.append(f"  {'':<{width}}  there is a kink: the slope is {one.sides[0]:.6g} below and {one.sides[1]:.6g} above")
    if found.elsewhere:
        lines.append("  (its input was not kept: rule and differences were compared at random values)")
    if not found.agrees and found.hooks:
        lines.append("  (the node has hooks, which may have changed what its rule gave)")
    return "\n".join(lines) or "  there is nothing to compare: no gradient goes on"
