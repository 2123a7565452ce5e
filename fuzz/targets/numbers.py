"""Random numbers: the same seed gives the same numbers, whatever is drawn and in whichever order."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, dtype
from ..program import Leaf, Text

FLOATING = ("float32", "float64", "float16", "bfloat16")
ANY = (*FLOATING, "int64", "int32", "uint8", "bool", "int8")


def size(b: Builder) -> tuple[int, ...]:
    choices: list[tuple[int, ...]] = [b.shape(0, 3), (b.pick([15, 16, 17, 31, 64, 100, 1000]),), (b.pick([3, 7]), b.pick([5, 16, 33]))]
    return choices[b.random.randrange(3)]


def filled(b: Builder) -> Leaf:
    return Leaf(size(b), b.pick(ANY), 1, layout=b.pick(["", "", "transposed", "strided"]))


def program(b: Builder) -> None:
    b.add("torch.manual_seed", b.random.randrange(2**20))
    for _ in range(b.random.randint(1, 6)):
        draw(b)


def draw(b: Builder) -> None:
    """Draw some numbers."""
    kind: Any = {"dtype": dtype(b.pick(FLOATING))} if b.chance(0.5) else {}
    floating = Leaf(size(b), b.pick(FLOATING[:2]), 2, 0.0, 1.0, layout=b.pick(["", "transposed"]))
    positive = Leaf(b.shape(0, 2), b.pick(FLOATING[:2]), 3, 0.1, 5.0)
    b.pick([
        lambda: b.add("torch.rand", size(b), **kind),
        lambda: b.add("torch.randn", size(b), **kind),
        lambda: b.add("torch.randint", b.pick([0, -5]), b.pick([2, 10, 2**31, 2**40]), size(b)),
        lambda: b.add("torch.randint", 10, size(b), dtype=dtype(b.pick(ANY))),
        lambda: b.add("torch.randperm", b.pick([0, 1, 5, 100])),
        lambda: b.add("torch.rand_like", filled(b)),
        lambda: b.add("torch.randn_like", filled(b)),
        lambda: b.add("torch.randint_like", filled(b), 5),
        lambda: b.add("torch.bernoulli", floating),
        lambda: b.add("torch.normal", floating, positive if b.chance(0.1) else 1.5),
        lambda: b.add("torch.normal", 0.5, positive),
        lambda: b.add("torch.poisson", positive),
        lambda: b.add("torch.multinomial", Leaf((3, 5), "float32", 4, 0.0, 1.0), b.pick([1, 3, 5]), b.pick([True, False])),
        lambda: b.add(".uniform_", filled(b), *b.pick([(), (-1, 1), (2.0, 3.0)])),
        lambda: b.add(".normal_", filled(b), *b.pick([(), (1.0, 2.0)])),
        lambda: b.add(".random_", filled(b), *b.pick([(), (10,), (-3, 7), (2**33,)])),
        lambda: b.add(".bernoulli_", filled(b), b.pick([0.5, 0.1])),
        lambda: b.add(".exponential_", filled(b), *b.pick([(), (2.0,)])),
        lambda: b.add(".geometric_", filled(b), 0.3),
        lambda: b.add(".cauchy_", filled(b)),
        lambda: b.add(".log_normal_", filled(b)),
        lambda: b.add("torch.nn.functional.dropout", floating, b.pick([0.1, 0.5, 0.9])),
        lambda: b.add("torch.nn.functional.rrelu", floating, training=True),
        lambda: b.add("torch.nn.init.xavier_uniform_", Leaf((3, 4), "float32", 0)),
        lambda: b.add("torch.nn.init.kaiming_normal_", Leaf((3, 4), "float32", 0)),
        lambda: b.add("torch.nn.init.trunc_normal_", Leaf((3, 4), "float32", 0)),
        lambda: b.add("torch.nn.init.orthogonal_", Leaf((4, 3), "float64", 0)),
        lambda: b.add("torch.nn.Linear(3, 2).weight"),
        lambda: b.add("torch.distributions.{}.sample(({},))", Text(b.pick(DISTRIBUTIONS)), b.pick([1, 20])),
        lambda: b.add("torch.get_rng_state().sum()"),
        lambda: b.add("torch.rand", size(b), generator=Text("torch.Generator().manual_seed(3)")),
    ])()  # fmt: skip


DISTRIBUTIONS = (
    "Normal(0.5, 2.0)", "Uniform(-1.0, 3.0)", "Bernoulli(0.3)", "Categorical(torch.tensor([0.2, 0.5, 0.3]))", "Exponential(2.0)",
    "Gamma(0.5, 2.0)", "Beta(0.5, 2.0)", "Dirichlet(torch.tensor([0.5, 1.0, 2.0]))", "Laplace(0.0, 1.0)", "Cauchy(0.0, 1.0)",
    "Gumbel(0.0, 1.0)", "LogNormal(0.0, 1.0)", "Poisson(3.0)", "Geometric(0.3)", "StudentT(3.0)", "Chi2(2.0)", "HalfNormal(1.0)",
    "Binomial(10, torch.tensor(0.3))", "VonMises(torch.tensor(0.0), torch.tensor(2.0))", "Weibull(1.0, 2.0)", "Pareto(1.0, 2.0)",
)  # fmt: skip
