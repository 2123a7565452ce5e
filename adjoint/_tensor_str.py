"""PyTorch's `torch._tensor_str`: see `_printing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _printing
from ._printing import _options as PRINT_OPTS
from ._printing import get_printoptions, printoptions, set_printoptions
from ._tensor import Tensor

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor in their brackets; lines but the first begin after `indent` blanks."""
    return "[]" if not self.numel() else _printing._body(self.detach().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    """A text that ends with further facts and a bracket."""
    if force_newline and suffixes:
        return f"{tensor_str},\n{' ' * indent}{', '.join(suffixes)})"
    return _printing._with_facts(tensor_str, suffixes, indent)


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor; `tensor_contents` stands in the place of its elements."""
    text = repr(inp)
    return text if tensor_contents is None else text.replace(_tensor_str(inp, text.index("(") + 1), tensor_contents, 1)
