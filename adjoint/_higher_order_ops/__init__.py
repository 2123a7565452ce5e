"""PyTorch's control flow as functions: branches and loops over tensors and trees of them. Here they are Python's own, and are recorded."""

from __future__ import annotations

from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
