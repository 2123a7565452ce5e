"""Optimizers, with PyTorch's names, settings and checkpoints."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ..ops._generated import documented as _documented
from . import lr_scheduler as lr_scheduler
from .adadelta import Adadelta as Adadelta
from .adafactor import Adafactor as Adafactor
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamax import Adamax as Adamax
from .adamw import AdamW as AdamW
from .asgd import ASGD as ASGD
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .nadam import NAdam as NAdam
from .optimizer import Optimizer as Optimizer
from .radam import RAdam as RAdam
from .rmsprop import RMSprop as RMSprop
from .rprop import Rprop as Rprop
from .sgd import SGD as SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]  # fmt: skip

_documented(globals(), "optim.")
_documented({name: value for name, value in vars(lr_scheduler).items() if isinstance(value, type)}, "optim.lr_scheduler.")

# Imported when first used.
_NAMES = {"SparseAdam": "sparse_adam", "minimize_scipy": "_minimize", "swap_in_optimizer_params_and_state": "_stateless"}
_PACKAGES = frozenset({"swa_utils"})


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name in _NAMES:
        value = globals()[name] = getattr(_import_module(f".{_NAMES[name]}", __name__), name)
        _documented({name: value}, "optim.")
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_NAMES})
