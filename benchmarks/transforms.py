"""Functions of functions: derivatives of many examples, whole Jacobians, and high orders. What PyTorch lacks it does by what it has."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ._timing import Step, timed


def network(lib: Any, *sizes: int, activation: str = "Tanh") -> Any:
    lib.manual_seed(0)
    layers: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        layers += [lib.nn.Linear(inputs, outputs), getattr(lib.nn, activation)()]
    return lib.nn.Sequential(*layers[:-1]).requires_grad_(False)


def per_sample(lib: Any) -> tuple[Any, dict[str, Any], Any, Any]:
    """The gradient of the loss of one example, the parameters, and 64 examples."""
    model = network(lib, 784, 256, 128, 10, activation="ReLU")
    parameters = dict(model.named_parameters())

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return lib.nn.functional.cross_entropy(lib.func.functional_call(model, parameters, (x,)), y)

    return lib.func.grad(loss), parameters, lib.randn(64, 784), lib.randint(0, 10, (64,))


@timed("per-sample gradients, MLP 784-256-128-10, batch 64, vmap of grad")
def gradients_of_examples(lib: Any) -> Step:
    gradient, parameters, x, y = per_sample(lib)
    together = lib.func.vmap(gradient, in_dims=(None, 0, 0))
    return lambda: together(parameters, x, y)


@timed("per-sample gradients, MLP 784-256-128-10, batch 64, a loop")
def gradients_in_a_loop(lib: Any) -> Step:
    gradient, parameters, x, y = per_sample(lib)
    names = list(parameters)

    def step() -> Any:
        rows = [gradient(parameters, x[i], y[i]) for i in range(len(x))]
        return {name: lib.stack([row[name] for row in rows]) for name in names}

    return step


@timed("grad of sin(x) * exp(-x * x), one number")
def gradient_of_a_number(lib: Any) -> Step:
    gradient, x = lib.func.grad(lambda x: lib.sin(x) * lib.exp(-x * x)), lib.tensor(0.5)
    return lambda: gradient(x)


@timed("jvp of an MLP 20-64-64-20, batch 64")
def directional_derivative(lib: Any) -> Step:
    model, x, v = network(lib, 20, 64, 64, 20), lib.randn(64, 20), lib.randn(64, 20)
    return lambda: lib.func.jvp(model, (x,), (v,))


@timed("jacrev of an MLP 20-64-64-20")
def reverse_jacobian(lib: Any) -> Step:
    jacobian, x = lib.func.jacrev(network(lib, 20, 64, 64, 20)), lib.randn(20)
    return lambda: jacobian(x)


@timed("jacfwd of an MLP 20-64-64-20")
def forward_jacobian(lib: Any) -> Step:
    jacobian, x = lib.func.jacfwd(network(lib, 20, 64, 64, 20)), lib.randn(20)
    return lambda: jacobian(x)


@timed("hessian of an MLP 20-64-64-1")
def hessian(lib: Any) -> Step:
    model, x = network(lib, 20, 64, 64, 1), lib.randn(20)
    second = lib.func.hessian(lambda x: model(x).sum())
    return lambda: second(x)


@timed("vmap of hessian, MLP 3-64-64-1, 100 points")
def hessians_of_points(lib: Any) -> Step:
    model, x = network(lib, 3, 64, 64, 1), lib.randn(100, 3)
    second = lib.func.vmap(lib.func.hessian(lambda x: model(x).sum()))
    return lambda: second(x)


@timed("product with the Hessian, MLP 20-64-64-1, batch 64")
def hessian_product(lib: Any) -> Step:
    model, x, v = network(lib, 20, 64, 64, 1), lib.randn(64, 20), lib.randn(64, 20)
    gradient = lib.func.grad(lambda x: model(x).sum())
    return lambda: lib.func.jvp(gradient, (x,), (v,))


@timed("Laplacian of an MLP 3-64-64-1, 100 points")
def laplacian(lib: Any) -> Step:
    model, x = network(lib, 3, 64, 64, 1), lib.randn(100, 3)
    if not hasattr(lib.func, "derivatives"):
        second = lib.func.vmap(lib.func.hessian(lambda x: model(x).sum()))
        return lambda: second(x).diagonal(dim1=1, dim2=2).sum(1)
    return lambda: sum(lib.func.derivatives(model, x, [(2, 0, 0), (0, 2, 0), (0, 0, 2)]))


def along_time(lib: Any) -> tuple[Any, Any]:
    """A function of one variable, and 1000 points."""
    return network(lib, 1, 64, 64, 1), lib.rand(1000, 1)


def by_taylor_mode(lib: Any, order: int) -> Step:
    """The highest derivative, by nested forward mode where there is no Taylor mode."""
    u, t = along_time(lib)
    if hasattr(lib.func, "jet"):
        return lambda: lib.func.jet(u, (t,), ([1.0, *[0.0] * (order - 1)],))
    v, derivative = lib.ones_like(t), u
    for _ in range(order):
        derivative = lambda t, f=derivative: lib.func.jvp(f, (t,), (v,))[1]  # noqa: E731
    return lambda: derivative(t)


def by_nested_grad(lib: Any, order: int) -> Step:
    u, t = along_time(lib)
    t.requires_grad_()

    def step() -> Any:
        derivative = u(t)
        for k in range(order):
            (derivative,) = lib.autograd.grad(derivative.sum(), t, create_graph=k < order - 1)
        return derivative

    return step


@timed("first derivative, MLP 1-64-64-1, 1000 points, Taylor mode")
def first_by_taylor_mode(lib: Any) -> Step:
    return by_taylor_mode(lib, 1)


@timed("fifth derivative, MLP 1-64-64-1, 1000 points, Taylor mode")
def fifth_by_taylor_mode(lib: Any) -> Step:
    return by_taylor_mode(lib, 5)


@timed("first derivative, MLP 1-64-64-1, 1000 points, grad")
def first_by_grad(lib: Any) -> Step:
    return by_nested_grad(lib, 1)


@timed("fifth derivative, MLP 1-64-64-1, 1000 points, nested grad")
def fifth_by_nested_grad(lib: Any) -> Step:
    return by_nested_grad(lib, 5)
