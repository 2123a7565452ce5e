"""Random numbers: the same seed gives PyTorch's numbers, bit for bit, and leaves the generator in PyTorch's state."""

from __future__ import annotations

import io
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint import _random as random
from adjoint._kernels import target

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

HALVES = ["float16", "bfloat16"]
FLOATS = [*HALVES, "float32", "float64"]
COMPLEXES = ["complex64", "complex128"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
SIZES = [1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 100, 624, 1000, 16384, 40000 + 5]

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of bounds:UserWarning")


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def to_torch(array: np.ndarray) -> Any:
    """A tensor that shares the array's memory, strides included."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_bytes(array: np.ndarray) -> bytes:
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)  # all NaNs are alike
    return np.ascontiguousarray(array).tobytes()


class Pair:
    """A generator of each library, seeded alike, and a check that a draw gives both the same."""

    def __init__(self, seed: int = 0) -> None:
        self.ours = random.Generator().manual_seed(seed)
        self.theirs = torch.Generator().manual_seed(seed)

    def check_states(self) -> None:
        assert self.ours.get_state().tobytes() == self.theirs.get_state().numpy().tobytes()

    def check(self, ours: np.ndarray, theirs: Any) -> None:
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        assert ours.shape == tuple(theirs.shape)
        theirs = theirs.view(torch.uint16).numpy().view(ours.dtype) if ours.dtype.name == "bfloat16" else theirs.numpy()
        if to_bytes(ours) != to_bytes(theirs):
            np.testing.assert_array_equal(ours.astype(np.complex128), theirs.astype(np.complex128))
            raise AssertionError("zeros of different sign")
        self.check_states()

    def fill(self, name: str, dtype: str, shape: Any, *args: Any, view: Any = lambda x: x) -> None:
        """Fill the view of a new array and that of a new tensor, by the function and the method of that name."""
        array = np.zeros(shape, numpy_dtype(dtype))
        tensor = torch.zeros(shape, dtype=getattr(torch, dtype))
        getattr(random, name)(view(array), *args, generator=self.ours)
        getattr(view(tensor), name + "_")(*args, generator=self.theirs)
        self.check(array, tensor)


@pytest.fixture
def pair():
    return Pair(seed=5)


# ----- Seeds and state -----


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1, -1, -5, -(2**63)])
def test_seeds(seed):
    pair = Pair(seed)
    assert pair.ours.initial_seed() == pair.theirs.initial_seed()
    pair.check_states()
    pair.fill("uniform", "float32", 1500)


def test_a_new_generator_has_the_seed_of_a_new_generator():
    ours, theirs = random.Generator(), torch.Generator()
    assert ours.initial_seed() == theirs.initial_seed() == random.DEFAULT_SEED
    assert ours.get_state().tobytes() == theirs.get_state().numpy().tobytes()
    assert str(ours.device) == str(theirs.device)


@pytest.mark.parametrize("count", [0, 1, 2, 623, 624, 625, 1248, 5000])
def test_state_can_be_exchanged_with_pytorch(count):
    pair = Pair(3)
    pair.fill("uniform", "float32", count)
    pair.fill("normal", "float64", 3)  # leaves a normal waiting
    ours, theirs = random.Generator(), torch.Generator()
    ours.set_state(pair.theirs.get_state().numpy())
    theirs.set_state(torch.from_numpy(pair.ours.get_state()))
    pair.ours, pair.theirs = ours, theirs
    assert ours.initial_seed() == theirs.initial_seed() == 3
    pair.fill("normal", "float64", 3)
    pair.fill("uniform", "float64", 1000)


# ----- Distributions, one by one -----


@pytest.mark.parametrize("dtype", FLOATS + COMPLEXES)
@pytest.mark.parametrize("size", SIZES)
def test_rand_and_randn(pair, dtype, size):
    for ours, theirs in ((random.rand, torch.rand), (random.randn, torch.randn)):
        a = ours((size,), numpy_dtype(dtype), pair.ours)
        pair.check(a, theirs(size, dtype=getattr(torch, dtype), generator=pair.theirs))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1), (2, 3), (4, 2, 3), (2, 1, 16)])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_shapes(pair, dtype, shape):
    torch_dtype = getattr(torch, dtype)
    pair.check(
        random.rand(shape, numpy_dtype(dtype), pair.ours), torch.rand(shape, dtype=torch_dtype, generator=pair.theirs)
    )
    pair.check(
        random.randn(shape, numpy_dtype(dtype), pair.ours), torch.randn(shape, dtype=torch_dtype, generator=pair.theirs)
    )
    pair.check(random.randint(-3, 7, shape, generator=pair.ours), torch.randint(-3, 7, shape, generator=pair.theirs))


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
@pytest.mark.parametrize(
    "bounds",
    [(0, 1), (-0.3, 0.7), (1.1, 3.3), (-5.123, 1000.77), (2, 2), (0.1, 0.1001), (-1, 0), (-1 / 3, 1 / 3), (0, 1e4)],
)
def test_uniform(pair, dtype, bounds):
    pair.fill("uniform", dtype, 20000, *bounds)


# Without fused operations, a product close to the largest number is rounded before it is added to (_kernels/lowering.py).
LARGEST = [(-1e308, 7e307)] if target.current().fma else []


@pytest.mark.parametrize("bounds", [*LARGEST, (-1e300, 1e-300), (1e-8, 1e8), (1, 1 + 2**-50)])
def test_uniform_at_the_ends_of_float64(pair, bounds):
    pair.fill("uniform", "float64", 1000, *bounds)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEXES])
@pytest.mark.parametrize("parameters", [(0, 1), (0.3, 1.7), (-100, 1e-3), (5, 0), (0, 0.02), (1e-3, 1e3)])
def test_normal(pair, dtype, parameters):
    for size in (7, 1000, 1003):
        pair.fill("normal", dtype, size, *parameters)


def test_a_million_float32_normals(pair):
    pair.check(random.randn((1_000_003,), generator=pair.ours), torch.randn(1_000_003, generator=pair.theirs))


def transposed(x):
    return x.transpose(1, 0) if isinstance(x, np.ndarray) else x.transpose(0, 1)


def permuted(x):
    return x.transpose(2, 0, 1) if isinstance(x, np.ndarray) else x.permute(2, 0, 1)


VIEWS = {
    "transposed": ((8, 5), transposed),
    "permuted": ((4, 3, 5), permuted),
    "rows": ((9, 4), lambda x: x[::2]),
    "columns": ((4, 9), lambda x: x[:, 1::3]),
    "permuted part": ((5, 4, 6), lambda x: permuted(x[1:, ::2])),
    "one column": ((40, 2), lambda x: x[:, 1]),
}
FILLS = [
    ("uniform", "float32", (-1.0, 1.0)), ("uniform", "complex64", ()), ("normal", "float32", (1.0, 2.0)),
    ("normal", "float64", ()), ("normal", "bfloat16", ()), ("normal", "complex64", ()), ("random", "int64", (0, 100)),
    ("random", "uint8", ()), ("bernoulli", "float32", (0.3,)), ("exponential", "float32", ()),
    ("geometric", "int32", (0.2,)), ("cauchy", "float64", ()), ("log_normal", "float32", ()),
]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("name", "dtype", "args"), FILLS)
def test_arrays_are_filled_in_the_order_of_their_memory(pair, view, name, dtype, args):
    shape, take = VIEWS[view]
    pair.fill(name, dtype, shape, *args, view=take)
    pair.fill("normal", "float64", 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("exponential", ()), ("exponential", (0.37,)), ("exponential", (1e300,)), ("cauchy", ()),
        ("cauchy", (0.3, 1.7)), ("log_normal", ()), ("log_normal", (0.3, 0.2)), ("geometric", (0.5,)),
        ("geometric", (1e-9,)), ("bernoulli", (0.3,)), ("bernoulli", (0.0,)), ("bernoulli", (1.0,)),
    ],
)  # fmt: skip
def test_other_distributions(pair, dtype, name, args):
    for size in (1, 7, 3000):
        pair.fill(name, dtype, size, *args)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_from_other_distributions(pair, dtype):
    pair.fill("geometric", dtype, 500, 0.1)
    pair.fill("bernoulli", dtype, 500, 0.1)
    pair.fill("bernoulli", "bool", 500, 0.1)


@pytest.mark.parametrize("p_dtype", FLOATS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("layout", ["plain", "transposed p", "transposed output", "broadcast"])
def test_bernoulli_with_an_array_of_probabilities(pair, dtype, p_dtype, layout):
    shape = (30, 20)
    p = np.random.default_rng(0).random(shape).astype(numpy_dtype(p_dtype))
    p = np.asfortranarray(p) if layout == "transposed p" else p[:, :1].copy() if layout == "broadcast" else p
    array = np.zeros(shape, numpy_dtype(dtype), order="F" if layout == "transposed output" else "C")
    theirs = to_torch(array.copy(order="K"))
    random.bernoulli(array, p, pair.ours)
    pair.check(array, theirs.bernoulli_(to_torch(p), generator=pair.theirs))


# ----- Integers -----

RANGES = [
    (0, 1), (0, 2), (0, 7), (-3, 100), (0, 127), (0, 2**11), (0, 2049), (1, 1000), (-2050, 5), (-40000, 7),
    (3, 40001), (257, 300), (2049, 2053), (0, 2**28 - 1), (0, 2**28), (-(2**28), 1), (2**24 + 1, 2**24 + 9),
    (2**25 + 1, 2**25 + 2), (-(2**25) - 1, 2**30), (0, 2**31 - 1), (0, 2**32), (-5, 2**40), (0, 2**53 + 1),
    (2**53 + 1, 2**53 + 8), (-(2**63), 2**63 - 1), (2**62, 2**63 - 1), (0, None), (5, None), (-7, None),
    (-(2**24) - 3, None), (2**24 + 5, None), (-(2**63), None), (3, 3), (70000, 70001),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "uint16", "uint32", "uint64", *FLOATS, "complex64"])
@pytest.mark.parametrize("bounds", [(), *RANGES])
def test_random(dtype, bounds):
    """Either the same numbers or an error of the same opening words."""
    pair = Pair(11)
    try:
        torch.empty(40, dtype=getattr(torch, dtype)).random_(*bounds, generator=torch.Generator())
    except RuntimeError as error:  # NotImplementedError is one
        kind, words = type(error), re.escape(str(error))
        if "full_64_bits" in words:  # of which PyTorch has two wordings
            kind, words = RuntimeError, "random_full_64_bits_range_kernel_cpu"
        with pytest.raises(kind, match=words):
            pair.fill("random", dtype, 40, *bounds)
        pair.check_states()
    else:
        pair.fill("random", dtype, 40, *bounds)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 100, 128, 256, 2048])
def test_randperm_dtypes(pair, dtype, n):
    if dtype in ("uint8", "int8") and n - 1 > np.iinfo(dtype).max:
        with pytest.raises(RuntimeError, match="value cannot be converted to type"):
            random.randperm(n, dtype)
        return
    ours = random.randperm(n, numpy_dtype(dtype), pair.ours)
    pair.check(ours, torch.randperm(n, dtype=getattr(torch, dtype), generator=pair.theirs))


@pytest.mark.parametrize("n", [399, 400, 401, 402, 1000, 5000, 60000, 300_000])
def test_randperm_sizes(pair, n):
    pair.check(random.randperm(n, generator=pair.ours), torch.randperm(n, generator=pair.theirs))


# ----- Multinomial -----


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_multinomial(pair, dtype, replacement, count):
    weights = np.random.default_rng(1).random((6, 30)).astype(numpy_dtype(dtype))
    weights[:, 3:9] = 0
    for w in (
        weights,
        weights[0],
        np.asfortranarray(weights),
        weights[:, ::2],
        np.broadcast_to(weights[0], (4, 30)).copy(),
    ):
        ours = random.multinomial(w, count, replacement, pair.ours)
        pair.check(ours, torch.multinomial(to_torch(w), count, replacement, generator=pair.theirs))


def test_multinomial_of_expanded_weights(pair):
    row = np.random.default_rng(2).random(12)
    for ours, theirs in (
        (np.broadcast_to(row, (5, 12)), torch.from_numpy(row).expand(5, 12)),
        (np.broadcast_to(row[:, None], (12, 5)), torch.from_numpy(row)[:, None].expand(12, 5)),
    ):
        pair.check(
            random.multinomial(ours, 3, generator=pair.ours), torch.multinomial(theirs, 3, generator=pair.theirs)
        )
        pair.check(
            random.multinomial(ours, 3, True, generator=pair.ours),
            torch.multinomial(theirs, 3, True, generator=pair.theirs),
        )


# ----- Sequences -----

DRAWS = st.one_of(
    st.tuples(st.just("uniform"), st.sampled_from(FLOATS + COMPLEXES), st.integers(0, 70)),
    st.tuples(st.just("normal"), st.sampled_from(FLOATS + COMPLEXES), st.integers(0, 70)),
    st.tuples(st.just("log_normal"), st.sampled_from(FLOATS), st.integers(0, 20)),
    st.tuples(st.just("random"), st.sampled_from(["bool", *INTEGERS, *FLOATS]), st.integers(0, 700)),
    st.tuples(st.just("bernoulli"), st.sampled_from(["bool", *INTEGERS, *FLOATS]), st.integers(0, 20)),
    st.tuples(st.just("exponential"), st.sampled_from(FLOATS), st.integers(0, 20)),
    st.tuples(st.just("randperm"), st.just("int64"), st.integers(0, 600)),
)


@given(st.integers(-(2**63), 2**64 - 1), st.lists(DRAWS, max_size=12))
def test_mixed_draws_stay_in_step(seed, draws):
    pair = Pair(seed)
    for name, dtype, size in draws:
        if name == "randperm":
            pair.check(random.randperm(size, generator=pair.ours), torch.randperm(size, generator=pair.theirs))
        else:
            pair.fill(name, dtype, size)


def test_the_default_generator_and_fork_rng():
    before = torch.get_rng_state()
    try:
        random.manual_seed(17)
        torch.manual_seed(17)
        with random.fork_rng(), torch.random.fork_rng(devices=[]):
            assert random.rand((50,)).tolist() == torch.rand(50).tolist()
        assert random.randn((50,)).tolist() == torch.randn(50).tolist()
        assert random.get_rng_state().tobytes() == torch.get_rng_state().numpy().tobytes()
    finally:
        torch.set_rng_state(before)


def test_pickles_are_independent_of_the_original(pair):
    pair.fill("normal", "float32", 5)
    pair.ours = pickle.load(io.BytesIO(pickle.dumps(pair.ours)))
    pair.fill("normal", "float32", 6)


# ----- Errors -----


@pytest.mark.parametrize(
    ("name", "dtype", "args"),
    [
        ("uniform", "float32", (1, 0)), ("uniform", "float32", (0, 1e39)), ("uniform", "float32", (-3e38, 3e38)),
        ("uniform", "int64", ()), ("uniform", "float16", (0, 1e5)), ("uniform", "bool", ()),
        ("uniform", "float32", (float("nan"), 1)), ("normal", "float32", (0, -1)), ("normal", "int64", ()),
        ("normal", "float32", (0, float("nan"))), ("bernoulli", "float32", (1.5,)),
        ("bernoulli", "float32", (float("nan"),)), ("bernoulli", "complex64", (0.5,)),
        ("bernoulli", "uint16", (0.5,)), ("exponential", "float32", (0,)), ("exponential", "float32", (-1,)),
        ("exponential", "int64", ()), ("geometric", "float32", (0,)), ("geometric", "float32", (1,)),
        ("geometric", "bool", (0.5,)), ("geometric", "uint32", (0.5,)), ("cauchy", "float32", (0, 0)),
        ("cauchy", "int64", ()), ("log_normal", "float32", (0, 0)), ("log_normal", "int64", ()),
    ],
)  # fmt: skip
def test_errors_open_with_the_words_of_pytorch(pair, name, dtype, args):
    with pytest.raises(RuntimeError) as theirs:
        getattr(torch.empty(3, dtype=getattr(torch, dtype)), name + "_")(*args)
    with pytest.raises(type(theirs.value), match="^" + re.escape(str(theirs.value))):
        getattr(random, name)(np.empty(3, dtype), *args, generator=pair.ours)
    pair.check_states()


@pytest.mark.parametrize(
    ("weights", "count", "replacement"),
    [
        ([0.1, 0.2], 0, False), ([0.1, 0.2], 3, False), ([-1.0, 2.0], 1, False), ([0.0, 0.0], 1, False),
        ([np.inf, 1.0], 1, False), ([np.nan, 1.0], 2, False), ([1, 2], 1, False), ([[[0.5]]], 1, False),
        (0.5, 1, False), ([-1.0, 2.0], 2, True), ([0.0, 0.0], 2, True), ([np.inf, 1.0], 2, True),
        ([-1.0, 2.0], 1, True), ([[0.0, 0.0], [0.0, 1.0]], 1, False),
    ],
)  # fmt: skip
def test_multinomial_errors(pair, weights, count, replacement):
    with pytest.raises(RuntimeError) as theirs:
        torch.multinomial(torch.tensor(weights), count, replacement)
    array = np.array(weights, np.int64 if isinstance(weights, list) and isinstance(weights[0], int) else np.float32)
    with pytest.raises(RuntimeError, match="^" + re.escape(str(theirs.value))):
        random.multinomial(array, count, replacement, pair.ours)
    pair.check_states()
