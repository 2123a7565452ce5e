"""Random tensors. The numbers are PyTorch's: the same seed gives the same tensors (`_random`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn, Self

import numpy as np

from . import _random
from ._creation import (
    Array,
    Device,
    check_options,
    finish,
    into,
    make_array,
    meta_like,
    out_dtype,
    size_arguments,
    size_of,
    usual,
)  # fmt: skip
from ._device import CPU, _defaults, require_usable, resolve
from ._dtype import as_numpy_dtype, default_numpy
from ._layer import deepest, levels
from ._layout import empty_in_format, empty_like_array, layout, memory_format, preserve_format, strided
from ._random._generator import draws
from ._site import here
from ._state import INFERENCE, get_mode, recording
from ._tensor import Tensor, wrap
from .autograd.forward_ad import without_slope
from .autograd.node import Node, new_node
from .autograd.views import edge_of
from .ops._forward import check_shapes
from .ops._general import plain_array
from .ops._generated import pass_options
from .ops._registry import composite
from .ops._rules import holds, zeros_on

# ---- generators ---------------------------------------------------------------------------------------------------


class Generator(_random.Generator):
    """A stream of random numbers: `Generator().manual_seed(0)`."""

    __slots__ = ()

    def get_state(self) -> Tensor:  # type: ignore[override]
        """The state, as a tensor of bytes from which PyTorch's own generators can go on too."""
        return wrap(super().get_state())

    def set_state(self, new_state: Tensor) -> Self:  # type: ignore[override]
        """Go on from a state that `get_state` returned."""
        super().set_state(getattr(new_state, "_data", new_state))
        return self

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _published() -> Generator:
    """There is one default stream; here it gets its public class."""
    generator = _random.default_generator
    generator.__class__ = Generator
    assert isinstance(generator, Generator)
    return generator


default_generator = _published()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator and return it."""
    default_generator.manual_seed(int(seed))
    return default_generator


def seed() -> int:
    """Seed the default generator unpredictably and return the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[object] | None = None, enabled: bool = True, device_type: str = "cuda", **_names: str
) -> Iterator[None]:
    """Leave the default generator, after the block, as it was before. Only the CPU has one; `devices` is not looked at."""
    with _random.fork_rng(devices, enabled):
        yield


FLOAT32, FLOAT64, INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
Draw = Callable[..., None]  # draw(array, *numbers, generator) fills an array

# ---- new tensors --------------------------------------------------------------------------------------------------


def source_of(options: dict[str, Any]) -> Generator | None:
    """The generator to draw from, if only it and a dtype are given, and no mode, transform or default device has a say; else None."""
    if get_mode() >= INFERENCE or levels() or _defaults.get()[-1] is not CPU:
        return None
    if options:
        return options.get("generator") or default_generator if options.keys() <= {"generator", "dtype"} else None
    return default_generator


def _new_uniforms(sizes: tuple[Any, ...], dtype: Any, source: Generator) -> Any:
    """An array of numbers from [0, 1), if a kernel can make it at once."""
    if dtype is FLOAT32:
        return draws.uniform.new(sizes, dtype, source._words, 0.0, 1.0)
    return draws.fractions.new(sizes, dtype, source._words, 0, 0.0, 1.0, 1.0) if dtype is FLOAT64 else None


def _new_integers(sizes: tuple[Any, ...], dtype: Any, source: Generator, low: Any, high: Any) -> Any:
    """The same of integers."""
    if not _random.few_integers(low, high, dtype):
        return None
    return draws.integers.new(sizes, dtype, source._words, low, high - low)


def _new_normals(sizes: tuple[Any, ...], dtype: Any, source: Generator, mean: float = 0.0, std: float = 1.0) -> Any:
    """The same of normal numbers."""
    kernel = draws.normals if dtype is FLOAT32 else draws.wide_normals
    return kernel.new(sizes, dtype, source._words, source._waiting, mean, std)


def inside_transform(out: Any) -> bool:
    """Whether numbers are drawn for transforms. An example of `vmap` has no memory of its own to draw into."""
    if out is not None and any(level.hides_dimension for level in levels()):
        raise RuntimeError("vmap: We do not support calling out variants of random operations. Please use non-out variants")
    return out is None and bool(levels())


def _sampled(
    name: str, draw: Draw, numbers: tuple[Any, ...], args: tuple[Any, ...], *, size: Any = None, generator: Generator | None = None,
    out: Tensor | None = None, dtype: Any = None, layout: layout = strided, device: Device = None, pin_memory: bool = False,
    requires_grad: bool = False, **unknown: Any,
) -> Tensor:
    """A tensor filled by `draw(array, *numbers, generator)`, of a size that is given as in `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(unknown))}'")
    shape = size_of(name, args) if args and size is None else size_arguments(name, args, size)
    if usual(out, layout, device, pin_memory):
        array = np.empty(shape, default_numpy() if dtype is None else as_numpy_dtype(dtype))
        draw(array, *numbers, generator)
        return finish(array, True) if requires_grad else wrap(array)
    options: dict[str, Any] = dict(dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, requires_grad=requires_grad)
    if inside_transform(out):
        from ._randomness import drawn

        return drawn(lambda size: _sampled(name, draw, numbers, (), size=size, generator=generator, **options), shape)
    check_options(layout, pin_memory)
    if out is not None:
        numpy_dtype = out_dtype(out, dtype)
    else:
        numpy_dtype = default_numpy() if dtype is None else as_numpy_dtype(dtype)

    def make() -> Array:
        array = np.empty(shape, numpy_dtype)
        draw(array, *numbers, generator)
        return array

    if out is not None:
        return into(out, make())
    return finish(make_array(make, shape, numpy_dtype, device), requires_grad)


# The keywords of these functions are `generator`, `out`, and those of all functions that make tensors. With no other than the first, the
# numbers are drawn into the new array by one call of a kernel.


def rand(*args: Any, **options: Any) -> Tensor:
    """Uniform numbers from [0, 1): `rand(2, 3)` or `rand((2, 3))`."""
    if (source := source_of(options)) is not None:
        array = _new_uniforms(args, as_numpy_dtype(options.get("dtype")) if options else default_numpy(), source)
        if array is not None:
            return wrap(array)
    return _sampled("rand", _random.uniform, (0.0, 1.0), args, **options)


def randn(*args: Any, **options: Any) -> Tensor:
    """Normal numbers with mean 0 and variance 1: `randn(2, 3)` or `randn((2, 3))`."""
    if (source := source_of(options)) is not None:
        array = _new_normals(args, as_numpy_dtype(options.get("dtype")) if options else default_numpy(), source)
        if array is not None:
            return wrap(array)
    return _sampled("randn", _random.normal, (0.0, 1.0), args, **options)


def randint(*args: Any, low: int = 0, high: int | None = None, size: Any = None, **options: Any) -> Tensor:
    """Integers from [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    given = args
    if given and size is None and isinstance(given[-1], (tuple, list)):
        given, size = args[:-1], args[-1]
    if len(given) == 2:
        low, high = given
    elif len(given) == 1 and high is None:
        high = given[0]
    elif len(given) == 1:
        low = given[0]
    if high is None or len(given) > 2:
        raise TypeError("randint() received an invalid combination of arguments; write randint(low, high, size)")
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' (position {len(given) + 1}) must be tuple of ints, not {type(size).__name__}"
        )
    if (source := source_of(options)) is not None:
        array = _new_integers((size,), as_numpy_dtype(options["dtype"]) if options.get("dtype") else INT64, source, low, high)
        if array is not None:
            return wrap(array)
    if options.get("dtype") is None and options.get("out") is None:
        options["dtype"] = INT64
    return _sampled("randint", _random.random, (low, high), (size,), **options)


def randperm(n: int, **options: Any) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    if (source := source_of(options)) is not None:
        array = None if options.get("dtype") else draws.permutation.new((n,), INT64, source._words)
        if array is not None:
            return wrap(array)
    return _permuted(n, **options)


def _permuted(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, layout: layout = strided,
    device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    if inside_transform(out):
        from ._randomness import drawn_apart

        return drawn_apart(lambda: randperm(n, generator=generator, dtype=dtype, device=device, requires_grad=requires_grad))
    check_options(layout, pin_memory)
    if out is not None:
        return into(out, _random.randperm(n, out_dtype(out, dtype), generator))
    numpy_dtype = INT64 if dtype is None else as_numpy_dtype(dtype)
    array = make_array(lambda: _random.randperm(n, numpy_dtype, generator), (n,), numpy_dtype, device)
    return finish(array, requires_grad)


def _new_like(new: Callable[..., Any], input: Tensor, options: dict[str, Any], *numbers: Any) -> Any:
    """An array with the size of a tensor, of its dtype or the one that is asked for, made by `new(sizes, dtype, source, *numbers)`; None if
    that cannot be all."""
    data, source = getattr(input, "_data", None), source_of(options)
    if source is None or data.__class__ is not np.ndarray or not data.flags.c_contiguous:
        return None
    return new((data.shape,), as_numpy_dtype(options["dtype"]) if options.get("dtype") else data.dtype, source, *numbers)


def _sampled_like(
    name: str, draw: Draw, numbers: tuple[Any, ...], input: Tensor, *, generator: Generator | None = None, dtype: Any = None,
    layout: layout = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: memory_format = preserve_format, **unknown: Any,
) -> Tensor:
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(unknown))}'")
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    data = input._data
    options: dict[str, Any] = dict(generator=generator, layout=layout, pin_memory=pin_memory, requires_grad=requires_grad)
    if data.__class__ is np.ndarray and memory_format is preserve_format and data.flags.c_contiguous and not levels():
        options |= dict(dtype=data.dtype if dtype is None else dtype, device=CPU if device is None else device)
        return _sampled(name, draw, numbers, (data.shape,), **options)
    check_options(layout, pin_memory)
    if levels():
        from ._randomness import drawn_like

        options |= dict(dtype=input.dtype if dtype is None else dtype, device=input.device if device is None else device)
        return drawn_like(
            input,
            lambda like: _sampled_like(name, draw, numbers, like, memory_format=memory_format, **options),
            lambda size: _sampled(name, draw, numbers, (), size=size, **options),
        )
    numpy_dtype = data.dtype if dtype is None else as_numpy_dtype(dtype)

    def make() -> Array:
        if memory_format is preserve_format:
            array = empty_like_array(data, numpy_dtype)
        else:
            array = empty_in_format(data.shape, numpy_dtype, memory_format)
        draw(array, *numbers, generator)
        return array

    where = input.device if device is None else require_usable(resolve(device))
    return finish(make_array(make, data.shape, numpy_dtype, where, lambda: meta_like(data, numpy_dtype, memory_format)), requires_grad)


def ones_and_zeros(probability: float, like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Ones with a probability, and zeros, of the dtype and on the device of a tensor."""
    return _sampled("bernoulli", _random.bernoulli, (probability,), (shape,), dtype=like.dtype, device=like.device)


def rand_like(input: Tensor, **options: Any) -> Tensor:
    """Uniform numbers from [0, 1), with the size, dtype and device of `input`."""
    array = _new_like(_new_uniforms, input, options)
    return _sampled_like("rand_like", _random.uniform, (0.0, 1.0), input, **options) if array is None else wrap(array)


def randn_like(input: Tensor, **options: Any) -> Tensor:
    """Normal numbers with mean 0 and variance 1, with the size, dtype and device of `input`."""
    array = _new_like(_new_normals, input, options)
    return _sampled_like("randn_like", _random.normal, (0.0, 1.0), input, **options) if array is None else wrap(array)


def randint_like(input: Tensor, *args: Any, low: int = 0, high: int | None = None, **options: Any) -> Tensor:
    """Integers from [low, high), with the size, dtype and device of `input`: `randint_like(x, high)` or `(x, low, high)`."""
    if len(args) == 2:
        low, high = args
    elif len(args) == 1:
        low, high = (args[0], high) if high is not None else (low, args[0])
    if high is None:
        raise TypeError("randint_like() received an invalid combination of arguments; write randint_like(x, low, high)")
    array = _new_like(_new_integers, input, options, low, high)
    return _sampled_like("randint_like", _random.random, (low, high), input, **options) if array is None else wrap(array)


pass_options(_sampled, rand, randn, randint)
pass_options(_sampled_like, rand_like, randn_like, randint_like)
pass_options(_permuted, randperm)

# ---- functions of tensors -----------------------------------------------------------------------------------------


class SampleNode(Node):
    """A sample does not depend on its parameters as far as derivatives go: their gradients are zero."""

    __slots__ = ()

    def apply(self, g: Any) -> tuple[Any, ...]:
        return tuple(zeros_on(g, shape, dtype) for shape, dtype in self.saved)

    apply_recorded = apply


def sample_node(name: str, tensors: Sequence[Any]) -> Node | None:
    """A node for those of the tensors that require grad."""
    if not recording():
        return None
    edges = [edge_of(x) if isinstance(x, Tensor) else None for x in tensors]
    slots = tuple(slot for slot, edge in enumerate(edges) if edge is not None)
    if not slots:
        return None
    facts = tuple((tensors[slot]._data.shape, tensors[slot]._data.dtype) for slot in slots)
    return new_node(_node_class(name, slots, len(edges)), tuple(edges[slot] for slot in slots), facts, here())


@cache
def _node_class(name: str, slots: tuple[int, ...], inputs: int) -> type[SampleNode]:
    return type(name, (SampleNode,), {"__slots__": (), "input_slots": slots, "input_count": inputs, "keeps_tensors": False})


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
    dtype: Any = None, layout: layout = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """Normal numbers. `mean` and `std` are tensors, of which each element is drawn by itself, or numbers with a `size`."""
    if generator is None and out is None and size is None and (array := _normals_of(mean, std)) is not None:
        return wrap(array)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments; two numbers need a size: normal(0., 1., (3,))")
        numbers = (float(mean), float(std))
        if size.__class__ is tuple and out is None and dtype is None and device is None and layout is strided and not requires_grad:
            source = source_of({"generator": generator})
            if source is not None and numbers[1] >= 0:
                array = _new_normals((size,), default_numpy(), source, *numbers)
                if array is not None:
                    return wrap(array)
        return _sampled(
            "normal", _random.normal, numbers, (size,), generator=generator, out=out, dtype=dtype, layout=layout, device=device,
            pin_memory=pin_memory, requires_grad=requires_grad,
        )  # fmt: skip
    if isinstance(std, Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std._data.min() < 0 if std._data.__class__ is np.ndarray and std._data.size else holds((std < 0).any()):
            _refuse_deviation()
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if inside_transform(out):
        from ._randomness import drawn_from

        return drawn_from(lambda mean, std: normal(mean, std, generator=generator), mean, std)
    # As in PyTorch: standard normals first, then scaled and moved.
    parts = [x._data if isinstance(x, Tensor) else x for x in (mean, std)]
    like = parts[0] if isinstance(mean, Tensor) else parts[1]
    shapes = [part.shape for part in parts if part.__class__ is np.ndarray]
    shape = shapes[0] if shapes[0] == shapes[-1] else check_shapes([part for part in parts if part.__class__ is np.ndarray])
    array = np.empty(shape, like.dtype)
    _random.normal(array, 0.0, 1.0, generator)
    array *= parts[1]
    array += parts[0]
    if out is not None:
        return into(out, array)
    tensor = finish(array)
    if recording() and not (parts[0] is plain_array(mean) and (std.__class__ is float or parts[1] is plain_array(std))):
        kind = 1 if not isinstance(std, Tensor) else 3 if isinstance(mean, Tensor) else 2
        tensor._fn = sample_node(f"NormalBackward{kind}", (mean, std))
    return without_slope(tensor, (mean, std))


def _unrecorded(tensor: Any) -> Any:
    """The array of an ordinary tensor of which nothing is recorded, outside of transforms; None of others."""
    return None if levels() else plain_array(tensor)


def _normals_of(mean: Any, std: Any) -> Any:
    """Normals of two tensors of float32 that have the same shape, of which nothing is recorded; None if they are others."""
    means, deviations = _unrecorded(mean), _unrecorded(std)
    if means is None or deviations is None or means.shape != deviations.shape:
        return None
    strange, source = np.zeros(1, np.int64), default_generator
    array = draws.normals_of.new((means.shape,), means.dtype, source._words, source._waiting, means, deviations, strange)
    if strange[0]:
        _refuse_deviation()
    return array


def _refuse_deviation() -> NoReturn:
    raise RuntimeError("normal expects all elements of std >= 0.0")


@composite()
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Ones and zeros; each element of `input` is the probability of a one, unless `p` gives one for all."""
    if p is None and out is None and (data := _unrecorded(input)) is not None:
        strange = np.zeros(1, np.int64)
        array = draws.chances.new((data.shape,), data.dtype, (generator or default_generator)._words, data, strange)
        if array is not None and not strange[0]:
            return wrap(array)
    if inside_transform(out):
        from ._randomness import drawn_from

        return drawn_from(lambda input: bernoulli(input, p, generator=generator), input)
    data = deepest(input)
    array = np.empty(data.shape, data.dtype if out is None else out._data.dtype)  # filled row by row, however the probabilities lie
    _random.bernoulli(array, data if p is None else p, generator)
    if out is not None:
        return into(out, array)
    tensor = finish(array)
    tensor._fn = sample_node("BernoulliBackward0", (input,))
    return without_slope(tensor, (input,))


@composite()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Indices drawn from each row of `input`, whose elements are the probabilities, up to a factor."""
    if out is not None and out._data.dtype != np.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}\n  fix: out=out.long()")
    if inside_transform(out):
        from ._randomness import drawn_from

        return drawn_from(lambda rows: _indices_of_rows(rows, num_samples, replacement, generator), input)
    array = _random.multinomial(deepest(input), num_samples, replacement, generator)
    return finish(array) if out is None else into(out, array)


def _indices_of_rows(input: Tensor, num_samples: int, replacement: bool, generator: Generator | None) -> Tensor:
    """The same for rows in more than one dimension: those of a batch of examples."""
    lead, size = input.shape[:-1], input.shape[-1]
    rows = input.reshape(math.prod(lead), size) if len(lead) > 1 else input
    return multinomial(rows, num_samples, replacement, generator=generator).reshape(*lead, num_samples)  # type: ignore[no-any-return]


@composite(method=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson distributed numbers; each element of `input` is a rate."""
    if (data := _unrecorded(input)) is not None:
        strange = np.zeros(1, np.int64)
        array = draws.poissons.new((data.shape,), data.dtype, (generator or default_generator)._words, data, strange)
        if array is not None and not strange[0]:
            return wrap(array)
    if levels():
        from ._randomness import drawn_from

        return drawn_from(lambda input: poisson(input, generator), input)
    array = make_array(lambda: _random.poisson(deepest(input), generator), input._data.shape, input._data.dtype, input.device)
    tensor = finish(array)
    tensor._fn = sample_node("PoissonBackward0", (input,))
    return without_slope(tensor, (input,))


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of successes in `count` trials, each of which succeeds with probability `prob`."""
    counts, chances = _unrecorded(count), _unrecorded(prob)
    if counts is not None and chances is not None and counts.shape == chances.shape:
        counts, chances = np.ascontiguousarray(counts), np.ascontiguousarray(chances)
        array = draws.binomials.new((count.shape,), counts.dtype, (generator or default_generator)._words, counts, chances)
        if array is not None:
            return wrap(array)
    for name, x in (("count", count), ("prob", prob)):
        if not x.is_floating_point():
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {x.dtype.scalar_name}; write {name}.float()")
    if count.dtype != prob.dtype:
        found, expected = prob.dtype.scalar_name, count.dtype.scalar_name
        raise RuntimeError(f"Found dtype {found} but expected {expected}: count and prob must have the same dtype")
    if levels():
        from ._randomness import drawn_from

        return drawn_from(lambda count, prob: binomial(count, prob, generator), count, prob)
    shape = np.broadcast_shapes(count.shape, prob.shape)
    counts, chances = np.broadcast_to(count._data, shape), np.broadcast_to(prob._data, shape)
    tensor = finish(make_array(lambda: _random.binomial(counts, chances, generator), shape, counts.dtype, count.device))
    tensor._fn = sample_node("BinomialBackward0", (count, prob))
    return without_slope(tensor, (count, prob))
