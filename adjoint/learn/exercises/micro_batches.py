"""When is it good that gradients add up?

When a batch does not fit into memory. Then it is cut into micro-batches, whose gradients add up in .grad, and only then comes one step:
the same step that the whole batch would have made. Answer by writing it:

step(model, optimizer, batches) makes one optimizer step from a list of micro-batches (inputs, targets), all of one size. Afterwards the
parameters must be what one step on the mean squared error of the whole batch makes of them. Never give the model more than one
micro-batch at a time. Gradients from before the call must not count. Return the loss of the whole batch as a number.
"""

from __future__ import annotations

from typing import Any

import adjoint as ad
from adjoint import nn

from .._exercise import Mistake
from .._work import Mistakes, Work, close, diagnosed, plain, shown
from .training_loop import model_and_batches, optimizer_for, parameters

SKELETON = '''
import adjoint as ad
from adjoint import nn


def step(model, optimizer, batches):
    """One step on all micro-batches together. Returns the loss of them all."""
    raise NotImplementedError


if __name__ == "__main__":
    model = nn.Linear(4, 1)
    batches = [(ad.randn(8, 4), ad.randn(8, 1)) for _ in range(4)]
    print(step(model, ad.optim.SGD(model.parameters(), lr=0.1), batches))
'''

SOLUTION = '''
import adjoint as ad
from adjoint import nn


def step(model, optimizer, batches):
    """One step on all micro-batches together. Returns the loss of them all."""
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model(inputs), targets) / len(batches)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


if __name__ == "__main__":
    model = nn.Linear(4, 1)
    batches = [(ad.randn(8, 4), ad.randn(8, 1)) for _ in range(4)]
    print(step(model, ad.optim.SGD(model.parameters(), lr=0.1), batches))
'''

HINTS = (
    "zero_grad() once, then backward() for each micro-batch, then step() once. What stands inside the loop, what outside?",
    "The mean over the whole batch is the mean of the micro-batches' means. So each mean counts only 1/len(batches).",
    "Divide each loss by len(batches) before its backward(). Then the sum of these losses is the loss of the whole batch, too.",
)

ERRORS = {
    "'float' object has no attribute 'backward'": "item() makes a plain number of the loss: call it after backward().",
}

MISTAKES: Mistakes = {
    "The step is as many times too long as there are micro-batches. A sum of means is not their mean: divide each loss by len(batches).":
        [{"scale": False}],
    "Only the last micro-batch counts: zero_grad() stands inside the loop and wipes out what the others have added.":
        [{"zero": "each"}, {"zero": "each", "scale": False}],
    "There is a step after each micro-batch, so that the parameters change before all gradients are added up.":
        [{"step": "each"}, {"step": "each", "scale": False}],
    "That is ordinary training, with a step for each micro-batch. Here all of them make one step together.":
        [{"step": "each", "zero": "each"}, {"step": "each", "zero": "each", "scale": False}],
    "Gradients from before the call are counted, too: begin with optimizer.zero_grad().": [{"zero": "never"}],
    "The parameters are what they were before: optimizer.step() is missing.": [{"step": "never"}],
}


def reference(model: nn.Module, batches: list[Any], zero: str = "first", scale: bool = True, step: str = "last") -> Any:
    """The parameters after such a step, right or wrong in one of these ways."""
    optimizer = optimizer_for(model)
    if zero == "first":
        optimizer.zero_grad()
    for inputs, targets in batches:
        if zero == "each":
            optimizer.zero_grad()
        ((model(inputs) - targets) ** 2).mean().div(len(batches) if scale else 1).backward()
        if step == "each":
            optimizer.step()
    if step == "last":
        optimizer.step()
    return parameters(model)


def examine(work: Work) -> None:
    rows = work.random.randint(3, 6)
    linear, batches = model_and_batches(work, work.random.randint(2, 5), rows, count=work.random.randint(3, 5))

    def fresh() -> nn.Module:
        model = linear()
        model(batches[0][0]).sum().backward()  # gradients from before
        return model

    model, seen = fresh(), []
    model.register_forward_pre_hook(lambda module, arguments: seen.append(len(arguments[0])))
    loss = work.step(model, optimizer_for(model), batches)
    if any(size > rows for size in seen):
        raise Mistake(f"The model got {max(seen)} rows at once, and a micro-batch has {rows}: that is the memory that was to be saved.")
    found, expected = parameters(model), reference(fresh(), batches)
    if not close(found, expected, 1e-4):
        hint = diagnosed(found, MISTAKES, lambda how: reference(fresh(), batches, **how), 1e-4)
        raise Mistake(hint or "The parameters are not those that one step on the mean squared error of the whole batch gives.")
    whole = ((fresh()(ad.cat([x for x, _ in batches])) - ad.cat([y for _, y in batches])) ** 2).mean().item()
    if isinstance(loss, ad.Tensor) and loss.grad_fn is not None:
        raise Mistake("The step is right, but the loss comes back with its graph. Return a number: add up loss.item().")
    if not close(plain(loss), whole, 1e-4):
        raise Mistake(f"The step is right, but the loss of the whole batch is {shown(whole)}, and {shown(loss)} was returned.")
