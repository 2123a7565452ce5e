"""Random numbers, and functions that draw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._timing import Step, timed
from .elementwise import SIZES

DRAWS: dict[str, Callable[[Any, int], Step]] = {
    "rand": lambda lib, n: lambda: lib.rand(n),
    "randn": lambda lib, n: lambda: lib.randn(n),
    "randint": lambda lib, n: lambda: lib.randint(0, 100, (n,)),
    "randperm": lambda lib, n: lambda: lib.randperm(n),
    "uniform_": lambda lib, n: of(lib, n, lambda x: x.uniform_(-1, 1)),
    "normal_": lambda lib, n: of(lib, n, lambda x: x.normal_(0, 2)),
    "exponential_": lambda lib, n: of(lib, n, lambda x: x.exponential_(2)),
    "bernoulli": lambda lib, n: of(lib, n, lambda x: lib.bernoulli(x)),
    "bernoulli_": lambda lib, n: of(lib, n, lambda x: x.bernoulli_(0.3)),
    "normal of tensors": lambda lib, n: of(lib, n, lambda x: lib.normal(x, x)),
    "randn_like": lambda lib, n: of(lib, n, lambda x: lib.randn_like(x)),
    "multinomial": lambda lib, n: of(lib, n, lambda x: lib.multinomial(x, 16, replacement=True)),
    "poisson": lambda lib, n: of(lib, n, lambda x: lib.poisson(x)),
    "Normal.rsample": lambda lib, n: lib.distributions.Normal(lib.zeros(n), lib.ones(n)).rsample,
    "Gamma.sample": lambda lib, n: lib.distributions.Gamma(lib.ones(n), lib.ones(n)).sample,
    "gumbel_softmax": lambda lib, n: of(lib, n, lambda x: lib.nn.functional.gumbel_softmax(x, dim=0)),
}


def of(lib: Any, size: int, draw: Callable[[Any], Any]) -> Step:
    x = lib.linspace(0.05, 0.95, size)
    return lambda: draw(x)


def register(name: str, label: str, make: Callable[[Any, int], Step]) -> None:
    @timed(f"{name} {label}, forward")
    def draw(lib: Any) -> Step:
        return make(lib, SIZES[label])


for _label in ("64", "1k", "10k", "1M"):
    for _name, _make in DRAWS.items():
        register(_name, _label, _make)
