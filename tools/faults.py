"""Random faults in short trainings of several ranks: `./dev faults --count 200`.

Each training loses a rank by an exception, an exit, a signal or a stop, or has a slow one. None may hang. Where ranks go on without the
lost one, no sample may be lost or doubled, and the parameters have to be those of the same steps in one process; where all begin again from
a checkpoint, they have to be those of a run without the fault, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # adjoint, and this folder as the package `tools`

import adjoint as ad  # noqa: E402
from tools import faulty_training  # noqa: E402

KINDS = ("exception", "exit", "kill", "stop", "segv", "slow", "none")


class Case(NamedTuple):
    """A training and its fault."""

    mode: str  # elastic or restart
    ranks: int
    kind: str
    step: int
    rank: int

    def __str__(self) -> str:
        return f"{self.mode}: {self.kind} in rank {self.rank} of {self.ranks} at step {self.step}"


def run(case: Case, folder: Path, limit: float) -> dict[str, Any]:
    """What a training has left behind. AssertionError, with what it has said, if it does not end well, or not in time."""
    restarts = "0" if case.kind == "none" else "1"  # what others are compared with must not have been interrupted itself
    how = ["--elastic"] if case.mode == "elastic" else ["--max-restarts", restarts]
    launch = [sys.executable, "-m", "adjoint", "launch", "--standalone", "--nproc-per-node", str(case.ranks), *how]
    program = [str(ROOT / "tools" / "faulty_training.py"), case.mode, str(folder), case.kind, str(case.step), str(case.rank)]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as output:
        started = subprocess.Popen(
            [*launch, *program], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            code: int | None = started.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(started.pid, signal.SIGKILL)  # its ranks end when it is gone
            started.wait()
        output.seek(0)
        said = output.read()
    assert code is not None, f"{case}: hangs for {limit} s\n{said}"
    assert code == 0, f"{case}: ends with {code}\n{said}"
    return ad.load(folder / "result.pt")  # type: ignore[no-any-return]


def check(case: Case, limit: float, whole: dict[int, dict[str, Any]]) -> None:
    """`whole` keeps the runs without a fault, by their number of ranks."""
    if case.mode == "restart" and case.ranks not in whole:
        with tempfile.TemporaryDirectory() as folder:
            whole[case.ranks] = run(case._replace(kind="none"), Path(folder), limit)
    with tempfile.TemporaryDirectory() as folder:
        left = run(case, Path(folder), limit)
        happened = Path(folder, "happened").exists()
    assert happened == (case.kind != "none"), f"{case}: {'has' if happened else 'has not'} happened"
    for epoch in epochs(left["history"]):
        assert sorted(epoch) == list(range(faulty_training.SAMPLES)), f"{case}: samples were lost or doubled: {sorted(epoch)}"
    if case.mode == "restart":
        expected = whole[case.ranks]["model"]
        assert left["history"] == whole[case.ranks]["history"], f"{case}: other steps than without the fault"
        assert all(ad.equal(expected[name], value) for name, value in left["model"].items()), f"{case}: other parameters"
    else:
        assert left["ranks"] == case.ranks, f"{case}: {left['ranks']} ranks at the end"
        for name, value in alone(left["history"]).items():
            ad.testing.assert_close(left["model"][name], value, msg=lambda text: f"{case}: {text}")


def epochs(history: list[list[int]]) -> list[list[int]]:
    """The samples of each epoch."""
    every = [index for used in history for index in used]
    return [every[start : start + faulty_training.SAMPLES] for start in range(0, len(every), faulty_training.SAMPLES)]


def alone(history: list[list[int]]) -> dict[str, Any]:
    """The parameters after the same steps in one process."""
    data, (model, optimizer) = faulty_training.Line(), faulty_training.parts()
    for used in history:
        optimizer.zero_grad()
        faulty_training.loss_of(model, data.x[used], data.y[used]).backward()
        optimizer.step()
    return dict(model.state_dict())


def cases(count: int, seed: int) -> list[Case]:
    draw = random.Random(seed)
    drawn = []
    for _ in range(count):
        ranks = draw.choice((2, 3, 4))
        steps = faulty_training.EPOCHS * faulty_training.SAMPLES // (ranks * faulty_training.BATCH)
        mode = draw.choice(("elastic", "restart"))
        drawn.append(Case(mode, ranks, draw.choice(KINDS[:-1]), draw.randrange(steps), draw.randrange(ranks)))
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(description="Random faults in short trainings of several ranks")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=90, help="seconds after which a training hangs")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no training after so many")
    arguments = parser.parse_args()
    failed, began, whole = 0, time.monotonic(), {}  # type: ignore[var-annotated]
    done = 0
    for case in cases(arguments.count, arguments.seed):
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        start = time.monotonic()
        done += 1
        try:
            check(case, arguments.limit, whole)
            print(f"{done:3}  {case}: right after {time.monotonic() - start:.1f} s", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"{done:3}  FAILED {error}", flush=True)
    print(f"{done} faults, {failed} failed, in {(time.monotonic() - began) / 60:.1f} minutes")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
