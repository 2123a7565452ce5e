"""Weight normalization by a hook: length and direction of a weight as two parameters. Old: see `parametrizations.weight_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._site import warn
from ..._tensor import Parameter, Tensor
from ..module import Module
from ..parameter import is_lazy

T = TypeVar("T", bound=Module)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, or over all of them for `dim=-1`."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [d for d in range(v.ndim) if d != dim], keepdim=True)


def weight_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The weight with direction `v` and length `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook: it computes the weight before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        return weight_of(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        refuse_lazy("WeightNorm", "weight", weight)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, 2, hook.dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def refuse_lazy(what: str, kind: str, weight: Any) -> None:
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{what}` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
            f"{kind} normalization"
        )


def weight_norm(module: T, name: str = "weight", dim: int | None = 0) -> T:
    """Replace a parameter by its length (`weight_g`) and its direction (`weight_v`)."""
    warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning)
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: T, name: str = "weight") -> T:
    """Make the weight a parameter again."""
    return remove_hook(module, WeightNorm, "weight_norm", name)


def remove_hook(module: T, kind: type[Any], what: str, name: str) -> T:
    """Take away the hook that computes a parameter, and let it clean up."""
    for number, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"{what} of '{name}' not found in {module}")
