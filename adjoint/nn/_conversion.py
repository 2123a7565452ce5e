"""Conversion of a module: other dtypes, other devices, memory that processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, overload

from .. import __future__ as settings
from .. import _device
from .._dtype import bool_
from .._dtype import dtype as Dtype
from .._layout import memory_format
from .._site import warn
from .._state import GRAD, swap_bits
from .._tensor import Parameter, Tensor
from .parameter import is_lazy

if TYPE_CHECKING:
    from .module import Module


def typename(value: object) -> str:
    """What PyTorch calls the type of a value in its messages."""
    if isinstance(value, Tensor) and type(value) in (Tensor, Parameter):
        return f"torch.{value.dtype.scalar_name}Tensor"
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` keeps the kind of tensor that `input` is: of the same layout, on the same device."""
    return input.layout is from_.layout and input.device == from_.device


class Conversion:
    """The part of `Module` that converts its tensors."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    parameters: Callable[[], Iterator[Parameter]]
    buffers: Callable[[], Iterator[Tensor]]
    _get_name: Callable[[], str]
    if TYPE_CHECKING:  # `typing.get_type_hints` finds the others
        children: Callable[[], Iterator[Module]]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter and buffer. A parameter stays the same object, so optimizers keep knowing it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        bits = swap_bits(GRAD, 0)
        try:
            if settings.get_overwrite_module_params_on_conversion() or settings.get_swap_module_params_on_conversion():
                self._replace_parameters(fn)
            else:
                for parameter in self._parameters.values():
                    if parameter is not None:
                        parameter.data = fn(parameter)
                        gradient = parameter._grad
                        if gradient is not None:
                            gradient.data = fn(gradient)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        finally:
            swap_bits(GRAD, bits)
        return self

    def _replace_parameters(self, fn: Callable[[Tensor], Tensor]) -> None:
        """The same with new tensors, which take the places of the old ones or, if they are swapped, their identities."""
        from ..utils._swapping import swap_tensors

        swaps = settings.get_swap_module_params_on_conversion()
        for name, parameter in list(self._parameters.items()):
            if parameter is None:
                continue
            gradient = parameter._grad
            made = Parameter(fn(parameter), parameter.requires_grad)
            if gradient is not None:
                converted = fn(gradient).requires_grad_(gradient.requires_grad)
                if swaps:
                    swap_tensors(gradient, converted)
                made._grad = gradient if swaps else converted
            if swaps:
                parameter._grad = None
                try:
                    swap_tensors(parameter, made)
                except RuntimeError as error:
                    parameter._grad = gradient
                    raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
            else:
                self._parameters[name] = made

    @overload
    def to(self, device: Any = None, dtype: Dtype | None = None, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, dtype: Dtype, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, *, memory_format: memory_format) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point parameters and buffers to a dtype, move all of them to a device, and lay out those of four (or five)
        dimensions in a memory format; in place.

        >>> import adjoint as ad
        >>> ad.nn.Linear(2, 1).to(ad.float64).weight.dtype
        torch.float64
        """
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument: a module is converted in place; write copy.deepcopy(module).to(...)")
        order = kwargs.get("memory_format")
        device, dtype = _destination(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warn(
                    "Complex modules are a new feature under active development whose design may change, and some modules might not work "
                    "as expected when using complex tensors as parameters or buffers."
                )

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if _is_inexact(tensor) and dtype is not None else tensor.dtype
            if order is not None and tensor.ndim in (4, 5):
                return tensor.to(device or tensor.device, wanted, memory_format=order)
            return tensor.to(device or tensor.device, wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values, for modules made on the meta device."""
        from .._creation import empty_like

        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move everything to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())  # not by `to`, which a class may write with this

    def cuda(self, device: Any = None) -> Self:
        """Refused as PyTorch's CPU build refuses it."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers into memory that processes share: see `Tensor.share_memory_`."""
        from .._sharing import share

        parameters = list(self.parameters())
        for lazy in filter(is_lazy, (*parameters, *self.buffers())):
            lazy.share_memory_()  # refuses it
        share([*parameters, *(each.grad for each in parameters if each.grad is not None), *self.buffers()])
        return self


def _is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _destination(
    *args: Any, device: Any = None, dtype: Dtype | None = None, tensor: Tensor | None = None, non_blocking: bool = False,
    memory_format: Any = None,
) -> tuple[_device.device | None, Dtype | None]:  # fmt: skip
    """The device and the dtype that the arguments of `Module.to` name."""
    for place, value in enumerate(args):
        if isinstance(value, Dtype):
            dtype = value
        elif isinstance(value, Tensor):
            tensor = value
        elif place == 0 and (isinstance(value, str | _device.device | int) and not isinstance(value, bool)):
            device = value
        elif place == 0 and value is True:
            dtype = bool_
        elif not (value is None or isinstance(value, bool)) or place > 2:
            kinds = ", ".join(typename(argument) for argument in args)
            raise TypeError(
                f"to() received an invalid combination of arguments - got ({kinds}), but expected one of: "
                "(device, dtype, non_blocking), (dtype, non_blocking), (tensor, non_blocking)"
            )
    if tensor is not None:
        return tensor.device, tensor.dtype
    return None if device is None else _device.require_usable(_device.resolve(device)), dtype
