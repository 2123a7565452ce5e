"""Parametrizations: a parameter of a module as a function of other parameters, computed whenever it is read.

The module becomes an object of a class of its own, in which the parameter's name is a property. What it is computed from, and the modules
that compute it, are in `module.parametrizations.<name>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ..._state import GRAD, swap_bits
from ..._tensor import Parameter, Tensor
from ..containers import ModuleDict, ModuleList
from ..module import Module

_cache: dict[tuple[int, str], Tensor | None] = {}
_cache_enabled = 0


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor only once in a block.

    >>> import adjoint as ad
    >>> from adjoint.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(ad.nn.Linear(2, 2))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    """A parameter as a parameter, anything else as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The modules that compute a tensor, one after the other, and what they compute it from: `original`, or `original0`, `original1`..."""

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        source = self._invert(original)
        self.is_tensor = isinstance(source, Tensor)
        self.ntensors = 1 if self.is_tensor else len(source)
        if self.is_tensor:
            if source.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {source.dtype}"
                )
            original.data = source.detach()  # the same object, so that optimizers keep knowing it
            _register(self, "original", original)
        else:
            for number, part in enumerate(source):
                part = Parameter(part.detach()) if isinstance(original, Parameter) else part.detach()
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{number}", part)
        if not unsafe:
            _check_unchanged(self(), shape, dtype, "the tensor, unless `unsafe`", "unparametrized {}", "parametrized {}")

    def _invert(self, value: Tensor) -> Any:
        """What the tensor is computed from so that it has this value; a module without an inverse leaves it as it is."""
        bits = swap_bits(GRAD, 0)
        try:
            result: Any = value
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        result = module.right_inverse(result)
                    except NotImplementedError:
                        pass
        finally:
            swap_bits(GRAD, bits)
        wanted = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got"
        if not isinstance(result, Tensor | Sequence):
            raise ValueError(f"{wanted} {type(result).__name__}")
        for place, part in enumerate(() if isinstance(result, Tensor) else result):
            if not isinstance(part, Tensor):
                raise ValueError(f"{wanted} element {place} of the sequence with type {type(part).__name__}.")
        return result

    def originals(self) -> list[Tensor]:
        """What the tensor is computed from."""
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Set what the tensor is computed from so that it becomes `value`."""
        bits = swap_bits(GRAD, 0)
        try:
            result: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                result = module.right_inverse(result)
            if self.is_tensor:
                if not isinstance(result, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(result).__name__}")
            elif not isinstance(result, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(result).__name__}.")
            elif len(result) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(result)}."
                )
            parts = [result] if self.is_tensor else result
            for original, part in zip(self.originals(), parts, strict=True):
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while `original` has dtype {original.dtype}"
                    )
            for original, part in zip(self.originals(), parts, strict=True):
                original.data = part.detach()
        finally:
            swap_bits(GRAD, bits)

    def forward(self) -> Any:
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _check_unchanged(value: Any, shape: Any, dtype: Any, of: str, before: str, after: str) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for what, found, expected in (("dtype", value.dtype, dtype), ("shape", value.shape, shape)):
        if found != expected:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of {of} flag is enabled.\n"
                f"{before.format(what)}: {expected}\n{after.format(what)}: {found}"
            )


# ---- registration -------------------------------------------------------------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a module compute one of the tensors of another: a parameter, a buffer, or one that is parametrized already."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            present = getattr(module, tensor_name)
            value = parametrization(present)
            _check_unchanged(
                value, present.shape, present.dtype, "the tensor, unless the `unsafe`", f"module.{tensor_name}.{{}}",
                f"parametrization(module.{tensor_name}).{{}}",
            )  # fmt: skip
            _check_inverse(parametrization, value, present, f"module.{tensor_name}")
        chain: Any = _parametrizations(module)[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _own_class(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        _parametrizations(module)[tensor_name] = chain
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_inverse(parametrization: Module, value: Tensor, present: Tensor, name: str) -> None:
    """Whether the inverse leads from what a parametrization gives back to tensors like the present one."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(value)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what, found, expected in (("dtype", inverse.dtype, present.dtype), ("shape", inverse.shape, present.shape)):
        if found != expected:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as {name}, unless the `unsafe` flag is "
                f"enabled.\n{name}.{what}: {expected}\nreturned {what}: {found}"
            )


def _parametrizations(module: Module) -> Any:
    return module.__dict__.get("parametrizations")


def _own_class(cls: type[Module]) -> type[Module]:
    """A subclass for one module, to hold its properties."""

    def refuse(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save module.state_dict(), and load it into a "
            "module with the same parametrizations"
        )

    def copied(self: Module, memo: dict[int, Any]) -> Module:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(deepcopy(Module.__getstate__(self), memo))
        return twin

    body = {"__getstate__": refuse, "__deepcopy__": copied, "__module__": __name__}
    return type(f"Parametrized{cls.__name__}", (cls,), body)


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        chain = _parametrizations(self)[name]
        if not _cache_enabled:
            return chain()
        key = id(self), name
        if key not in _cache:
            _cache[key] = chain()
        return _cache[key]

    def put(self: Module, value: Any) -> None:
        _parametrizations(self)[name].right_inverse(value)

    return property(get, put)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether anything in a module, or a tensor with this name, is computed by parametrizations."""
    found = _parametrizations(module)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary one: with the value that it has, or with what it is computed from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain: Any = _parametrizations(module)[tensor_name]
    if not chain.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    if chain.is_tensor:
        tensor = chain.original
        if leave_parametrized:
            tensor.data = getattr(module, tensor_name).detach()
    else:
        value = getattr(module, tensor_name)
        tensor = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del _parametrizations(module)[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type_before_parametrizations(module)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized."""
    own = type(module)
    return own.__bases__[0] if own.__name__.startswith("Parametrized") and own.__module__ == __name__ else own


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Give a module the parametrizations of another, and the tensors that they compute from."""
    if not is_parametrized(from_module):
        return to_module
    names = list(_parametrizations(from_module)) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        source: Any = _parametrizations(from_module)[name]
        for function in source:
            register_parametrization(to_module, name, function)
        target: Any = _parametrizations(to_module)[name]
        for label in ["original"] if source.is_tensor else [f"original{number}" for number in range(source.ntensors)]:
            setattr(target, label, getattr(source, label))
    return to_module
