"""Forward mode as functions of functions: `jvp`, `jacfwd`, `linearize`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._layer import levels, opened
from .._state import get_mode
from .._tensor import Tensor, wrap
from ..utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ._arguments import Argnums, check_outputs, chosen, replaced, split_aux, unwrapped_aux
from ._dual import Dual, JvpLevel
from ._grad import vjp


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of `func` and its derivative in the direction of `tangents`.

    >>> import adjoint as ad
    >>> ad.func.jvp(lambda x: x * x, (ad.tensor([1.0, 2.0]),), (ad.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    (flat, spec), (directions, directions_spec) = tree_flatten(primals), tree_flatten(tangents)
    check_directions(flat, spec, directions, directions_spec)
    level = JvpLevel()
    with opened(level, get_mode()):
        duals = [wrap(Dual(level, x, t)) for x, t in zip(flat, directions, strict=True)]
        output, aux = split_aux("jvp(f, primals, tangents)", func(*tree_unflatten(duals, spec)), has_aux)
        leaves, output_spec = tree_flatten(output)
        check_outputs("jvp(f, primals, tangents)", output, leaves)
        pairs = [level.unpacked(leaf) for leaf in leaves]
        if strict and any(tangent is None for _, tangent in pairs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                "This is not allowed with strict=True."
            )
        values = tree_unflatten([value for value, _ in pairs], output_spec)
        carried = tree_unflatten([x.new_zeros(x.shape) if t is None else t for x, t in pairs], output_spec)
        return (values, carried, unwrapped_aux(lambda x: level.unpacked(x)[0], aux)) if has_aux else (values, carried)


def check_directions(flat: list[Any], spec: TreeSpec, directions: list[Any], directions_spec: TreeSpec) -> None:
    if spec != directions_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals is a "
            "tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {directions_spec}"
        )
    for name, given in (("primals", flat), ("tangents", directions)):
        if not given:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.")
        for x in given:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(x)}")
    for x, t in zip(flat, directions, strict=True):
        for role, tensor in (("primal", x), ("tangent", t)):
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise ValueError(f"Expected {role} to be floating point or complex, but got: {tensor.dtype}")
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(t.shape)}."
            )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of `func` at some point, and the linear function that approximates its changes there. `func` runs once, here.

    >>> import adjoint as ad
    >>> y, push = ad.func.linearize(lambda x: x * x, ad.tensor([1.0, 2.0]))
    >>> push(ad.tensor([1.0, 0.0])), push(ad.tensor([0.0, 1.0]))
    (tensor([2., 0.]), tensor([0., 4.]))
    """
    value, pull = vjp(func, *primals)
    flat, spec = tree_flatten(primals)
    outputs, output_spec = tree_flatten(value)
    # Pulling back is linear in what is pulled, so it is its own derivative: the transpose of the transpose is the map itself.
    start = tree_unflatten([x.new_zeros(x.shape) for x in outputs], output_spec)
    _, push = vjp(lambda *g: pull(g[0]), start)

    def jvp_fn(*tangents: Any) -> Any:
        directions, directions_spec = tree_flatten(tangents)
        if directions_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {directions_spec} to have the same argspec as the primals {spec}"
            )
        for place, (x, t) in enumerate(zip(flat, directions, strict=True)):
            for fact in ("shape", "dtype"):
                own, given = getattr(x, fact), getattr(t, fact)
                if own != given:
                    raise RuntimeError(
                        f"tangent:{place} with {fact} {given} in flattened pytree doesn't match the {fact} {own} "
                        "of the corresponding primal."
                    )
        return push(tangents)[0]

    return value, jvp_fn


def jvp_of(func: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums, tangents: Any, has_aux: bool) -> Any:
    """`jvp` with respect to some arguments."""
    which = (argnums,) if isinstance(argnums, int) else argnums

    @functools.wraps(func)
    def of_those(*given: Any) -> Any:
        # The other arguments belong to the transform too: the function may write over them.
        return func(*replaced(tree_map(levels()[-1].lift, args), which, given))

    return jvp(of_those, chosen(args, which), tangents, has_aux=has_aux)
