"""Making random programs. A builder runs each step with PyTorch as it is added, so that the next one can fit the tensors that are there."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from .program import Leaf, Program, Ref, Step, Text

SIZES = (1, 2, 2, 3, 3, 4, 5)
DTYPES: tuple[str, ...] = ("float64",) * 4 + ("float32",) * 6 + ("float16", "bfloat16", "complex128", "complex64")
DTYPES += ("int64", "int32", "uint8", "bool", "int8", "int16")
LAYOUTS = ("",) * 4 + ("transposed", "strided", "offset", "channels_last", "expanded")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, float("inf"), -float("inf"), float("nan"), 1e-30, -3.5, 88.0, 1e4)
LARGEST = 200_000  # elements of a result that a program goes on with


class EndError(Exception):
    """A program that cannot go on."""


class Builder:
    """A program in the making, and the state that PyTorch is in after it."""

    def __init__(self, torch: Any, seed: int | str) -> None:
        self.torch = torch
        self.random = random.Random(seed)
        self.space: dict[str, Any] = {"torch": torch, "np": np, "nn": torch.nn, "F": torch.nn.functional, "log": []}
        self.steps: list[Step] = []
        self.next = 0
        self.failed = 0  # errors that were kept

    @property
    def program(self) -> Program:
        return tuple(self.steps)

    # ---- steps --------------------------------------------------------------------------------------------------------------------

    def number(self) -> int:
        self.next += 1
        return self.next - 1

    def add(self, call: str, *args: Any, keep: float = 0.2, **kwargs: Any) -> Ref | None:
        """Add a step and run it. One that raises is kept now and then: errors are compared as well."""
        return self.run(Step(self.number(), call, args, kwargs), keep)

    def run(self, step: Step, keep: float = 0.2) -> Ref | None:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(compile(step.text(), "<step>", "exec"), self.space)
        except Exception as error:
            if isinstance(error, SyntaxError | NameError):
                raise
            if self.random.random() < keep and self.failed < 2:
                self.steps.append(step)
                self.failed += 1
                if re.search(r"backward|autograd\.grad", step.text()):
                    raise EndError from None
            return None
        for value in self.space.values():
            if isinstance(value, self.torch.Tensor):
                with suppress(RuntimeError):
                    _ = value.grad_fn  # a view whose base was written has to be asked, or a hook on it ends the process
        value = self.space.get(f"v{step.number}")
        if isinstance(value, self.torch.Tensor) and value.numel() > LARGEST:
            return None
        self.steps.append(step)
        return Ref(step.number)

    def leaf(self, leaf: Leaf) -> Ref:
        made = self.add("{}", leaf, keep=0)
        assert made is not None, leaf.text()
        return made

    # ---- choices ------------------------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.random.randrange(len(options))]

    def value(self, ref: Ref) -> Any:
        return self.space[f"v{ref.number}"]

    def refs(self, test: Callable[[Any], bool] | None = None) -> list[Ref]:
        """The tensors that there are, of those that pass a test."""
        found = []
        for step in self.steps:
            value = self.space.get(f"v{step.number}")
            with suppress(RuntimeError):  # of a view that may not be used any more
                if isinstance(value, self.torch.Tensor) and (test is None or test(value)):
                    found.append(Ref(step.number))
        return found

    def tensor(self, test: Callable[[Any], bool] | None = None) -> Ref | None:
        """One of the tensors that pass a test, rather a late one."""
        found = self.refs(test)
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))] if found else None

    def shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        shape = tuple(self.pick(SIZES) for _ in range(self.random.randint(least, most)))
        return (*shape[:-1], 0) if shape and self.chance(0.03) else shape

    def new(
        self, shape: Iterable[int] | None = None, dtype: str = "", grad: bool | None = None, layout: str | None = None, **more: Any
    ) -> Leaf:
        """A leaf with whatever is not said chosen at random."""
        shape = self.shape() if shape is None else tuple(shape)
        dtype = dtype or self.pick(DTYPES)
        floating = dtype.startswith(("float", "complex", "bfloat"))
        grad = floating and (self.chance(0.6) if grad is None else grad)
        if layout is None:
            layout = self.pick(LAYOUTS)
        if (layout == "channels_last" and len(shape) not in (4, 5)) or not shape or (layout == "expanded" and grad) or 0 in shape:
            layout = ""
        if "low" not in more and dtype.startswith("float") and self.chance(0.06) and math.prod(shape) <= 64:
            more["values"] = tuple(self.pick(SPECIAL) for _ in range(max(1, min(12, math.prod(shape)))))
        return Leaf(shape, dtype, self.random.randrange(1000), layout=layout, grad=grad, **more)

    def like(self, array: np.ndarray, grad: bool) -> Leaf:
        """A leaf that stands for an array of a sample: as it is if it is small and of special numbers, or drawn from the same range."""
        dtype = array.dtype.name
        floating = array.dtype.kind in "fc"
        values = tuple(array.ravel().tolist()) if array.size <= 16 or not floating else None
        finite = np.abs(array[np.isfinite(array)]) if floating else np.abs(array)
        layout = self.pick(LAYOUTS) if array.ndim > 0 and 0 not in array.shape and self.chance(0.4) else ""
        layout = "" if layout == "expanded" or (layout == "channels_last" and array.ndim not in (4, 5)) else layout
        if values is not None and layout in ("strided", "offset", "transposed"):
            layout = ""
        low, high = -2.0, 2.0
        if floating and array.dtype.kind == "f" and finite.size:
            low, high = float(np.nanmin(np.where(np.isfinite(array), array, np.nan))), float(finite.max()) + 0.5
        elif not floating and array.size:
            low, high = float(array.min()), float(array.max()) + 1
        seed = self.random.randrange(1000)
        return Leaf(tuple(array.shape), dtype, seed, round(low, 2), round(high, 2), values, layout, grad and floating)

    # ---- derivatives --------------------------------------------------------------------------------------------------------------

    def backward(self, retain: bool = False) -> None:
        """A backward pass from one of the results, weighted."""
        output = self.tensor(lambda t: t.requires_grad and not t.is_leaf and t.numel() > 0)
        if output is None:
            return
        value = self.value(output)
        name = str(value.dtype).removeprefix("torch.")
        retained = {"retain_graph": True} if retain or self.chance(0.5) else {}
        if value.dim() == 0 and name in ("float32", "float64") and self.chance(0.5):
            self.add(".backward", output, **retained)
        else:
            self.add(".backward", output, Leaf(tuple(value.shape), name, 7, 0.5, 1.5), **retained)


def dtype(name: str) -> Text:
    return Text(f"torch.{name}")


def single(leaf: Leaf) -> Leaf:
    """The leaf in single precision."""
    return replace(leaf, dtype={"float64": "float32", "complex128": "complex64"}.get(leaf.dtype, leaf.dtype))
