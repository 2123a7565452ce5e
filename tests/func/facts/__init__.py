"""Small facts about function transforms: programs that say what they saw, run with adjoint and with PyTorch."""

from . import calls, functions, made_inside, modes, modules, nesting, shapes
from ._base import FACTS, answer

__all__ = ["FACTS", "answer", "calls", "functions", "made_inside", "modes", "modules", "nesting", "shapes"]
