"""`backward` and `grad`: the two ways to ask for derivatives. Both check their arguments and run the one engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from .._errors import GradientError, NoGradError, UnusedInputError
from .._events import BACKWARD, BACKWARD_DONE, GRAD_DONE
from .._layer import Layer, levels, top_level
from .._site import PassSite, here, make_tuple, warn
from .._state import FORWARD_AD, get_mode
from .._tensor import Tensor, wrap, wrap_result
from . import engine
from .accumulate import AccumulateGrad
from .anomaly import watch
from .node import NOWHERE, Cut, Edge, Node, Output
from .views import edge_of


class GradientEdge(NamedTuple):
    """A place in the graph: output `output_nr` of a node. It stands for a tensor whose value is not needed any more."""

    node: Any
    output_nr: int
    ownership_token: Any = None  # the shape and dtype of the tensor, if they are known


Differentiable = Tensor | GradientEdge
Many = Differentiable | Sequence[Differentiable]


def backward(
    tensors: Many,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Many | dict[Any, Differentiable] | None = None,
) -> None:
    """Add the derivatives of `tensors` with respect to the leaves (or to `inputs`) to their `.grad`.

    >>> import adjoint as ad
    >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
    >>> ad.autograd.backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    begin_backward(engine.run, tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def begin_backward(
    run: Callable[..., Any],
    tensors: Many,
    grad_tensors: Any,
    retain_graph: bool | None,
    create_graph: bool,
    grad_variables: Any,
    inputs: Many | dict[Any, Differentiable] | None,
) -> Any:
    """Check the arguments of `backward` and let the engine run: at once (`engine.run`), or step by step (stepping.py)."""
    if levels():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or "
            "call backward() outside of functorch transforms."
        )
    roots = as_tuple(tensors)
    if grad_variables is not None:
        grad_tensors = renamed(grad_tensors, grad_variables)
    edges, gradients, as_tensors = starts(roots, given_gradients(grad_tensors, len(roots)), create_graph)
    captured = None
    if create_graph:
        from .warnings import warn_of_cycle

        warn_of_cycle()
    if inputs is not None:
        wanted = wanted_of(inputs, "backward")
        for tensor in wanted:
            if isinstance(tensor, Tensor):
                tensor.retain_grad()
        captured = [resolve(tensor) for tensor in wanted]
    if BACKWARD:
        BACKWARD.tell(roots, inputs, create_graph)
    result = run(
        edges,
        gradients,
        keep_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        as_tensors=as_tensors,
        site=make_tuple(PassSite, here()),
        captured=captured,
        into_grad=True,
        anomaly=watch(edges),
    )
    if BACKWARD_DONE:
        BACKWARD_DONE.tell(roots)
    return result


def grad(
    outputs: Many,
    inputs: Many | dict[Any, Differentiable],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The derivatives of `outputs` with respect to `inputs`, leaving every `.grad` alone: a tuple, or a dict if the inputs are one.

    >>> import adjoint as ad
    >>> x = ad.tensor(2.0, requires_grad=True)
    >>> (dx,) = ad.autograd.grad(x**3, x, create_graph=True)
    >>> ad.autograd.grad(dx, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the "
            "graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, wanted = as_tuple(outputs), wanted_of(inputs, "grad")
    if inputs.__class__ is dict:
        found = grad(
            roots, wanted, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads
        )
        return dict(zip(inputs, found, strict=True))
    keep = create_graph if retain_graph is None else retain_graph
    given = given_gradients(grad_outputs, len(roots))
    if is_grads_batched:
        return batched(roots, wanted, given, keep, create_graph, bool(allow_unused or materialize_grads), materialize_grads)
    edges, gradients, as_tensors = starts(roots, given, create_graph)
    for place, tensor in enumerate(wanted):
        check_requires_grad(tensor, place)
    site = here()
    results = engine.run(
        edges,
        gradients,
        keep_graph=keep,
        create_graph=create_graph,
        as_tensors=as_tensors,
        site=site,
        captured=[resolve(tensor) for tensor in wanted],
        anomaly=watch(edges),
    )
    if not (allow_unused or materialize_grads):
        check_used(results, wanted)
    if materialize_grads:
        results = [zeros_for(t, create_graph) if g is None else g for g, t in zip(results, wanted, strict=True)]
    unrecorded = Cut("no create_graph", "autograd.grad()", *site)
    found = tuple(g if g is None or isinstance(g, Tensor) else marked(wrap_result(g), unrecorded) for g in results)
    if GRAD_DONE:
        GRAD_DONE.tell(roots, wanted, found, create_graph)
    return found


def marked(gradient: Tensor, cut: Cut) -> Tensor:
    """A gradient that says why it has no history."""
    gradient._fn = cut
    return gradient


def batched(
    roots: Sequence[Any], wanted: Sequence[Any], given: Sequence[Any], keep: bool, create: bool, unused: bool, fill: bool
) -> tuple[Any, ...]:
    """`is_grads_batched`: one backward for a batch of gradients, by `vmap`. None stays None."""
    from ..func import vmap

    for place, (output, g) in enumerate(zip(roots, given, strict=True)):
        if g is not None and isinstance(output, Tensor) and (not g.ndim or g.shape[1:] != output.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
                "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{place}] has a shape of {g.shape} and output[{place}] has a shape of {output.shape}."
            )
    found: Sequence[Any] = ()

    def of_one(gradients: Sequence[Any]) -> list[Any]:
        nonlocal found
        found = grad(roots, wanted, gradients, keep, create, True, unused)
        return [g for g in found if g is not None]

    # Zeros in place of None are no batches, as in PyTorch.
    batches = iter(vmap(of_one, in_dims=([None if g is None else 0 for g in given],))(list(given)))
    return tuple(next(batches) if g is not None else zeros_for(t, create) if fill else None for g, t in zip(found, wanted, strict=True))


def renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    """What was given under the name that `grad_tensors` had once."""
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
        )
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
    return grad_variables


def as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if value.__class__ is Tensor or isinstance(value, Tensor | GradientEdge) else tuple(value)


def wanted_of(inputs: Any, name: str) -> tuple[Any, ...]:
    """What a caller wants gradients for."""
    if inputs.__class__ is Tensor:
        return (inputs,)
    if isinstance(inputs, Mapping):
        if inputs.__class__ is not dict:
            raise TypeError(
                f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported.\n"
                "  fix: dict(inputs)"
            )
        inputs = inputs.values()
    wanted = as_tuple(inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    for one in wanted:
        if not isinstance(one, Tensor | GradientEdge):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(one).__name__}")
    return wanted


def given_gradients(value: Any, count: int) -> tuple[Any, ...]:
    if value is None:
        return (None,) * count
    gradients = as_tuple(value)
    if value.__class__ is Tensor and count == 1:
        return gradients
    for gradient in gradients:
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if len(gradients) != count:
        raise RuntimeError(f"got {count} tensors and {len(gradients)} gradients")
    return gradients


def resolve(tensor: Any) -> Edge:
    """The edge that a tensor or gradient edge stands for."""
    if isinstance(tensor, Tensor):
        return edge_of(tensor)
    if not isinstance(tensor, GradientEdge):
        raise AssertionError(f"Expected output to be a torch.Tensor or torch.autograd.graph.GradientEdge, got {type(tensor)}")
    node, nr = tensor[0], tensor[1]
    if isinstance(node, AccumulateGrad):
        return node.variable
    return node if node.outputs is None else Output(node, nr)


# ---- checks -------------------------------------------------------------------------------------------------------------------------


through_tensors = False  # whether gradients may have to pass tensors that are no arrays; see _class_dispatch.py


def starts(outputs: Sequence[Any], given: Sequence[Any], create_graph: bool) -> tuple[list[Edge], list[Any], bool]:
    """Where the backward pass starts: the edges of the outputs, and the gradients that are delivered there: arrays, or Tensors if they
    are recorded, carry tangents or are inside a transform."""
    edges, gradients, arrays = [], [], []
    nested = False
    for place, output in enumerate(outputs):
        edge = edge_of(output) if output.__class__ is Tensor else resolve(output)
        gradient = given[place]
        if edge is None or edge is NOWHERE:
            raise no_history(place, output)
        if output.__class__ is GradientEdge:
            output = template(output)
        if gradient is None:
            gradient = implicit_seed(output)
            if edge is output and "_cut" in output.__dict__:
                warn_of_leaf(output)
        elif output is not None:
            data, like = gradient._data, output._data
            if data.dtype is not like.dtype or data.shape != like.shape:
                gradient = fitting(place, output, gradient)
        array = gradient._data
        if array.__class__ is not ndarray or output is None or output._data.__class__ is not ndarray:
            nested = nested or top_level((gradient, output)) is not None
        edges.append(edge)
        gradients.append(gradient)
        arrays.append(array)
    as_tensors = nested or create_graph or through_tensors or get_mode() & FORWARD_AD != 0
    return edges, gradients if as_tensors else arrays, as_tensors


def warn_of_leaf(loss: Tensor) -> None:
    """Say that a loss leads nowhere: its history was cut off, and `requires_grad = True` made it a leaf, which silences the error only."""
    from .causes import why_cut

    reason = why_cut(loss.__dict__["_cut"])
    where = "" if reason.site is None else f", {reason.site.where}"
    warn(
        f"backward() of a tensor that is a leaf gives a gradient to no other: its history was cut off by {reason.how}{where}, and "
        f"requires_grad = True does not bring it back.\n  fix: {reason.advice}"
    )


def fitting(place: int, output: Tensor, given: Tensor) -> Tensor:
    """A given gradient in the dtype of its output."""
    if given.shape != output.shape:
        raise GradientError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {given.shape} and output[{place}] has a shape of {output.shape}.",
            fix="pass a gradient of the output's shape, for example torch.ones_like(output)",
        )
    if given.dtype != output.dtype:
        if given.is_complex() != output.is_complex():
            raise GradientError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{place}] has a dtype of {given.dtype} and output[{place}] has a dtype of {output.dtype}."
            )
        given = given.to(output.dtype)
    return given


def template(edge: GradientEdge) -> Any:
    """A tensor like the one that an edge stands for, on next to no memory; None if its shape is not known."""
    if isinstance(edge.node, AccumulateGrad):
        return edge.node.variable
    if edge.ownership_token is None:
        return None
    shape, dtype = edge.ownership_token
    return wrap(np.broadcast_to(np.zeros((), dtype), shape))


def implicit_seed(output: Any) -> Tensor:
    if output is None:
        raise RuntimeError("grad_outputs must be given for a GradientEdge whose shape is not known: use get_gradient_edge(tensor)")
    data = output._data
    if data.size != 1:
        from .._source import called

        fn, y = output.grad_fn, called(output, "y")
        raise GradientError(
            f"grad can be implicitly created only for scalar outputs (this one has shape {list(data.shape)})",
            {"made": fn.site} if isinstance(fn, Node) else None,
            f"reduce it: {y}.sum().backward() or {y}.mean().backward(), or weight its elements: "
            f"{y}.backward(gradient=torch.ones_like({y}))",
        )
    if data.dtype.kind == "c":
        raise GradientError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
    if isinstance(data, Layer):
        return wrap(np.ones(data.shape, output.dtype.numpy))
    if data.__class__ is not np.ndarray:
        if hasattr(output, "__torch_dispatch__"):
            from .._creation import ones_like

            return ones_like(output)
        return wrap(np.ones_like(data))
    one = np.empty(data.shape, data.dtype)  # faster than np.ones, which is written in Python
    one.fill(1)
    return wrap(one)


def no_history(place: int, output: Tensor) -> NoGradError:
    """There is nothing to differentiate; say why, as far as it is known."""
    from .causes import Cause, why_no_history

    reason = why_no_history(output)
    fix = reason.advice
    if reason.cause is Cause.CONSTANT and (frozen := frozen_models()):
        fix = f"no parameter of {frozen[0]} requires grad: {frozen[0]}.requires_grad_() before the computation"
    elif reason.cause is Cause.CONSTANT and not (output.is_floating_point() or output.is_complex()):
        fix = f"the result is {output.dtype}, and integers have no derivative: differentiate a floating-point quantity"
    error = NoGradError(
        f"element {place} of tensors does not require grad and does not have a grad_fn",
        {} if reason.site is None else {"cut": reason.site},
        fix,
    )
    error.cause = reason.cause
    return error


def frozen_models() -> list[str]:
    """The variables of the program that hold models, if none of their parameters requires grad."""
    from .._source import variables
    from ..nn.module import Module

    held = {name: list(value.parameters()) for name, value in variables() if issubclass(type(value), Module)}
    trained = any(parameter.requires_grad for parameters in held.values() for parameter in parameters)
    return [] if trained else [name for name, parameters in held.items() if parameters]


def check_requires_grad(tensor: Any, place: int) -> None:
    if isinstance(tensor, Tensor) and not tensor.requires_grad:
        from .._source import called

        name = called(tensor, "x")
        raise NoGradError(
            f"One of the differentiated Tensors does not require grad (input {place}, shape {list(tensor.shape)})",
            fix=f"call {name}.requires_grad_() before the computation",
        )


def check_used(results: Sequence[Any], wanted: Sequence[Any]) -> None:
    for place, gradient in enumerate(results):
        if gradient is None:
            from .._source import called

            shape = f" It has shape {list(wanted[place].shape)}." if isinstance(wanted[place], Tensor) else ""
            name = called(wanted[place], "")
            unused = f"{name} has no part in the output: " if name else ""
            raise UnusedInputError(
                f"The differentiated Tensor at index {place} appears to not have been used in the graph. "
                f"Set allow_unused=True if this is the desired behavior.{shape}",
                fix=f"{unused}pass the very tensor that the output was computed from, not a copy, a view or an earlier value of it",
            )


def zeros_for(tensor: Any, requires_grad: bool) -> Tensor:
    if isinstance(tensor, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given inputs contains GradientEdge(s): pass tensors instead")
    return tensor.new_zeros(tensor.shape)._set_requires_grad(requires_grad)  # type: ignore[no-any-return]
