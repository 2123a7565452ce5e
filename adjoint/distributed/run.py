"""PyTorch's `torch.distributed.run`, torchrun: a program in several processes. They are started by MPI's launcher.

`python -m adjoint launch` and `python -m torch.distributed.run` are this.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import uuid
from argparse import REMAINDER, Action, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ._launching import Interrupted, Launch, LaunchError, interrupted_by, own_address, start
from ._nodes import Meeting, meeting
from ._outputs import NAMES, PREFIX, Showing, streams
from .elastic import ChildFailedError

_DESCRIPTION = """Run a program in several processes, each of which is told its rank. MPI's mpiexec starts them, on this machine or on
others (--host, --hostfile, --nnodes inside a Slurm allocation). Lines of output begin with [rankN]:, and when one rank fails all are ended.
OMP_NUM_THREADS, unless it is set, is the number of cores for each."""


class _Refused(Action):
    """An argument of torchrun's that cannot mean anything here."""

    def __init__(self, *args: Any, why: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.why = why

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        parser.error(f"{option_string}: {self.why}")


def get_args_parser() -> ArgumentParser:
    """The arguments that the launcher takes."""
    parser = ArgumentParser(prog="python -m adjoint launch", description=_DESCRIPTION, allow_abbrev=False)

    def add(name: str, *others: str, **options: Any) -> None:
        parser.add_argument(f"--{name}", *dict.fromkeys([f"--{name.replace('-', '_')}"]) if "-" in name else (), *others, **options)

    add("nproc-per-node", default="1", metavar="N", help="ranks on each machine: a number, or auto or cpu for one per core")
    add("nnodes", default="1:1", metavar="N", help="machines: a number, or MIN:MAX; as many are used as --host or --hostfile names")
    add("host", default="", metavar="NAMES", help="the machines, a,b,...; the first is where rank 0 runs")
    add("hostfile", metavar="FILE", help="the same in a file, as mpiexec reads it")
    add("standalone", action="store_true", help="one machine; ranks meet at a free port")
    add("master-addr", metavar="HOST", help="where rank 0 runs, and keeps the store (default: the launcher keeps it)")
    add("master-port", type=int, metavar="PORT", help="the store's port there (default: 29500)")
    add("local-addr", metavar="HOST", help="where other machines reach this one (default: its address in their network)")
    add("node-rank", type=int, default=0, metavar="N", help="which machine this is, where each runs the launcher and none names the others")
    add("rdzv-backend", default="static", metavar="NAME", help="static or c10d, which are the same here")
    add("rdzv-endpoint", default="", metavar="HOST:PORT", help="--master-addr and --master-port in one")
    add("rdzv-id", default="none", metavar="ID", help="the job's name, TORCHELASTIC_RUN_ID")
    add("rdzv-conf", default="", metavar="K=V", help="join_timeout=SECONDS: how long machines wait for each other")
    add("max-restarts", type=int, default=0, metavar="N", help="how often all ranks are started again after one has failed")
    add("elastic", action="store_true", help="ranks that are left go on when one fails, with torch.distributed.elastic (Open MPI)")
    add("monitor-interval", type=float, default=0.1, metavar="S", help="seconds between looks at the processes")
    add("shutdown-timeout", type=float, metavar="S", help="seconds that ranks have to end before they are killed (default: 30)")
    add("signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", metavar="NAMES", help="signals upon which all ranks are ended")
    add("role", default="default", metavar="NAME", help="ROLE_NAME of all ranks")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    add("no-python", action="store_true", help="the program is any command, not of Python")
    add("run-path", action="store_true", help="what is done anyway: the script is run by runpy in each rank's own process")
    add("log-dir", metavar="FOLDER", help="where --redirects and --tee write (default: a temporary folder)")
    add("redirects", "-r", default="0", metavar="S", help="what goes to files only: 1 stdout, 2 stderr, 3 both; 0:1,1:2 by local rank")
    add("tee", "-t", default="0", metavar="S", help="what goes to files too")
    add("local-ranks-filter", default="", metavar="RANKS", help="show the output of these local ranks only, 0,1,...")
    add("start-method", default="spawn", choices=["spawn"], help="each rank is a process of its own")
    elastic = "adjoint's launcher has nothing of the kind; leave it out"
    add("numa-binding", action=_Refused, why="bind ranks with mpiexec's own settings, such as PRTE_MCA_hwloc_default_binding_policy=core")
    for name in ("event-log-handler", "logs-specs", "duplicate-stdout-filters", "duplicate-stderr-filters"):
        add(name, action=_Refused, why=elastic)
    add("virtual-local-rank", action=_Refused, nargs=0, why="there are no GPUs whose numbers could be hidden; leave it out")
    parser.add_argument("training_script", metavar="PROGRAM", help="a script, or with -m a module, or with --no-python a command")
    parser.add_argument("training_script_args", nargs=REMAINDER, metavar="ARGUMENTS")
    return parser


def parse_args(args: Sequence[str] | None) -> Namespace:
    return get_args_parser().parse_args(args)


def determine_local_world_size(nproc_per_node: str) -> int:
    """How many ranks `--nproc-per-node` means."""
    from .._kernels.pool import usable_cpus

    if nproc_per_node.isdigit() and int(nproc_per_node) > 0:
        return int(nproc_per_node)
    if nproc_per_node in ("auto", "cpu"):
        return usable_cpus()
    if nproc_per_node in ("gpu", "xpu"):
        raise ValueError(f"Cuda is not available: --nproc-per-node {nproc_per_node}; write a number, or cpu for one rank per core")
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}; write a number, auto or cpu")


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """(2, 4) of "2:4", and (2, 2) of "2"."""
    numbers = str(nnodes).split(":")
    if len(numbers) > 2 or not all(number.isdigit() for number in numbers):
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format; write a number or two')
    least, most = int(numbers[0]), int(numbers[-1])
    if not 1 <= least <= most:
        raise RuntimeError(f"nnodes={nnodes}: there have to be at least 1 and not fewer than the first number")
    return least, most


# ---- from arguments to what is started ----------------------------------------------------------------------------------------------

_RDZV_CONF = {"rank", "timeout", "read_timeout", "join_timeout", "last_call_timeout", "close_timeout", "is_host", "keep_alive_interval"}


def _launch(args: Namespace) -> Launch:
    per_node = determine_local_world_size(str(args.nproc_per_node))  # programs that make arguments themselves give numbers
    if args.rdzv_backend not in ("static", "c10d"):
        raise LaunchError(
            f"--rdzv-backend {args.rdzv_backend}: ranks need no service to meet, MPI brings them together; leave it out, or write c10d"
        )
    for pair in filter(None, args.rdzv_conf.split(",")):
        if (name := pair.partition("=")[0].strip()) not in _RDZV_CONF:
            raise LaunchError(f"--rdzv-conf {pair}: {name!r} is none of {', '.join(sorted(_RDZV_CONF))}")
    if args.node_rank and _meeting(args) is None:
        raise LaunchError(
            f"--node-rank {args.node_rank}: machines that each run the launcher meet at the first one; add --nnodes and --master-addr"
        )
    if args.max_restarts < 0:
        raise LaunchError(f"--max-restarts {args.max_restarts}: write 0 or more")
    hosts = [] if args.standalone else [name for name in args.host.split(",") if name]
    nodes = _nodes(args, hosts)
    program = [args.training_script, *args.training_script_args]
    return Launch(
        program=["-m", *program] if args.module else program,
        per_node=per_node,
        nodes=nodes,
        no_python=args.no_python and not args.run_path,
        local_rank_argument=not getattr(args, "use_env", True),
        hosts=hosts,
        hostfile=None if args.standalone else args.hostfile,
        address=args.local_addr or (own_address(hosts or [*(_master(args) or ())][:1]) if nodes > 1 or hosts else "127.0.0.1"),
        master=None if args.standalone or _meeting(args) else _master(args),
        run_id=str(uuid.uuid4()) if args.standalone else args.rdzv_id,
        role=args.role,
        elastic=args.elastic,
        max_restarts=args.max_restarts,
        interval=args.monitor_interval,
        shutdown_timeout=args.shutdown_timeout or float(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30")),
        signals=[number for name in args.signals_to_handle.split(",") if (number := getattr(signal, name.strip(), None)) is not None],
        showing=_showing(args, per_node),
    )


def _nodes(args: Namespace, hosts: list[str]) -> int:
    least, most = (1, 1) if args.standalone else parse_min_max_nnodes(args.nnodes)
    named = len(hosts)
    if args.hostfile and not args.standalone:
        lines = [line.partition("#")[0].split() for line in Path(args.hostfile).read_text(encoding="utf-8").splitlines()]
        named = len({words[0] for words in lines if words})
    if not named and "SLURM_JOB_ID" in os.environ:
        named = min(int(os.environ.get("SLURM_JOB_NUM_NODES", most)), most)
    if args.nnodes == "1:1" and named:
        return named
    if named < least and named:
        raise LaunchError(f"--nnodes {args.nnodes}: {named} machines are named, which is fewer")
    return min(named or least, most)


def _master(args: Namespace) -> tuple[str, int] | None:
    """Where rank 0 keeps the store, if that was said."""
    host, port = args.master_addr, args.master_port
    if args.rdzv_endpoint:
        found = re.fullmatch(r"(\[.+\]|[^:]+)(?::(\d+))?", args.rdzv_endpoint)
        if found is None:
            raise LaunchError(f"--rdzv-endpoint {args.rdzv_endpoint}: write HOST:PORT")
        host, port = host or found[1], port or int(found[2] or 0)
        if args.rdzv_backend == "c10d" and parse_min_max_nnodes(args.nnodes)[1] == 1 and not args.master_addr:
            return None  # where launchers meet, and there is one; `localhost:0` is often written then
    return ((host or "127.0.0.1").strip("[]"), int(port or 29500)) if host or port else None


def _meeting(args: Namespace) -> Meeting | None:
    """Where launchers meet, if every machine runs one: there are several, none is named, and it is said where the first one is."""
    least, most = parse_min_max_nnodes(args.nnodes)
    master = _master(args)
    if args.standalone or most == 1 or master is None or args.host or args.hostfile:
        return None
    if least != most:
        raise LaunchError(f"--nnodes {args.nnodes}: every machine runs the launcher, so say how many there are")
    number = args.node_rank if args.rdzv_backend == "static" or args.node_rank else None
    return meeting(*master, most, number, [part for part in args.rdzv_conf.split(",") if "=" in part])


def _showing(args: Namespace, per_node: int) -> Any:
    """Where lines go, by the number of the attempt."""
    redirected, teed = streams(args.redirects, per_node), streams(args.tee, per_node)
    wanted = {int(rank) for rank in args.local_ranks_filter.split(",") if rank.strip()}
    folder = Path(args.log_dir or tempfile.gettempdir()) / f"{args.rdzv_id}_{uuid.uuid4().hex[:8]}"
    template = os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", PREFIX)

    def kept(attempt: int, rank: int, stream: str) -> Path | None:
        chosen = redirected.get(rank, set()) | teed.get(rank, set())
        return folder / f"attempt_{attempt}" / str(rank) / f"{NAMES[stream]}.log" if stream in chosen else None

    def shown(rank: int, stream: str) -> bool:
        return stream not in redirected.get(rank, set()) - teed.get(rank, set()) and (not wanted or rank in wanted)

    several = per_node > 1 or args.host or args.hostfile or args.nnodes not in ("1", "1:1")
    return lambda attempt: Showing(template if several else None, args.role, shown, lambda rank, stream: kept(attempt, rank, stream))


# ---- running ------------------------------------------------------------------------------------------------------------------------


def run(args: Namespace) -> None:
    """Run what the arguments say. ChildFailedError, which says which rank failed and how, if one did."""
    launch, meeting = _launch(args), _meeting(args)
    with interrupted_by(launch.signals):
        if meeting is None:
            _started(launch)
        elif meeting.first:
            meeting.lead(lambda hosts, shell: _started(replace(launch, hosts=hosts, remote_shell=shell)))
        elif code := meeting.follow():
            raise ChildFailedError(launch.program[0], {}, f"  exitcode  : {code}; node 0 says more")


def _started(launch: Launch) -> int:
    error = start(launch, _notice)
    if error is not None:
        raise error
    return 0


def _notice(text: str) -> None:
    print(f"python -m adjoint launch: {text}", file=sys.stderr, flush=True)


def main(args: Sequence[str] | None = None) -> None:
    run(parse_args(args))


def console(args: Sequence[str] | None = None, parse: Callable[[Sequence[str] | None], Namespace] = parse_args) -> int:
    """`main` for a command line: what went wrong is said in a few lines, and the exit code is that of the rank that failed first."""
    try:
        run(parse(args))
    except ChildFailedError as error:
        _notice(str(error))
        code = error.get_first_failure()[1].exitcode if error.failures else 1
        return code if code >= 0 else 128 - code
    except (LaunchError, ValueError, RuntimeError, OSError) as error:
        _notice(str(error))
        return 2
    except Interrupted as interrupted:
        _notice(f"{signal.Signals(interrupted.number).name}: all ranks were ended")
        return 128 + interrupted.number
    return 0


if __name__ == "__main__":
    sys.exit(console())
