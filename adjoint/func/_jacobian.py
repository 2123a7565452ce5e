"""Whole Jacobians and Hessians: a basis of directions or cotangents, pushed or pulled all at once by `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..autograd.functional import _construct_standard_basis_for
from ..ops._registry import FUNCTIONS
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ._arguments import Argnums, check_real, chosen
from ._grad import vjp_of
from ._jvp import jvp_of
from ._vmap import vmap


def basis(leaves: list[Tensor]) -> list[Tensor]:
    """For each leaf a batch of tensors of its shape: together all that are one in a single element and zero elsewhere."""
    rows = _construct_standard_basis_for(leaves, [leaf.numel() for leaf in leaves])
    return [columns.reshape(len(columns), *leaf.shape) for columns, leaf in zip(rows, leaves, strict=True)]


def split(x: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """What belongs to each leaf, of a batch that belongs to all their elements in turn."""
    return list(x.split([leaf.numel() for leaf in leaves]))


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The Jacobian of `func` by reverse mode: cheap where there are fewer outputs than inputs. At most `chunk_size` rows at a time.

    >>> import adjoint as ad
    >>> ad.func.jacrev(lambda x: x * x)(ad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        found = vjp_of(func, args, argnums, has_aux)
        output, pull = found[0], found[1]
        outputs, spec = tree_flatten(output)
        arguments = tree_flatten(chosen(args, argnums))[0]
        check_real("jacrev", "inputs", arguments)
        check_real("jacrev", "outputs", outputs)
        rows = pulled(lambda *g: pull(tree_unflatten(g, spec)), basis(outputs), chunk_size)
        columns, argument_spec = tree_flatten(rows)
        blocks = [
            [part.reshape((*out.shape, *x.shape)) for part, out in zip(split(column, outputs), outputs, strict=True)]
            for column, x in zip(columns, arguments, strict=True)
        ]  # for each argument, the derivatives of each output
        result = tree_unflatten([tree_unflatten(row, argument_spec) for row in zip(*blocks, strict=True)], spec)
        return (result, found[2]) if has_aux else result

    return wrapper


def pulled(pull: Callable[..., Any], cotangents: list[Tensor], chunk_size: int | None) -> Any:
    """What is pulled back from a batch of cotangents. One at a time needs no `vmap`, so a backward may do then what that cannot."""
    count = cotangents[0].shape[0]
    if chunk_size != 1 or not count:
        return vmap(pull, chunk_size=chunk_size)(*cotangents)
    rows = [tree_flatten(pull(*(g[place] for g in cotangents))) for place in range(count)]
    return tree_unflatten([FUNCTIONS["stack"](column) for column in zip(*(leaves for leaves, _ in rows), strict=True)], rows[0][1])


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """The Jacobian of `func` by forward mode: cheap where there are fewer inputs than outputs.

    >>> import adjoint as ad
    >>> ad.func.jacfwd(lambda x: x * x)(ad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        arguments, argument_spec = tree_flatten(chosen(args, argnums))
        for x in arguments:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"jacfwd: Expected all inputs to be Tensors, got unsupported type {type(x)}")
        check_real("jacfwd", "inputs", arguments)

        def push(*directions: Any) -> Any:
            tangents = tree_unflatten(directions, argument_spec)
            found = jvp_of(func, args, argnums, (tangents,) if isinstance(argnums, int) else tangents, has_aux)
            return (found[1], (found[0], found[2])) if has_aux else (found[1], found[0])

        differs = randomness == "different"  # then the values belong to examples, too
        tangents, rest = vmap(push, randomness=randomness, out_dims=(0, 0 if differs else None))(*basis(arguments))
        rest = tree_map(lambda x: x[0], rest) if differs else rest
        outputs, spec = tree_flatten(rest[0] if has_aux else rest)
        check_real("jacfwd", "outputs", outputs)
        columns = tree_flatten(tangents)[0]
        result = [jacobian_of(column, out, arguments, argument_spec) for column, out in zip(columns, outputs, strict=True)]
        return (tree_unflatten(result, spec), rest[1]) if has_aux else tree_unflatten(result, spec)

    return wrapper


def jacobian_of(column: Tensor, out: Tensor, arguments: list[Tensor], spec: TreeSpec) -> Any:
    """The derivatives of one output, in the shape of the arguments."""
    pairs = zip(split(column, arguments), arguments, strict=True)
    parts = [FUNCTIONS["movedim"](part, 0, -1).reshape((*out.shape, *x.shape)) for part, x in pairs]
    return tree_unflatten(parts, spec)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives of `func`: forward over reverse.

    >>> import adjoint as ad
    >>> ad.func.hessian(lambda x: (x**3).sum())(ad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
