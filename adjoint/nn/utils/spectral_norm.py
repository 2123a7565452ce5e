"""Spectral normalization by a hook: a weight divided by its largest singular value. Old: see `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._state import GRAD, swap_bits
from ..._tensor import Parameter, Tensor
from ..functional import normalize
from ..module import Module
from .weight_norm import refuse_lazy, remove_hook

T = TypeVar("T", bound=Module)


def check_iterations(n_power_iterations: int) -> None:
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix whose rows belong to one of its dimensions."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def iterate(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Bring `u` and `v` closer to the first singular vectors, in place."""
    bits = swap_bits(GRAD, 0)
    try:
        for _ in range(count):
            v.copy_(normalize(matrix.mH.mv(u), dim=0, eps=eps))
            u.copy_(normalize(matrix.mv(v), dim=0, eps=eps))
    finally:
        swap_bits(GRAD, bits)


class SpectralNorm:
    """The hook: it computes the weight before each call."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return as_matrix(weight, self.dim)

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The vector that iterations from it lead to `u`, so long that the weight is divided by `sigma`."""
        v = (matrix.mH @ matrix).pinverse() @ matrix.mH @ u
        return v * (sigma / u.vdot(matrix.mv(v)))

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            iterate(matrix, u, v, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # the next call writes into the buffers before this one is differentiated
        return weight / u.vdot(matrix.mv(v))  # type: ignore[no-any-return]

    def remove(self, module: Module) -> None:
        bits = swap_bits(GRAD, 0)
        try:
            weight = self.compute_weight(module, do_power_iteration=False)
        finally:
            swap_bits(GRAD, bits)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))
        for table in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
            for number, hook in list(table.items()):
                if isinstance(hook, SpectralNormStateDictHook | SpectralNormLoadStateDictPreHook) and hook.fn is self:
                    del table[number]

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        refuse_lazy("SpectralNorm", "spectral", weight)
        bits = swap_bits(GRAD, 0)
        try:
            height, width = hook.reshape_weight_to_matrix(weight).shape
            u = normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=eps)
        finally:
            swap_bits(GRAD, bits)
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # not a parameter any more: computed before each call
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormStateDictHook:
    """Notes in a checkpoint how the weight was saved."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        notes, key = local_metadata.setdefault("spectral_norm", {}), f"{self.fn.name}.version"
        if key in notes:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        notes[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Checkpoints from before the second vector was kept have the weight in its place, from which the vector follows."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str], *_: Any
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        if version is None and key not in state_dict and all(key + part in state_dict for part in ("_orig", "_u", "_v")):
            return  # a new one, which has only lost its metadata
        missing = [key + part for part in ("_orig", "", "_u") if key + part not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else [])
            return
        bits = swap_bits(GRAD, 0)
        try:
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            state_dict[f"{key}_v"] = self.fn._solve_v_and_rescale(as_matrix(original, self.fn.dim), state_dict[f"{key}_u"], sigma)
        finally:
            swap_bits(GRAD, bits)


def first_dim(module: Module) -> int:
    """The dimension of a module's weight that belongs to its outputs."""
    from ..conv import _ConvTransposeNd

    return 1 if isinstance(module, _ConvTransposeNd) else 0


def spectral_norm(
    module: T, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> T:
    """Divide a parameter by its largest singular value, which each call in training estimates a little better."""
    SpectralNorm.apply(module, name, n_power_iterations, first_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: T, name: str = "weight") -> T:
    """Make the weight a parameter again."""
    return remove_hook(module, SpectralNorm, "spectral_norm", name)
