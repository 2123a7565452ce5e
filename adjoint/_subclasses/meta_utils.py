"""What is used of PyTorch's `torch._subclasses.meta_utils`."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


class MetaConverter:
    """Makes tensors on the "meta" device, which have shapes and no elements, like others."""

    def meta_tensor(self, t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return t.to("meta")

    def __call__(self, t: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.meta_tensor(t)
