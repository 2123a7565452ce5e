"""Tensor: an array with a history.

A Tensor holds an array (a NumPy array, or anything that behaves like one), says where its gradient goes (`_fn`, see Note [Edges] in
autograd/node.py) and counts the writes to its memory (`_vc`, made when first needed). The rest is looked up in the class until it is set:
most tensors live for microseconds and never have a gradient, a hook or a name. Operators and methods come from the op registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import numpy as np

from . import _device, _dtype
from ._dtype import from_numpy_dtype
from ._layout import strided
from ._methods import OpMethods
from ._site import here
from ._size import Size
from ._state import INFERENCE, get_mode
from .autograd.node import INFERENCE_TENSOR, LEAF, Edge, Node, Output
from .autograd.views import View, counter_of, edge_of

if TYPE_CHECKING:
    from .autograd.hooks import Hook, NodeHooks, RemovableHandle

new = object.__new__


class Tensor(OpMethods):
    """A multi-dimensional array whose operations are recorded, so that they can be differentiated.

    >>> import adjoint as ad
    >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_data", "_fn", "_vc")
    __hash__ = object.__hash__
    __array_priority__ = 1000  # ndarray * Tensor is a Tensor

    _data: Any
    _fn: Any
    _vc: Any
    _grad: Tensor | None = None
    _hooks: NodeHooks | None = None
    _retains: bool = False
    _tangent: Any = None
    names = None
    layout = strided
    is_sparse = is_quantized = is_cuda = is_mkldnn = is_nested = is_mps = is_xpu = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        from ._legacy import construct

        return construct(cls, *args, **kwargs)

    # ---- facts ------------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return Size._of(self._data.shape)

    @property
    def ndim(self) -> int:
        return len(self._data.shape)

    def dim(self) -> int:
        return len(self._data.shape)

    ndimension = dim

    def numel(self) -> int:
        return int(self._data.size)

    nelement = numel

    @property
    def dtype(self) -> _dtype.dtype:
        found = self._data.dtype
        return from_numpy_dtype(found) if isinstance(found, np.dtype) else found

    @property
    def device(self) -> _device.device:
        found = getattr(self._data, "device", "cpu")
        return _device.CPU if found == "cpu" else _device.resolve(found)

    @property
    def itemsize(self) -> int:
        return int(self._data.dtype.itemsize)

    def element_size(self) -> int:
        return int(self._data.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    def get_device(self) -> int:
        return -1

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        return self._vc is INFERENCE_TENSOR

    def __len__(self) -> int:
        if not self._data.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self._data.shape[0])

    # ---- history ----------------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        fn = self._fn
        return fn is not None and (fn.direct or fn.required(self))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables.\n"
                "  fix: leave the line out, for this tensor requires grad already, or make it a leaf: x = x.detach().requires_grad_()"
            )
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Turn recording on (or off) for a leaf, in place."""
        if requires_grad == self.requires_grad:
            return self
        if not requires_grad:
            if not self.is_leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
                    "that doesn't require differentiation use var_no_grad = var.detach()."
                )
            self._fn = None
            return self
        dtype = self.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(
                f"only Tensors of floating point and complex dtype can require gradients (this one is {dtype})\n"
                "  fix: make it floating point first, for example x.float().requires_grad_()"
            )
        if self._vc is INFERENCE_TENSOR and not get_mode() & INFERENCE:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._fn = LEAF
        return self

    @property
    def is_leaf(self) -> bool:
        fn = self._fn
        return fn is None or fn is LEAF or (not fn.direct and fn.resolve(self) is None)

    @property
    def grad_fn(self) -> Any:
        edge = edge_of(self)
        if isinstance(edge, Output):
            return edge.node
        return edge if isinstance(edge, Node) else None

    @property
    def output_nr(self) -> int:
        edge = edge_of(self)
        return edge.nr if isinstance(edge, Output) else 0

    @property
    def _version(self) -> int:
        if self._vc is INFERENCE_TENSOR:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._vc is None else int(self._vc.version)

    @property
    def _base(self) -> Tensor | None:
        return self._fn.base if isinstance(self._fn, View) else None

    def _is_view(self) -> bool:
        return isinstance(self._fn, View)

    @property
    def grad(self) -> Tensor | None:
        gradient = self._grad
        if gradient is None and self._fn is not None and not self._retains and not self.is_leaf:
            from .autograd.warnings import warn_non_leaf

            warn_non_leaf(self)
        return gradient

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_gradient(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_gradient(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size"
            )
        if value.dtype != self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with dtype '{self.dtype}'\n"
                f"  fix: x.grad = g.to({self.dtype})"
            )
        if value.device != self.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
                f"'{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own: writes to it are invisible to autograd."""
        tensor = wrap(self._data)
        if self._fn is not LEAF:  # that of a parameter is no cut: it has no history
            mark_cut(tensor, self, ".data")
        return tensor

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._fn is not None and not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._data = value._data

    def detach(self) -> Tensor:
        """The same memory without history. Writes to it are seen by autograd: the version counter is shared."""
        tensor = wrap(self._data)
        tensor._vc = counter_of(self)
        mark_cut(tensor, self, "detach()")
        return tensor

    def detach_(self) -> Self:
        """Drop the history in place: the tensor becomes a leaf that requires no grad."""
        if isinstance(self._fn, View):
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called "
                "on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function."
            )
        self._fn = None
        return self

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Add the derivative of this tensor with respect to every leaf to the leaf's `.grad`.

        >>> import adjoint as ad
        >>> x = ad.tensor(3.0, requires_grad=True)
        >>> (x**2).backward()
        >>> x.grad
        tensor(6.)
        """
        differentiate.backward(self, gradient, retain_graph, create_graph, None, inputs)

    # ---- hooks ------------------------------------------------------------------------------------------------------------------

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed; what it returns replaces the gradient."""
        edge = edge_of(self)
        if edge is None:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient\n  fix: call x.requires_grad_() before the computation"
            )
        return self._hooks_of(edge).add_tensor(self.output_nr, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` each time a gradient has been added to this leaf's `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return self._leaf_hooks().post_accumulate.add(hook)

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf tensor in `.grad`."""
        edge = edge_of(self)
        if edge is None:
            raise RuntimeError(
                "can't retain_grad on Tensor that has requires_grad=False\n  fix: call x.requires_grad_() before the computation"
            )
        if edge is self or self._retains:
            return
        self._hooks_of(edge).retained[self.output_nr] = ref(self)
        self._retains = True

    @property
    def retains_grad(self) -> bool:
        return self._retains

    def _hooks_of(self, edge: Edge) -> NodeHooks:
        if isinstance(edge, Output):
            return edge.node._hooks()
        return edge._hooks() if isinstance(edge, Node) else edge._leaf_hooks()

    def _leaf_hooks(self) -> NodeHooks:
        from .autograd.hooks import NodeHooks

        if self._hooks is None:
            self._hooks = NodeHooks()
        return self._hooks

    # ---- conversion -------------------------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._data.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar\n"
                "  fix: reduce it first, for example x.sum().item(), or use x.tolist()"
            )
        return self._data.item()

    def tolist(self) -> Any:
        return self._data.tolist()

    def __bool__(self) -> bool:
        if self._data.size != 1:
            count = "no values" if self._data.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous; use x.any() or x.all()")
        return bool(self._data.item())

    def __float__(self) -> float:
        return float(self._only_element())

    def __int__(self) -> int:
        return int(self._only_element())

    def __complex__(self) -> complex:
        return complex(self._only_element())

    def _only_element(self) -> Any:
        if self._data.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars (this one has {self.numel()} elements)\n"
                "  fix: reduce it first, for example float(x.sum()), or use x.tolist()"
            )
        return self.item()

    def __index__(self) -> int:
        if self._data.dtype.kind not in "biu" or self._data.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        return self if not self._data.shape else self.flip(0)

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, Tensor | int | float | bool | complex):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool((self == element).any().item())

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        from ._printing import describe

        return describe(self)


class Parameter(Tensor):
    """A tensor that a module trains: assigning it to an attribute of a module registers it there."""

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        tensor = new(cls)
        tensor._data = np.empty(0, _dtype.default_numpy()) if data is None else data._data
        tensor._vc = None if data is None else data._vc
        tensor._fn = None
        if requires_grad:
            tensor.requires_grad_()
        return tensor

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


def wrap(data: Any) -> Tensor:
    """A Tensor around an array, without history."""
    tensor = new(Tensor)
    tensor._data = data
    tensor._fn = None
    tensor._vc = None
    return tensor


def mark_cut(tensor: Tensor, source: Tensor, how: str) -> None:
    """Remember which line made a tensor without the history of its source, for the error that may come of it."""
    if source._fn is not None:
        tensor.__dict__["_cut"] = how, here()


def wrap_result(data: Any) -> Tensor:
    """The same for the result of a NumPy function, which may be a NumPy scalar where a 0-d array is meant."""
    return wrap(np.asarray(data) if isinstance(data, np.generic) else data)


# These need Tensor; importing them at each call of backward would cost a microsecond.
from .autograd import accumulate, differentiate  # noqa: E402

accumulate.wrap = wrap
