"""A short training in several ranks, one of which meets a fault. `tools/faults.py` starts it and looks at what it leaves behind.

`faulty_training.py MODE FOLDER KIND STEP RANK`: in mode "elastic" the other ranks go on, in mode "restart" all begin again from the last
checkpoint. The last rank 0 writes the parameters, and which samples each step has used, to FOLDER/result.pt.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import adjoint as ad
import adjoint.distributed as dist
from adjoint.distributed import elastic
from adjoint.nn.parallel import DistributedDataParallel
from adjoint.utils.data import DataLoader, Dataset, DistributedSampler

EPOCHS, SAMPLES, BATCH = 2, 48, 2


class Line(Dataset[Any]):
    """Samples that know their number."""

    def __init__(self) -> None:
        ad.manual_seed(1)
        self.x = ad.randn(SAMPLES, 4)
        self.y = self.x @ ad.tensor([1.0, -2.0, 3.0, 0.5])

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[int, ad.Tensor, ad.Tensor]:
        return index, self.x[index], self.y[index]


def parts() -> tuple[Any, Any]:
    """A model and its optimizer, as every rank begins."""
    ad.manual_seed(2)
    model = ad.nn.Sequential(ad.nn.Linear(4, 8), ad.nn.Tanh(), ad.nn.Linear(8, 1))
    return model, ad.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return ((model(x)[:, 0] - y) ** 2).mean()


def fail(kind: str) -> None:
    print(f"fault: {kind} in rank {dist.get_rank()}", flush=True)
    if kind == "exception":
        raise ArithmeticError("the fault")
    if kind == "exit":
        sys.exit(3)
    if kind == "slow":
        time.sleep(1)
        return
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "segv": signal.SIGSEGV}[kind])


class Fault:
    """What happens once, before the communication of a step, in a rank."""

    def __init__(self, folder: Path, kind: str, step: int, rank: int) -> None:
        self.mark, self.kind, self.step, self.rank = folder / "happened", kind, step, rank

    def __call__(self, step: int) -> None:
        if self.kind != "none" and step == self.step and dist.get_rank() == self.rank and not self.mark.exists():
            self.mark.touch()
            fail(self.kind)


def step(model: Any, optimizer: Any, batch: Any, fault: Fault, number: int) -> list[int]:
    """One step of all ranks together; the samples that it has used."""
    index, x, y = batch
    optimizer.zero_grad()
    loss = loss_of(model, x, y)
    fault(number)
    loss.backward()
    used: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(used, index.tolist())
    optimizer.step()
    return [number for numbers in used for number in numbers]


def going_on(folder: Path, fault: Fault) -> None:
    """The other ranks go on, and a new one comes."""
    data, (model, optimizer) = Line(), parts()
    sampler = elastic.Sampler(data, seed=3)
    state = elastic.State(model=model, optimizer=optimizer, sampler=sampler, epoch=0, history=[])

    @elastic.run
    def train(state: Any) -> None:
        parallel = DistributedDataParallel(model)
        while state.epoch < EPOCHS:
            sampler.set_epoch(state.epoch)
            for batch in DataLoader(data, batch_size=BATCH, sampler=sampler):
                used = step(parallel, optimizer, batch, fault, len(state.history))
                state.history = [*state.history, used]
                state.commit(samples=len(batch[0]))
            state.epoch += 1
            state.commit()

    train(state)
    save(folder, model, state.history)


def beginning_again(folder: Path, fault: Fault) -> None:
    """Every third step is kept, with the random state; whoever is started again goes on from there."""
    data, (model, optimizer) = Line(), parts()
    sampler, history, path = DistributedSampler(data, seed=3), [], folder / "checkpoint.pt"
    ad.manual_seed(dist.get_rank())
    if path.exists():
        kept = ad.load(path)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        history = kept["history"]
        ad.set_rng_state(kept["random"][dist.get_rank()])
    parallel = DistributedDataParallel(model)
    steps = len(DataLoader(data, batch_size=BATCH, sampler=sampler))
    while len(history) < EPOCHS * steps:
        sampler.set_epoch(len(history) // steps)
        for place, batch in enumerate(DataLoader(data, batch_size=BATCH, sampler=sampler, generator=ad.Generator())):
            if place < len(history) % steps:
                continue
            batch[1] = batch[1] + 0.01 * ad.randn(batch[1].shape)  # each rank's own random numbers
            history.append(step(parallel, optimizer, batch, fault, len(history)))
            if len(history) % 3 == 0:
                random: list[Any] = [None] * dist.get_world_size()
                dist.all_gather_object(random, ad.get_rng_state())
                if dist.get_rank() == 0:
                    kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "history": history, "random": random}
                    ad.save(kept, path)  # there is the old one or the new one, and never half of one
            if len(history) % steps == 0:
                break
    save(folder, model, history)


def save(folder: Path, model: Any, history: list[Any]) -> None:
    if dist.get_rank() == 0:
        ad.save({"model": model.state_dict(), "history": history, "ranks": dist.get_world_size()}, folder / "result.pt")


def main(mode: str, folder: str, kind: str, step: str, rank: str) -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=3))
    fault = Fault(Path(folder), kind, int(step), int(rank))
    {"elastic": going_on, "restart": beginning_again}[mode](Path(folder), fault)


if __name__ == "__main__":
    main(*sys.argv[1:])
