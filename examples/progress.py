"""How the examples show progress: a bar if tqdm is installed, otherwise one line redrawn in a terminal, or ten lines in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import adjoint as ad

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class Steps:
    """Count the steps of a training loop, show the loss, and remember the first and the last one.

    steps = Steps(300)
    for step in steps:  # 1, 2, ..., 300
        ...
        steps.show(loss)
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.first = self.last = float("nan")

    def __iter__(self) -> Iterator[int]:
        self.bar = tqdm(total=self.count) if tqdm else None
        for step in range(1, self.count + 1):
            self.step = step
            yield step
            if self.bar is not None:
                self.bar.update()
        if self.bar is not None:
            self.bar.close()

    def show(self, loss: ad.Tensor) -> None:
        self.last = loss.item()
        if self.step == 1:
            self.first = self.last
        line = f"step {self.step:{len(str(self.count))}d}/{self.count}   loss {self.last:.4f}"
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {self.last:.4f}", refresh=False)
        elif sys.stdout.isatty():
            print(f"\r{line}", end="\n" if self.step == self.count else "", flush=True)
        elif self.step % max(1, self.count // 10) == 0:
            print(line, flush=True)
