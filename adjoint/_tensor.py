"""Tensor: an array with a history.

A Tensor holds an array (a NumPy array, or anything that behaves like one), says where its gradient goes (`_fn`, see Note [Edges] in
autograd/node.py) and counts the writes to its memory (`_vc`, made when first needed). The rest is looked up in the class until it is set:
most tensors live for microseconds and never have a gradient, a hook or a name. Operators and methods come from the op registry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from . import _device, _dtype
from ._dtype import from_numpy_dtype
from ._layer import Layer, levels, refuse_inside, refuse_other_memory
from ._layout import Sparse, layout, sparse_coo, sparse_csr, strided
from ._methods import OpMethods
from ._serving import OFTEN, SOON
from ._site import USER_FILES, user_frame
from ._size import KNOWN_SIZES, Size
from .autograd.node import INFERENCE_TENSOR, LEAF, SAME, Cut, Edge, Node, Output
from .autograd.regions import leave_memory
from .autograd.taken import take
from .autograd.views import View, counter_of, cut_off, edge_of, mark_cut, set_requires_grad

if TYPE_CHECKING:
    from .autograd.hooks import Hook, NodeHooks, RemovableHandle

new = object.__new__
FLOAT32 = np.dtype("float32")
writes = [0]  # until now
replaceable: dict[str, dict[str, Any]] = {}  # functions that a built-in may replace, by name: where they are (_compiled_members.py)
T = TypeVar("T", bound="Tensor")


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
    _grad_dtype: Any = SAME
    if TYPE_CHECKING:  # `typing.get_type_hints` finds the others
        _hooks: NodeHooks | None
    _hooks = None
    _retains: bool = False
    _converted_from: Tensor | None = None
    _geometries: tuple[Any, ...] | None = None
    _resizable: bool = True
    _tangent: Any = None
    names = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        from ._legacy import construct

        return construct(cls, *args, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """A class derived from Tensor may call it with what it was made of: `__new__` has done the work."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith(("adjoint.", "torch.")):
            from ._overriding import derive

            derive(cls)
            if "__torch_dispatch__" in vars(cls):
                from . import _class_dispatch

                _class_dispatch.derive(cls)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """How functions act on objects of a class derived from Tensor: as on tensors, and their results are of the class."""
        from ._overriding import default_torch_function

        return default_torch_function(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(subclass: type[T], data: Tensor, require_grad: bool = False, **options: Any) -> T:
        """An object of a class derived from Tensor, on the memory of another tensor, without its history."""
        from ._class_dispatch import make_subclass

        return make_subclass(subclass, data, require_grad)

    @staticmethod
    def _make_wrapper_subclass(subclass: type[T], size: Any, *args: Any, **options: Any) -> T:
        """An object of a class derived from Tensor that has a shape and a dtype and no elements: `__torch_dispatch__` answers for it."""
        from ._class_dispatch import make_wrapper

        return make_wrapper(subclass, size, *args, **options)  # type: ignore[no-any-return]

    # ---- facts ------------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return KNOWN_SIZES[self._data.shape]

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
        if found is FLOAT32:
            return _dtype.float32
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
        return int(self._data.nbytes)

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def layout(self) -> layout:
        data = self._data
        return data.layout if isinstance(data, Sparse) else strided  # type: ignore[attr-defined]

    @property
    def is_sparse(self) -> bool:
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        return self.layout is sparse_csr

    @property
    def is_quantized(self) -> bool:
        return False

    is_cuda = is_mkldnn = is_nested = is_mps = is_xpu = is_quantized

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
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if value and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables.\n"
                "  fix: leave the line out, for this tensor requires grad already, or make it a leaf: x = x.detach().requires_grad_()"
            )
        self._set_requires_grad(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Turn recording on (or off) for a leaf, in place."""
        if requires_grad.__class__ is not bool:
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}")
        if levels():
            refuse_inside("requires_grad_()", " (or perhaps using torch.autograd.functional.* APIs)")
        return self._set_requires_grad(requires_grad)

    def _set_requires_grad(self, requires_grad: bool) -> Self:
        set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        fn = self._fn
        return fn is None or fn is LEAF or (not fn.direct and not isinstance(fn.resolve(self), Node | Output))

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
    def _cdata(self) -> int:
        """A number that no other tensor has while this one lives: by it programs tell parameters that several modules share."""
        return id(self)

    def _written(self) -> Self:
        """Count a write to the memory, by the line of user code that is running. (Whoever asks is adjoint's own.)"""
        frame = user_frame(sys._getframe(1))
        counter_of(self).bump((frame.f_code, frame.f_lasti))
        writes[0] += 1
        if writes[0] == SOON or writes[0] == OFTEN:
            from ._compiled_members import use_compiled_members

            use_compiled_members(writes[0] == OFTEN)
        return self

    @property
    def _base(self) -> Tensor | None:
        return self._fn.base if self._is_view() else None

    def _view_func(self, new_base: Tensor) -> Tensor | None:
        """The same view of another base; None if that lies otherwise in memory, or this is no view."""
        if not isinstance(new_base, Tensor):
            raise TypeError(f"_view_func(): argument 'new_base' (position 1) must be Tensor, not {type(new_base).__name__}")
        base = self._base
        if base is None or base.shape != new_base.shape or base.stride() != new_base.stride() or new_base.storage_offset():
            return None
        return self._fn.replay(new_base)  # type: ignore[no-any-return]

    def _is_view(self) -> bool:
        return isinstance(self._fn, View) and self._vc is not INFERENCE_TENSOR  # of those nothing is recorded, not even this

    @property
    def grad(self) -> Tensor | None:
        gradient = self._grad
        if gradient is not None or (fn := self._fn) is LEAF:
            return gradient
        if fn is not None and not self._retains and not (isinstance(fn, View) and fn.is_stale(self)) and not self.is_leaf:
            from .autograd.warnings import warn_non_leaf

            warn_non_leaf(self)
        return gradient

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            accumulate.check_gradient(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> _dtype.dtype | None:
        """The dtype that the gradient of a leaf has, its own unless another one was set; None: any."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype if self._grad_dtype is SAME else self._grad_dtype

    @grad_dtype.setter
    def grad_dtype(self, value: _dtype.dtype | None) -> None:
        accumulate.set_grad_dtype(self, value)

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own: writes to it are invisible to autograd."""
        data = self._data
        if isinstance(data, Layer):
            if data.level.hides_dimension:
                raise RuntimeError("accessing `data` under vmap transform is not allowed\n  fix: use x.detach()")
            data = data.detached()
        tensor = wrap(data)
        if self._fn is not LEAF:  # that of a parameter is no cut: it has no history
            mark_cut(tensor, self, "data", ".data")
        return tensor

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if levels():
            refuse_other_memory(self, value)
        leave_memory(self)
        self._data = value._data

    def detach(self) -> Tensor:
        """The same memory without history. Writes to it are seen by autograd: the version counter is shared."""
        data = self._data
        tensor = new(Tensor)
        tensor._data = data if data.__class__ is np.ndarray or not isinstance(data, Layer) else data.detached()
        tensor._vc = counter_of(self)
        tensor._fn = None
        if (fn := self._fn) is LEAF:
            frame = sys._getframe(1)
            if frame.f_code.co_filename not in USER_FILES:
                frame = user_frame(frame)
            tensor._fn = Cut("detach", "detach()", frame.f_code, frame.f_lasti)
        elif fn is not None:
            mark_cut(tensor, self, "detach", "detach()")
        return tensor

    def detach_(self) -> Self:
        """Drop the history in place: the tensor becomes a leaf that requires no grad."""
        if isinstance(self._fn, View):
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called "
                "on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function."
            )
        cut_off(self, "detach", "detach_()")
        self.__dict__.pop("_tangent", None)
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
        differentiate.begin_backward(engine.run, self, gradient, retain_graph, create_graph, None, inputs)

    # ---- hooks ------------------------------------------------------------------------------------------------------------------

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed; what it returns replaces the gradient."""
        edge = edge_of(self)
        if edge is None:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient\n  fix: call x.requires_grad_() before the computation"
            )
        return self._hooks_of(edge).add_tensor(self.output_nr, hook)

    @property
    def _backward_hooks(self) -> dict[int, Hook] | None:
        """The hooks of this tensor by the numbers of their handles, as PyTorch keeps them; None if there were never any."""
        edge = edge_of(self)
        return None if edge is None else self._hooks_of(edge).tensor.get(self.output_nr)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict[int, Hook] | None) -> None:
        edge = edge_of(self)
        if edge is not None:
            self._hooks_of(edge).set_tensor(self.output_nr, hooks or {})
        elif hooks:
            self.register_hook(next(iter(hooks.values())))  # which is refused

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` each time a gradient has been added to this leaf's `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return self._leaf_hooks().post_accumulate.add(hook)

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf tensor in `.grad`."""
        from .autograd.hooks import retain

        retain(self, edge_of(self))

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
            from ._source import called

            name = called(self, "x")
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar\n"
                f"  fix: reduce it first, for example {name}.mean().item(), or use {name}.tolist()"
            )
        value = self._data.item()
        fn = self._fn
        if fn is not None and not (fn.__class__ is View and fn.base._fn is None):
            take(value, ".item()")
        return value

    def tolist(self) -> Any:
        return self._data.tolist()

    def __bool__(self) -> bool:
        if self._data.size != 1:
            count = "no values" if self._data.size == 0 else "more than one value"
            raise RuntimeError(
                f"Boolean value of Tensor with {count} is ambiguous\n"
                "  fix: write condition.any() or condition.all(), or torch.where(condition, a, b) to choose for each element"
            )
        return bool(self._data)

    def __float__(self) -> float:
        return float(self._real_element("double"))

    def __int__(self) -> int:
        return int(self._real_element("int64_t"))

    def __complex__(self) -> complex:
        return complex(self._only_element())

    def _real_element(self, kind: str) -> Any:
        value = self._only_element()
        if value.__class__ is not complex:
            return value
        if value.imag:
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow: it is complex; use x.real or abs(x)")
        return value.real

    def _only_element(self) -> Any:
        if self._data.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars (this one has {self.numel()} elements)\n"
                "  fix: reduce it first, for example float(x.sum()), or use x.tolist()"
            )
        if self._fn is not None and self.requires_grad:
            from .autograd.warnings import warn_of_scalar

            warn_of_scalar()
        return self.item()

    def __index__(self) -> int:
        if self._data.dtype.kind not in "biu" or self._data.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

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

        return f"Parameter({describe(self)})" if isinstance(self, Parameter) and type(self) is not Parameter else describe(self)


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As the `__torch_function__` of a class it says that functions treat its objects as ordinary tensors."""
    from ._overriding import DisableTorchFunctionSubclass

    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _require_grad(tensor: Tensor) -> None:
    """Turn recording on for an object that is being made: its own `__torch_function__` is not asked, for it has no attributes yet."""
    if type(tensor) is Parameter:
        tensor._set_requires_grad(True)
    else:
        disabled_torch_function(Tensor._set_requires_grad, (), (tensor, True))


class _ParameterMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or (isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module trains: assigning it to an attribute of a module registers it there.

    Made of an object of another class derived from Tensor it stays one of that class, with a mark.
    """

    __slots__ = ()
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is not None and data.__class__ is not Tensor and not issubclass(data.__class__, Parameter):
            from ._class_dispatch import marked_parameter

            return marked_parameter(data, requires_grad)  # type: ignore[no-any-return]
        tensor = new(cls)
        tensor._data = np.empty(0, _dtype.default_numpy()) if data is None else data._data
        tensor._vc = None if data is None else data._vc
        tensor._fn = None
        if requires_grad:
            _require_grad(tensor)
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


def wrap_result(data: Any) -> Tensor:
    """The same for the result of a NumPy function, which may be a NumPy scalar where a 0-d array is meant."""
    return wrap(np.asarray(data) if isinstance(data, np.generic) else data)


# These need Tensor; importing them at each call of backward would cost a microsecond.
from .autograd import accumulate, differentiate, engine  # noqa: E402

accumulate.wrap = wrap
