"""Pruning: masks that set some of a parameter's elements to zero, chosen at random or by size.

A pruned parameter `weight` becomes the parameter `weight_orig` and the buffer `weight_mask`; `weight` itself is their product, computed by
a hook before each call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..._sampling import rand, rand_like
from ..._tensor import Tensor
from ...ops.join import cat
from ..module import Module
from .convert_parameters import parameters_to_vector

T = TypeVar("T", bound=Module)


class BasePruningMethod(ABC):
    """A way to choose what is pruned. A subclass defines `compute_mask` and `PRUNING_TYPE`, which is what one call of it considers:

    "unstructured" the elements that are left, "structured" the channels that are left along `dim`, "global" everything.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where `t` is kept and zeros elsewhere; nothing comes back that `default_mask` has taken away."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter with its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter; one that is pruned already, further."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        present = getattr(module, name)
        scores = present if importance_scores is None else importance_scores
        if scores.shape != present.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs {present.shape}"
            )
        before = _hook_of(module, name)
        if before is not None:
            method = _combined(module._forward_pre_hooks[before], method)
            mask = method.compute_mask(scores, default_mask=getattr(module, f"{name}_mask").detach().clone())
            del module._forward_pre_hooks[before]
        else:
            mask = method.compute_mask(scores, default_mask=present.detach().new_ones(present.shape))
            original = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned tensor, without any module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = t.new_ones(t.shape) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruned parameter an ordinary one, with its zeros."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        assert original is not None
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _hook_of(module: Module, name: str) -> int | None:
    """The number of the hook that prunes a parameter."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number
    return None


def _combined(before: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    container = before if isinstance(before, PruningContainer) else PruningContainer(before)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """What was done to a parameter, step by step. Each step sees what the ones before it have left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args[0] if len(args) == 1 else args:
                self._tensor_name = method._tensor_name
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a step."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        left: Any
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError("Pruning methods of PRUNING_TYPE 'structured' need to have the attribute `dim` defined.")
            dim = method.dim % t.ndim
            others = [d for d in range(t.ndim) if d != dim]
            left = (slice(None),) * dim + (mask.sum(others) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = mask.clone()
        result[left] = method.compute_mask(t.detach()[left], default_mask=mask[left]).to(mask.dtype)
        return result


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """A method that prunes a given number or share."""

    def __init__(self, amount: int | float) -> None:
        _check_amount(amount)
        self.amount: Any = amount

    def _count(self, size: int) -> int:
        if isinstance(self.amount, int):
            if self.amount > size:
                raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
            return int(self.amount)
        return round(float(self.amount) * size)


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, int | float):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


class _Elements(_ByAmount):
    """Prunes the elements with the smallest (or largest) scores."""

    PRUNING_TYPE = "unstructured"
    largest: ClassVar[bool]

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._scores(t.detach()).view(-1).topk(count, largest=self.largest).indices] = 0
        return mask


class RandomUnstructured(_Elements):
    """Prunes elements at random."""

    largest = True

    def _scores(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(_Elements):
    """Prunes the elements closest to zero."""

    largest = False

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs().contiguous()


class _Channels(_ByAmount):
    """Prunes whole slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Which slices stay when `count` of them go."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if count == 0:
            return default_mask
        shape = [1] * t.ndim
        shape[self.dim] = -1
        return default_mask * self._kept(t.detach(), count).to(default_mask.dtype).view(shape)


class RandomStructured(_Channels):
    """Prunes slices at random."""

    def _kept(self, t: Tensor, count: int) -> Tensor:
        drawn = rand(t.shape[self.dim])
        return drawn > drawn.kthvalue(count).values


class LnStructured(_Channels):
    """Prunes the slices with the smallest norms."""

    def __init__(self, amount: int | float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        dim = self.dim % t.ndim
        norms = t.norm(self.n, [d for d in range(t.ndim) if d != dim])
        kept: Tensor = norms.new_zeros(norms.shape)
        kept[norms.topk(len(norms) - count, largest=True).indices] = 1
        return kept


# ---- functions ----------------------------------------------------------------------------------------------------------------------


def identity(module: T, name: str) -> T:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: T, name: str, amount: int | float) -> T:
    """Prune a number or a share of elements, at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: T, name: str, amount: int | float, importance_scores: Tensor | None = None) -> T:
    """Prune the elements closest to zero.

    >>> import adjoint as ad
    >>> layer = ad.nn.utils.prune.l1_unstructured(ad.nn.Linear(3, 2), "weight", amount=4)
    >>> int(layer.weight_mask.sum())
    2
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: T, name: str, amount: int | float, dim: int) -> T:
    """Prune slices along a dimension, at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: T, name: str, amount: int | float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> T:
    """Prune the slices along a dimension whose norms of order `n` are smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: T, name: str, mask: Tensor) -> T:
    """Prune what is zero in a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type[BasePruningMethod], importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters, given as pairs of module and name, as if they were one vector."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    relevance = parameters_to_vector([scores.get((module, name), getattr(module, name)) for module, name in pairs])
    masks = [
        getattr(module, f"{name}_mask", getattr(module, name).detach().new_ones(getattr(module, name).shape)) for module, name in pairs
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    final = container.compute_mask(relevance, cat([mask.reshape(-1) for mask in masks]))
    start = 0
    for (module, name), mask in zip(pairs, masks, strict=True):
        custom_from_mask(module, name, final[start : start + mask.numel()].view(mask.shape))
        start += mask.numel()


def remove(module: T, name: str) -> T:
    """Make a pruned parameter an ordinary one, with its zeros."""
    number = _hook_of(module, name)
    if number is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    module._forward_pre_hooks[number].remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Module) -> bool:
    """Whether any parameter in a module is pruned."""
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values())
