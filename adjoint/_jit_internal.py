"""What is used of PyTorch's `torch._jit_internal`: see `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .jit import _copy_to_script_wrapper, _drop, _isinstance, _overload, _overload_method, export, ignore, is_scripting, unused
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingListCls

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingListCls", "Final", "_copy_to_script_wrapper", "_drop",
    "_isinstance", "_overload", "_overload_method", "boolean_dispatch", "export", "ignore", "is_scripting", "unused",
]  # fmt: skip


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any], module_name: str,
    func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """A function that calls one of two, as an argument says."""

    def choose(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    choose.__name__, choose.__module__, choose.__doc__ = func_name, module_name, if_true.__doc__ or if_false.__doc__
    return choose
