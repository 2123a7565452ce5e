"""`torch.library.opcheck`: whether what has been registered for an operator fits together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._ops import operator_of, tensors_in
from ._tensor import Tensor

__all__ = ["opcheck"]

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """Something does not fit."""


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Call an operator on sample arguments and check it: that it changes what its signature says and nothing else, that tensors without
    elements give the shapes and dtypes of the results, that gradients come with a registered derivative only and have the shapes of the
    arguments. `atol` and `rtol` are how far two passes may be apart.

    The answer says "SUCCESS" for each test, or the exception.
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    near = {"atol": 1e-8 if atol is None else atol, "rtol": 1e-5 if rtol is None else rtol}
    results: dict[str, Any] = {}
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"opcheck: there is no {name!r}; test_utils are {', '.join(CHECKS)}")
        try:
            CHECKS[name](operator_of(op), args, dict(kwargs or {}), near)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return type(value)(copied(item) for item in value) if isinstance(value, list | tuple) else value


def check_schema(operator: Any, args: Any, kwargs: Any, _near: Any) -> None:
    values = operator._schema.bind(copied(args), {name: copied(value) for name, value in kwargs.items()})
    before = [[x.detach().clone() for x in tensors_in([value])] for value in values]
    operator.run(values)
    for argument, value, old in zip(operator._schema.arguments, values, before, strict=True):
        changed = any(not bool(((x.detach() == y) | ((x != x) & (y != y))).all()) for x, y in zip(tensors_in([value]), old, strict=True))
        if changed and not argument.type.writes:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def check_autograd(operator: Any, args: Any, kwargs: Any, _near: Any) -> None:
    tensors = list(tensors_in(operator._schema.bind(args, kwargs)))
    if any(x.requires_grad for x in tensors) and operator.backward is None and not operator.own_graph:
        raise RuntimeError(f"{operator} got tensors that require grad, and has no derivative: register_autograd registers one")


def check_fake(operator: Any, args: Any, kwargs: Any, _near: Any) -> None:
    values = operator._schema.bind(args, kwargs)
    real = operator.run(copied(values))
    fake = operator.run([moved(value) for value in values])
    for x, y in zip(results_in(real), results_in(fake), strict=True):
        if x.shape != y.shape or x.dtype is not y.dtype:
            raise RuntimeError(f"the fake implementation gives {y.dtype} of {list(y.shape)}, the real one {x.dtype} of {list(x.shape)}")


def results_in(result: Any) -> Any:
    return tensors_in([result] if isinstance(result, Tensor) else list(result or ()))


def moved(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().to("meta")
    return type(value)(moved(item) for item in value) if isinstance(value, list | tuple) else value


def check_gradients(operator: Any, args: Any, kwargs: Any, near: dict[str, float]) -> None:
    """Two runs, forwards and backwards, agree."""
    from .autograd import grad

    runs = []
    for _ in range(2):
        values = operator._schema.bind(copied(args), {name: copied(value) for name, value in kwargs.items()})
        inputs = [x for x in tensors_in(values) if x.requires_grad]
        outputs = [x for x in results_in(operator.run(values)) if x.requires_grad]
        runs.append(grad([x.sum() for x in outputs], inputs, allow_unused=True) if inputs and outputs else ())
    for x, y in zip(*runs, strict=True):
        if x is not None and not bool(x.isclose(y, **near, equal_nan=True).all()):
            raise RuntimeError("two backward passes of the same arguments gave different gradients")


CHECKS = {
    "test_schema": check_schema, "test_autograd_registration": check_autograd, "test_faketensor": check_fake,
    "test_aot_dispatch_dynamic": check_gradients, "test_aot_dispatch_static": check_gradients,
}  # fmt: skip
