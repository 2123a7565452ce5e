"""Taylor mode against PyTorch's nested jvp, which is all that it has for high orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # PyTorch's own use of it


def standardized(x: Any) -> Any:
    """Layer normalisation by its formula: PyTorch's own forward mode of it is wrong from the second derivative on: they do not sum to 0."""
    return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda lib, x, name=name: getattr(lib, name)(x)
        for name in "exp expm1 log log1p sin cos tan sinh cosh tanh sigmoid sqrt rsqrt reciprocal erf erfc asin atan".split()
    },
    **{
        name: lambda lib, x, name=name: getattr(lib.nn.functional, name)(x)
        for name in "softplus gelu silu mish elu relu logsigmoid".split()
    },
    "powers": lambda lib, x: x**3 + x**0.5 + 2.0**x + x**x,
    "quotient": lambda lib, x: (x * x - 1) / (x + 2),
    "softmax": lambda lib, x: lib.softmax(x, 1),
    "log_softmax": lambda lib, x: lib.log_softmax(x, 0),
    "logsumexp": lambda lib, x: lib.logsumexp(x, 1),
    "layer_norm": lambda lib, x: standardized(x) if lib is torch else lib.nn.functional.layer_norm(x, (3,)),
    "matmul": lambda lib, x: (x @ x.T) @ x,
    "linear": lambda lib, x: lib.nn.functional.linear(x, x.exp(), x[:, 0]),
    "prod": lambda lib, x: x.prod(1),
    "std": lambda lib, x: x.std(1),
    "norm": lambda lib, x: x.norm(),
}
ORDER = 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_nested_jvp(name: str) -> None:
    f = FUNCTIONS[name]
    random = np.random.default_rng(0)
    point, direction = random.uniform(0.2, 0.8, (2, 3)), random.standard_normal((2, 3))
    x, v = torch.from_numpy(point), torch.from_numpy(direction)
    _, found = ad.func.jet(lambda x: f(ad, x), (ad.from_numpy(point),), ([ad.from_numpy(direction), *[0.0] * (ORDER - 1)],))
    derivative: Any = lambda x: f(torch, x)  # noqa: E731
    for k in range(ORDER):
        derivative = lambda x, g=derivative: torch.func.jvp(g, (x,), (v,))[1]  # noqa: E731
        np.testing.assert_allclose(found[k].numpy(), derivative(x).numpy(), 1e-9, 1e-9, err_msg=f"derivative {k + 1} of {name}")
