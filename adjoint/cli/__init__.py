"""The command line: `python -m adjoint run script.py`, and the others that `python -m adjoint --help` lists."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence

from .._version import __version__

RUN_USAGE = "python -m adjoint run [-m MODULE | -c CODE | SCRIPT.py | NOTEBOOK.ipynb] [ARGUMENTS ...]"
RUN_TEXT = """Run a PyTorch program, unmodified: in its process, and in those that it starts, `torch` is adjoint, whether PyTorch is
installed or not. Nothing is changed on disk."""


DEBUG_USAGE = "python -m adjoint debug [--break WHERE] [--command COMMAND] [-m MODULE | -c CODE | SCRIPT.py] [ARGUMENTS ...]"
DEBUG_TEXT = """Run a program as `run` does, and stop in its backward passes: where a breakpoint matches, or without any at the beginning of
the first one. WHERE is nan, inf, grad>100, line:41, line:model.py:41, node:MulBackward0 or param:encoder.0.weight. Commands are read from
the terminal or a pipe, those given by --command first; `help` lists them. After --, all arguments are the program's."""

STUB_TEXT = """Install a distribution named torch that is not PyTorch: it holds metadata, and makes `import torch` give adjoint. Packages
that require torch can then be installed without PyTorch. It refuses where PyTorch is installed, and `pip uninstall torch` removes it."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m adjoint", description="adjoint on the command line")
    parser.add_argument("--version", action="version", version=f"adjoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="run a PyTorch program with adjoint in PyTorch's place", usage=RUN_USAGE, description=RUN_TEXT)
    commands.add_parser("doctor", help="run it and find the mistakes in its training that no error tells")
    commands.add_parser("lines", help="run it, and say what each of its lines cost: time, backward, optimizer, memory")
    commands.add_parser(
        "debug", help="run it in the debugger: step through its backward passes, forth and back", usage=DEBUG_USAGE, description=DEBUG_TEXT
    )
    commands.add_parser("fix", help="repair what the doctor finds by edits of single lines, as a diff")
    commands.add_parser("launch", help="run it in several processes, with torchrun's arguments")
    check = commands.add_parser("check", help="say what of PyTorch a program uses that adjoint lacks, refuses or does nothing for")
    check.add_argument("paths", nargs="*", metavar="PATH", help="files, folders and notebooks")
    check.add_argument("--package", action="append", default=[], metavar="NAME", help="an installed package")
    check.add_argument("--deep", action="store_true", help="also look at the packages that these import and that use torch")
    check.add_argument("--json", action="store_true", help="all that was found, for programs to read")
    stub = commands.add_parser(
        "install-torch-stub", help="tell pip that torch is here, so that packages which require it fetch no PyTorch", description=STUB_TEXT
    )
    stub.add_argument("--uninstall", action="store_true", help="remove it again")
    stub.add_argument("--wheel", metavar="FOLDER", help="only write it as a wheel, for an index of your own")
    commands.add_parser("info", help="what is installed here, for bug reports")
    cache = commands.add_parser("cache", help="show the compiled kernels kept on disk; `cache build` compiles what most programs need")
    cache.add_argument("action", nargs="?", choices=["build"], help="compile the standard set, once per machine")
    cache.add_argument("--clear", action="store_true", help="remove them all")
    lab = commands.add_parser("lab", help="open the lab in the browser: graphs and gradients to look at and to play with")
    lab.add_argument("--port", type=int, default=0, help="where to listen on 127.0.0.1 (default: a free port)")
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    lab.add_argument("--static", metavar="FOLDER", help="write the pages as files that need no Python, and end")
    learn = commands.add_parser("learn", help="exercises with a checker: write derivatives, loops and an autograd of your own")
    learn.add_argument("action", nargs="?", choices=["list", "start", "check", "hint", "solution"], default="list", help="(default: list)")
    learn.add_argument("name", nargs="?", help="the exercise, or its file (default: the one in this folder that was changed last)")
    learn.add_argument("--notebook", action="store_true", help="`start` writes a notebook")
    learn.add_argument("--force", action="store_true", help="`start` replaces a file that is there")
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["run"] and given[1:2] not in (["-h"], ["--help"]):
        return ran(given[1:])  # whose options are the program's
    if given[:1] == ["doctor"]:
        from .doctor import examine

        return examine(given[1:])
    if given[:1] == ["lines"]:
        from .lines import lines

        return lines(given[1:])
    if given[:1] == ["debug"] and given[1:2] not in (["-h"], ["--help"]):
        from .debug import debugged

        return debugged(given[1:])
    if given[:1] == ["fix"]:
        from .fix import mend

        return mend(given[1:])
    if given[:1] == ["launch"]:
        from ..distributed.run import console

        return console(given[1:])
    options = parser.parse_args(given)
    match options.command:
        case "check":
            if not options.paths and not options.package:
                check.error("name a file, a folder or a notebook, or --package NAME")
            return checked(options.paths, options.package, options.deep, options.json)
        case "install-torch-stub":
            return stubbed(options.uninstall, options.wheel)
        case "info":
            print(info())
        case "cache":
            if options.clear:
                print(cleared())
            if options.action == "build":
                from .build import build

                return build()
            if not options.clear:
                print(kept())
        case "lab":
            from ..lab import server, static

            return static.write(options.static) if options.static else server.serve(options.port, not options.no_browser)
        case "learn":
            from ..learn import _commands

            return _commands.run(options.action, options.name, options.notebook, options.force)
    return 0


def stubbed(uninstall: bool, wheel: str | None) -> int:
    from . import torch_stub

    try:
        print(torch_stub.write_wheel(wheel) if wheel else torch_stub.uninstall() if uninstall else torch_stub.install())
    except torch_stub.RefusedError as error:
        print(f"python -m adjoint install-torch-stub: {error}", file=sys.stderr)
        return 1
    return 0


def ran(program: list[str], command: str = "run") -> int:
    from .run import NoProgramError, own_frames, run

    try:
        run(program)
    except NoProgramError as error:
        print(f"python -m adjoint {command}: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        sys.excepthook(type(error), error, own_frames(error))
        return 1
    return 0


def checked(paths: list[str], packages: list[str], deep: bool, for_programs: bool) -> int:
    """Print what is in the way. The exit code is 0 for nothing, 1 for something missing or refused, 2 for what cannot be read."""
    from .check import as_json, check, text
    from .check.sources import UnknownPackageError

    try:
        report = check(paths, packages, deep)
    except UnknownPackageError as error:
        print(f"python -m adjoint check: {error}", file=sys.stderr)
        return 2
    print(as_json(report) if for_programs else text(report))
    return report.exit_code


def info() -> str:
    """Versions and facts that a bug report should have."""
    import numpy as np

    from .._kernels import jit, objects, pool, target

    if jit.available():
        llvm = f"LLVM {'.'.join(map(str, jit.llvm().llvm_version_info))} for {target.current().name}"
    else:
        llvm = "none (NumPy does everything)"
    rows = {
        "adjoint": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "NumPy": np.__version__,
        "kernels": llvm if objects.supported() else f"{llvm}, not used: arrays have another layout in this Python",
        "threads": str(pool.get_num_threads()),
    }
    return "\n".join(f"{name:<8} {value}" for name, value in rows.items())


def kept() -> str:
    from .._kernels import cache

    count, size = cache.kept()
    lines = [f"{cache.directory()}: {count} kernels, {size / 2**20:.1f} of at most {cache.LIMIT / 2**20:.0f} MiB"]
    if why := cache.obstacle():
        lines.append(f"nothing is added: {why}")
    if shipped := cache.kept(cache.SHIPPED)[0]:
        lines.append(f"installed with adjoint: {shipped} kernels")
    return "\n".join(lines)


def cleared() -> str:
    from .._kernels import cache

    return f"removed {cache.clear()} kernels from {cache.directory()}"
