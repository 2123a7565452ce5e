"""Who is a leaf, and who keeps a gradient?

A tensor is made, and later the loss that was computed from it is sent backward. Say by two functions what holds for it:

- is_leaf(from_operation, requires_grad): whether it is a leaf of the graph.
- has_grad(from_operation, requires_grad, retains): whether its .grad is filled after backward().

All arguments are True or False. from_operation: the tensor is the result of an operation (y = x * 2), and was not made by hand
(ad.tensor(...)). requires_grad: what its attribute of that name says. retains: retain_grad() was called on it.

The checker does not know the answers: it makes such tensors, runs backward, and looks.
"""

from __future__ import annotations

from itertools import product

import adjoint as ad

from .._work import Mistakes, Work

SKELETON = '''
def is_leaf(from_operation, requires_grad):
    """Whether such a tensor is a leaf."""
    raise NotImplementedError


def has_grad(from_operation, requires_grad, retains):
    """Whether backward() fills its .grad."""
    raise NotImplementedError


if __name__ == "__main__":
    print(is_leaf(False, True), has_grad(False, True, False))  # a weight of a network
'''

SOLUTION = '''
def is_leaf(from_operation, requires_grad):
    """Whether such a tensor is a leaf."""
    return not (from_operation and requires_grad)


def has_grad(from_operation, requires_grad, retains):
    """Whether backward() fills its .grad."""
    return requires_grad and (not from_operation or retains)


if __name__ == "__main__":
    print(is_leaf(False, True), has_grad(False, True, False))  # a weight of a network
'''

HINTS = (
    "Leaves are where the graph ends: no recorded operation made them. Try it: print(x.is_leaf, y.is_leaf, y.grad_fn).",
    "An operation is recorded only if one of its inputs requires a gradient. If none does, its result has no history, and is a leaf too.",
    "Backward fills .grad of leaves that require it. For the result of an operation the gradient passes through and is dropped, "
    "unless retain_grad() asked for it.",
)

ERRORS: dict[str, str] = {}


def made(from_operation: bool, requires_grad: bool, retains: bool = False) -> ad.Tensor:
    """Such a tensor, after a backward pass through it."""
    tensor = ad.tensor([1.0, 2.0], requires_grad=requires_grad)
    if from_operation:
        tensor = tensor * 2
    if retains:
        tensor.retain_grad()
    other = ad.ones(2, requires_grad=True)  # so that there is something to send backward in any case
    (tensor * other).sum().backward()
    return tensor


def right_leaf(from_operation: bool, requires_grad: bool) -> bool:
    return made(from_operation, requires_grad).is_leaf


def right_grad(from_operation: bool, requires_grad: bool, retains: bool) -> bool:
    tensor = made(from_operation, requires_grad, retains)
    return (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None


LEAF: Mistakes = {
    "The result of an operation is a leaf too if nothing in it requires a gradient: then nothing was recorded.": [lambda op, req: not op],
    "requires_grad makes a tensor take part in the graph. A leaf is one that no recorded operation made.": [lambda op, req: req],
    "A tensor that requires no gradient is always a leaf, since it has no history.": [lambda op, req: not op and req],
    "That is when a tensor is not a leaf: it has a grad_fn.": [lambda op, req: op and req],
    "It is the other way round: results of operations have a history, tensors made by hand have none.": [lambda op, req: op],
    "Not every tensor is a leaf: y = x * 2, with an x that requires its gradient, has a grad_fn.": [lambda op, req: True],
}

GRAD: Mistakes = {
    "The result of an operation requires a gradient too, but its .grad stays None unless retain_grad() was called on it.":
        [lambda op, req, keep: req],
    "You forgot retain_grad(): it makes the result of an operation keep its gradient.": [lambda op, req, keep: req and not op],
    "A tensor that does not require a gradient gets none, leaf or not.": [lambda op, req, keep: not op or keep],
    "Being a leaf is not enough: it must require its gradient. And retain_grad() matters for the others.": [lambda op, req, keep: not op],
    "A leaf that requires its gradient keeps it without retain_grad().": [lambda op, req, keep: req and keep, lambda op, req, keep: keep],
    "It is the other way round: gradients arrive at leaves and stay there; through results they only pass.": [lambda op, req, keep: op],
}


def examine(work: Work) -> None:
    both = [False, True]
    work.compare("is_leaf", list(product(both, both)), right_leaf, LEAF)
    kinds = [case for case in product(both, both, both) if case[1] or not case[2]]  # nothing to retain where no gradient is required
    work.compare("has_grad", kinds, right_grad, GRAD)
