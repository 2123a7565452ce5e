"""Random numbers against what PyTorch 2.13 gives for the same seed, written down here."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from adjoint import _random as random
from adjoint._random._continuous import _box_muller
from adjoint._random._discrete import _swapped
from adjoint._random._filling import fused


@pytest.fixture(autouse=True)
def seed_zero():
    random.manual_seed(0)


def filled(name: str, dtype: Any, shape: Any, *args: Any) -> np.ndarray:
    array = np.empty(shape, dtype)
    getattr(random, name)(array, *args)
    return array


# ----- Known numbers -----


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (
            lambda: random.rand((4,)),
            [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688],
        ),
        (lambda: random.rand((4,), np.float16), [0.496337890625, 0.76806640625, 0.0885009765625, 0.132080078125]),
        (
            lambda: random.rand((2,), np.float64),
            [float.fromhex("0x1.f0aac97c4aa2fp-1"), float.fromhex("0x1.6a675d821cccp-1")],
        ),
        (lambda: random.rand((1,), np.complex64), [0.49625658988952637 + 0.7682217955589294j]),
        (
            lambda: filled("uniform", np.float32, 3, -1, 1),
            [-0.007486820220947266, 0.5364435911178589, -0.8230451345443726],
        ),
        (lambda: random.randn((16,))[:3], [-1.1258398294448853, -1.152360200881958, -0.2505785822868347]),
        (lambda: random.randn((17,))[-3:], [0.946298360824585, -0.843676745891571, 0.9318265914916992]),
        (lambda: random.randint(0, 10, (8,)), [4, 9, 3, 0, 3, 9, 7, 3]),
        (lambda: random.randint(0, 2**28, (2,)), [130329135, 136432832]),
        (lambda: random.randint(-5, 2**40, (2,)), [741234585336, 506077272957]),
        (lambda: filled("random", np.int64, 2), [900450186894289455, 3969543146641149120]),
        (lambda: filled("random", np.uint8, 4), [172, 47, 117, 192]),
        (lambda: filled("random", np.float32, 3), [8325664.0, 12888472.0, 1484222.0]),
        (lambda: filled("random", np.bool_, 6), [False, True, True, False, True, True]),
        (lambda: random.randperm(10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
        (lambda: filled("bernoulli", np.float32, 8, 0.5), [0, 0, 1, 0, 0, 0, 1, 1]),
        (lambda: filled("bernoulli", np.int64, 8, np.full(8, 0.5, np.float32)), [1, 0, 1, 1, 1, 0, 1, 0]),
        (lambda: filled("geometric", np.int64, 5, 0.25), [1, 2, 3, 1, 2]),
        (lambda: random.multinomial(np.array([0.1, 0.2, 0.3, 0.4], np.float32), 3), [2, 1, 3]),
        (lambda: random.multinomial(np.array([0.1, 0.2, 0.3, 0.4], np.float32), 6, True), [3, 3, 2, 3, 3, 3]),
    ],
)
def test_numbers_of_seed_zero(draw, expected):
    assert draw().tolist() == expected


# These go through the C library's functions, which may differ in the last bit from one system to the next.
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda: random.randn((4,)), [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991]),
        (lambda: random.randn((1,), np.complex64), [1.0896488428115845 - 0.20748557150363922j]),
        (lambda: random.randn((16,), np.float64)[:2], [-2.310411800234176, -0.3732508612577643]),
        (lambda: filled("normal", np.float32, 2, 5, 0.1), [5.154099464416504, 4.970656871795654]),
        (lambda: filled("exponential", np.float32, 2, 2.0), [1.754163146018982, 0.6151923537254333]),
        (lambda: filled("cauchy", np.float32, 2, 1, 2), [22.195459365844727, 2.5295345783233643]),
        (lambda: filled("log_normal", np.float32, 2), [59.2634162902832, 1.5115599632263184]),
    ],
)
def test_numbers_of_seed_zero_to_rounding(draw, expected):
    np.testing.assert_allclose(draw(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("draw", "digest"),
    [
        (lambda: random.rand((100003,)), "99f0566c49031852"),
        (lambda: random.rand((100003,), np.float64), "03e17cbf41d62786"),
        (lambda: random.randn((100003,)), "0e1052dc151d4ee6"),
        (lambda: random.randn((1003,), np.float16), "c87b1eed2831f8e3"),
        (lambda: filled("normal", np.float32, 100003, 0.3, 1.7), "1bfc84b8560a1fee"),
        (lambda: filled("uniform", np.float32, 100003, -0.3, 0.7), "0cc6c0640581dc72"),
        (lambda: filled("uniform", np.float64, 10007, -0.3, 0.7), "c1f29c1383348529"),
        (lambda: random.randperm(100003), "adc36247d68d95cb"),
        (lambda: random.randint(-7, 1000, (100003,)), "31c1e2880c0b3329"),
        (lambda: random.randint(-7, 2**50, (100003,)), "82570be83cbe1ef1"),
        (random.get_rng_state, "1ccf17250133dec5"),
    ],
)
def test_digests_of_seed_zero(draw, digest):
    assert hashlib.sha256(draw().tobytes()).hexdigest()[:16] == digest


def test_a_sequence_of_mixed_draws():
    drawn = [
        random.rand((3,))[-1],
        random.randn((3,))[-1],  # leaves a normal waiting, which the next randn of few numbers takes
        random.rand((1,), np.float64)[-1],
        random.randn((1,))[-1],
        random.randint(0, 100, (5,))[-1],
        random.randperm(7)[-1],
        random.randn((20,))[-1],
        random.rand((1,))[-1],
    ]
    expected = [0.08847743272781372, 0.16421625018119812, 0.21373865012512683, 0.3057610094547272, 68, 1]
    np.testing.assert_allclose(drawn, [*expected, 3.4105026721954346, 0.7262365221977234], rtol=1e-6)


def test_arrays_are_filled_in_the_order_of_their_memory():
    straight = random.rand((50, 30))
    random.manual_seed(0)
    transposed = np.empty((50, 30), np.float32).T
    random.uniform(transposed)
    assert (transposed.T == straight).all()
    random.manual_seed(0)
    wide = np.zeros((50, 60), np.float32)
    random.uniform(wide[:, ::2])
    assert (wide[:, ::2] == straight).all()
    assert (wide[:, 1::2] == 0).all()


@pytest.mark.parametrize("shape", [(), (0,), (4, 0), (1, 1), (2, 3, 4)])
def test_shapes(shape):
    assert random.rand(shape).shape == random.randn(shape).shape == random.randint(0, 3, shape).shape == shape


def test_drawing_nothing_takes_nothing():
    before = random.get_rng_state()
    random.rand((0,)), random.randn((0, 3)), random.randint(0, 5, (0,)), random.randperm(0), random.randperm(1)
    assert (random.get_rng_state() == before).all()


def test_half_types_never_reach_the_upper_bound():
    assert filled("uniform", np.float16, 100_000, 0, 1).max() == 1 - 2**-11
    assert filled("uniform", np.float32, 100_000, 0.1, 0.1001).max() < np.float32(0.1001)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert random.rand((4,), ml_dtypes.bfloat16).tolist() == [0.49609375, 0.76953125, 0.08837890625, 0.1318359375]


# ----- The arithmetic beneath -----


def test_fused_rounds_once():
    from fractions import Fraction

    values = np.random.default_rng(0).standard_normal(300)
    for factor, offset in ((1.7, 0.3), (0.1, -1e3), (1e-200, 1e-210), (1e300, 1e299), (3.3, 0.0), (1.0, 0.7)):
        exact = [float(Fraction(v) * Fraction(factor) + Fraction(offset)) for v in values.tolist()]
        assert fused(values, factor, offset).tolist() == exact


def test_box_muller_is_accurate():
    integers = np.random.default_rng(0).integers(0, 2**24, (500, 2, 8), np.int32)
    integers[0, 0] = [0, 1, 2, 3, 2**24 - 1, 2**24 - 2, 2**23, 2**23 + 1]
    integers[1, 1] = [0, 1, 2**21, 2**22, 2**22 + 1, 2**23, 3 * 2**22, 2**24 - 1]
    u = integers / 2.0**24
    radius, angle = np.sqrt(-2 * np.log1p(-u[:, 0])), 2 * np.pi * u[:, 1]
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    np.testing.assert_allclose(_box_muller(integers.astype(np.float32)), exact, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("size", [401, 402, 1000, 4321])
def test_many_swaps_at_once_are_swaps_one_by_one(size):
    generator = np.random.default_rng(size)
    partners = np.arange(size - 1) + generator.integers(0, 2**40, size - 1) % (size - np.arange(size - 1))
    partners[:50] = size - 1  # often to one place
    partners[60:80] = np.arange(60, 80)  # and not at all
    elements = list(range(size))
    for i, j in enumerate(partners.tolist()):
        elements[i], elements[j] = elements[j], elements[i]
    assert _swapped(partners).tolist() == elements


# ----- Generators -----


@pytest.mark.parametrize(
    ("seed", "stored", "first"),
    [
        (42, 42, 0.8822692632675171),
        (-1, 2**64 - 1, 0.9937993884086609),
        (2**64 - 1, 2**64 - 1, 0.9937993884086609),
        (2**32, 2**32, 0.49625658988952637),
        (-(2**63), 2**63, 0.49625658988952637),
        (np.int64(42), 42, 0.8822692632675171),
    ],
)
def test_seeds(seed, stored, first):
    generator = random.Generator()
    assert generator.manual_seed(seed) is generator
    assert generator.initial_seed() == stored
    assert random.rand((1,), generator=generator).tolist() == [first]


def test_a_new_generator():
    generator = random.Generator(device="cpu")
    assert generator.initial_seed() == random.DEFAULT_SEED == 67280421310721
    assert random.rand((1,), generator=generator).tolist() == [0.267295241355896]
    assert str(generator.device) == "cpu"
    assert random.Generator(None).device.type == "cpu"


def test_manual_seed_of_the_default_generator_converts():
    assert random.manual_seed("7") is random.default_generator
    assert random.initial_seed() == 7
    random.manual_seed(1.9)
    assert random.initial_seed() == 1


def test_seed_is_unpredictable():
    seeds = {random.seed() for _ in range(5)} | {random.Generator().seed() for _ in range(5)}
    assert len(seeds) == 10
    assert random.seed() == random.initial_seed()


@pytest.mark.parametrize("count", [0, 1, 623, 624, 625, 2000])
def test_state_goes_on_where_it_was_taken(count):
    random.rand((count,))
    random.randn((3,))
    state = random.get_rng_state()
    assert state.shape == (5056,)
    assert state.dtype == np.uint8
    first = random.randn((5,)), random.rand((700,))
    other = random.Generator().set_state(state)
    again = random.randn((5,), generator=other), random.rand((700,), generator=other)
    assert other.initial_seed() == 0
    assert all((a == b).all() for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_are_independent(copied):
    generator = random.Generator().manual_seed(3)
    random.randn((3,), generator=generator)
    other = copied(generator)
    expected = random.randn((3,), generator=generator).tolist()
    random.rand((10,), generator=generator)
    assert random.randn((3,), generator=other).tolist() == expected


def test_fork_rng_restores_even_after_an_error():
    before = random.get_rng_state()
    with pytest.raises(ZeroDivisionError), random.fork_rng():
        random.rand((5,))
        1 / 0  # noqa: B018
    assert (random.get_rng_state() == before).all()
    with random.fork_rng(enabled=False):
        random.rand((5,))
    assert (random.get_rng_state() != before).any()


def test_threads_share_the_words_between_them():
    drawn: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: drawn.extend(random.rand((20_000,)) for _ in range(5))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    random.manual_seed(0)
    expected = random.rand((20, 20_000))
    assert sorted(row.tobytes() for row in drawn) == sorted(row.tobytes() for row in expected)


# ----- Errors -----


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.Generator("cuda"), RuntimeError, "Cannot get CUDA generator"),
        (lambda: random.Generator("meta"), RuntimeError, "META device type not an accelerator"),
        (lambda: random.default_generator.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda: random.manual_seed(-(2**63) - 1), ValueError, "Overflow when unpacking long long"),
        (lambda: random.default_generator.manual_seed(True), RuntimeError, "manual_seed expected a long, but got bool"),
        (lambda: random.default_generator.manual_seed(1.5), RuntimeError, "manual_seed expected a long, but got float"),
        (lambda: random.set_rng_state(3), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda: random.set_rng_state(np.zeros(5056, np.int32)), TypeError, "RNG state must be a torch.ByteTensor"),
        (
            lambda: random.set_rng_state(np.zeros(5, np.uint8)),
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056",
        ),
        (lambda: random.set_rng_state(np.zeros(5056, np.uint8)), RuntimeError, "Invalid mt19937 state"),
        (lambda: random.rand((2, -3)), RuntimeError, "Trying to create tensor with negative dimension -3: [2, -3]"),
        (
            lambda: random.rand((2,), np.int64),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Long'",
        ),
        (lambda: filled("uniform", np.float32, 3, 1, 0), RuntimeError, "uniform_ expects to return a [from, to) range"),
        (lambda: filled("uniform", np.float16, 3, 0, 1e5), RuntimeError, "to is out of bounds for c10::Half"),
        (lambda: filled("normal", np.float32, 3, 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (
            lambda: filled("log_normal", np.float32, 3, 0, 0),
            RuntimeError,
            "log_normal_ expects std > 0.0, but found std=0",
        ),
        (
            lambda: filled("cauchy", np.int64, 3),
            RuntimeError,
            "Cauchy distribution is a continuous probability distribution",
        ),
        (lambda: filled("exponential", np.float32, 3, 0), RuntimeError, "exponential_ expects lambda > 0.0"),
        (
            lambda: filled("geometric", np.float32, 3, 1),
            RuntimeError,
            "geometric_ expects p to be in (0, 1), but got p=1",
        ),
        (
            lambda: filled("bernoulli", np.float32, 3, 2),
            RuntimeError,
            "bernoulli_ expects p to be in [0, 1], but got p=2",
        ),
        (
            lambda: filled("bernoulli", np.float32, 3, np.array([0.5, 2, 0])),
            RuntimeError,
            "Expected p_in >= 0 && p_in <= 1",
        ),
        (lambda: filled("bernoulli", np.float32, 3, np.ones(2)), RuntimeError, "The expanded size of the tensor"),
        (
            lambda: filled("bernoulli", np.float32, 3, np.ones(3, np.int64)),
            NotImplementedError,
            '"bernoulli_tensor_cpu_p_"',
        ),
        (lambda: random.randint(5, 5, (2,)), RuntimeError, "random_ expects 'from' to be less than 'to'"),
        (lambda: random.randint(0, 300, (2,), np.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda: random.randint(0, 2**63, (2,)), ValueError, "Overflow when unpacking long long"),
        (lambda: random.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        (
            lambda: random.randperm(257, np.uint8),
            RuntimeError,
            "value cannot be converted to type uint8_t without overflow",
        ),
        (lambda: random.randperm(2050, np.float16), RuntimeError, "n cannot be greater than 2049 for Half type."),
        (lambda: random.randperm(3, np.bool_), NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
        (
            lambda: random.multinomial(np.ones(2), 3),
            RuntimeError,
            "cannot sample n_sample > prob_dist.size(-1) samples",
        ),
        (
            lambda: random.multinomial(np.zeros(2), 1),
            RuntimeError,
            "invalid multinomial distribution (sum of probabilities",
        ),
        (
            lambda: random.uniform(np.broadcast_to(np.ones(3), (4, 3))),
            RuntimeError,
            "unsupported operation: more than one",
        ),
    ],
)
def test_errors_leave_the_generator_alone(call, error, words):
    before = random.get_rng_state()
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(words)
    assert (random.get_rng_state() == before).all()


def test_integers_that_a_floating_dtype_rounds_are_warned_of():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        values = filled("random", np.float32, 100, 0, 2**25)
    assert values.max() < 2**25


def test_distributions_have_their_moments():
    count = 200_000
    for values, mean, variance in (
        (random.rand((count,)), 1 / 2, 1 / 12),
        (random.randn((count,)), 0, 1),
        (random.randn((count,), np.float64), 0, 1),
        (filled("normal", np.float64, (count, 2))[:, 1], 0, 1),
        (filled("normal", np.float32, (count, 2), 3, 2).T[0], 3, 4),
        (filled("exponential", np.float64, count, 2.0), 1 / 2, 1 / 4),
        (filled("geometric", np.float64, count, 0.25), 4, 12),
        (filled("bernoulli", np.float64, count, 0.3), 0.3, 0.21),
        (random.randint(0, 6, (count,)), 2.5, 35 / 12),
        (filled("log_normal", np.float64, count, 0, 0.5), math.exp(1 / 8), (math.exp(1 / 4) - 1) * math.exp(1 / 4)),
    ):
        assert values.mean() == pytest.approx(mean, abs=0.03)
        assert values.var() == pytest.approx(variance, rel=0.05)
