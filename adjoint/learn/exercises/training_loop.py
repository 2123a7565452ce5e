"""A training loop that does not train.

`train` should fit a model to batches of data: for each batch one step that makes the mean squared error between the model's output and
the target smaller. It should return the losses, one Python number for each batch.

It does not. Several things are wrong with it; all of them occur in real programs, and none raises an error. Find and mend them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjoint as ad
from adjoint import nn

from .._exercise import Mistake
from .._work import Mistakes, Work, close, counted, diagnosed, plain

SKELETON = '''
import adjoint as ad
from adjoint import nn


def train(model, optimizer, batches):
    """One step for each batch (inputs, targets). Returns the losses."""
    losses = []
    for inputs, targets in batches:
        loss = model(inputs).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses


if __name__ == "__main__":
    model = nn.Linear(10, 1)
    optimizer = ad.optim.SGD(model.parameters(), lr=0.05)
    inputs = [ad.randn(32, 10) for _ in range(100)]
    losses = train(model, optimizer, [(x, x.sum(1, keepdim=True)) for x in inputs])
    print(losses[0], losses[-1])
'''

SOLUTION = '''
import adjoint as ad
from adjoint import nn


def train(model, optimizer, batches):
    """One step for each batch (inputs, targets). Returns the losses."""
    losses = []
    for inputs, targets in batches:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    model = nn.Linear(10, 1)
    optimizer = ad.optim.SGD(model.parameters(), lr=0.05)
    inputs = [ad.randn(32, 10) for _ in range(100)]
    losses = train(model, optimizer, [(x, x.sum(1, keepdim=True)) for x in inputs])
    print(losses[0], losses[-1])
'''

HINTS = (
    "Read what `loss` is. Do the targets occur anywhere? And what would make the sum of the outputs as small as possible?",
    "backward() adds to .grad. Whose job is it to make .grad empty before the next batch?",
    "A loss that is kept as a tensor keeps its whole graph. loss.item() is the number alone.",
    "Per batch: loss = nn.functional.mse_loss(model(inputs), targets); optimizer.zero_grad(); loss.backward(); optimizer.step().",
)

ERRORS = {
    "'float' object has no attribute 'backward'": "item() makes a plain number of the loss: call it after backward().",
    "can be implicitly created only for scalar": "backward() starts at one number: take the mean over the batch.",
}


def reference(model: nn.Module, batches: list[Any], zero: str = "each", loss: str = "mean", step: str = "after") -> tuple[Any, Any]:
    """The parameters after training, and the losses; right, or wrong in one of these ways."""
    optimizer, losses = optimizer_for(model), []
    for inputs, targets in batches:
        output = model(inputs)
        error = (output - targets) ** 2
        value = {"mean": error.mean(), "sum": error.sum(), "outputs": output.sum(), "bare": (output - targets).mean()}[loss]
        losses.append(value.item())
        if step == "before":
            optimizer.step()
        if zero == "each":
            optimizer.zero_grad()
        value.backward()
        if zero == "too late":
            optimizer.zero_grad()
        if step == "after":
            optimizer.step()
    return parameters(model), tuple(losses)


MISTAKES: Mistakes = {
    "The loss is still the sum of the outputs, in which the targets do not occur: it can fall without end.":
        [{"loss": "outputs"}, {"loss": "outputs", "zero": "never"}],
    "The gradients of all earlier batches are still in .grad when a new one is added: optimizer.zero_grad() is missing in the loop.":
        [{"zero": "never"}],
    "zero_grad() stands between backward() and step(): it throws away the gradient that the step needs.": [{"zero": "too late"}],
    "step() comes before backward(), so it uses the gradient of the batch before, or none.": [{"step": "before"}],
    "The loss is summed over the batch, so the step grows with the batch's size. The task asks for the mean.": [{"loss": "sum"}],
    "The differences are not squared: positive and negative errors cancel, and the loss can fall below 0.": [{"loss": "bare"}],
}


def examine(work: Work) -> None:
    size, count = work.random.randint(3, 6), work.random.randint(5, 8)
    fresh, batches = model_and_batches(work, size, rows=8, count=count)
    model = fresh()
    optimizer = optimizer_for(model)
    with counted(optimizer, "step") as steps:
        returned = work.train(model, optimizer, batches)
    if not steps:
        raise Mistake("The parameters are what they were before: optimizer.step() is missing.")
    trained = parameters(model)
    expected, losses = reference(fresh(), batches)
    if not close(trained, expected, 1e-4):
        hint = diagnosed(trained, MISTAKES, lambda how: reference(fresh(), batches, **how)[0], 1e-4)
        raise Mistake(hint or "The parameters are not those of one step on the mean squared error for each batch, in order.")
    if isinstance(returned, list) and any(isinstance(loss, ad.Tensor) for loss in returned):
        raise Mistake("The model is trained rightly, but the losses are tensors: each keeps its graph in memory. Append loss.item().")
    if not isinstance(returned, list) or len(returned) != count:
        raise Mistake(f"The model is trained rightly. Return a list with the loss of each batch: {count} numbers here.")
    if not close(plain(returned), losses, 1e-4):
        raise Mistake("The model is trained rightly, but the list does not hold the loss of each batch as it was before its step.")


def model_and_batches(work: Work, size: int, rows: int, count: int) -> tuple[Callable[[], nn.Module], list[Any]]:
    """A function that makes a linear model, always with the same parameters, and batches of data."""
    generator = ad.Generator().manual_seed(work.random.getrandbits(32))
    start = {"weight": ad.randn(1, size, generator=generator), "bias": ad.randn(1, generator=generator)}

    def fresh() -> nn.Module:
        model = nn.Linear(size, 1)
        model.load_state_dict(start)
        return model

    inputs = [ad.randn(rows, size, generator=generator) for _ in range(count)]
    return fresh, [(x, x.sum(1, keepdim=True) + 0.5 * ad.randn(rows, 1, generator=generator)) for x in inputs]


def optimizer_for(model: nn.Module) -> ad.optim.Optimizer:
    return ad.optim.SGD(model.parameters(), lr=0.05)


def parameters(model: nn.Module) -> Any:
    return tuple(value for parameter in model.parameters() for value in parameter.detach().flatten().tolist())
