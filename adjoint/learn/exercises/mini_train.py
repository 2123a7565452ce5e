"""Training on your own autograd.

With a MiniTensor that differentiates, everything is there that learning needs. Write fit(xs, ys, steps, rate): it fits the line y = w·x + b
to points by gradient descent, and returns the two numbers (w, b).

- xs and ys are lists of numbers. w and b are MiniTensors that begin at 0.
- Each of the `steps` steps computes the mean of (w·x + b - y)² over all points, calls backward(), and moves w and b by -rate times their
  gradient.

The MiniTensor below is one that passed the earlier stages. Put yours in its place if you like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._exercise import Mistake
from .._probes import written_alone
from .._work import Mistakes, Work, close, counted, counted_passes, diagnosed, plain, shown
from . import mini_deep

_CLASS = mini_deep.SOLUTION.partition("if __name__")[0]

_FIT = '''def fit(xs, ys, steps, rate):
    """w and b of the line through the points, by so many steps of gradient descent."""
{body}

if __name__ == "__main__":
    xs = [0.0, 1.0, 2.0, 3.0]
    print(fit(xs, [2 * x + 1 for x in xs], steps=500, rate=0.1))  # nearly (2, 1)
'''

SKELETON = _CLASS + _FIT.format(body="    raise NotImplementedError\n")

SOLUTION = _CLASS + _FIT.format(
    body='''    w = MiniTensor(0.0, requires_grad=True)
    b = MiniTensor(0.0, requires_grad=True)
    for _ in range(steps):
        loss = MiniTensor(0.0)
        for x, y in zip(xs, ys):
            loss = loss + (w * x + b + (-y)) ** 2
        loss = loss * (1 / len(xs))
        w.grad = b.grad = 0.0
        loss.backward()
        w.value -= rate * w.grad
        b.value -= rate * b.grad
    return w.value, b.value
'''
)

HINTS = (
    "One step: compute the loss from w and b with +, * and **; set both grads to 0.0; loss.backward(); change w.value and b.value.",
    "There is no minus: w * x + b + (-y) is the error at one point. Its square, summed over the points and times 1 / len(xs), is the loss.",
    "Change the numbers, not the tensors: w.value -= rate * w.grad. `w = w - ...` would make a new tensor, with a graph that grows.",
)

ERRORS = {
    "unsupported operand type(s) for -": "This MiniTensor has + , * and ** only: write w * x + b + (-y).",
    "unsupported operand type(s) for /": "This MiniTensor has + , * and ** only: multiply by 1 / len(xs).",
    "has no attribute 'backward'": "The loss is a plain number here: compute it from the MiniTensors w and b, not from their values.",
}


def reference(
    xs: Sequence[float], ys: Sequence[float], steps: int, rate: float, *,
    more_steps: int = 0, direction: int = -1, forget: bool = False, sum_up: bool = False, bias: bool = True, single: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """Gradient descent, right or wrong in one of these ways."""
    w, b, grad_w, grad_b = 0.0, 0.0, 0.0, 0.0
    points = list(zip(xs, ys, strict=True))
    for _ in range(steps + more_steps):
        for batch in [[point] for point in points] if single else [points]:
            if not forget:
                grad_w = grad_b = 0.0
            for x, y in batch:
                slope = 2 * (w * x + b - y) / (1 if sum_up else len(batch))
                grad_w, grad_b = grad_w + slope * x, grad_b + slope
            w, b = w + direction * rate * grad_w, b + direction * rate * grad_b * bias
    return w, b


MISTAKES: Mistakes = {
    "The gradients of earlier steps are still in grad: set w.grad and b.grad to 0.0 before each backward().": [{"forget": True}],
    "The loss is the sum over the points. The task asks for the mean: times 1 / len(xs).": [{"sum_up": True}],
    "The steps go up the slope instead of down: subtract rate times the gradient.": [{"direction": 1}],
    "b stays 0: it must be moved like w.": [{"bias": False}],
    "There is a step for each point. Here one step takes the mean over all points.": [{"single": True}],
    "One step too few was made.": [{"more_steps": -1}],
    "One step too many was made.": [{"more_steps": 1}],
    "w and b are what they were: change w.value and b.value in each step, and return those.": [{"direction": 0}],
}


def examine(work: Work) -> None:
    written_alone(work)
    for _ in range(3):
        count, steps, rate = work.random.randint(4, 7), work.random.randint(3, 8), work.random.uniform(0.02, 0.06)
        xs = [work.random.uniform(-2.0, 2.0) for _ in range(count)]
        ys = [3 * x + 1 + work.random.uniform(-0.5, 0.5) for x in xs]
        with counted_passes() as passes, counted(work.MiniTensor, "backward") as own_passes:
            answer = work.fit(list(xs), list(ys), steps, rate)
        if passes:
            raise Mistake("adjoint's engine ran inside fit. The autograd is to be your own.")
        judged(answer, xs, ys, steps, rate)
        if len(own_passes) < steps:
            raise Mistake("The numbers are right, but MiniTensor.backward() was not called in each step: let it find the gradients.")


def judged(answer: Any, xs: list[float], ys: list[float], steps: int, rate: float) -> None:
    right = reference(xs, ys, steps, rate)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Mistake("fit should return two numbers, (w, b).")
    if any(hasattr(number, "grad") for number in answer):
        raise Mistake("fit returns the MiniTensors. Return their numbers: (w.value, b.value).")
    found = plain(answer)
    if close(found, right):
        return
    hint = diagnosed(found, MISTAKES, lambda how: reference(xs, ys, steps, rate, **how))
    hint = hint or "Is the loss the mean of the squared errors, and does each step move w and b together?"
    raise Mistake(f"After {steps} steps with {len(xs)} points (w, b) should be {shown(right)}, and is {shown(found)}. {hint}")
