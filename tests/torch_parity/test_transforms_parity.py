"""Transforms nested in every order, and through modules, against PyTorch. Run as a program it writes PyTorch's answers to the facts."""

from __future__ import annotations

import functools
import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from tests.func.facts import FACTS, answer

torch = pytest.importorskip("torch")

FILE = Path(__file__).parents[1] / "func" / "facts" / "facts.json"


@pytest.mark.parametrize("name", FACTS)
def test_fact(name):
    assert answer(FACTS[name], torch) == json.loads(FILE.read_text())[name]


# ---- pairs and triples of transforms ----------------------------------------------------------------------------------------------------


def functions(t):
    weight = t.tensor([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.2, 0.2, 0.9]], dtype=t.float64)
    order = t.tensor([2, 0, 1])
    return {
        "sin": lambda x: x.sin(),
        "power": lambda x: x**3 + 2 * x,
        "product": lambda x: t.tanh(weight @ x),
        "softmax": lambda x: t.softmax(x, 0) * x,
        "index": lambda x: x[order] * x,
        "norm": lambda x: x / (x * x).sum().sqrt(),
        "where": lambda x: t.where(x > 0, x.exp(), x * x),
        "cat": lambda x: t.cat([x[:1], x[1:].sin(), x[:2] * x[1:]])[:3],
        "prod": lambda x: x.prod() * x,
        "cumsum": lambda x: x.cumsum(0).exp(),
        "max": lambda x: x.max() * x.logsumexp(0) * x,
        "outer": lambda x: (x[:, None] * x[None, :]).sum(1).sin(),
    }


def transforms(t):
    def pull(f):
        def g(x):
            out, vjp_fn = t.func.vjp(f, x)
            return vjp_fn(t.ones_like(out) * 0.7)[0]

        return g

    return {
        "grad": lambda f: t.func.grad(lambda x: f(x).sum()),
        "jvp": lambda f: lambda x: t.func.jvp(f, (x,), (t.cos(x) * 0 + 0.5,))[1],
        "vmap": lambda f: lambda x: t.func.vmap(f)(t.stack([x, x * 2])),
        "vjp": pull,
        "jacrev": t.func.jacrev,
        "jacfwd": t.func.jacfwd,
        "hessian": lambda f: t.func.hessian(lambda x: f(x).sum()),
    }


NAMES, TRANSFORMS = list(functions(ad)), list(transforms(ad))


def nested(t, name, chain):
    f = functions(t)[name]
    for transform in reversed(chain):
        f = transforms(t)[transform](f)
    with warnings.catch_warnings(action="ignore"):
        return f(t.tensor([0.4, -0.3, 1.2], dtype=t.float64)).detach().clone().numpy()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_pairs(name, outer):
    for inner in TRANSFORMS:
        np.testing.assert_allclose(
            nested(ad, name, (outer, inner)), nested(torch, name, (outer, inner)), rtol=1e-9, atol=1e-9, err_msg=inner
        )


@pytest.mark.parametrize("outer", list(itertools.product([name for name in TRANSFORMS if name != "vjp"], repeat=2)), ids="-".join)
def test_triples(outer):
    """All but those of `vjp`, of which `grad` and `jacrev` are made."""
    for inner, name in itertools.product(TRANSFORMS, NAMES):
        if inner != "vjp":
            chain = (*outer, inner)
            np.testing.assert_allclose(nested(ad, name, chain), nested(torch, name, chain), rtol=1e-8, atol=1e-8, err_msg=f"{name} {inner}")


# ---- modules ----------------------------------------------------------------------------------------------------------------------------


@functools.cache
def attending(t):
    """The class of a block of attention behind a normalisation."""

    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = t.nn.LayerNorm(4)
            self.q, self.k, self.v = t.nn.Linear(4, 4), t.nn.Linear(4, 4), t.nn.Linear(4, 2)

        def forward(self, x):
            x = self.norm(x)
            q, k, v = (part(x).reshape(*x.shape[:-1], 2, -1).transpose(-2, -3) for part in (self.q, self.k, self.v))
            return t.nn.functional.scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)

    return Block


def mlp(t):
    return t.nn.Sequential(t.nn.Linear(4, 5), t.nn.Tanh(), t.nn.Linear(5, 2))


def convolutional(t):
    return t.nn.Sequential(t.nn.Conv2d(1, 2, 3, padding=1), t.nn.GELU(), t.nn.AvgPool2d(2), t.nn.Flatten(-3), t.nn.Linear(8, 2))


MODELS = {"mlp": (mlp, (4,)), "convolutional": (convolutional, (1, 4, 4)), "attending": (lambda t: attending(t)(), (3, 4))}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def model(t, kind, seed=0):
    """A module in double precision with parameters that do not depend on the library."""
    made = MODELS[kind][0](t).double()
    with t.no_grad():
        for nr, p in enumerate(made.parameters()):
            p.copy_(t.tensor(numbers(*p.shape, seed=seed + nr) * 0.5))
    return made


def samples(t, kind, count=3):
    return t.tensor(numbers(count, *MODELS[kind][1], seed=9))


def call(t, module, params, x):
    return t.func.functional_call(module, params, (x,))


def detached(module):
    return {name: p.detach() for name, p in module.named_parameters()}


def per_sample_gradients(t, kind):
    module, x = model(t, kind), samples(t, kind)

    def loss(params, x):
        return (call(t, module, params, x[None]) ** 2).mean()

    return t.func.vmap(t.func.grad(loss), in_dims=(None, 0))(detached(module), x)


def per_sample_gradients_in_chunks(t, kind):
    module, x = model(t, kind), samples(t, kind)
    return t.func.vmap(t.func.grad(lambda p, x: call(t, module, p, x[None]).exp().sum()), in_dims=(None, 0), chunk_size=2)(
        detached(module), x
    )


def ensembles(t, kind):
    modules, x = [model(t, kind, seed) for seed in range(3)], samples(t, kind)
    params, buffers = t.func.stack_module_state(modules)
    together = t.func.vmap(lambda p, b, x: t.func.functional_call(modules[0], (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    together.sum().backward()
    return {"out": together, **{name: p.grad for name, p in params.items()}}


def neural_tangent_kernel(t, kind):
    module, x = model(t, kind), samples(t, kind)
    jacobians = t.func.vmap(t.func.jacrev(lambda p, x: call(t, module, p, x[None])[0].flatten()), in_dims=(None, 0))(detached(module), x)
    forward = t.func.jacfwd(lambda p: call(t, module, p, x).flatten())(detached(module))
    kernel = sum(t.einsum("iap,jbp->ijab", j.flatten(2), j.flatten(2)) for j in jacobians.values())
    return {"kernel": kernel, **{f"forward {name}": j for name, j in forward.items()}}


def hessian_of_parameters(t, kind):
    module, x = model(t, kind), samples(t, kind)
    last = list(detached(module))[-2:]
    found = t.func.hessian(lambda some: (call(t, module, detached(module) | some, x) ** 2).mean())(
        {name: detached(module)[name] for name in last}
    )
    return {f"{a} {b}": found[a][b] for a in last for b in last}


def inner_steps(t, kind):
    """The gradient through steps of gradient descent, for each task of a batch."""
    module = model(t, kind)
    support, query = samples(t, kind, 4)[:2], samples(t, kind, 4)[2:]

    def loss(params, x):
        return (call(t, module, params, x[None]) ** 2).mean()

    def after(params, support, query):
        for _ in range(2):
            gradients = t.func.grad(loss)(params, support)
            params = {name: p - 0.1 * gradients[name] for name, p in params.items()}
        return loss(params, query)

    return t.func.grad(lambda p: t.func.vmap(after, in_dims=(None, 0, 0))(p, support, query).mean())(detached(module))


def product_with_hessian(t, kind):
    module, x = model(t, kind), samples(t, kind)
    params = detached(module)
    gradient = t.func.grad(lambda p: (call(t, module, p, x) ** 2).mean())
    forward = t.func.jvp(gradient, (params,), (params,))[1]
    reverse = t.func.vjp(gradient, params)[1](params)[0]
    return {f"{way} {name}": v for way, found in (("forward", forward), ("reverse", reverse)) for name, v in found.items()}


def gradient_with_ordinary_backward(t, kind):
    """Parameters that require grad, outside of what is transformed."""
    module, x = model(t, kind), samples(t, kind)
    t.func.vmap(t.func.grad(lambda x: (module(x[None]) ** 2).sum()))(x).pow(2).sum().backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "program",
    [per_sample_gradients, per_sample_gradients_in_chunks, ensembles, neural_tangent_kernel, hessian_of_parameters, inner_steps,
     product_with_hessian, gradient_with_ordinary_backward],
    ids=lambda program: program.__name__,
)  # fmt: skip
def test_modules(program, kind):
    with warnings.catch_warnings(action="ignore"):
        got, expected = program(ad, kind), program(torch, kind)
    assert list(got) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name].detach().numpy(), value.detach().numpy(), rtol=1e-8, atol=1e-9, err_msg=name)


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(answer(fact, torch))}" for name, fact in FACTS.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
