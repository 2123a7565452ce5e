"""PyTorch's `torch._subclasses.fake_tensor`: tensors on the meta device that say they were on another one.

A `FakeTensor` wraps a tensor on the meta device, computes with it, and answers with the device that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from .._class_dispatch import derive, make_wrapper
from .._device import device as Device
from .._dtype import get_default_dtype
from .._overriding import Popped, modes, pop_mode, push_mode
from .._tensor import Parameter, Tensor
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "maybe_get_fake_mode", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818
    """There is no fake tensor for something."""


class DynamicOutputShapeException(RuntimeError):  # noqa: N818
    """The shape of a result depends on values, which a fake tensor has none of."""


class DataDependentOutputException(RuntimeError):  # noqa: N818
    """A number was asked for, which a fake tensor has none of."""


class FakeTensor(Tensor):
    """A tensor without elements that says it was on a device. Made by `FakeTensorMode.from_tensor`, or in a `with FakeTensorMode():`."""

    elem: Tensor
    fake_mode: FakeTensorMode
    fake_device: Device

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device: Any, constant: Any = None) -> FakeTensor:
        made = make_wrapper(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device="meta", requires_grad=elem.requires_grad
        )  # fmt: skip
        made.elem, made.fake_mode, made.fake_device = elem.detach(), fake_mode, Device(device)
        return made  # type: ignore[no-any-return]

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @property
    def device(self) -> Device:
        return self.fake_device

    @property
    def is_meta(self) -> bool:
        return self.fake_device.type == "meta"

    def cpu(self, memory_format: Any = None) -> FakeTensor:
        return FakeTensor(self.fake_mode, self.elem, "cpu")

    def item(self) -> Any:
        raise DataDependentOutputException("aten._local_scalar_dense.default: a fake tensor has a shape and a dtype, and no elements")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        device = "" if self.fake_device.type == "cpu" else f"device='{self.fake_device}', "
        dtype = "" if self.dtype is get_default_dtype() else f", dtype={self.dtype}"
        return f"FakeTensor(..., {device}size={tuple(self.shape)}{dtype})"

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        return fake_mode.from_tensor(t)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [x for x in tree_leaves((args, kwargs or {})) if isinstance(x, Tensor)]
        fakes = [x for x in given if isinstance(x, FakeTensor)]
        mode = fakes[0].fake_mode
        place = next((x.fake_device for x in fakes if x.ndim), fakes[0].fake_device)

        def plain(x: Any) -> Any:
            if isinstance(x, FakeTensor):
                return x.elem
            if isinstance(x, Tensor) and not x.is_meta:
                if x.ndim and not mode.allow_non_fake_inputs:
                    raise AssertionError(
                        "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
                        f"Found in {func}"
                    )
                return x.detach().to("meta")
            return x

        result = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
        if func.overloadpacket.__name__.endswith("_"):
            return args[0]
        return tree_map(lambda x: FakeTensor(mode, x, place) if isinstance(x, Tensor) else x, result)


FakeTensor.__torch_function__ = Parameter.__torch_function__  # type: ignore[method-assign]
derive(FakeTensor)


class FakeTensorMode:
    """Makes fake tensors: of others by `from_tensor`, and in a `with` block of everything that is made there.

    >>> import adjoint as ad
    >>> from adjoint._subclasses.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     y = ad.nn.functional.relu(ad.ones(2, 3) @ ad.ones(3, 4))
    >>> y
    FakeTensor(..., size=(2, 4))
    """

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None, static_shapes: Any = None,
        export: bool = False,
    ) -> None:  # fmt: skip
        if shape_env is not None:
            raise NotImplementedError("adjoint has no symbolic sizes; write FakeTensorMode(), whose tensors have sizes that are numbers")
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = None
        self.static_shapes = True

    def from_tensor(self, tensor: Any, **options: Any) -> FakeTensor:
        """A fake of the same shape, dtype and device."""
        if isinstance(tensor, FakeTensor):
            return tensor
        place = tensor.device
        made = FakeTensor(self, tensor.detach().to("meta"), place)
        return made.requires_grad_(tensor.requires_grad) if tensor.requires_grad else made

    def __enter__(self) -> Self:
        push_mode(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop_mode()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if given:
            return func(*args, **kwargs)
        place = Device(kwargs["device"]) if kwargs.get("device") is not None else Device("cpu")
        if "device" in kwargs:
            kwargs["device"] = "meta"
        with Device("meta"):
            result = func(*args, **kwargs)
        return tree_map(lambda x: FakeTensor(self, x, place) if type(x) is Tensor and x.is_meta else x, result)


def is_fake(x: object) -> bool:
    """Whether something is a fake tensor, or wraps one."""
    from ..utils._python_dispatch import is_traceable_wrapper_subclass

    if isinstance(x, FakeTensor):
        return True
    if is_traceable_wrapper_subclass(x):
        return all(is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0])  # type: ignore[attr-defined]
    return False


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Inside, what is made has elements."""
    running = modes()
    if not running or not isinstance(running[-1], FakeTensorMode):
        yield None
        return
    with Popped() as mode:
        yield mode


