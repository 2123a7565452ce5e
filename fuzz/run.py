"""Running a program with a library, and comparing what two libraries made of it.

A run is a record: everything that can be seen of the results, by where it was seen ("v3", "v3.grad at the end"). Two records are compared
place by place. Whether two floating-point numbers differ is asked in two steps. Some units in the last place are always allowed. If that is
not enough, the program runs again with PyTorch, a few times, with numbers disturbed in their last places; what such noise moves, rounding
may move as well, and anything beyond that is a difference. So no tolerance has to be chosen for a function, or for a chain of them.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .known import excused

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
EPSILON |= {"complex128": EPSILON["float64"], "complex64": EPSILON["float32"]}
TINY = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
TINY |= {"complex128": TINY["float64"], "complex64": TINY["float32"]}
ULPS = 8  # always allowed, relative to the number itself
OF_LARGEST = 16  # relative to the largest number of the tensor, or to 1 if that is smaller, once noise is looked at
AMPLIFIED = 32  # rounding may add up to so many times what one disturbance moves
DISTURBED = 6  # runs with noise: half of them with exact inputs
UNMEANT = ("AttributeError", "AssertionError", "KeyError", "UnboundLocalError", "ZeroDivisionError", "RecursionError", "SystemError")
LARGEST = 4_000_000  # elements of what is looked at


@dataclass
class Seen:
    """A tensor."""

    dtype: str
    shape: tuple[int, ...]
    requires_grad: bool
    leaf: bool
    strides: tuple[int, ...]
    values: Any

    def __str__(self) -> str:
        shown = "..." if self.values is None else " ".join(np.array2string(self.values, threshold=24, precision=9).split())
        return f"{shown} {self.dtype}{list(self.shape)} requires_grad={self.requires_grad} strides={self.strides}"


@dataclass
class Raised:
    """An error."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: Exception) -> Raised:
        """By the class of Python's that it is one of: both libraries have some of their own below."""
        builtin = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return cls(builtin.__name__, str(error))

    def __str__(self) -> str:
        return f"{self.kind}: {self.text[:300]}"


@dataclass
class Difference:
    """Where two runs part."""

    place: str
    what: str
    theirs: str
    ours: str
    statement: str
    program: str
    errors: str = ""  # of PyTorch's, in all statements

    def __str__(self) -> str:
        return f"{self.place}: {self.what}\n  statement: {self.statement}\n  PyTorch: {self.theirs}\n  adjoint: {self.ours}"


Record = dict[str, Any]


class Noise:
    """Disturbs the last places of floating-point results, and of the gradients that come back to them; of inputs too, unless they are
    to be exact; and, if asked for, of what is saved for derivatives: terms of one that cancel do not show by the others."""

    def __init__(self, seed: int, inputs: bool, saved: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        self.inputs = inputs
        self.saved = saved

    def around(self, torch: Any) -> AbstractContextManager[Any]:
        if not self.saved:
            return nullcontext()
        return torch.autograd.graph.saved_tensors_hooks(partial(self.of_saved, torch), lambda value: value)  # type: ignore[no-any-return]

    def of_saved(self, torch: Any, value: Any) -> Any:
        return self.disturbed(torch, value) if dtype_name(value) in EPSILON else value

    def __call__(self, torch: Any, statement: str, value: Any) -> None:
        if isinstance(value, list | tuple):
            for item in value:
                self(torch, statement, item)
        made_of_numbers = "torch.from_numpy(" in statement or "torch.tensor(" in statement
        if not isinstance(value, torch.Tensor) or (made_of_numbers and not self.inputs):
            return
        if dtype_name(value) in EPSILON and value.numel():
            with suppress(RuntimeError):  # an expanded tensor cannot be written to
                value.data.copy_(self.disturbed(torch, value.detach()))
            if value.requires_grad and not value.is_leaf:
                value.register_hook(partial(self.disturbed, torch))

    def disturbed(self, torch: Any, value: Any) -> Any:
        name = dtype_name(value)
        factors = 1 + 2 * EPSILON[name] * self.random.uniform(-1, 1, tuple(value.shape))
        wide = torch.complex128 if name.startswith("complex") else torch.float64
        return (value.to(wide) * torch.from_numpy(np.asarray(factors))).to(value.dtype)


# ---- running ------------------------------------------------------------------------------------------------------------------------


def execute(statements: Sequence[str], torch: Any, noise: Noise | None = None) -> Record:
    """Run statements one after the other. One that raises leaves its variable undefined; after a failed backward nothing is certain."""
    record: Record = {}
    space: dict[str, Any] = {"torch": torch, "np": np, "nn": torch.nn, "F": torch.nn.functional, "log": []}
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    disturbs = nullcontext() if noise is None else noise.around(torch)
    with warnings.catch_warnings(), np.errstate(all="ignore"), disturbs:
        warnings.simplefilter("ignore")
        for place, statement in enumerate(statements):
            name = name_of(statement, place)
            try:
                exec(compile(statement, f"<{name}>", "exec"), space)
            except Exception as error:
                record[name] = Raised.of(error)
                if re.search(r"backward|autograd\.grad|\.step\(", statement):
                    return record
                continue
            value = space.get(name)
            if noise is not None:
                noise(torch, statement, value)
                if ".step(" in statement:  # it has written to the parameters
                    noise(torch, statement, list(space.values()))
            observe(torch, name, value, record)
            for other in space.values():
                if isinstance(other, torch.Tensor):
                    with suppress(Exception):  # of a view that may not be used any more
                        _ = other.grad_fn  # PyTorch renews the history of a view when it is asked for
        for name, value in space.items():
            if re.fullmatch(r"v\d+|log", name):
                observe(torch, f"{name} at the end", value, record, whole=True)
    return record


def name_of(statement: str, place: int) -> str:
    """The variable that a statement defines."""
    found = re.match(r"(?:def |class )?(v\d+)(?: =|\()", statement)
    return found[1] if found else f"statement {place}"


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def observe(torch: Any, place: str, value: Any, record: Record, whole: bool = False) -> None:
    """Put what can be seen of a value into the record; the whole of it includes gradients and states."""
    if isinstance(value, torch.Tensor):
        try:
            record[place] = seen(torch, value)
            if whole and (value.is_leaf or value.retains_grad):
                observe(torch, f"{place}, grad", value.grad, record)
        except Exception as error:
            record[place] = Raised.of(error)
    elif isinstance(value, bool | int | float | complex | str | None):
        record[place] = value
    elif isinstance(value, dict):
        record[place] = list(map(str, value))
        for key, item in value.items():
            observe(torch, f"{place}[{key!r}]", item, record, whole)
    elif isinstance(value, list | tuple):
        record[place] = len(value)
        for number, item in enumerate(value):
            observe(torch, f"{place}[{number}]", item, record, whole)
    elif isinstance(value, torch.dtype):
        record[place] = str(value).rpartition(".")[2]
    elif isinstance(value, torch.nn.Module):
        if whole:
            observe(torch, place, dict(value.named_parameters()), record, whole)
            observe(torch, place, dict(value.named_buffers()), record, whole)
    elif whole and isinstance(value, torch.optim.Optimizer):
        observe(torch, place, value.state_dict(), record)


def seen(torch: Any, tensor: Any) -> Seen:
    name, values = dtype_name(tensor), None
    if 0 <= tensor.numel() <= LARGEST and tensor.device.type == "cpu":
        plain = tensor.detach().resolve_conj().resolve_neg()
        values = np.array((plain.to(torch.float32) if name == "bfloat16" else plain).numpy(force=True))
    return Seen(name, tuple(tensor.shape), tensor.requires_grad, tensor.is_leaf, tuple(tensor.stride()), values)


# ---- comparing ----------------------------------------------------------------------------------------------------------------------


class Comparison:
    """PyTorch's record of some statements, and as many disturbed ones as are asked for."""

    def __init__(self, statements: Sequence[str], torch: Any, layout: bool = False) -> None:
        self.statements = list(statements)
        self.torch = torch
        self.layout = layout  # whether strides are compared
        self.record = execute(statements, torch)
        self.disturbed: list[tuple[bool, Record]] = []

    def difference(self, ours: Record) -> Difference | None:
        """The first place where the other record is another, for no reason that is known."""
        for place in [*self.record, *(name for name in ours if name not in self.record)]:
            what = self.unlike(place, self.record.get(place, "nothing"), ours.get(place, "nothing"))
            if what:
                shown = str(self.record.get(place, "nothing")), str(ours.get(place, "nothing"))
                errors = "\n".join(value.text for value in self.record.values() if isinstance(value, Raised))
                found = Difference(place, what, *shown, self.source(place), "\n".join(self.statements), errors)
                if excused(found, self.record.get(place), ours.get(place)):
                    # What follows from it would be reported next: nothing after this can be compared.
                    return None
                return found
        return None

    def source(self, place: str) -> str:
        name = re.match(r"v\d+|statement \d+", place)
        for number, statement in enumerate(self.statements):
            if name and name_of(statement, number) == name[0]:
                return statement
        return ""

    def unlike(self, place: str, theirs: Any, ours: Any) -> str:
        """What differs, or nothing."""
        if isinstance(theirs, Raised) or isinstance(ours, Raised):
            if not isinstance(theirs, Raised):
                return "adjoint raises"
            if not isinstance(ours, Raised):
                return "PyTorch raises" if self.steady(place, theirs) else ""
            # Which of several wrong arguments is found first is nobody's business, but an error must be meant.
            return "" if theirs.kind == ours.kind or ours.kind not in UNMEANT else "an error that nobody meant"
        if isinstance(theirs, Seen) and isinstance(ours, Seen):
            for what in ("dtype", "shape", "requires_grad", "leaf", *(["strides"] if self.layout and math.prod(theirs.shape) > 1 else [])):
                if getattr(theirs, what) != getattr(ours, what):
                    return f"{what}: PyTorch {getattr(theirs, what)}, adjoint {getattr(ours, what)}"
            return "" if theirs.values is None or ours.values is None else self.values_unlike(place, theirs, ours)
        if isinstance(theirs, float) and isinstance(ours, float):
            as_seen = [Seen("float64", (), False, True, (), np.array(number)) for number in (theirs, ours)]
            return self.values_unlike(place, *as_seen)
        return "" if type(theirs) is type(ours) and theirs == ours else "another value"

    def values_unlike(self, place: str, theirs: Seen, ours: Seen) -> str:
        if theirs.dtype not in EPSILON:
            wrong = theirs.values != ours.values
            return self.moved(place, theirs, wrong) if wrong.any() else ""
        with np.errstate(all="ignore"):
            a, b = widened(theirs.values), widened(ours.values)
            error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            error = np.where(np.isnan(error), np.inf, error)
            # The state of an optimizer has numbers that were float32 before.
            epsilon, tiny = EPSILON["float32" if "['state']" in place else theirs.dtype], TINY[theirs.dtype]
            size = np.where(np.isfinite(a), np.abs(a), 0)
            if (error <= ULPS * (epsilon * size + tiny)).all():
                return ""
            # A number that is not finite here or there is no matter of rounding, unless the noise of results makes it so.
            broken = ~np.isfinite(error)
            if broken.any() and self.moved(place, theirs, broken):
                return self.moved(place, theirs, broken)
            allowed = AMPLIFIED * self.variation(place, a) + OF_LARGEST * epsilon * size.max(initial=1.0) + ULPS * tiny
            wrong = (error > allowed) & ~broken
            if not wrong.any():
                return ""
            worst = np.unravel_index(np.argmax(np.where(wrong, error, 0)), wrong.shape) if wrong.ndim else ()
            return f"{wrong.sum()} of {wrong.size} values differ, at {tuple(map(int, worst))}: PyTorch {a[worst]!r}, adjoint {b[worst]!r}"

    def noisy(self) -> Iterable[tuple[bool, Record]]:
        while len(self.disturbed) < DISTURBED:
            seed = len(self.disturbed)
            exact = seed % 2 == 0
            self.disturbed.append((exact, execute(self.statements, self.torch, Noise(seed, not exact))))
        return self.disturbed

    def variation(self, place: str, values: Any) -> Any:
        """How far noise moves each number."""
        most = np.zeros(np.shape(values))
        for _, record in self.noisy():
            other = record.get(place)
            if not isinstance(other, Seen):
                other = Seen("float64", (), False, True, (), np.array(other)) if isinstance(other, float) else None
            if other is None or np.shape(other.values) != most.shape:
                return np.inf  # with noise the program takes another way: nothing can be said
            most = np.maximum(most, changed(other.values, values))
        saved = execute(self.statements, self.torch, Noise(DISTURBED, False, True)).get(place)
        if isinstance(saved, Seen) and np.shape(saved.values) == most.shape:
            most = np.maximum(most, changed(saved.values, values))
        return most

    def moved(self, place: str, theirs: Seen, wrong: Any) -> str:
        """Nothing, if noise of results alone changes those that are wrong: where a difference is rounded up, or compared."""
        changes = np.zeros(np.shape(wrong), dtype=bool)
        for exact, record in self.noisy():
            other = record.get(place)
            if exact:
                if not isinstance(other, Seen) or np.shape(other.values) != changes.shape:
                    return ""
                same = (other.values == theirs.values) | ((other.values != other.values) & (theirs.values != theirs.values))
                changes |= ~same
        if theirs.dtype in EPSILON:  # infinite or NaN: a change of the kind is wanted
            kinds = [widened(record[place].values) for exact, record in self.noisy() if exact]
            changes = np.any([np.isfinite(kind) != np.isfinite(theirs.values) for kind in kinds], axis=0)
        return "" if (changes | ~wrong).all() else f"{(wrong & ~changes).sum()} of {wrong.size} values differ"

    def steady(self, place: str, theirs: Raised) -> bool:
        """Whether an error comes with noise as well: a matrix that is singular up to rounding, say, may be seen either way."""
        return all(isinstance(record.get(place), Raised) for exact, record in self.noisy() if exact)


def changed(values: Any, before: Any) -> Any:
    change = np.abs(widened(values) - before)
    return np.where(np.isnan(change), 0, change)


def widened(values: Any) -> Any:
    return np.asarray(values, dtype=np.complex128 if np.iscomplexobj(values) else np.float64)


def compared(statements: Sequence[str], torch: Any, ours: Any, repeats: int = 1, layout: bool = False) -> Difference | None:
    """Run statements with both libraries, with ours several times if it is to be warm."""
    comparison = Comparison(statements, torch, layout)
    for _ in range(repeats):
        found = comparison.difference(execute(statements, ours))
        if found is not None:
            return found
    return None
