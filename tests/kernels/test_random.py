"""Random numbers drawn by kernels are those drawn by NumPy, bit for bit."""

import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint import _random
from adjoint._kernels import drawing, random_loops, rejection_loops
from adjoint._kernels.loops import LOOPS
from adjoint._random import _continuous, _generator
from adjoint.nn import functional as F


@pytest.mark.parametrize("seed", range(3))
def test_equal_bits(seed):
    kernel = random_loops.box_muller.compiled()
    integers = np.random.default_rng(seed).integers(0, 2**24, 80_000).astype(np.float32)
    integers[:64] = np.arange(64)
    integers[64:128] = 2**24 - 1 - np.arange(64)
    for std, mean in ((1.0, 0.0), (0.25, 3.5)):
        ours, theirs = integers.copy(), integers.copy()
        assert kernel(ours, mean, std, ours.size // 16, 16)
        _continuous._by_numpy(theirs, mean, std)
        np.testing.assert_array_equal(ours.view(np.int32), theirs.view(np.int32))


def randperm(size, dtype):
    return _random.randperm(min(size, 127), dtype)


def filled(draw, *numbers):
    def new(size, dtype):
        array = np.empty(size, dtype)
        draw(array, *numbers)
        return array

    return new


def many(draw, *numbers):
    return lambda size, dtype: filled(draw, *numbers)(size + 15, dtype)


def few(draw, *numbers):
    return lambda size, dtype: filled(draw, *numbers)(1 + size % 15, dtype)


def chances(size):
    array = np.empty(size, np.float32)
    _random.bernoulli(array, np.linspace(0, 1, size, dtype=np.float32))
    return array


def trials(size, dtype):
    probabilities = np.linspace(0, 1, size, dtype=dtype)
    return np.resize(np.array([3, 40, 1000, 0], dtype), size), probabilities


@pytest.mark.parametrize("wrong", [np.nan, -1e-9, 1.0000001, np.inf])
def test_no_probability_is_refused_before_a_number_is_drawn(monkeypatch, wrong):
    monkeypatch.setattr(random_loops.chances, "run", random_loops.chances.compiled())
    _random.manual_seed(0)
    expected = _random.rand((3,))
    _random.manual_seed(0)
    array = np.full(4, 7, np.float32)
    with pytest.raises(RuntimeError, match="p is a probability"):
        _random.bernoulli(array, np.array([0.5, 1, wrong, 0], np.float32))
    assert (array == 7).all()
    np.testing.assert_array_equal(_random.rand((3,)), expected)


def parameters(size, dtype):
    return np.geomspace(0.01, 100, size).astype(dtype)


def rows(size, dtype):
    return np.abs(np.sin(np.arange(4 * size) + 1)).astype(dtype).reshape(4, size)


# What is drawn, the dtypes it is drawn in, and the kernel that does it.
DRAWS = {
    "gamma": (lambda size, dtype: _random.standard_gamma(parameters(size, dtype)), "float32 float64", "gammas"),
    "dirichlet": (lambda size, dtype: _random.dirichlet(rows(size, dtype)), "float32 float64", "gammas"),
    "poisson": (lambda size, dtype: _random.poisson(parameters(size, dtype)), "float16 float32 float64", "poissons"),
    "binomial": (lambda size, dtype: _random.binomial(*trials(size, dtype)), "float32 float64", "binomials"),
    "indices": (lambda size, dtype: _random.multinomial(rows(size, dtype), 7, True), "float32 float64", "indices"),
    "an index": (lambda size, dtype: _random.multinomial(rows(size, dtype), 1), "float32", "winners"),
    "an index in double precision": (lambda size, dtype: _random.multinomial(rows(size, dtype), 1), "float64", "wide_winners"),
    "naturals": (filled(_random.random), "int64", "naturals"),
    "integers": (filled(_random.random, 3, 120), "int64 int32 int16 int8 uint8 float32 float64", "integers"),
    "negative integers": (filled(_random.random, -(2**40), -(2**40) + 7), "int64 float64", "integers"),
    "bits": (filled(_random.random, 0, 2), "bool int64", "integers"),
    "bernoulli": (filled(_random.bernoulli, 0.3), "bool uint8 int64 float32 float64", "flips"),
    "bernoulli of each": (lambda size, dtype: chances(size), "float32", "chances"),
    "slopes": (lambda size, dtype: F._slopes(np.sin(np.arange(size)).astype(dtype), 0.125, 0.5, None), "float32 float64", "slopes"),
    "never": (filled(_random.bernoulli, 0.0), "float32", "flips"),
    "always": (filled(_random.bernoulli, 1.0), "float32", "flips"),
    "uniform": (filled(_random.uniform, -1.0, 3.0), "float32", "uniform"),
    "standard uniform": (filled(_random.uniform), "float32", "uniform"),
    "hardly anything": (filled(_random.uniform, 1.0, 1.0000001), "float32", "uniform"),
    "uniform in double precision": (filled(_random.uniform, -0.3, 0.7), "float64", "fractions"),
    "exponential": (filled(_random.exponential, 0.7), "float16 float32", "exponential"),
    "exponential in double precision": (filled(_random.exponential, 0.7), "float64", "wide_exponential"),
    "cauchy": (filled(_random.cauchy, 0.3, 1.7), "float16 float32 float64", "cauchy"),
    "geometric": (filled(_random.geometric, 0.3), "float16 float32 float64", "geometric"),
    "normal": (many(_random.normal, 0.3, 1.7), "float32", "normals"),
    "normal in double precision": (many(_random.normal, 0.3, 1.7), "float64", "wide_normals"),
    "few normals of float32": (few(_random.normal, 0.3, 1.7), "float32", "normals"),
    "few normals of float64": (few(_random.normal, 0.3, 1.7), "float64", "wide_normals"),
    "few normals": (few(_random.normal, 0.3, 1.7), "float16 float32 float64", "single_normals"),
    "log_normal": (filled(_random.log_normal, 0.3, 1.7), "float16 float32 float64", "log_normals"),
    "permutation": (randperm, "int64 int32 int16 int8 uint8 float32 float64", "permutation"),
}


LOOPS_ONLY = ("indices", "winners", "wide_winners", "single_normals")  # kernels that do not draw in one go
AT_ONCE_ONLY = ("normals", "wide_normals")  # and those that do nothing else
# These do not fill arrays with numbers, and have tests of their own below, or in test_row_loops.py.
APART = {"seeded", "state_of", "restored", "box_muller", "normals_of", "masked", "scale_channels"}
BY_LOOPS = [(name, dtype) for name, (_, dtypes, kernel) in DRAWS.items() if kernel not in AT_ONCE_ONLY for dtype in dtypes.split()]


def kernel_of(name):
    return getattr(random_loops, name, None) or getattr(rejection_loops, name)


def test_every_kernel_that_draws_has_a_case():
    drawing_kernels = {kernel.__name__ for kernel in LOOPS if kernel.fn.__module__ in (random_loops.__name__, rejection_loops.__name__)}
    assert drawing_kernels - {kernel for _, _, kernel in DRAWS.values()} == APART


@pytest.mark.parametrize("name, dtype", BY_LOOPS)
def test_numbers_are_the_same_compiled_or_not(monkeypatch, name, dtype):
    draw, _, kernel = DRAWS[name]
    loop = kernel_of(kernel)
    served = []

    def drawn(run, start):
        """With the kernel, or without it; nothing is drawn in one go here."""
        for other in {kernel, *AT_ONCE_ONLY} - {*LOOPS_ONLY}:
            monkeypatch.setattr(_generator.draws, other, drawing.Drawing(kernel_of(other)), raising=False)
        monkeypatch.setattr(loop, "run", run)
        monkeypatch.setattr(drawing, "compiles", lambda: False)
        _random.manual_seed(5)
        for _ in range(start):
            _random.rand((1,))
        return [draw(size, dtype) for size in (1, 310, 311, 312, 313, 2000, 9000)], _random.rand((3,))

    compiled = loop.compiled()
    for start in range(2):  # also in the middle of a pair of words
        fast, after = drawn(lambda *args: served.append(compiled(*args)) or served[-1], start)
        slow, after_too = drawn(lambda *args: None, start)
        for ours, theirs in zip(fast, slow, strict=True):
            assert ours.dtype == (np.int64 if "ind" in name else dtype)
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(after, after_too)
    assert served and all(served)


@pytest.mark.parametrize("name", [name for name, (_, _, kernel) in DRAWS.items() if kernel not in LOOPS_ONLY])
def test_numbers_drawn_in_one_go_are_the_same(monkeypatch, name):
    draw, dtypes, kernel = DRAWS[name]
    loop = kernel_of(kernel)
    monkeypatch.setattr(loop, "run", lambda *args: None)
    found = {}
    for compiled in (True, False):
        monkeypatch.setattr(_generator.draws, kernel, drawing.Drawing(loop), raising=False)
        monkeypatch.setattr(drawing, "compiles", lambda compiled=compiled: compiled)
        _random.manual_seed(5)
        found[compiled] = [draw(size, dtype) for dtype in dtypes.split() for size in (1, 17, 312, 2000)] + [_random.rand((3,))]
        assert (getattr(_generator.draws, kernel).fill.__class__ is type(len)) == compiled
    for ours, theirs in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.fixture
def uniform():
    made = drawing.Drawing(random_loops.uniform)
    made.compile()
    return made


def new_words():
    return _random.Generator().manual_seed(0)._words.copy()


@pytest.mark.parametrize("sizes", [(3,), (2, 3), ((2, 3),), ((),), (1, 1, 4), ((5,),)])
def test_a_new_array_is_drawn_by_one_call(uniform, sizes):
    shape = sizes[0] if isinstance(sizes[0], tuple) else sizes
    array = uniform.new(sizes, np.dtype("float32"), new_words(), 0.0, 1.0)
    expected = np.empty(shape, np.float32)
    assert uniform.fill(expected, new_words(), 0.0, 1.0)
    assert array.shape == shape and array.flags.owndata and array.flags.c_contiguous
    np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(array, _random.rand(shape, generator=_random.Generator().manual_seed(0)))


@pytest.mark.parametrize(
    "sizes",
    [(), (-1,), (0,), (2, 0), (2.0,), (True,), (2**70,), (1 << 15, 2), (2**32, 2**32), ((2,), 3), ([2],), [2], 2, None, ((2, "3"),)],
)
def test_sizes_that_are_left_to_others(uniform, sizes):
    words = new_words()
    assert uniform.new(sizes, np.dtype("float32"), words, 0.0, 1.0) is None
    np.testing.assert_array_equal(words, new_words())


def test_arguments_that_are_left_to_others(uniform):
    words, array, dtype = new_words(), np.zeros((4, 6), np.float32), np.dtype("float32")
    frozen = array.copy()
    frozen.flags.writeable = False
    unaligned = np.zeros(4 * 8 + 1, np.uint8)[1:].view(np.float32)
    for target in (array[:, ::2], array.T, frozen, unaligned, np.zeros(3, np.float64), np.zeros(3, ">f4"), np.zeros(0, np.float32)):
        assert uniform.fill(target, words, 0.0, 1.0) is None
    for given in ((words, 0.0), (words, 0.0, 1.0, 2.0), (words, "0", 1.0), (words, None, 1.0), (words.astype(np.int64), 0.0, 1.0)):
        assert uniform.fill(array, *given) is None
        assert uniform.new((3,), dtype, *given) is None
    assert uniform.new((3,), np.dtype("int64"), words, 0.0, 1.0) is None
    words[625] = 1  # somebody draws
    assert uniform.fill(array, words, 0.0, 1.0) is None
    assert (array == 0).all()


def test_a_generator_that_is_held_is_waited_for():
    generator = _random.Generator().manual_seed(0)
    _random.rand((200,), generator=generator)
    drawn = []
    with _generator.Held(generator):
        thread = threading.Thread(target=lambda: drawn.append(_random.rand((3,), generator=generator)))
        thread.start()
        thread.join(0.05)
        assert not drawn
    thread.join()
    expected = _random.rand((203,), generator=_random.Generator().manual_seed(0))[200:]
    np.testing.assert_array_equal(drawn[0], expected)


@pytest.mark.parametrize("rates", [[1, -1], [np.inf, 1], [np.nan, 2]])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_no_rate_is_refused(monkeypatch, rates, compiled):
    monkeypatch.setattr(_generator.draws, "poissons", drawing.Drawing(rejection_loops.poissons), raising=False)
    if not compiled:
        monkeypatch.setattr(drawing, "compiles", lambda: False)
    for dtype in (np.float32, np.float64):
        with pytest.raises(RuntimeError, match="invalid Poisson rate"):
            _random.poisson(np.array(rates, dtype))


@pytest.mark.parametrize("count", [0, 1, 623, 624, 625])
def test_states_are_the_same_compiled_or_not(monkeypatch, count):
    generator = _random.Generator().manual_seed(2**63 + 5)
    _random.rand((count,), generator=generator)
    states = []
    for normals in (0, 1):
        _random.randn((normals,), generator=generator)
        for kernel in ("state_of", "restored"):
            loop = getattr(random_loops, kernel)
            for run in (loop.compiled(), lambda *args: None):
                monkeypatch.setattr(loop, "run", run)
                states.append(generator.get_state().tobytes())
                other = _random.Generator().set_state(generator.get_state())
                states.append(other.get_state().tobytes())
                assert other.initial_seed() == 2**63 + 5
        assert len(set(states)) == 1 + normals


def test_many_normals_are_made_of_integers_that_are_drawn_before(monkeypatch):
    """By several threads, and without the kernel that transforms, and in parts, the numbers are the same."""
    size = (1 << 16) + 5
    _random.manual_seed(3)
    first = _random.randn((size,))
    monkeypatch.setattr(random_loops.box_muller, "run", lambda *args: None)
    _random.manual_seed(3)
    np.testing.assert_array_equal(first, _random.randn((size,)))
    monkeypatch.setattr(random_loops.uniform, "run", lambda *args: None)
    _random.manual_seed(3)
    np.testing.assert_array_equal(first, _random.randn((size,)))


@pytest.mark.parametrize("size", [1, 17, 312])
def test_normals_of_tensors_are_the_same_compiled_or_not(monkeypatch, size):
    mean, std = ad.linspace(-3, 3, size), ad.linspace(0, 2, size)
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(_generator.draws, "normals_of", drawing.Drawing(random_loops.normals_of), raising=False)
        monkeypatch.setattr(drawing, "compiles", lambda compiled=compiled: compiled)
        ad.manual_seed(1)
        found.append(ad.normal(mean, std).numpy())
        with pytest.raises(RuntimeError, match=r"^normal expects all elements of std >= 0\.0"):
            ad.normal(mean, -1 - std)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_a_seed_stands_for_the_same_words_compiled_or_not(monkeypatch, seed):
    fast, slow = np.zeros(625, np.uint32), np.zeros(625, np.uint32)
    assert random_loops.seeded.compiled()(np.zeros(1), fast, seed, 1, 624)
    _generator._advance(slow, lambda bits: None, seed)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("memory", [True, False])
def test_numpys_engine_serves_all_generators(monkeypatch, memory):
    if not memory:  # where NumPy keeps it elsewhere
        bits, seeder, _ = _generator._engine()
        monkeypatch.setattr(_generator, "_engine", lambda: (bits, seeder, None))
    monkeypatch.setattr(random_loops.uniform, "run", lambda *args: None)
    monkeypatch.setattr(random_loops.seeded, "run", lambda *args: None)
    one, other = _random.Generator().manual_seed(1), _random.Generator().manual_seed(2)
    drawn = [_random.rand((400,), generator=g) for g in (one, other, one, other)]
    for seed, (start, rest) in ((1, drawn[::2]), (2, drawn[1::2])):
        whole = _random.rand((800,), generator=_random.Generator().manual_seed(seed))
        np.testing.assert_array_equal(np.concatenate([start, rest]), whole)
