"""`python -m adjoint debug`: its options, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .run import NoProgramError, own_frames

OPTIONS = ("--break", "--command")
INTERRUPTED = 130  # the exit code of what Ctrl-C has ended


def split(given: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The values of the options, which may stand before and after the program, and the program with its arguments.

    >>> split(["train.py", "--break", "nan", "--lr=3", "--", "--break"])
    ({'--break': ['nan'], '--command': []}, ['train.py', '--lr=3', '--break'])
    """
    options: dict[str, list[str]] = {name: [] for name in OPTIONS}
    program: list[str] = []
    waiting = list(given)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            return options, program + waiting
        if name not in OPTIONS:
            program.append(word)
        elif not equals and not waiting:
            raise NoProgramError(f"what shall follow {name}? Write {name} {'WHERE' if name == '--break' else 'COMMAND'}")
        else:
            options[name].append(value if equals else waiting.pop(0))
    return options, program


def debugged(given: Sequence[str]) -> int:
    from ..debugging.breakpoints import BreakpointError
    from ..debugging.programs import run_program
    from ..debugging.terminal import Quit

    try:
        options, program = split(given)
        run_program(program, options["--break"], options["--command"])
    except (NoProgramError, BreakpointError) as error:
        print(f"python -m adjoint debug: {error}", file=sys.stderr)
        return 2
    except Quit as left:
        return INTERRUPTED if left.interrupted else 0
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        sys.excepthook(type(error), error, own_frames(error))
        return 1
    return 0
