"""Dividing a batch over several GPUs, of which there are none."""

from __future__ import annotations

from typing import Any

from ..._standing import refused

_no_gpus = refused(
    "Gather function not implemented for CPU tensors: there are no GPUs to divide a batch over; call the module itself", AssertionError
)


@_no_gpus
def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any: ...


@_no_gpus
def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> Any: ...


@_no_gpus
def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any: ...


@_no_gpus
def replicate(network: Any, devices: Any, detach: bool = False) -> Any: ...


@_no_gpus
def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> Any: ...
