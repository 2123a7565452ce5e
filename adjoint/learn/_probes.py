"""Programs that are run twice: with the learner's `MiniTensor`, and with adjoint's tensors, which know the answers."""

from __future__ import annotations

import ast
import random
import sys
from typing import Any

import numpy as np

import adjoint as ad

from ._exercise import NAMES, Mistake
from ._work import Mistakes, Work, close, counted_passes, diagnosed, plain, shown

NOTHING = {
    "No gradient arrived at all: backward() sets the grad of its own tensor to 1, and then runs the rules, its own first.":
        [lambda **values: [0.0 * np.asarray(value) for value in values.values()]],
}


def written_alone(work: Work) -> None:
    """Raise if something is imported that could differentiate in the learner's place."""
    for node in ast.walk(ast.parse(work.source)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if foreign := [name for name in names if name.partition(".")[0] not in {*sys.stdlib_module_names, *NAMES, "numpy"}]:
            raise Mistake(f"Line {node.lineno} imports {foreign[0]}. The autograd is to be your own: use NumPy at most.")


def probe(work: Work, program: str, values: dict[str, Any], hint: str, mistakes: Mistakes | None = None) -> None:
    """Run a program, whose last line sets `out`, and send `out` backward; raise if a value or gradient is not adjoint's.

    The mistakes are formulas that give wrong gradients from the values.
    """
    ours = {name: ad.tensor(value, dtype=ad.float64, requires_grad=True) for name, value in values.items()}
    found = dict(ours)
    exec(program, found)
    found["out"].backward()
    theirs = {name: work.MiniTensor(value, requires_grad=True) for name, value in values.items()}
    own = dict(theirs)
    with counted_passes() as passes:
        exec(program, own)
        own["out"].backward()
    if passes:
        raise Mistake("adjoint's engine ran inside your MiniTensor. The autograd is to be your own.")
    given = ", ".join(f"{name} = {shown(value)}" for name, value in values.items())
    where = f"For `{'; '.join(program.splitlines())}` with {given}" if program.count("\n") < 9 else "For a larger program"
    result, expected = plain(own["out"].value), plain(found["out"].detach())
    if not close(result, expected):
        raise Mistake(f"{where}: out.value should be {shown(expected)}, and is {shown(result)}. The forward computation is wrong already.")
    gradients = {name: plain(tensor.grad) for name, tensor in theirs.items()}
    right = {name: plain(tensor.grad) for name, tensor in ours.items()}
    for name, gradient in gradients.items():
        if not close(gradient, right[name]):
            answers = tuple(gradients.values())
            hint = diagnosed(answers, {**NOTHING, **(mistakes or {})}, lambda formula: formula(**values)) or hint
            raise Mistake(f"{where}: {name}.grad should be {shown(right[name])}, and is {shown(gradient)}. {hint}")


OPERATIONS = ("{x} + {y}", "0.5 * {x} * {y}", "{x} * {y} + {y}", "{x} ** 2 * 0.5", "{y} ** -1")


def random_program(draw: random.Random, length: int) -> tuple[str, dict[str, float]]:
    """A graph of sums, products and powers in which results are used again and again, and the values of its leaves.

    >>> program, values = random_program(random.Random(1), 3)
    >>> program.count("="), list(values)
    (4, ['a', 'b', 'c'])
    """
    values = {name: round(draw.uniform(0.6, 1.5), 2) for name in "abc"}
    known, unused = dict(values), set(values)
    lines: list[str] = []
    while len(lines) < length:
        x, y = draw.choice(list(known)[-4:]), draw.choice(list(known))
        operation = draw.choice(OPERATIONS).format(x=x, y=y)
        value = eval(operation, dict(known))
        if 0.5 < value < 2.5:  # so that large programs neither overflow nor fade away
            name = f"t{len(lines)}"
            known[name] = value
            lines.append(f"{name} = {operation}")
            unused = (unused | {name}) - {x, y}
    return "\n".join([*lines, f"out = {' + '.join(sorted(unused | set(values)))}"]), values
