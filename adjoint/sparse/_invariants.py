"""`check_sparse_tensor_invariants`: whether the makers of sparse tensors check their indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self


class check_sparse_tensor_invariants:
    """A context, and a decorator, in which sparse tensors are checked when they are made. (That indices lie inside is checked always.)

    >>> import adjoint as ad
    >>> with ad.sparse.check_sparse_tensor_invariants():
    ...     ad.sparse_coo_tensor([[5]], [1.0], (3,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    _enabled = False

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    def __enter__(self) -> Self:
        self.before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self.state
        return self

    def __exit__(self, *_: object) -> None:
        check_sparse_tensor_invariants._enabled = self.before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
