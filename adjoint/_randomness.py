"""Random numbers inside `vmap`, whose `randomness` says whether the examples share them.

    "error"        nothing may be drawn
    "same"         drawn once, for all examples
    "different"    drawn for a whole batch

Functions that draw ask `levels()` first, and come here if a transform is running. Numbers for a level are drawn one level further down,
where the same question is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import compose, spelled
from ._layer import Layer, Level, Pending, _levels, dressed_for, level_of, levels
from ._site import here
from ._tensor import Tensor


@contextmanager
def only(running: tuple[Level, ...]) -> Iterator[None]:
    """Draw as if only these levels were running."""
    token = _levels.set(running)
    try:
        yield
    finally:
        _levels.reset(token)


def innermost() -> tuple[Any, tuple[Level, ...]]:
    """The innermost `vmap` that is running (None if there is none), and the levels outside of it."""
    running = levels()
    for place in range(len(running) - 1, -1, -1):
        if running[place].hides_dimension:
            refuse(running[place])
            return running[place], running[:place]
    return None, ()


def refuse(level: Any) -> None:
    if level.randomness == "error":
        raise RuntimeError(
            compose(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
                "flags on vmap or perform the randomness operation out of vmap",
                {"here": here()},
                'vmap(f, randomness="different")',
            )
        )


def drawn(draw: Callable[[tuple[int, ...]], Tensor], shape: tuple[int, ...]) -> Tensor:
    """New numbers: `draw` makes them for any shape."""
    level, outside = innermost()
    with only(outside):
        if level is None or level.randomness == "same":
            made = draw(shape)
        else:
            made = level.batched(draw((level.size, *shape)))
    return inside(level, made)


def drawn_like(like: Tensor, draw_like: Callable[[Tensor], Tensor], draw: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
    """New numbers with the shape of a tensor. Those of a batch are drawn in the order in which the examples lie in memory."""
    level, outside = innermost()
    known = under(level, like)
    own: Any = level_of(known)
    if level is None or level.randomness == "same" or own is not level:
        return drawn(draw, tuple(like.shape))
    with only(outside):
        made = level.batched(draw_like(known._data.value))
    return inside(level, made)


def drawn_apart(draw: Callable[[], Tensor]) -> Tensor:
    """New numbers that cannot be drawn for a batch at once."""
    from .ops.join import stack

    level, outside = innermost()
    with only(outside):
        if level is None or level.randomness == "same":
            made = draw()
        else:
            made = level.batched(stack([draw() for _ in range(level.size)]))
    return inside(level, made)


def refuse_sharing(level: Any) -> None:
    """Refuse to draw the same numbers for examples that ask for different ones."""
    if level.randomness == "same":
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please use unbatched tensor, or "
            'randomness="different"'
        )


def drawn_from(draw: Callable[..., Tensor], *given: Any) -> Tensor:
    """Numbers of distributions that tensors and numbers describe, which broadcast."""
    from .ops._batching import behind_batch, expanded

    level, outside = innermost()
    tensors = [under(level, x) for x in given]
    batched = [level is not None and level_of(x) is level for x in tensors]
    if level is not None and any(batched):
        refuse_sharing(level)
    with only(outside):
        if level is None or level.randomness == "same":
            made = draw(*tensors)
        else:
            ndim = max(x.ndim for x in tensors if isinstance(x, Tensor)) + 1
            values = [
                behind_batch(x._data.value if mine else expanded(x, level.size), ndim) if isinstance(x, Tensor) else x
                for x, mine in zip(tensors, batched, strict=True)
            ]
            made = level.batched(draw(*values))
    return inside(level, made)


def inside(level: Any, made: Tensor) -> Tensor:
    """Numbers that were drawn for a `vmap` (or for none) in the levels inside of it too, so that results can be written over them."""
    return dressed_for([other for other in levels() if level is None or other.depth > level.depth], made)


def under(level: Any, x: Any) -> Any:
    """A tensor (or a number) without what levels inside of the given one know about it: numbers that are drawn have no derivatives."""
    while isinstance(x, Tensor) and isinstance(x._data, Layer) and (level is None or x._data.level.depth > level.depth):
        x = x._data.value
    return x


def refuse_unbatched(level: Any) -> None:
    if level.randomness == "different":
        raise RuntimeError(
            spelled(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness.\n"
                "  fix: draw new numbers, torch.rand_like(x), or fill a tensor that is made from a batched one, x.new_empty(...)"
            )
        )


def filled(target: Tensor, fill: Callable[[Any], None]) -> None:
    """Write random numbers into a tensor."""
    level, outside = innermost()
    target = under(level, target)
    if level is None:
        if target._data.__class__ is np.ndarray:
            fill(target._data)
        elif target._data.__class__ is Pending:
            drawn = np.empty(target._data.shape, target._data.array.dtype)
            fill(drawn)
            target._data[...] = drawn
        return
    mine = level_of(target) is level
    if not mine:
        refuse_unbatched(level)
    with only(outside):
        if level.randomness == "same" and mine:
            one = target._data.value.new_empty(target.shape)
            filled(one, fill)
            target._data.value.copy_(one)
        else:
            filled(target._data.value if mine else target, fill)


def filled_from(target: Tensor, given: Tensor, fill: Callable[[Tensor, Tensor], Any]) -> Tensor:
    """Write numbers of distributions that a tensor describes into another one, in the order of its memory."""
    from .ops._batching import behind_batch

    level, outside = innermost()
    inner, given = under(level, target), under(level, given)
    mine, theirs = (level is not None and level_of(x) is level for x in (inner, given))
    if theirs:
        refuse_sharing(level)
        if not mine:
            raise RuntimeError(
                "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
                "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap."
            )
    elif level is not None and not mine:
        refuse_unbatched(level)
    with only(outside):
        if theirs:
            given = behind_batch(given._data.value, inner.ndim + 1)
        if mine and level.randomness == "same":
            inner._data.value.copy_(fill(inner._data.value.new_empty(inner.shape), given))
        else:
            fill(inner._data.value if mine else inner, given)
    return target
