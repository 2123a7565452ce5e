"""This is not PyTorch's functorch: see the `torch` beside it."""

import sys
from importlib import import_module

import_module("torch")
sys.modules["functorch"] = import_module("adjoint.functorch")
