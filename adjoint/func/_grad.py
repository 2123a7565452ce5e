"""Reverse mode as functions of functions: `grad`, `vjp`, `jacrev` and what is made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._layer import level_of, opened
from .._state import GRAD, INFERENCE, get_mode, grad_enabled
from .._tensor import Tensor
from ..autograd import differentiate
from ..autograd.graph import disable_saved_tensors_hooks
from ..autograd.views import edge_of
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ._arguments import Argnums, check_outputs, chosen, replaced, split_aux, unwrapped_aux
from ._arrays import gradients_below
from ._recorded import GradLevel


@contextmanager
def opened_for_reverse(level: GradLevel) -> Iterator[None]:
    """Run a transform that records. What it saves is its own: nobody may put hooks on it."""
    with (
        disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
        ),
        opened(level, recording_mode()),
    ):
        yield


def recording_mode() -> int:
    """The mode inside a transform that records, whatever the one around it is."""
    return (get_mode() | GRAD) & ~INFERENCE


def recorded(level: GradLevel, x: Any) -> Any:
    """An input of the function: a leaf of the level."""
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            f"only Tensors of floating point dtype can require gradients: this argument is {x.dtype}\n"
            "  fix: convert it, x.float(), or leave it out of argnums"
        )
    return level.leaf(x)


def gradients(level: GradLevel | None, outputs: Sequence[Any], inputs: Sequence[Any], given: Any, keep: bool, create: bool) -> list[Any]:
    """The gradients of outputs with respect to inputs: zeros for those that no output depends on."""
    pairs = [(out, g) for out, g in zip(outputs, given or [None] * len(outputs), strict=True) if out.requires_grad]
    found: Sequence[Any] = [None] * len(inputs)
    if pairs:
        outputs, given = zip(*pairs, strict=True)
        below = None if level is None else gradients_below(level, outputs, inputs, given, keep, create)
        if below is None and level is not None and level.alive:
            create = create or any(x.requires_grad or level_of(x) is not None for x in map(level.lower, outputs))  # for the levels below
        found = differentiate.grad(outputs, inputs, given, keep, create, allow_unused=True) if below is None else below
    lower: Callable[[Any], Any] = (lambda x: x) if level is None else level.lower
    values = [lower(x) for x in inputs]
    return [value.new_zeros(value.shape) if g is None else lower(g) for g, value in zip(found, values, strict=True)]


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func` and its value (and what else it returns, with `has_aux`).

    >>> import adjoint as ad
    >>> ad.func.grad_and_value(lambda x: x**3)(ad.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level = GradLevel()
        with opened_for_reverse(level):
            given = tree_map(functools.partial(recorded, level), chosen(args, argnums))
            args = replaced(tree_map(level.lift, args), argnums, given)
            output, aux = split_aux("grad_and_value(f)(*args)", func(*args, **kwargs), has_aux)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            leaves, spec = tree_flatten(given)
            found = tree_unflatten(gradients(level, [output], leaves, None, False, False), spec)
            value = level.lower(output)
            return (found, (value, unwrapped_aux(level.lower, aux))) if has_aux else (found, value)

    return wrapper


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`, whose result is a number, with respect to the arguments `argnums`.

    >>> import adjoint as ad
    >>> ad.func.grad(ad.func.grad(lambda x: x**3))(ad.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, rest = both(*args, **kwargs)
        return (found, rest[1]) if has_aux else found

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and the function that maps a gradient of the value to those of the inputs.

    >>> import adjoint as ad
    >>> y, pull = ad.func.vjp(lambda x: x * x, ad.tensor([1.0, 2.0]))
    >>> pull(ad.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Argnums | None, has_aux: bool) -> Any:
    """`vjp` with respect to all arguments, or to some."""
    level = GradLevel()
    with opened_for_reverse(level):
        if argnums is None:
            args = given = tree_map(functools.partial(recorded, level), primals)
        else:
            given = tree_map(functools.partial(recorded, level), chosen(primals, argnums))
            args = replaced(tree_map(level.lift, primals), argnums, given)
        output, aux = split_aux("vjp(f, *primals)", func(*args), has_aux)
        leaves, spec = tree_flatten(given)
        outputs, output_spec = tree_flatten(output)
        check_outputs("vjp(f, *primals)", output, outputs)
        for out in outputs:
            if not (out.is_floating_point() or out.is_complex()):
                raise RuntimeError(
                    f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {out.dtype}"
                )
            edge_of(out)  # a view of what was written to makes its history anew, which it can while the level is alive
        value = tree_map(level.lower, output)
        aux = unwrapped_aux(level.lower, aux) if has_aux else None

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, given_spec = tree_flatten(cotangents)
        check_cotangents(flat, given_spec, outputs, output_spec)
        create = grad_enabled() if create_graph is None else create_graph
        return tree_unflatten(gradients(level, outputs, leaves, flat, retain_graph, create), spec)

    return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)


def check_cotangents(flat: list[Any], spec: TreeSpec, outputs: list[Any], output_spec: TreeSpec) -> None:
    if spec != output_spec:
        raise RuntimeError(
            f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. cotangents: {spec}, "
            f"primal output: {output_spec}"
        )
    for place, (g, out) in enumerate(zip(flat, outputs, strict=True)):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        if g is not None and g.shape != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{place}] has a shape of {g.shape} and output[{place}] has a shape of {out.shape}."
            )
