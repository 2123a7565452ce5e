"""PyTorch's CPU random numbers, bit for bit, as NumPy arrays.

A `Generator` is a stream of 32-bit words (mt19937). The functions turn words into numbers the way PyTorch 2.13 does on
a CPU with AVX2, and take exactly as many words, so that programs seeded alike go on alike. Those that take an `array`
fill it in place; the others return a new one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._generator import DEFAULT_SEED as DEFAULT_SEED
from ._generator import Generator as Generator
from ._generator import default_generator as default_generator
from ._generator import fork_rng as fork_rng
from ._generator import get_rng_state as get_rng_state
from ._generator import initial_seed as initial_seed
from ._generator import manual_seed as manual_seed
from ._generator import seed as seed
from ._generator import set_rng_state as set_rng_state

if TYPE_CHECKING:
    from ._continuous import cauchy as cauchy
    from ._continuous import exponential as exponential
    from ._continuous import log_normal as log_normal
    from ._continuous import normal as normal
    from ._continuous import rand as rand
    from ._continuous import randn as randn
    from ._continuous import uniform as uniform
    from ._discrete import bernoulli as bernoulli
    from ._discrete import few_integers as few_integers
    from ._discrete import geometric as geometric
    from ._discrete import multinomial as multinomial
    from ._discrete import randint as randint
    from ._discrete import random as random
    from ._discrete import randperm as randperm
    from ._rejection import binomial as binomial
    from ._rejection import dirichlet as dirichlet
    from ._rejection import poisson as poisson
    from ._rejection import standard_gamma as standard_gamma

# The distributions are imported when the first of them is drawn from.
_CONTINUOUS = ("cauchy", "exponential", "log_normal", "normal", "rand", "randn", "uniform")
_DISCRETE = ("bernoulli", "few_integers", "geometric", "multinomial", "randint", "random", "randperm")
_REJECTION = ("binomial", "dirichlet", "poisson", "standard_gamma")
_LATER = {
    name: module
    for module, names in (("_continuous", _CONTINUOUS), ("_discrete", _DISCRETE), ("_rejection", _REJECTION))
    for name in names
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'adjoint._random' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return value
