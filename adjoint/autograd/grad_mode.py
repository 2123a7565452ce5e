"""`no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode`: context managers that are decorators too.

They set bits of the calling thread's mode (`_state.py`) and put them back on the way out, whatever happens in between.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Generator
from contextvars import ContextVar
from types import CodeType
from typing import Any, Self, TypeVar, overload

from .. import _events
from .._site import OWN_FILES, USER_FILES, is_user
from .._state import GRAD, INFERENCE, get_mode, grad_enabled, set_mode, swap_bits
from .node import UNRECORDED, Cut

F = TypeVar("F", bound=Callable[..., Any])


def turned_off(code: CodeType, offset: int) -> None:
    """Recording is off from here on. Errors about what is not recorded name the line, if it is the user's."""
    if _events.UNRECORDED:
        _events.UNRECORDED.tell()
    last = UNRECORDED.last
    if last.code is code and last.offset == offset:  # the same block as before, as in a loop
        UNRECORDED.cut = last
    elif code.co_filename in USER_FILES or (code.co_filename not in OWN_FILES and is_user(code.co_filename)):
        UNRECORDED.cut = UNRECORDED.last = Cut("no_grad", "no_grad()", code, offset)


def around(context: Callable[[Any], Any], fn: Any) -> Any:
    """`fn`, during each call of which what `context(fn)` makes is entered."""
    if inspect.isclass(fn):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. "
            "To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
    if inspect.isgeneratorfunction(fn):
        return _around_generator(context, fn)
    if inspect.iscoroutinefunction(fn):

        @functools.wraps(fn)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            with context(fn):
                return await fn(*args, **kwargs)

        return waiting

    @functools.wraps(fn)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with context(fn):
            return fn(*args, **kwargs)

    return inside


def _around_generator(context: Callable[[Any], Any], fn: Any) -> Any:
    """The context holds while the generator's own code runs, not while it is suspended."""

    @functools.wraps(fn)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = fn(*args, **kwargs)
        resume: Callable[[], Any] = lambda: next(generator)  # noqa: E731
        while True:
            try:
                with context(fn):
                    value = resume()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield value
            except GeneratorExit:
                with context(fn):
                    generator.close()
                raise
            except BaseException as error:
                resume = functools.partial(generator.throw, error)
            else:
                resume = functools.partial(generator.send, sent)

    return generate


class DecoratorContextManager:
    """A context manager that, as a decorator, is entered around each call of the function. Others derive theirs from it too."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: object) -> Any:
        raise NotImplementedError

    def clone(self) -> Self:
        """A fresh object of the same kind; a class whose objects take arguments defines its own."""
        return self.__class__()

    def _during(self, function: Any) -> Self:
        """A fresh object, to be entered while `function` runs."""
        return self.clone()

    def __call__(self, fn: F) -> F:
        return around(self._during, fn)  # type: ignore[no-any-return]


class _Mode(DecoratorContextManager):
    """Sets the bits under `mask` for a block, or for the body of a decorated function."""

    _decorated: CodeType | None = None  # the function during which it holds
    _mask: int = GRAD
    _bits: int

    def __init__(self, mask: int, bits: int) -> None:
        self._mask = mask
        self._bits = bits
        self._before: list[tuple[int, Cut]] = []  # a stack, so that one object can be entered again inside itself

    def __enter__(self) -> None:
        mask = self._mask
        mode = get_mode()
        set_mode(mode & ~mask | self._bits)
        self._before.append((mode & mask, UNRECORDED.cut))
        if not self._bits & GRAD:
            if self._decorated is None:
                frame = sys._getframe(1)
                turned_off(frame.f_code, frame.f_lasti)
            else:
                turned_off(self._decorated, -1)

    def __exit__(self, *_: object) -> None:
        bits, UNRECORDED.cut = self._before.pop()
        set_mode(get_mode() & ~self._mask | bits)

    def clone(self) -> Self:
        return self._during(None)

    def _during(self, function: Any) -> Self:
        again = self.__class__.__new__(self.__class__)
        _Mode.__init__(again, self._mask, self._bits)
        again._decorated = getattr(function, "__code__", None)
        return again


class no_grad(_Mode):
    """Nothing is recorded inside: results do not require grad.

    >>> import adjoint as ad
    >>> x = ad.ones(2, requires_grad=True)
    >>> with ad.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _bits = 0

    @overload
    def __new__(cls, fn: None = None) -> Self: ...
    @overload
    def __new__(cls, fn: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, fn: Any = None) -> Any:
        return object.__new__(cls) if fn is None else cls()(fn)

    def __init__(self) -> None:
        self._before = []


class enable_grad(_Mode):
    """Recording is on inside, also within a `no_grad` block."""

    _bits = GRAD

    @overload
    def __new__(cls, fn: None = None) -> Self: ...
    @overload
    def __new__(cls, fn: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, fn: Any = None) -> Any:
        return object.__new__(cls) if fn is None else cls()(fn)

    def __init__(self) -> None:
        self._before = []


class set_grad_enabled(_Mode):
    """Turns recording on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool) -> None:
        if mode.__class__ is not bool:
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        before = get_mode()
        self._bits = bits = GRAD if mode else 0
        self._first, self._outside = before & GRAD, UNRECORDED.cut
        self._before = []
        set_mode(before & ~GRAD | bits)
        if not mode:
            frame = sys._getframe(1)
            turned_off(frame.f_code, frame.f_lasti)

    def __enter__(self) -> None:
        set_mode(get_mode() & ~GRAD | self._bits)
        self._before.append((self._first, self._outside))
        if not self._bits and self._decorated is not None:
            turned_off(self._decorated, -1)

    def _during(self, function: Any) -> Self:
        again = super()._during(function)
        again._first, again._outside = GRAD if grad_enabled() else 0, UNRECORDED.cut
        return again

    def __call__(self, fn: F) -> F:
        swap_bits(GRAD, self._first)  # as a decorator it acts inside the function only
        return super().__call__(fn)


class inference_mode(_Mode):
    """Like `no_grad`, and the results can never enter a recorded computation, which saves their version counters."""

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__(GRAD | INFERENCE, INFERENCE if mode else GRAD)


def is_grad_enabled() -> bool:
    return get_mode() & GRAD != 0


def is_inference_mode_enabled() -> bool:
    return get_mode() & INFERENCE != 0


_multithreading: ContextVar[bool] = ContextVar("adjoint_multithreading", default=True)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last told."""
    return _multithreading.get()


class set_multithreading_enabled:
    """Accepted for PyTorch's sake: a backward pass runs in the thread that calls it, with `mode` True or False."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = _multithreading.get()
        _multithreading.set(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _multithreading.set(self._before)

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)
