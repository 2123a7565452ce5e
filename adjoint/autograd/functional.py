"""Jacobians, Hessians and products with them, of a function of tensors.

    vjp(f, x, v)   v^T J        one reverse pass
    jvp(f, x, v)   J v          two reverse passes: v^T J is linear in v, and its derivative with respect to v is J
    vhp(f, x, v)   v^T H        reverse over reverse
    hvp(f, x, v)   H v          the trick of jvp, applied to the gradient
    jacobian       J            a pass per element of the output (reverse mode) or of the input (forward mode)
    hessian        H            the Jacobian of the gradient

Results are cut off from the graph unless `create_graph` is given. With `strict`, a result that is zero because there is no path in the
graph is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tensor import Tensor, wrap
from . import forward_ad
from .differentiate import grad
from .grad_mode import enable_grad

Tensors = tuple[Tensor, ...]
Func = Callable[..., Any]

REVERSE, FORWARD = "reverse-mode", "forward-mode"


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func` and the product of `v` with its Jacobian: what reverse mode computes.

    >>> import adjoint as ad
    >>> ad.autograd.functional.vjp(lambda x: x * x, ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        points, several = points_of(inputs, "vjp", create_graph)
        outputs, several_outputs = outputs_of(func, points, "vjp", strict)
        seeds = vector_for(v, outputs, "vjp", "the user-provided function returns a single Tensor with a single element")
        found = gradients(outputs, points, seeds, create_graph)
        product = filled(found, points, strict, INDEPENDENT_OUTPUT)
        check_depends(product, strict and create_graph, INDEPENDENT_JACOBIAN)
    return packed(outputs, several_outputs, create_graph), packed(product, several, create_graph)


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The outputs of `func` and the product of its Jacobian with `v`: the derivative in the direction `v`.

    >>> import adjoint as ad
    >>> ad.autograd.functional.jvp(lambda x: x * x, ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        points, _ = points_of(inputs, "jvp", create_graph)
        direction = vector_for(v, points, "jvp", ONE_INPUT)
        outputs, several = outputs_of(func, points, "jvp", strict)
        product = forward_product(outputs, points, direction, create_graph, strict, INDEPENDENT_OUTPUT, INDEPENDENT_OF_SEED)
        check_depends(product, strict and create_graph, INDEPENDENT_JACOBIAN)
    return packed(outputs, several, create_graph), packed(product, several, create_graph)


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of a scalar `func` and the product of `v` with its Hessian. Cheaper than `hvp`, and equal where the Hessian is symmetric.

    >>> import adjoint as ad
    >>> ad.autograd.functional.vhp(lambda x: (x * x * x).sum(), ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        points, several = points_of(inputs, "vhp", create_graph)
        direction = vector_for(v, points, "vhp", ONE_INPUT)
        outputs, gradient = scalar_gradient(func, points, "vhp", strict)
        product = filled(gradients(gradient, points, direction, create_graph), points, strict, INDEPENDENT_GRADIENT)
        check_depends(product, strict and create_graph, INDEPENDENT_HESSIAN)
    return packed(outputs, False, create_graph), packed(product, several, create_graph)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The output of a scalar `func` and the product of its Hessian with `v`.

    >>> import adjoint as ad
    >>> ad.autograd.functional.hvp(lambda x: (x * x * x).sum(), ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with enable_grad():
        points, several = points_of(inputs, "hvp", create_graph)
        direction = vector_for(v, points, "hvp", ONE_INPUT)
        outputs, gradient = scalar_gradient(func, points, "hvp", strict)
        product = forward_product(gradient, points, direction, create_graph, strict, INDEPENDENT_GRADIENT, INDEPENDENT_OF_GRAD_JACOBIAN)
        check_depends(product, strict and create_graph, INDEPENDENT_HESSIAN)
    return packed(outputs, False, create_graph), packed(product, several, create_graph)


def jacobian(
    func: Func, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = REVERSE
) -> Any:
    """The Jacobian of `func`: for each output and input a tensor of shape `output.shape + input.shape`.

    >>> import adjoint as ad
    >>> ad.autograd.functional.jacobian(lambda x: x * x, ad.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    assert strategy in (FORWARD, REVERSE), (
        'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
        '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
    )
    if strategy == FORWARD:
        check_forward_options(create_graph, strict, vectorize)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    with enable_grad():
        points, several = points_of(inputs, "jacobian", create_graph)
        if strategy == FORWARD:
            rows, several_outputs = forward_jacobian(func, points)
        else:
            outputs, several_outputs = outputs_of(func, points, "jacobian", strict)
            rows = [
                jacobian_at_once(out, points, create_graph)
                if vectorize and out.numel()
                else reverse_jacobian(number, out, points, create_graph, strict)
                for number, out in enumerate(outputs)
            ]
    blocks = [packed(row, several, create_graph) for row in rows]
    return tuple(blocks) if several_outputs else blocks[0]


def check_forward_options(create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Refuse what PyTorch refuses together with forward mode, so that programs mean the same there."""
    name = "torch.autograd.functional.jacobian"
    together = 'and `strategy="forward-mode"` are not supported together (yet). Please either set'
    if create_graph:
        raise NotImplementedError(f'{name}: `create_graph=True` {together} `create_graph=False` or `strategy="reverse-mode"`.')
    if strict:
        raise RuntimeError(f'{name}: `strict=True` {together} `strict=False` or `strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
        )


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = REVERSE,
) -> Any:
    """The second derivatives of a scalar `func`: for each pair of inputs a tensor of shape `first.shape + second.shape`.

    >>> import adjoint as ad
    >>> ad.autograd.functional.hessian(lambda x: (x * x * x).sum(), ad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    assert outer_jacobian_strategy in (FORWARD, REVERSE), 'Expected strategy to be either "forward-mode" or "reverse-mode".'
    _, several = tensors_of(inputs, "inputs", "hessian")

    def gradient(*points: Tensor) -> Tensors:
        _, found = scalar_gradient(func, tuple(x.view_as(x) for x in points), "hessian", strict)
        check_depends(found, strict, INDEPENDENT_GRADIENT)
        return found

    blocks = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if several else blocks[0]


# ---- differentiation ----------------------------------------------------------------------------------------------------------------


def gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor], record: bool) -> list[Tensor | None]:
    """`grad` for outputs of which some, or all, may not depend on anything."""
    pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if out.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    roots, vectors = zip(*pairs, strict=True)
    return list(grad(roots, inputs, vectors, retain_graph=True, create_graph=record, allow_unused=True))


def forward_product(
    outputs: Tensors, points: Tensors, direction: Tensors, record: bool, strict: bool, no_path: str, no_trick: str
) -> Tensors:
    """J v by differentiating u^T J with respect to u, whose value does not matter."""
    seeds = tuple(wrap(np.zeros_like(out._data)).requires_grad_() for out in outputs)
    pulled = filled(gradients(outputs, points, seeds, True), points, strict, no_path)
    return filled(gradients(pulled, seeds, direction, record), outputs, strict, no_trick)


def scalar_gradient(func: Func, points: Tensors, name: str, strict: bool) -> tuple[Tensors, Tensors]:
    """The output of a function that has to be scalar, and its gradient with history."""
    outputs, several = outputs_of(func, points, name, strict)
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element; reduce it, e.g. y.sum()")
    ones = wrap(np.ones_like(outputs[0]._data))
    no_path = INDEPENDENT_GRADIENT if name == "hessian" else INDEPENDENT_OUTPUT
    found = filled(gradients(outputs, points, (ones,), True), points, strict, no_path)
    check_depends(found, strict, INDEPENDENT_GRADIENT)
    return outputs, found


def reverse_jacobian(number: int, output: Tensor, points: Tensors, record: bool, strict: bool) -> Tensors:
    """The Jacobian of one output with respect to each input, a row per element of the output."""
    missing = f"Output {number} of the user-provided function is independent of input {{}}. This is not allowed in strict mode."
    rows = []
    for index in np.ndindex(tuple(output.shape)):
        found = gradients((output,), points, (unit_like(output, index),), record)
        rows.append(filled(found, points, strict, missing))
        check_depends(rows[-1], strict and record, INDEPENDENT_JACOBIAN)
    return tuple(stacked([row[place] for row in rows], (*output.shape, *x.shape), x) for place, x in enumerate(points))


def jacobian_at_once(output: Tensor, points: Tensors, record: bool) -> Tensors:
    """The same by one backward for all elements of the output."""
    count = output.numel()
    found: Sequence[Tensor | None] = [None] * len(points)
    if output.requires_grad:
        units = wrap(np.eye(count, dtype=output.dtype.numpy).reshape(count, *output.shape))
        found = grad((output,), points, (units,), True, record, allow_unused=True, is_grads_batched=True)
    shapes = [(*output.shape, *x.shape) for x in points]
    return tuple(
        wrap(np.zeros(shape, x.dtype.numpy)) if g is None else g.reshape(shape)
        for g, x, shape in zip(found, points, shapes, strict=True)
    )


def forward_jacobian(func: Func, points: Tensors) -> tuple[list[Tensors], bool]:
    """The Jacobian of every output with respect to each input, by one forward for all elements of an input."""
    from ..func import vmap

    outputs, several = outputs_of(func, points, "jacobian", False)
    columns: list[Tensors] = []  # by input and output

    def push(direction: Tensor) -> Tensors:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(points[len(columns)], direction)
            found, _ = outputs_of(func, (*points[: len(columns)], dual, *points[len(columns) + 1 :]), "jacobian", False)
            return filled([forward_ad.unpack_dual(out).tangent for out in found], outputs, False, "")

    for x in points:
        count = x.numel()
        columns.append(vmap(push, out_dims=-1)(wrap(np.eye(count, dtype=x.dtype.numpy).reshape(count, *x.shape))))
    rows = [
        tuple(column[number].reshape((*out.shape, *x.shape)) for column, x in zip(columns, points, strict=True))
        for number, out in enumerate(outputs)
    ]
    return rows, several


def unit_like(tensor: Tensor, index: tuple[int, ...]) -> Tensor:
    unit = np.zeros_like(tensor._data)
    unit[index] = 1
    return wrap(unit)


def stacked(rows: Sequence[Tensor], shape: tuple[int, ...], like: Tensor) -> Tensor:
    from ..ops._registry import FUNCTIONS

    if not rows:
        return wrap(np.zeros(shape, like._data.dtype))
    return FUNCTIONS["stack"](rows).reshape(shape)  # type: ignore[no-any-return]


# ---- arguments and results ----------------------------------------------------------------------------------------------------------

ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element"
INDEPENDENT_OUTPUT = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when create_graph=True."
)
INDEPENDENT_GRADIENT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent of the "
    "input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and that the jacobian depends "
    "on the inputs (this would be violated by a linear function for example)."
)
INDEPENDENT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode when create_graph=True: "
    "the function has to be three times differentiable, and its hessian has to depend on the inputs."
)
INDEPENDENT_OF_SEED = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward trick to compute "
    "forward mode gradients. This is not allowed in strict mode."
)
INDEPENDENT_OF_GRAD_JACOBIAN = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in strict mode as it "
    "prevents from using the double backward trick to replace forward mode AD."
)


def tensors_of(value: Any, what: str, name: str) -> tuple[Tensors, bool]:
    """One or more tensors as a tuple, and whether they were given as one."""
    several = isinstance(value, tuple)
    for place, item in enumerate(value if several else (value,)):
        if not isinstance(item, Tensor):
            which = f"value at index {place}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type {type(item)}."
            )
    return (value if several else (value,)), several


def points_of(inputs: Any, name: str, connected: bool) -> tuple[Tensors, bool]:
    """Where to differentiate: aliases of the inputs that require grad, with the history of the inputs if they are to stay connected."""
    given, several = tensors_of(inputs, "inputs", name)
    return _grad_preprocess(given, connected, True), several


def outputs_of(func: Func, points: Tensors, name: str, strict: bool) -> tuple[Tensors, bool]:
    outputs, several = tensors_of(func(*points), "outputs of the user-provided function", name)
    for number, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"Output {number} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
    return outputs, several


def vector_for(v: Any, like: Tensors, name: str, when: str) -> Tensors:
    """`v`, which may be left out where there is just one number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {when}.")
        return (wrap(np.ones_like(like[0]._data)),)
    given, _ = tensors_of(v, "v", name)
    if len(given) != len(like):
        if len(like) == 1:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for number, (vector, x) in enumerate(zip(given, like, strict=True)):
        if vector.shape != x.shape:
            which = f"Entry {number} in " if len(like) > 1 else ""
            raise RuntimeError(f"{which}v has invalid size: should be {x.shape} but got {vector.shape}.")
    return given


def filled(found: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, missing: str) -> Tensors:
    """Zeros for what is absent, unless `strict` forbids it."""
    for place, value in enumerate(found):
        if value is None and strict:
            raise RuntimeError(missing.format(place))
    return tuple(wrap(np.zeros_like(x._data)) if value is None else value for value, x in zip(found, like, strict=True))


def check_depends(values: Tensors, strict: bool, message: str) -> None:
    """In strict mode what is to be differentiated again must have a history."""
    for place, value in enumerate(values):
        if strict and not value.requires_grad:
            raise RuntimeError(message.format(place))


def packed(tensors: Tensors, several: bool, connected: bool) -> Any:
    """Results as the caller gets them: one tensor for one, cut off unless they are to be differentiated further."""
    return _tuple_postprocess(_grad_postprocess(tensors, connected), several)


# ---- steps that libraries import although their names are private -------------------------------------------------------------------


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[Any, ...]:
    """A tuple of tensors. With the names of an argument and its function their types are checked: whether there are several, and they."""
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, tuple | list) else (inp,)
    given, several = tensors_of(inp, str(arg_name), str(fn_name))
    return several, given


def _grad_preprocess(inputs: Sequence[Tensor], create_graph: bool, need_graph: bool) -> Tensors:
    """Aliases of tensors, which keep their history if they are to stay connected, and otherwise begin a new one if that is needed."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph) for x in inputs)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors, or tuples of them, cut off unless they are to be differentiated further."""
    if create_graph:
        return inputs
    return tuple(x.detach() if isinstance(x, Tensor) else _grad_postprocess(x, create_graph) for x in inputs)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """One tensor for one: `to_unpack` says whether there were several, for tuples of tuples of the outer and of the inner ones."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    res = res if inner else tuple(row[0] for row in res)
    return res if outer else res[0]


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> Tensors:
    """The columns of an identity matrix that belong to each tensor, where the rows count the elements of all."""
    total, starts = sum(tensor_numels), np.cumsum([0, *tensor_numels])
    return tuple(
        wrap(np.eye(total, size, -int(start), dtype=x.dtype.numpy))
        for x, size, start in zip(tensors, tensor_numels, starts[:-1], strict=True)
    )
