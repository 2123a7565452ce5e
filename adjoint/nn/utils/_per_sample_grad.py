"""Gradients of each sample of a batch, by a backward pass through a module that is called once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ...func import functional_call, vmap
from ...utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..module import Module

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function like `module`. A backward pass through what it returns puts the gradient of each sample into `grad_sample` of the
    parameters, and nothing into `grad`. If the loss is a mean over the batch, say so: the gradients are those of the single losses then.

    >>> import adjoint as ad
    >>> from adjoint.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> layer = ad.nn.Linear(4, 3)
    >>> call_for_per_sample_grads(layer)(ad.ones(5, 4)).sum().backward()
    >>> layer.weight.grad_sample.shape
    torch.Size([5, 3, 4])
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for name, parameter in module.named_parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without clearing "
                f"gradients. Please clear out the grad_sample parameter of {name}: parameter.grad_sample = None"
            )
    dim = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        size = batch_size if batch_size is not None else _size_of((args, kwargs), dim)
        parameters = {name: _copies(p, size, loss_reduction) for name, p in module.named_parameters() if p.requires_grad}
        leaves, spec = tree_flatten((args, kwargs))
        batched = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.dim() > dim and x.shape[dim] == size]

        def one(parameters: dict[str, Tensor], *samples: Tensor) -> Any:
            arguments = list(leaves)
            for i, sample in zip(batched, samples, strict=True):
                arguments[i] = sample.unsqueeze(dim)  # a batch of one, which the module expects
            args, kwargs = tree_unflatten(arguments, spec)
            return tree_map(lambda y: y.squeeze(dim), functional_call(module, parameters, args, kwargs))

        places = (0, *(dim for _ in batched))
        return vmap(one, places, dim, randomness="different")(parameters, *(leaves[i] for i in batched))

    return call


def _size_of(arguments: Any, dim: int) -> int:
    sizes = {int(x.shape[dim]) for x in tree_leaves(arguments) if isinstance(x, Tensor)}
    if len(sizes) > 1:
        first, second, *_ = sorted(sizes)
        raise RuntimeError(
            f"When computing batch size, found at least one input with batch size {first} and one with batch size {second}. Please "
            "specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
        )
    if not sizes:
        raise RuntimeError("Unable to find a tensor in the passed args and kwargs. Please specify batch_size explicitly")
    return sizes.pop()


def _copies(parameter: Any, size: int, loss_reduction: str) -> Tensor:
    """A parameter for each sample, which hands its gradient on to `grad_sample`."""

    def keep(gradient: Tensor) -> None:
        gradient = gradient.detach() * (size if loss_reduction == "mean" else 1)
        before = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = gradient if before is None else before + gradient

    copies: Tensor = parameter.detach().expand(size, *parameter.shape).requires_grad_()
    copies.register_hook(keep)
    return copies
