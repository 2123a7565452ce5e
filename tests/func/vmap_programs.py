"""Small programs with `vmap`, for adjoint and for PyTorch: `t` is the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}
REFUSALS: dict[str, Program] = {}


def table(t: Any) -> Any:
    return t.arange(1.0, 7.0).reshape(2, 3)


def over_rows(function: Callable[[Any, Any], Any], **options: Any) -> Program:
    """The program that maps `function(t, row)` over the rows of a table."""
    return lambda t: t.vmap(lambda row: function(t, row), **options)(table(t))


# ---- arguments and results ----------------------------------------------------------------------------------------------------------

PROGRAMS |= {
    "in_dims=1": over_rows(lambda t, x: x * 2, in_dims=1),
    "in_dims=-1": over_rows(lambda t, x: x.sum(), in_dims=-1),
    "out_dims=-1": over_rows(lambda t, x: x, out_dims=-1),
    "out_dims of a tuple": over_rows(lambda t, x: (x, x.sum()), out_dims=(1, 0)),
    "out_dims of a dict": over_rows(lambda t, x: {"a": x}, out_dims={"a": 1}),
    "out_dims=(0,) of a tensor": over_rows(lambda t, x: x, out_dims=(0,)),
    "constant": over_rows(lambda t, x: t.ones(2)),
    "constant, out_dims=None": over_rows(lambda t, x: (x, t.ones(2)), out_dims=(0, None)),
    "number, out_dims=None": over_rows(lambda t, x: (x, 3), out_dims=(0, None)),
    "named tuple": over_rows(lambda t, x: tuple(t.max(x, 0))),
    "chunks": over_rows(lambda t, x: (x * 2, x.sum()), out_dims=(1, 0), chunk_size=1),
    "chunks of columns": over_rows(lambda t, x: x * 2, in_dims=1, out_dims=-1, chunk_size=2),
    "nested arguments": lambda t: t.vmap(
        lambda d: {"y": d["a"] + d["b"][0]}, in_dims=({"a": 0, "b": (1,)},)
    )({"a": table(t), "b": (table(t).T,)}),
    "None in nested arguments": lambda t: t.vmap(lambda a: a[0] + a[1], in_dims=([0, None],))([table(t), table(t)[0]]),
    "list for in_dims": lambda t: t.vmap(lambda a, b: a + b, in_dims=(0, 0))(table(t), table(t)),
    "keyword arguments are not mapped": lambda t: t.vmap(lambda a, b=None: (a * b).sum())(table(t), b=t.ones(2, 3)),
    "nested": lambda t: t.vmap(t.vmap(lambda a, b: a * b, (0, None)), (None, 0))(table(t)[0], table(t)[1]),
    "no examples": lambda t: t.vmap(lambda a: a * 2)(t.ones(0, 3)),
    "shape": over_rows(lambda t, x: x * x.shape[0] * x.ndim * x.numel() * len(x) * x.size(0)),
    "promotion": lambda t: t.vmap(lambda a: a * t.ones(3))(t.ones(2, dtype=t.float64)),
    "iteration": over_rows(lambda t, x: sum(x)),
}  # fmt: skip
REFUSALS |= {
    "too few in_dims": lambda t: t.vmap(lambda a, b: a + b, in_dims=(0,))(table(t), table(t)),
    "in_dims=0.5": over_rows(lambda t, x: x, in_dims=0.5),
    "in_dims=(0.5,)": over_rows(lambda t, x: x, in_dims=(0.5,)),
    "in_dims=None": over_rows(lambda t, x: x, in_dims=None),
    "in_dims=(None,)": over_rows(lambda t, x: x, in_dims=(None,)),
    "in_dims=2": over_rows(lambda t, x: x, in_dims=2),
    "no arguments": lambda t: t.vmap(lambda: t.ones(1))(),
    "0-d argument": lambda t: t.vmap(lambda a: a)(t.tensor(1.0)),
    "number as argument": lambda t: t.vmap(lambda a, b: a)(table(t), 3),
    "different sizes": lambda t: t.vmap(lambda a, b: a)(table(t), t.ones(3, 3)),
    "returns a number": over_rows(lambda t, x: 3.0),
    "returns None": over_rows(lambda t, x: None),
    "out_dims=None": over_rows(lambda t, x: x, out_dims=None),
    "too many out_dims": over_rows(lambda t, x: (x, x), out_dims=(0, 0, 0)),
    "out_dims of text": over_rows(lambda t, x: x, out_dims="a"),
    "out_dims=5": over_rows(lambda t, x: x, out_dims=5),
    "chunk_size=0": over_rows(lambda t, x: x, chunk_size=0),
    "randomness of another kind": over_rows(lambda t, x: x, randomness="no"),
}

# ---- indices and writes -------------------------------------------------------------------------------------------------------------


def written(t: Any, x: Any) -> Any:
    y = x.clone()
    y[0] = 5
    y += 1
    y[1:] *= 2
    y.view(-1)[2] = -1
    return y


def increased(t: Any) -> Any:
    x = table(t)
    return t.vmap(lambda row: row.add_(1))(x), x


def at_index(t: Any, x: Any, index: Any, value: Any = 9.0) -> Any:
    y = x.clone()
    y[index] = value
    return y


def with_index(function: Callable[..., Any], index: Any, in_dims: Any = (0, 0)) -> Program:
    return lambda t: t.vmap(lambda x, i: function(t, x, i), in_dims)(table(t), t.tensor(index))


PROGRAMS |= {
    "x[i]": with_index(lambda t, x, i: x[i], [0, 2]),
    "x[i] of one tensor": with_index(lambda t, x, i: x[i], [0, 1], (None, 0)),
    "x[:, i]": with_index(lambda t, x, i: x[:, i], [0, 2], (None, 0)),
    "x[i, 1:]": with_index(lambda t, x, i: x[i, 1:], [0, 1], (None, 0)),
    "x[i, i]": with_index(lambda t, x, i: x[i, i], [[0, 1], [1, 0]], (None, 0)),
    "x[..., i]": with_index(lambda t, x, i: x[..., i], [[0, 1], [1, 0]]),
    "x[constant]": over_rows(lambda t, x: x[t.tensor([0, 2])]),
    "x[constant mask]": over_rows(lambda t, x: x[t.tensor([True, False, True])]),
    "x[i] = number": with_index(at_index, [0, 2]),
    "x[i] = tensor": with_index(lambda t, x, i: at_index(t, x, i, x.sum()), [0, 2]),
    "x[[i]] = tensor": with_index(lambda t, x, i: at_index(t, x, i, x[:1] * 7), [[0], [2]]),
    "writes": over_rows(written),
    "writes into the argument": increased,
    "writes into new zeros": over_rows(lambda t, x: x.new_zeros(3).copy_(x)),
    "writes into zeros like it": over_rows(lambda t, x: t.zeros_like(x).copy_(x)),
    "gather": with_index(lambda t, x, i: x.gather(0, i), [[0], [2]]),
    "scatter": with_index(lambda t, x, i: x.scatter(0, i, 9.0), [[0], [2]]),
    "index_add": with_index(lambda t, x, i: x.index_add(0, i, x[:1]), [[0], [2]]),
    "masked_fill": over_rows(lambda t, x: x.masked_fill(x > 2, 0.0)),
    "masked_select by one mask": over_rows(lambda t, x: x.masked_select(t.tensor([True, False, True]))),
    "where": over_rows(lambda t, x: t.where(x > 2, x, -x)),
}
REFUSALS |= {
    "x[mask]": over_rows(lambda t, x: x[x > 2]),
    "x[mask] = 0": over_rows(lambda t, x: at_index(t, x, x > 2)),
    "masked_select": over_rows(lambda t, x: t.masked_select(x, x > 2)),
    "nonzero": over_rows(lambda t, x: t.nonzero(x)),
    "unique": over_rows(lambda t, x: t.unique(x)),
    "item": over_rows(lambda t, x: x.sum().item()),
    "float": over_rows(lambda t, x: float(x.sum())),
    "tolist": over_rows(lambda t, x: x.tolist()),
    "numpy": over_rows(lambda t, x: x.numpy()),
    "data_ptr": over_rows(lambda t, x: x.data_ptr()),
    "if": over_rows(lambda t, x: x if x.sum() > 0 else -x),
    "allclose": over_rows(lambda t, x: t.allclose(x, x)),
    "equal": over_rows(lambda t, x: t.equal(x, x)),
    "copy into a constant": over_rows(lambda t, x: t.zeros(3).copy_(x)),
    "mul into a constant": over_rows(lambda t, x: t.zeros(3).mul_(x)),
    "fill of a constant": over_rows(lambda t, x: t.zeros(3).fill_(x.sum())),
    "constant[0] = x": over_rows(lambda t, x: at_index(t, t.zeros(3), 0, x[0])),
    "constant[i] = 1": with_index(lambda t, x, i: at_index(t, t.zeros(3), i, 1.0), [0, 2]),
    "out=": over_rows(lambda t, x: t.add(x, 1, out=t.zeros(3))),
    "one_hot of unknown size": lambda t: t.vmap(t.nn.functional.one_hot)(t.tensor([[0, 1], [2, 1]])),
    "batch_norm with one running mean": lambda t: t.vmap(t.nn.BatchNorm1d(3))(t.ones(2, 4, 3)),
}


def escaped(t: Any) -> Any:
    kept: list[Any] = []
    t.vmap(lambda x: (kept.append(x), x)[1])(table(t))
    return kept[0] + 1


REFUSALS["escaped"] = escaped

# ---- random numbers -----------------------------------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda t, x: t.rand(2),
    "randn": lambda t, x: t.randn(2),
    "randint": lambda t, x: t.randint(0, 100, (2,)),
    "randperm": lambda t, x: t.randperm(4),
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 100),
    "normal": lambda t, x: t.normal(0.0, 1.0, (2,)),
    "normal of tensors": lambda t, x: t.normal(x, x),
    "normal of a mean": lambda t, x: t.normal(x, 1.0),
    "normal of a deviation": lambda t, x: t.normal(0.0, x),
    "normal of constants": lambda t, x: t.normal(t.ones(3), 1.0),
    "bernoulli": lambda t, x: t.bernoulli(x / 10),
    "bernoulli of a constant": lambda t, x: t.bernoulli(t.full((4,), 0.5)),
    "bernoulli_": lambda t, x: x.clone().bernoulli_(0.5),
    "bernoulli_ of a tensor": lambda t, x: x.clone().bernoulli_(x / 10),
    "uniform_": lambda t, x: x.clone().uniform_(),
    "uniform_ of a constant": lambda t, x: t.zeros(3).uniform_(),
    "normal_": lambda t, x: x.clone().normal_(),
    "exponential_": lambda t, x: x.clone().exponential_(),
    "random_": lambda t, x: x.clone().random_(10),
    "cauchy_": lambda t, x: x.clone().cauchy_(),
    "geometric_": lambda t, x: x.clone().geometric_(0.3),
    "log_normal_": lambda t, x: x.clone().log_normal_(),
    "dropout": lambda t, x: t.nn.functional.dropout(x),
    "dropout of a constant": lambda t, x: t.nn.functional.dropout(t.ones(4)),
    "dropout in place": lambda t, x: t.nn.functional.dropout(x.clone(), inplace=True),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.reshape(1, 3, 1, 1).expand(1, 3, 2, 2)),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, training=True),
    "multinomial": lambda t, x: t.multinomial(x, 2),
    "multinomial of rows": lambda t, x: t.multinomial(x.reshape(1, 3).expand(2, 3), 2),
    "poisson": lambda t, x: t.poisson(x),
    "binomial": lambda t, x: t.binomial(x, t.full((3,), 0.5)),
    "gradient of dropout": lambda t, x: t.func.grad(lambda x: t.nn.functional.dropout(x).sum())(x),
    "gradient of noise": lambda t, x: t.func.grad(lambda x: (x * x.clone().normal_()).sum())(x),
}


def drawn(name: str, randomness: str) -> Program:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        return over_rows(DRAWS[name], randomness=randomness)(t)

    return program
