"""Parameters and buffers: the tensors that a module owns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from .._creation import empty
from .._size import Size
from .._tensor import Parameter, Tensor, _ParameterMeta, wrap  # noqa: F401  (torchrl imports the metaclass from here)
from ..autograd.node import LEAF
from ..autograd.together import MANY, change
from ..autograd.views import counter_of

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]

T = TypeVar("T", bound=Tensor)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferMeta):
    """A tensor that, assigned to an attribute of a module, becomes a buffer of it: saved and moved with it, but not trained.

    The result is an ordinary Tensor that carries a mark.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        given = Tensor() if data is None else data
        buffer: Any = wrap(given._data)
        buffer._vc = counter_of(given)
        buffer._is_buffer = True
        buffer.persistent = persistent
        return buffer


def zero_gradients(tensors: Iterable[Tensor]) -> None:
    """Set the gradients of tensors to zero. One with a history is replaced, so that the history can go."""
    present = []
    for tensor in tensors:
        gradient = tensor._grad
        if gradient is not None:
            if gradient.requires_grad:
                tensor._grad = gradient = gradient.detach().clone()
            present.append(gradient)
    arrays = [gradient._data for gradient in present]
    if all([array.__class__ is np.ndarray for array in arrays]) and sum([array.size for array in arrays]) >= MANY:
        change(present, _zero, [0.0])
    else:
        for gradient in present:
            gradient.zero_()


def _zero(numbers: Any, x: Any) -> tuple[Any]:
    return (numbers[0],)


# ---- tensors whose shape is not known yet -------------------------------------------------------------------------------------------


class UninitializedTensorMixin(Tensor):
    """A tensor that has a dtype and a device but no shape yet, until `materialize` gives it one."""

    __slots__ = ()
    cls_to_become: type[Tensor]

    # What can be done without a shape: moving and converting.
    _allowed = frozenset({"bfloat16", "cpu", "double", "float", "half", "to", "type"})

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Make it an ordinary tensor of this shape, with any values."""
        self._data = empty(shape, device=self.device if device is None else device, dtype=dtype or self.dtype)._data
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Size:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
            "to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
            "their attributes."
        )

    def share_memory_(self) -> NoReturn:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def detach(self) -> Self:
        return self  # there is nothing to share: a state dict holds the tensor itself

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in cls._allowed or func.__name__.startswith("_to"):
            converted = func(wrap(args[0]._data), *args[1:], **kwargs or {})
            converted.__class__ = type(args[0])
            return converted
        refuse_uninitialized(func.__name__)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        refuse_uninitialized(name)

    return refuse


# What is no op, and so does not ask `__torch_function__` of a class of the library.
for _name in (
    "__len__", "contiguous", "data_ptr", "dim", "element_size", "is_contiguous", "ndimension", "nelement", "new_empty", "new_full",
    "new_ones", "new_tensor", "new_zeros", "numel", "numpy", "storage", "stride", "tolist", "untyped_storage", "zero_",
):  # fmt: skip
    setattr(UninitializedTensorMixin, _name, _refusing(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]  # each has its own __torch_function__
    """A parameter of a lazy module: it gets its shape when the module is first called."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return _unshaped(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer of a lazy module."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Self:
        buffer: Any = _unshaped(cls, requires_grad, device, dtype)
        buffer._is_buffer = True
        buffer.persistent = persistent
        return buffer  # type: ignore[no-any-return]


def _unshaped(cls: type[T], requires_grad: bool, device: Any, dtype: Any) -> T:
    tensor = object.__new__(cls)
    tensor._data = empty(0, device=device, dtype=dtype)._data
    tensor._vc = None
    tensor._fn = LEAF if requires_grad else None
    return tensor


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def refuse_uninitialized(function: str) -> NoReturn:
    raise ValueError(
        f"Attempted to use an uninitialized parameter in {function}. This error happens when you are using a `LazyModule` or explicitly "
        "manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a dummy batch to "
        "initialize the parameters before calling torch functions"
    )
