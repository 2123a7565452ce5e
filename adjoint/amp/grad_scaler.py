"""GradScaler: a loss is multiplied before its gradients are computed, so that those that half precision cannot hold survive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from .._site import here, warn
from .._tensor import Tensor, wrap
from ..autograd.views import check_writable, counter_of


class OptState(Enum):
    """What has been done with an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Scales losses, takes the scale out of gradients, leaves out steps whose gradients are infinite, and adapts the scale.

    >>> import adjoint as ad
    >>> w = ad.nn.Parameter(ad.ones(1))
    >>> optimizer = ad.optim.SGD([w], lr=0.5)
    >>> scaler = ad.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.item()
    0.5
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            self._scale: Tensor | None = None  # made by the first call of `scale`
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._growth_tracker = 0
            self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = wrap(np.full((), self._init_scale, np.float32))
            return outputs * self._scale.clone()  # a copy: the scale is written to before the next backward
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = [self.scale(output) for output in outputs]
        return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before they are clipped, for example."""
        if not self._enabled:
            return
        scale = self._require_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        factor = 1.0 / scale.item()
        site = here()
        for group in optimizer.param_groups:
            for param in group["params"]:
                gradient = param._grad
                if gradient is None:
                    continue
                if gradient._data.dtype == np.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                found = bool(state["found_inf"]) or not np.isfinite(gradient._data).all()
                state["found_inf"] = found
                check_writable(gradient, False)
                gradient._data[...] = gradient._data * gradient._data.dtype.type(factor)
                counter_of(gradient).bump(site)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, with unscaled gradients, unless one of them is infinite or not a number."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
        result = None if state["found_inf"] else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Lower the scale after infinite gradients, raise it after many good steps, or set it."""
        if not self._enabled:
            return
        scale = self._require_scale("update")
        if new_scale is not None:
            scale.fill_(float(new_scale))
        else:
            found = [state["found_inf"] for state in self._per_optimizer_states.values() if state["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, any(found))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _adapt(self, scale: Tensor, infinite: bool) -> None:
        if infinite:
            scale.mul_(self._backoff_factor)
            self._growth_tracker = 0
        elif self._growth_tracker + 1 == self._growth_interval:
            grown = scale * self._growth_factor
            if grown.isfinite():
                scale.copy_(grown)
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1

    def _require_scale(self, function: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
                "earlier in the iteration."
            )
        return self._scale

    # ---- settings ---------------------------------------------------------------------------------------------------------------

    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        """The present scale."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Scale and settings; empty for a disabled scaler."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
