"""The custom function that a program's operator goes through where gradients are recorded or a transform is at work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._ops import Operator, fallback_batch, gathered
from .autograd.function import Function, FunctionMeta


def function_of(operator: Operator) -> Any:
    """A `Function` whose arguments are how many tensors each list has, and then all arguments with lists spread out."""
    schema = operator._schema
    returns_list = len(schema.returns) == 1 and schema.returns[0].type.is_list
    if len(schema.returns) > 1 and any(declared.type.is_list for declared in schema.returns):
        raise NotImplementedError(f"{operator.name()}: lists of tensors beside other results have no derivative\n  fix: return one list")

    def forward(places: Any, *flat: Any) -> Any:
        result = operator.compute(gathered(flat, places))
        return tuple(result) if returns_list else result

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        places, *flat = inputs
        ctx._places = places
        if operator.setup_context is None:
            return
        args, kwargs = schema.split(gathered(flat, places))
        given = {"keyword_only_inputs": kwargs} if kwargs else {}
        operator.setup_context(ctx=ctx, inputs=args, output=list(output) if returns_list else output, **given)

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator} but no autograd formula was registered. Please use register_autograd to add one."
            )
        found = operator.backward(ctx, list(grads)) if returns_list else operator.backward(ctx, *grads)
        return None, *spread_gradients(operator, found if isinstance(found, tuple) else (found,), ctx._places)

    def vmap(info: Any, in_dims: tuple[Any, ...], places: Any, *flat: Any) -> Any:
        values, dims = gathered(flat, places), gathered(in_dims[1:], places)
        if operator.batching is None:
            return fallback_batch(operator, info, dims, values)
        args, kwargs = schema.split(values)
        result, out_dims = operator.batching(info, tuple(dims[: len(args)]), *args, **kwargs)
        return (tuple(result), tuple(out_dims)) if returns_list and isinstance(out_dims, list | tuple) else (result, out_dims)

    name = f"GeneratedBackwardFor_{operator.namespace}_{operator.overloadpacket.__name__}_{operator._overloadname}"
    members: dict[str, Any] = {
        part.__name__: staticmethod(part) for part in (forward, setup_context, backward, vmap)
    }  # fmt: skip

    def call(cls: Any, places: Any, flat: Sequence[Any]) -> Any:
        result = cls.apply(places, *flat)
        return list(result) if returns_list else result

    return FunctionMeta(name, (Function,), {**members, "call": classmethod(call)})


def spread_gradients(operator: Operator, found: tuple[Any, ...], places: Sequence[int | None]) -> list[Any]:
    """What a backward returns, one entry for each argument in its place, with the lists for lists of tensors spread out."""
    keyword_only = sum(argument.kwarg_only for argument in operator._schema.arguments)
    expected = len(places) - keyword_only
    if len(found) > expected:
        raise RuntimeError(
            f"Expected the return from the backward of {operator.name()} to be a gradient, or None, for each of its {expected} arguments, "
            f"but got {len(found)}"
        )
    flat: list[Any] = []
    for gradient, count in zip((*found, *(None,) * (len(places) - len(found))), places, strict=True):
        if count is None:
            flat.append(gradient)
        elif gradient is None:
            flat += [None] * count
        elif isinstance(gradient, list | tuple) and len(gradient) == count:
            flat += gradient
        else:
            raise RuntimeError(f"Expected the gradient of a list of {count} tensors to be a list of as many, but got {gradient}")
    return flat
