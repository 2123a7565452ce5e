"""Small facts about autograd: programs that say what they saw, run with adjoint and with PyTorch."""

from . import (
    attributes,
    checks,
    copies,
    dicts,
    edges,
    forward,
    forward_ops,
    forward_reverse,
    freed,
    gradients,
    graph,
    hooks,
    inference,
    kinks,
    leaves,
    more,
    mutation,
    nodes,
    retained,
    saving,
    threads,
    views,
    writes,
)
from ._base import FACTS, answer

__all__ = [
    "FACTS", "answer", "attributes", "checks", "copies", "dicts", "edges", "forward", "forward_ops", "forward_reverse", "freed",
    "gradients", "graph", "hooks", "inference", "kinks", "leaves", "more", "mutation", "nodes", "retained", "saving", "threads",
    "views", "writes",
]  # fmt: skip
