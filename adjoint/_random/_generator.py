"""The generator: seeds, words, state, and the uniform and normal numbers that all distributions are made from."""

from __future__ import annotations

import math
import operator
import os
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, SupportsInt

import numpy as np

from .._device import CPU, device, resolve
from .._fork import hold

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_SEED = 67280421310721

# The bytes of PyTorch's state are an old C struct, in which each 32-bit word of the engine takes eight bytes. These are places in it.
_STATE_BYTES, _SEED, _LEFT, _NEXT, _WORDS, _NORMAL, _NORMAL_IS_VALID = 5056, 0, 1, 2, slice(3, 627), 628, 630
_SEEDED = 1 << 32  # in the upper half of the number at `_LEFT`
# Constants as arrays, which NumPy takes up faster than numbers.
_LOW24, _LOW53, _HALF_WORD = np.array(2**24 - 1, np.uint32), np.array(2**53 - 1, np.uint64), np.array(32, np.uint64)
_UNIT24, _UNIT53 = np.array(2.0**-24, np.float32), np.array(2.0**-53)
_BYTE = np.dtype(np.uint8)
_PLACE, BUSY = 624, 625  # after the words: the place of the next, and whether somebody draws
_making = hold(allocate_lock())


def by_c(function: np.ufunc, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A function of the C library's, which PyTorch's numbers come from: NumPy has its own where vectors are long, with other last bits."""
    known = getattr(math, function.__name__)

    def one(number: float) -> float:
        try:
            return known(number)  # type: ignore[no-any-return]
        except (ValueError, OverflowError):
            return float(function(number))  # which is infinite

    return np.fromiter(map(one, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


Mark = tuple[Any, int]  # what a generator remembers, and its seed


class Generator:
    """A stream of random numbers: `Generator().manual_seed(0)`."""

    __slots__ = ("__weakref__", "_lock", "_memory", "_seed", "_waiting", "_words")

    _seed: int
    if TYPE_CHECKING:
        # What a generator remembers is in one piece of memory, which is made when first needed.
        _memory: npt.NDArray[np.uint32] | None
        _words: npt.NDArray[np.uint32]  # the 624 words of the engine, the place of the next, and whether somebody draws (`Held`)
        _waiting: npt.NDArray[np.float64]  # normals are made in pairs; the second waits here, if the number after it is 1 and not 0

    def __init__(self, device: device | str | int | None = "cpu") -> None:
        if device != "cpu":
            kind = resolve(device).type
            if kind != "cpu":
                words = "Cannot get CUDA generator" if kind == "cuda" else f"{kind.upper()} device type not an accelerator"
                raise RuntimeError(f"{words}: adjoint draws on the CPU, write Generator() or Generator(device='cpu')")
        self._lock = allocate_lock()
        self._seed = DEFAULT_SEED
        self._memory = None

    if not TYPE_CHECKING:  # a type checker that saw this method would let every misspelt attribute pass

        def __getattr__(self, attribute: str) -> object:
            if attribute not in ("_words", "_waiting"):
                raise AttributeError(f"'torch.Generator' object has no attribute '{attribute}'")
            with _making:
                if self._memory is None:  # and no other thread has made it meanwhile
                    memory = np.zeros(630, np.uint32)
                    _start(memory, self._seed % 2**32)  # PyTorch, too, uses only the low half
                    self._waiting, self._words, self._memory = memory[626:].view(np.float64), memory[:626], memory
            return object.__getattribute__(self, attribute)

    @property
    def device(self) -> device:
        return CPU

    def manual_seed(self, seed: SupportsIndex) -> Self:
        """Start the stream that belongs to `seed`. Negative seeds count down from 2**64."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}; write int(seed)")
        value = operator.index(seed)
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"Overflow when unpacking long long: seeds lie in [-2**63, 2**64), {value} does not")
        self._reseed(value % 2**64)
        return self

    def seed(self) -> int:
        """Start an unpredictable stream and return its seed."""
        value = int.from_bytes(os.urandom(8), "little")
        self._reseed(value)
        return value

    def initial_seed(self) -> int:
        """The seed the stream started from."""
        return self._seed

    def get_state(self) -> npt.NDArray[np.uint8]:
        """The state as PyTorch's 5056 bytes: either library can go on from what the other returned."""
        compiled = np.empty(_STATE_BYTES // 8, np.int64)
        with self._lock:
            signed = self._seed - 2**64 if self._seed >> 63 else self._seed
            if kernels().state_of.run(self._waiting, self._words, compiled, signed, 1, _PLACE):
                return compiled.view(np.uint8)
        state = np.zeros(_STATE_BYTES // 8, np.uint64)
        with Held(self):
            words, seed = self._words, self._seed
            state[_WORDS] = words[:_PLACE]
            position = int(words[_PLACE])
            normal, normal_is_valid = self._waiting.tolist()
        # The engine makes 624 words at a time. Just seeded, when its first word still is the seed, it has made none.
        made = position < 624 or int(state[3]) != seed % 2**32
        state[_SEED], state[_LEFT] = seed, _SEEDED | (625 - position)
        if made:
            state[_NEXT] = position
        if normal_is_valid:
            state.view(np.float64)[_NORMAL], state[_NORMAL_IS_VALID] = normal, 1
        return state.view(np.uint8)

    def set_state(self, new_state: object) -> Self:
        """Go on from a state that `get_state`, here or in PyTorch, returned."""
        if not isinstance(new_state, np.ndarray) or new_state.dtype != _BYTE:
            raise TypeError("RNG state must be a torch.ByteTensor: pass what get_state() returned")
        if new_state.size != _STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE_BYTES} but found the input RNG state size to be "
                f"{new_state.size}: pass what get_state() returned"
            )
        if not new_state.flags.c_contiguous:
            new_state = np.ascontiguousarray(new_state)
        signed, valid = new_state.reshape(-1).view(np.int64), np.empty(1, np.int64)
        with self._lock:
            if kernels().restored.run(self._waiting, self._words, signed, valid, 1, _PLACE) and valid[0]:
                self._seed = int(signed[_SEED]) % 2**64
                return self
        state = signed.view(np.uint64)
        seed, left, following = state[:3].tolist()
        left, seeded = left & 0xFFFFFFFF, left >> 32
        if seeded != 1 or not 0 < left <= 624 or following > 624:
            raise RuntimeError("Invalid mt19937 state: pass what get_state() returned")
        normal_is_valid = int(state[_NORMAL_IS_VALID]) & 0xFFFFFFFF
        with Held(self):
            words, self._seed = self._words, seed
            words[:_PLACE] = state[_WORDS]
            words[_PLACE] = 624 if left == 1 else following
            self._waiting[0], self._waiting[1] = state.view(np.float64)[_NORMAL], bool(normal_is_valid)
        return self

    def _mark(self) -> Mark:
        """Where the stream is now; `_return_to` comes back to it. Much cheaper than a state, for those who only want to come back."""
        with self._lock:
            return _whole(self._words).copy(), self._seed

    def _return_to(self, mark: Mark) -> None:
        with self._lock:
            _whole(self._words)[:], self._seed = mark

    # Through this class, for a class derived from it may give and take states in another form.

    def __getstate__(self) -> bytes:
        return Generator.get_state(self).tobytes()

    def __setstate__(self, state: bytes) -> None:
        Generator.__init__(self)
        Generator.set_state(self, np.frombuffer(state, np.uint8))

    def _reseed(self, seed: int) -> None:
        with self._lock, _making:
            self._seed = seed
            if self._memory is not None:
                del self._words, self._waiting  # which are made anew when a number is drawn
                self._memory = None

    # The raw material of the distributions. Whoever calls these holds the generator.

    def _raw(self, count: int) -> npt.NDArray[np.uint64]:
        """The next 32-bit words. NumPy hands them out as 64-bit numbers."""
        return _advance(self._words, lambda bits: bits.random_raw(count))  # type: ignore[no-any-return]

    def _words64(self, count: int) -> npt.NDArray[np.uint64]:
        """64-bit words: two words each, the high one first."""
        words = self._raw(2 * count)
        pairs = words[::2] << _HALF_WORD
        pairs |= words[1::2]
        return pairs

    def _low24(self, count: int) -> npt.NDArray[np.float32]:
        """Integers of 24 bits, one word each."""
        integers = np.empty(count, np.float32)
        if not kernels().uniform.run(integers, self._words, 0.0, 2.0**24, count, 1, count):
            words = self._raw(count).astype(np.uint32)
            words &= _LOW24
            integers[...] = words.view(np.int32)  # signed numbers are converted to floats faster
        return integers

    def _uniform24(self, count: int) -> npt.NDArray[np.float32]:
        """From [0, 1), one word each."""
        uniforms = self._low24(count)
        uniforms *= _UNIT24
        return uniforms

    def _uniform53(self, count: int) -> npt.NDArray[np.float64]:
        """From [0, 1), two words each."""
        fractions = np.empty(count)
        if kernels().fractions.run(fractions, self._words, 0, 0.0, 1.0, 1.0, count, 1, count):
            return fractions
        bits = self._words64(count)
        bits &= _LOW53
        uniforms = bits.view(np.int64).astype(np.float64)
        uniforms *= _UNIT53
        return uniforms

    def _normal(self, count: int) -> npt.NDArray[np.float64]:
        """The Box-Muller transform in float64, two normals at a time, the second of which may be left for later."""
        drawn = np.empty(count)
        if kernels().single_normals.run(drawn, self._words, self._waiting, 0.0, 1.0, count, 1, count):
            return drawn
        waiting = self._waiting[: int(self._waiting[1])].tolist()
        uniforms = self._uniform53((count - len(waiting) + 1) // 2 * 2)
        if count < 16:  # the usual case, in which plain numbers are faster
            numbers = uniforms.tolist()
            for turn, u in zip(numbers[::2], numbers[1::2], strict=True):
                radius, angle = math.sqrt(-2 * math.log1p(-u)), 2 * math.pi * turn
                waiting += radius * math.cos(angle), radius * math.sin(angle)
            normals = np.array(waiting)
        else:
            radii, angles = np.sqrt(-2 * by_c(np.log1p, -uniforms[1::2])), 2 * np.pi * uniforms[::2]
            normals = np.append(waiting, np.stack([radii * by_c(np.cos, angles), radii * by_c(np.sin, angles)], axis=-1))
        self._waiting[1] = normals.size > count
        if normals.size > count:
            self._waiting[0] = normals[-1]
        return normals[:count]


def _whole(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """The memory that a generator's words are a part of."""
    memory = words.base
    assert memory is not None
    return memory


class Held:
    """A generator held by one thread: `with Held(generator):`. Kernels that draw in one go, with the GIL held, do so without."""

    __slots__ = ("generator",)

    def __init__(self, generator: Generator | None) -> None:
        self.generator = generator or default_generator

    def __enter__(self) -> Generator:
        self.generator._lock.acquire()
        self.generator._words[BUSY] = 1
        return self.generator

    def __exit__(self, *_: object) -> None:
        self.generator._words[BUSY] = 0
        self.generator._lock.release()


@cache
def kernels() -> Any:
    """The module of kernels, imported when the first number is drawn."""
    from .._kernels import random_loops

    return random_loops


@cache
def rejections() -> Any:
    """The same of kernels that draw by rejection."""
    from .._kernels import rejection_loops

    return rejection_loops


class _Draws:
    """Built-ins that draw, by the names of kernels: `draws.uniform.fill(array, words, low, high)`. They are made when first asked for."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from .._kernels.drawing import Drawing

            simple = getattr(kernels(), name, None)
            drawing = Drawing(getattr(rejections(), name) if simple is None else simple)
            setattr(self, name, drawing)
            return drawing


draws: Any = _Draws()


# ----- NumPy's engine, for those who have no kernels -----

_engine_lock = hold(allocate_lock())


@cache
def _engine() -> tuple[np.random.MT19937, np.random.RandomState, npt.NDArray[np.uint32] | None]:
    """NumPy's engine, which serves all generators, what seeds it as PyTorch does, and its memory. It is imported when first needed:
    numpy.random takes half as long as all of adjoint."""
    bits = np.random.MT19937(0)
    return bits, np.random.RandomState(bits), _memory_of(bits)


def _memory_of(bits: np.random.MT19937) -> npt.NDArray[np.uint32] | None:
    """The words in which NumPy's engine keeps its state; None if they are not where they used to be."""
    import ctypes

    memory = np.frombuffer(memoryview((ctypes.c_uint32 * 625).from_address(bits.ctypes.state_address)), np.uint32)
    state = bits.state["state"]
    return memory if memory[_PLACE] == state["pos"] and np.array_equal(memory[:_PLACE], state["key"]) else None


def _advance(words: npt.NDArray[np.uint32], use: Callable[[Any], Any], seed: int | None = None) -> Any:
    """Use NumPy's engine with the words of a generator, or those of a seed, and keep what becomes of them."""
    with _engine_lock:
        bits, seeder, memory = _engine()
        if seed is not None:
            seeder.seed(seed)
        elif memory is not None:
            memory[:] = words[:BUSY]
        else:
            bits.state = {"bit_generator": "MT19937", "state": {"key": words[:_PLACE], "pos": int(words[_PLACE])}}
        result = use(bits)
        if memory is not None:
            words[:BUSY] = memory
        else:
            words[:_PLACE], words[_PLACE] = bits.state["state"]["key"], bits.state["state"]["pos"]
        return result


def _start(words: npt.NDArray[np.uint32], seed: int) -> None:
    """The words that a seed stands for."""
    if not kernels().seeded.run(_UNIT53, words, seed, 1, 624):
        _advance(words, lambda bits: None, seed)


default_generator = Generator()
hold(default_generator._lock)


def manual_seed(seed: SupportsInt | str) -> Generator:
    """Seed the default generator and return it."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator unpredictably and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> npt.NDArray[np.uint8]:
    """The state of the default generator."""
    return Generator.get_state(default_generator)


def set_rng_state(new_state: object) -> None:
    """Set the state of the default generator."""
    Generator.set_state(default_generator, new_state)


@contextmanager
def fork_rng(devices: Iterable[object] | None = None, enabled: bool = True) -> Iterator[None]:
    """Leave the default generator, after the block, as it was before. `devices` names GPUs, of which there are none."""
    if not enabled:
        yield
        return
    mark = default_generator._mark()
    try:
        yield
    finally:
        default_generator._return_to(mark)
