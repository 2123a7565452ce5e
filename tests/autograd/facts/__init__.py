"""Small facts about autograd: programs that say what they saw, run with adjoint and with PyTorch."""

from . import copies, edges, gradients, graph, hooks, leaves, more, retained, saving, views
from ._base import FACTS, answer

__all__ = ["FACTS", "answer", "copies", "edges", "gradients", "graph", "hooks", "leaves", "more", "retained", "saving", "views"]
