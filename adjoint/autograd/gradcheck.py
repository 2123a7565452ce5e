"""`gradcheck`: are the derivatives right? How they are compared with finite differences is in `differences.py`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .._layout import Sparse
from .._tensor import Tensor, wrap
from .differences import Check, GradcheckError, as_tuple, differentiable, random_like
from .differentiate import grad

Func = Callable[..., Any]


def gradcheck(
    func: Func,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` with finite differences; True if they agree.

    The inputs that require grad are checked; they should be float64 or complex128. `func` must not change them.

    >>> import adjoint as ad
    >>> x = ad.tensor([0.5, 2.0], dtype=ad.float64, requires_grad=True)
    >>> ad.autograd.gradcheck(lambda x: x.exp(), (x,))
    True
    """
    assert check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad to be True"
    assert check_backward_ad or not check_batched_grad, "Setting check_batched_grad=True requires check_backward_ad to be True"
    assert check_forward_ad or not check_batched_forward_grad, (
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    func, inputs = of_values(func, as_tuple(inputs), masked)
    check = Check(func, inputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        check.run(check_forward_ad, check_backward_ad, check_undefined_grad, fast_mode)
        check.batches(check_batched_grad, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def of_values(func: Func, inputs: tuple[Any, ...], masked: bool | None) -> tuple[Func, tuple[Any, ...]]:
    """The same function of dense tensors: of the values of sparse ones, which are what can be changed of them, and with dense results."""
    if not any(isinstance(x, Tensor) and isinstance(x._data, Sparse) for x in inputs):
        return func, inputs
    if masked is False:
        raise ValueError("gradcheck of sparse tensors expects gradients in their places only: leave masked out, or masked=True")
    from ..sparse._gradcheck import dense_function

    return dense_function(func, inputs)


def gradgradcheck(
    func: Func,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """The same for second derivatives: `gradcheck` of the gradient of `func` with respect to inputs and `grad_outputs`.

    Without `grad_outputs` they are drawn at random, from the generator that `manual_seed` seeds.
    """
    assert check_fwd_over_rev or check_rev_over_rev, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    assert check_rev_over_rev or not check_batched_grad, "Setting check_batched_grad=True requires check_rev_over_rev to be True"
    assert check_rev_over_rev or not check_undefined_grad, "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    inputs = as_tuple(inputs)
    func, inputs = of_values(func, as_tuple(inputs), None)
    if grad_outputs is None:
        outputs = differentiable(func(*inputs))
        seeds = tuple(random_like(out, gen_non_contig_grad_outputs) for out in outputs)
    else:
        seeds = as_tuple(grad_outputs)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        point, directions = args[: len(inputs)], args[len(inputs) :]
        wanted = [x.requires_grad_() for x, given in zip(point, inputs, strict=True) if isinstance(x, Tensor) and given.requires_grad]
        outputs = differentiable(func(*point))
        found = grad(outputs, wanted, directions, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


# ---- of the time before gradcheck did it all ----------------------------------------------------------------------------------------


def get_numerical_jacobian(fn: Func, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> tuple[Tensor, ...]:
    """The Jacobian of the first output by finite differences: one for each input."""
    check = old_check("get_numerical_jacobian", fn, inputs if target is None else target, eps, grad_out)
    check.inputs = as_tuple(inputs)

    def whole(*_: Any) -> Any:
        return fn(inputs)

    check.func, check.chosen = whole, [0]
    return tuple(wrap(np.asarray(check.differences(number, 1)[0], x._data.dtype)) for number, x in enumerate(check.wanted))


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobian of an output by reverse mode: one for each input; whether backward gives the same twice, and gradients of the shapes and
    dtypes of the inputs."""
    check = old_check("get_analytical_jacobian", lambda *_: output, inputs, 0.0, grad_out)
    check.chosen, check.nondet_tol, check.dtypes = [0], np.inf, False
    found = grad([output], check.wanted, [wrap(np.ones_like(output._data))], retain_graph=True, allow_unused=True)
    pairs = [(g, x) for g, x in zip(found, check.wanted, strict=True) if g is not None]
    jacobians = check.reverse(0, 1)
    del check.known["reverse", 0, 1]
    same = max((float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(jacobians, check.reverse(0, 1), strict=True)), default=0.0)
    fits = all(g.shape == x.shape for g, x in pairs), all(g.dtype == x.dtype for g, x in pairs)
    return tuple(map(wrap, jacobians)), same <= nondet_tol, *fits


def old_check(name: str, fn: Func, inputs: Any, eps: float, grad_out: float) -> Check:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed in a future "
        "version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, please file us an issue.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
    return Check(fn, as_tuple(inputs), eps, 0.0, 0.0, 0.0, False)


class CallableModule(ModuleType):
    """In PyTorch `autograd.gradcheck` is the function, although there is a module of that name. When this module has been imported by name,
    `autograd.gradcheck` is the module: so it can be called too."""

    __call__ = staticmethod(gradcheck)


sys.modules[__name__].__class__ = CallableModule
