"""The functions of adjoint that distributions are written with, where Tensor has no method for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ..ops import activation
from ..ops._registry import FUNCTIONS

Function = Callable[..., Tensor]

bernoulli: Function = FUNCTIONS["bernoulli"]
binomial: Function = FUNCTIONS["binomial"]
broadcast_tensors: Callable[..., tuple[Tensor, ...]] = FUNCTIONS["broadcast_tensors"]
broadcast_shapes: Callable[..., Any] = FUNCTIONS["broadcast_shapes"]
cat: Function = FUNCTIONS["cat"]
cholesky: Function = FUNCTIONS["cholesky"]
multinomial: Function = FUNCTIONS["multinomial"]
poisson: Function = FUNCTIONS["poisson"]
softmax: Function = FUNCTIONS["softmax"]
logsigmoid: Function = activation.logsigmoid
softplus: Function = activation.softplus
stack: Function = FUNCTIONS["stack"]
where: Function = FUNCTIONS["where"]
