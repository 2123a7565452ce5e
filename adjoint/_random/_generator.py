"""The generator: seeds, words, state, and the uniform and normal numbers that all distributions are made from."""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, SupportsInt

import numpy as np

from .._device import CPU, device, resolve

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_SEED = 67280421310721

# The bytes of PyTorch's state are an old C struct, in which each 32-bit word of the engine takes eight bytes.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "normal_is_valid"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", 624), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)
# Constants as arrays, which NumPy takes up faster than numbers.
_LOW24, _LOW53, _HALF_WORD = np.array(2**24 - 1, np.uint32), np.array(2**53 - 1, np.uint64), np.array(32, np.uint64)
_UNIT24, _UNIT53 = np.array(2.0**-24, np.float32), np.array(2.0**-53)


Mark = tuple[Any, int, float | None]  # the engine's words, the seed, the normal that waits


class Generator:
    """A stream of random numbers: `Generator().manual_seed(0)`."""

    __slots__ = ("__weakref__", "_bits", "_lock", "_memory", "_next_normal", "_seed", "_seeder")

    _bits: np.random.MT19937
    _memory: npt.NDArray[np.uint32] | None  # where the engine keeps its 624 words and the place of the next, for kernels to draw from
    _seeder: np.random.RandomState
    _seed: int
    _next_normal: float | None  # normals are made in pairs; the second waits here

    def __init__(self, device: device | str | int | None = "cpu") -> None:
        kind = resolve(device).type
        if kind != "cpu":
            words = "Cannot get CUDA generator" if kind == "cuda" else f"{kind.upper()} device type not an accelerator"
            raise RuntimeError(f"{words}: adjoint draws on the CPU, write Generator() or Generator(device='cpu')")
        self._lock = threading.Lock()
        self._seed = DEFAULT_SEED
        self._next_normal = None

    if not TYPE_CHECKING:  # a type checker that saw this method would let every misspelt attribute pass

        def __getattr__(self, attribute: str) -> object:
            # The engine is made when first needed: numpy.random takes half as long to import as all of adjoint.
            if attribute == "_memory":
                self._memory = memory_of(self._bits)
                return self._memory
            if attribute not in ("_bits", "_seeder"):
                raise AttributeError(f"'torch.Generator' object has no attribute '{attribute}'")
            self._bits = np.random.MT19937(0)
            self._seeder = np.random.RandomState(self._bits)  # shares the words; PyTorch seeds them as its seed() does
            self._seeder.seed(self._seed % 2**32)
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
        with self._lock:
            self._reseed(value % 2**64)
        return self

    def seed(self) -> int:
        """Start an unpredictable stream and return its seed."""
        value = int.from_bytes(os.urandom(8), "little")
        with self._lock:
            self._reseed(value)
        return value

    def initial_seed(self) -> int:
        """The seed the stream started from."""
        return self._seed

    def get_state(self) -> npt.NDArray[np.uint8]:
        """The state as PyTorch's 5056 bytes: either library can go on from what the other returned."""
        with self._lock:
            engine = self._bits.state["state"]
            seed, normal = self._seed, self._next_normal
        key, position = engine["key"], engine["pos"]
        # The engine makes 624 words at a time. Just seeded, when its first word still is the seed, it has made none.
        made = position < 624 or key[0] != seed % 2**32
        state = np.zeros(1, _STATE)
        state["seed"], state["seeded"], state["words"] = seed, 1, key
        state["next"], state["left"] = position if made else 0, 625 - position
        if normal is not None:
            state["normal"], state["normal_is_valid"] = normal, 1
        return state.view(np.uint8)

    def set_state(self, new_state: object) -> Self:
        """Go on from a state that `get_state`, here or in PyTorch, returned."""
        if not isinstance(new_state, np.ndarray) or new_state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor: pass what get_state() returned")
        if new_state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state size to be "
                f"{new_state.size}: pass what get_state() returned"
            )
        state = np.ascontiguousarray(new_state).reshape(-1).view(_STATE)[0]
        if state["seeded"] != 1 or not 0 < state["left"] <= 624 or state["next"] > 624:
            raise RuntimeError("Invalid mt19937 state: pass what get_state() returned")
        key = state["words"].astype(np.uint32)
        position = 624 if state["left"] == 1 else int(state["next"])
        with self._lock:
            self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
            self._seed = int(state["seed"])
            self._next_normal = float(state["normal"]) if state["normal_is_valid"] else None
        return self

    def _mark(self) -> Mark:
        """Where the stream is now; `_return_to` comes back to it. Much cheaper than a state, for those who only want to come back."""
        with self._lock:
            return self._bits.state if self._memory is None else self._memory.copy(), self._seed, self._next_normal

    def _return_to(self, mark: Mark) -> None:
        with self._lock:
            words, self._seed, self._next_normal = mark
            if isinstance(words, np.ndarray):
                assert self._memory is not None
                self._memory[:] = words
            else:
                self._bits.state = words

    # Through this class, for a class derived from it may give and take states in another form.

    def __getstate__(self) -> bytes:
        return Generator.get_state(self).tobytes()

    def __setstate__(self, state: bytes) -> None:
        Generator.__init__(self)
        Generator.set_state(self, np.frombuffer(state, np.uint8))

    def _reseed(self, seed: int) -> None:
        self._seeder.seed(seed % 2**32)  # PyTorch, too, uses only the low half
        self._seed = seed
        self._next_normal = None

    # The raw material of the distributions. Whoever calls these holds the lock.

    def _words(self, count: int) -> npt.NDArray[np.uint64]:
        """The next 32-bit words. NumPy hands them out as 64-bit numbers."""
        words: npt.NDArray[np.uint64] = self._bits.random_raw(count)
        return words

    def _words64(self, count: int) -> npt.NDArray[np.uint64]:
        """64-bit words: two words each, the high one first."""
        words = self._words(2 * count)
        pairs = words[::2] << _HALF_WORD
        pairs |= words[1::2]
        return pairs

    def _low24(self, count: int) -> npt.NDArray[np.float32]:
        """Integers of 24 bits, one word each."""
        integers = np.empty(count, np.float32)
        if not self._draw24(integers, 1.0, 0.0, 2.0**24):
            words = self._words(count).astype(np.uint32)
            words &= _LOW24
            integers[...] = words.view(np.int32)  # signed numbers are converted to floats faster
        return integers

    def _draw24(self, array: npt.NDArray[np.float32], scale: float, low: float, high: float) -> bool | None:
        """Fill an array in C order with such integers, times `scale` and plus `low`, by a kernel; None where there is none."""
        size = array.size
        return kernels().uniform.run(array, self._memory, scale, low, high, size, 1, size)  # type: ignore[no-any-return]

    def _uniform24(self, count: int) -> npt.NDArray[np.float32]:
        """From [0, 1), one word each."""
        uniforms = self._low24(count)
        uniforms *= _UNIT24
        return uniforms

    def _uniform53(self, count: int) -> npt.NDArray[np.float64]:
        """From [0, 1), two words each."""
        fractions = np.empty(count)
        if kernels().fractions.run(fractions, self._memory, 0, 2.0**-53, count, 1, count):
            return fractions
        bits = self._words64(count)
        bits &= _LOW53
        uniforms = bits.view(np.int64).astype(np.float64)
        uniforms *= _UNIT53
        return uniforms

    def _normal(self, count: int) -> npt.NDArray[np.float64]:
        """The Box-Muller transform in float64, two normals at a time, the second of which may be left for later."""
        waiting = [] if self._next_normal is None else [self._next_normal]
        uniforms = self._uniform53((count - len(waiting) + 1) // 2 * 2)
        if count < 16:  # the usual case, in which plain numbers are faster
            numbers = uniforms.tolist()
            for turn, u in zip(numbers[::2], numbers[1::2], strict=True):
                radius, angle = math.sqrt(-2 * math.log1p(-u)), 2 * math.pi * turn
                waiting += radius * math.cos(angle), radius * math.sin(angle)
            normals = np.array(waiting)
        else:
            radii, angles = np.sqrt(-2 * np.log1p(-uniforms[1::2])), 2 * np.pi * uniforms[::2]
            normals = np.append(waiting, np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1))
        self._next_normal = float(normals[-1]) if normals.size > count else None
        return normals[:count]


@cache
def kernels() -> Any:
    """The module of kernels, imported when the first number is drawn."""
    from .._kernels import random_loops

    return random_loops


def memory_of(bits: np.random.MT19937) -> npt.NDArray[np.uint32] | None:
    """The words in which NumPy's engine keeps its state; None if they are not where they used to be."""
    import ctypes

    memory = np.frombuffer(memoryview((ctypes.c_uint32 * 625).from_address(bits.ctypes.state_address)), np.uint32)
    state = bits.state["state"]
    return memory if memory[624] == state["pos"] and np.array_equal(memory[:624], state["key"]) else None


default_generator = Generator()


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
