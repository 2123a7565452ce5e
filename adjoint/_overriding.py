"""`__torch_function__`: objects, and modes, that answer for operations themselves.

Nobody who does not use this pays for it:

- An op's generated function takes ordinary tensors in ordinary modes. Everything else reaches `ops/_general.py`, and there it is seen.
- Functions that are written in Python (`mean`, `nn.functional.relu`) have no such place. They are given code that looks for objects which
  answer themselves when the first of these appears: when a class is derived from Tensor, when a mode is entered, or when an op is handed
  such an object.
- A class derived from Tensor gets its own `shape`, `dim`, `backward`, ... which ask first; those of Tensor itself do so inside a mode only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from types import CodeType, FrameType, FunctionType
from typing import Any, Self

from ._compiled_members import withdraw
from ._fork import hold
from ._methods import OpMethods
from ._site import is_user
from ._state import FUNCTION_MODE, get_mode, swap_bits
from ._tensor import Parameter, Tensor, disabled_torch_function

# Where functions are looked for, once somebody has imported them. What comes first names a function.
NAMESPACES = (
    "adjoint", "adjoint.nn.functional", "adjoint.nn.init", "adjoint.linalg", "adjoint.fft", "adjoint.special", "adjoint.functional",
)  # fmt: skip

# Modules whose functions those only use.
HELPERS = ("adjoint._state", "adjoint._site", "adjoint._tensor", "adjoint._dtype", "adjoint.ops._", "adjoint.nn.parameter")

# Functions that have nothing to do with the values of tensors.
IGNORED = frozenset(
    {"are_deterministic_algorithms_enabled", "as_subclass", "broadcast_shapes", "calculate_gain", "can_cast", "clear_autocast_cache",
     "compile", "explain", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "get_default_device",
     "get_default_dtype", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "get_printoptions",
     "get_rng_state", "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cache_enabled",
     "is_autocast_cpu_enabled", "is_autocast_enabled", "is_deterministic_algorithms_warn_only_enabled", "is_grad_enabled",
     "is_inference_mode_enabled", "is_storage", "is_tensor", "is_warn_always_enabled", "load", "manual_seed", "printoptions",
     "promote_types", "result_type", "save", "seed", "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
     "set_default_device", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision", "set_flush_denormal",
     "set_grad_enabled", "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "typename",
     "use_deterministic_algorithms", "vmap", "_make_subclass", "_make_wrapper_subclass"}
)  # fmt: skip
# Functions that make plain tensors of any data: only modes see them.
MAKING = frozenset({"as_tensor", "asarray", "from_dlpack", "from_file", "from_numpy", "frombuffer", "scalar_tensor", "tensor", "to_dlpack"})
# What Tensor itself defines without asking anybody: identity, iteration (through `unbind`), and its own helpers.
OWN = frozenset({"__init__", "__iter__", "__hash__", "__torch_function__", "_hooks_of", "_leaf_hooks", "_only_element", "_real_element"})

ORDINARY = frozenset({Tensor, Parameter, int, float, bool, complex, str, type(None)})

_disabled: ContextVar[int] = ContextVar("adjoint_overrides_disabled", default=0)  # 1: of subclasses, 2: modes too
_modes: ContextVar[tuple[Any, ...]] = ContextVar("adjoint_function_modes", default=())


class DisableTorchFunctionSubclass:
    """Inside, objects of subclasses are treated as ordinary tensors."""

    _level = 1

    def __enter__(self) -> Self:
        self._token = _disabled.set(max(self._level, _disabled.get()))
        return self

    def __exit__(self, *_: object) -> None:
        _disabled.reset(self._token)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """The same, and modes see nothing."""

    _level = 2

    def __enter__(self) -> Self:
        super().__enter__()
        self._bit = swap_bits(FUNCTION_MODE, 0)
        return self

    def __exit__(self, *_: object) -> None:
        swap_bits(FUNCTION_MODE, self._bit)
        super().__exit__()


# ---- who answers --------------------------------------------------------------------------------------------------------------------


def answers(cls: type, own: bool) -> bool:
    """Whether objects of a class answer for operations themselves. Lazy parameters, which are `own` tensors, do so for ops only."""
    if cls in ORDINARY or (not own and issubclass(cls, Tensor) and cls.__module__.startswith(("adjoint.", "torch."))):
        return False
    found = getattr(cls, "__torch_function__", None)
    return found is not None and found is not disabled_torch_function


def answering(values: Iterable[Any], own: bool = False) -> list[Any]:
    """Those of some arguments, also inside lists and tuples, that answer themselves: one of each class, the most derived classes first."""
    if _disabled.get():
        return []
    found: list[Any] = []
    for value in values:
        cls = value.__class__
        if cls in ORDINARY:
            continue
        if answers(cls, own):
            add_in_order(found, value)
        elif isinstance(value, tuple | list):
            for item in value:
                if item.__class__ not in ORDINARY and answers(type(item), own):
                    add_in_order(found, item)
    return found


def add_in_order(found: list[Any], value: Any) -> None:
    cls = type(value)
    if all(type(other) is not cls for other in found):
        place = next((place for place, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(place, value)


class NotAnsweredError(TypeError):
    """All that were asked returned NotImplemented. A Python operator goes on to the other operand's."""


def ask(func: Callable[..., Any], found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], types: Any = None) -> Any:
    """The answer of the innermost mode, or of the first object that has one."""
    types = tuple(type(value) for value in found) if types is None else types
    if get_mode() & FUNCTION_MODE:
        with Popped() as mode:
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in found:
        result = value.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    from .overrides import resolve_name

    name = resolve_name(func) or str(getattr(func, "__name__", func))
    asked = "".join(f"\n\n  - tensor subclass {cls}" for cls in types)
    if name.startswith("torch.nn."):
        raise NotAnsweredError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")
    raise NotAnsweredError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:{asked}")


def default_torch_function(cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """What `Tensor.__torch_function__` does: the function on ordinary tensors, and its results as objects of the class."""
    if not all(issubclass(cls, of) for of in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in kept_as_they_are() else converted(result, cls)


def kept_as_they_are() -> tuple[Any, ...]:
    """What returns an object that is kept somewhere, and must stay that object."""
    return vars(Tensor)["_base"].__get__, vars(Tensor)["grad"].__get__


def converted(result: Any, cls: type[Tensor]) -> Any:
    """A result, or those in a list or tuple, as objects of a subclass of Tensor."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, tuple | list):
        items = [converted(item, cls) for item in result]
        return type(result)(items)
    return result


# ---- modes --------------------------------------------------------------------------------------------------------------------------


def push_mode(mode: Any) -> None:
    install()
    _watch_methods(1)
    _modes.set((*_modes.get(), mode))
    swap_bits(FUNCTION_MODE, FUNCTION_MODE)


def pop_mode() -> Any:
    *rest, mode = _modes.get()
    _modes.set(tuple(rest))
    if not rest:
        swap_bits(FUNCTION_MODE, 0)
    _watch_methods(-1)
    return mode


def modes() -> tuple[Any, ...]:
    return _modes.get()


class Popped:
    """The innermost mode, which is off while its own handler runs."""

    def __enter__(self) -> Any:
        *rest, mode = _modes.get()
        self._token = _modes.set(tuple(rest))
        self._bit = swap_bits(FUNCTION_MODE, FUNCTION_MODE if rest else 0)
        return mode

    def __exit__(self, *_: object) -> None:
        _modes.reset(self._token)
        swap_bits(FUNCTION_MODE, self._bit)


# ---- functions that ask -------------------------------------------------------------------------------------------------------------


class Asking:
    """What a function does instead of running: ask those among its arguments that answer themselves, and otherwise run."""

    __slots__ = ("func", "making", "run")

    def __init__(self, func: Any, run: Callable[..., Any], making: bool = False) -> None:
        self.func = func
        self.run = run
        self.making = making

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = [] if self.making else answering((*args, *kwargs.values()) if kwargs else args)
        if found or get_mode() & FUNCTION_MODE:
            if self.func.__name__ == "einsum" and len(args) == 2 and isinstance(args[1], tuple | list):
                args = args[0], *args[1]  # the older way to give the operands: those who answer are told of the newer one
            return ask(self.func, found, args, kwargs)
        return self.run(*args, **kwargs)


@cache
def template(free: tuple[str, ...]) -> CodeType:
    """Code of a function of any arguments, which calls what stands in the place of the constant 0.5. It has the free variables of the code
    that it takes the place of, and copies them when it starts: a debugger looks at them in every frame."""
    nonlocals = f"        nonlocal {', '.join(free)}\n" if free else ""
    source = f"def outer({', '.join(free)}):\n    def inner(*_args, **_kwargs):\n{nonlocals}        _asking = 0.5\n"
    namespace: dict[str, Any] = {}
    exec(compile(source + "        return _asking(_args, _kwargs)\n    return inner", __file__, "exec"), namespace)
    return namespace["outer"](*free).__code__  # type: ignore[no-any-return]


def asking_code(asking: Asking, like: CodeType) -> CodeType:
    """Code that calls `asking`, to be put into a function: whoever holds the function will ask from now on."""
    code = template(like.co_freevars)
    consts = tuple(asking if const == 0.5 else const for const in code.co_consts)
    return code.replace(co_consts=consts, co_name=like.co_name, co_qualname=like.co_qualname)


def copied(fn: FunctionType) -> FunctionType:
    twin = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    twin.__kwdefaults__ = fn.__kwdefaults__
    twin.__qualname__ = fn.__qualname__
    twin.__annotations__ = fn.__annotations__
    return twin


def generate_code(fn: FunctionType) -> None:
    """Give a function the code that it would get when it is first called."""
    if fn.__code__.co_name == "_stub":
        fn.__globals__["generate"]()


def make_asking(fn: FunctionType, func: Any = None, making: bool = False) -> None:
    """Give a function other code, for all that hold it."""
    generate_code(fn)
    run = copied(fn)
    _functions[fn.__code__] = fn
    if not hasattr(fn, "__wrapped__"):
        fn.__wrapped__ = run  # type: ignore[attr-defined]
    fn.__code__ = asking_code(Asking(fn if func is None else func, run, making), fn.__code__)


_functions: dict[CodeType, FunctionType] = {}  # by the code they had
_installed: set[str] = set()
_modules_seen = 0


def install() -> None:
    """Make the functions of all modules that are loaded ask."""
    global _modules_seen
    withdraw()
    if len(sys.modules) == _modules_seen:
        return
    _modules_seen = len(sys.modules)
    for name, exported in namespaces().items():
        module = sys.modules.get(name)
        if module is not None and name not in _installed:
            if module.__spec__ is not None and getattr(module.__spec__, "_initializing", False):
                _modules_seen = 0  # it imports another one right now, and has no functions yet
                continue
            _installed.add(name)
            for fn in dict.fromkeys(functions_of(module, exported)):
                make_asking(fn, making=fn.__name__ in MAKING)
    if "Tensor" not in _installed:
        _installed.add("Tensor")
        for name, member in list(vars(OpMethods).items()):
            if isinstance(member, FunctionType | property) and name not in IGNORED:
                for fn, func in accessors(member):
                    if asks_later(fn):
                        make_asking(fn, func_of_operator(name, func))


def func_of_operator(name: str, func: Any) -> Any:
    """What a `__torch_function__` is told was called: for an operator the method, if there is one that does the same."""
    if name in ("__matmul__", "__pow__"):
        return vars(OpMethods)[name.strip("_")]
    if isinstance(func, FunctionType) and func.__name__ != name and func.__name__.strip("_") == name.strip("_"):
        func.__name__ = func.__qualname__ = name  # `type_` is the method `type`, `getitem` is `__getitem__`
    return func


@cache
def namespaces() -> dict[str, tuple[str, ...] | None]:
    """The modules that have public functions, with the names of these where it is not all that the module has."""
    homes: dict[str, tuple[str, ...] | None] = dict.fromkeys(NAMESPACES)
    homes["adjoint.autograd.differentiate"] = "backward", "grad"
    for name, home in sys.modules["adjoint"]._NAMES.items():
        if f"adjoint.{home}" not in NAMESPACES:
            homes[f"adjoint.{home}"] = *(homes.get(f"adjoint.{home}") or ()), name
    return homes


def functions_of(module: Any, exported: Iterable[str] | None) -> Iterator[FunctionType]:
    """The public functions of a module that are written in Python."""
    for name in vars(module) if exported is None else exported:
        fn = getattr(module, name)
        public = not name.startswith("_") or name == "_assert"
        if isinstance(fn, FunctionType) and public and name not in IGNORED and asks_later(fn):
            if fn.__module__.startswith(("adjoint", "torch")) and not fn.__module__.startswith(HELPERS):
                yield fn


def asks_later(fn: FunctionType) -> bool:
    """Whether a function is neither an op, nor derived from one, which ask anyway, nor has been made to ask."""
    return not hasattr(fn, "asks") and fn.__code__.co_filename != __file__


# ---- ops ----------------------------------------------------------------------------------------------------------------------------


def ask_for_op(op: Any, func: Any, args: tuple[Any, ...], operands: Iterable[Any], out: Any = None) -> Any:
    """The answer for an op that was called with `args` in the order of its signature. Inside a Python function that did not yet ask, the
    answer is for that function, if what the op returns is what it returns."""
    found = answering([*operands, out], own=True)
    if not found and not get_mode() & FUNCTION_MODE:
        return NotImplemented
    if _installed:
        install()
    elif not all(isinstance(value, Tensor) for value in found):
        install()
        frame = outermost_frame()
        if frame is not None:
            func = _functions[frame.f_code]
            return ask(func, found, *call_of(func, frame))
    if func is op.function:  # `add` with a factor is written in Python, and has the name
        func = getattr(sys.modules["adjoint"], op.name, func)
    else:
        func = getattr(Tensor, f"{op.name}_", func)
    given = dict(zip(op.args, args, strict=True))
    defaults = op.default_values()
    cut = len(op.args) - len(op.keywords)
    positional = list(op.args[:cut])
    while positional and positional[-1] in defaults and given[positional[-1]] is defaults[positional[-1]]:
        positional.pop()
    keywords = {name: given[name] for name in op.keywords if given[name] is not defaults.get(name)}
    if out is not None:
        keywords["out"] = out
    return ask(func, found, tuple(given[name] for name in positional), keywords)


def outermost_frame() -> FrameType | None:
    """The running Python function of adjoint that the user called, if it does not ask yet. None if that is the op itself."""
    frame: FrameType | None = sys._getframe(4)  # that of the op
    own: list[FrameType] = []
    while frame is not None and not is_user(frame.f_code.co_filename):
        own.append(frame)
        frame = frame.f_back
    known = [place for place, frame in enumerate(own) if frame.f_code in _functions]
    if not known:
        return None
    if not all(map(returns_the_result, own[: known[-1] + 1])):
        raise TypeError(
            f"{own[known[-1]].f_code.co_name}(): an argument implements __torch_function__, which is first noticed inside this function"
            "\n  fix: import adjoint.overrides before the call"
        )
    return own[known[-1]]


def returns_the_result(frame: FrameType) -> bool:
    """Whether a frame returns what the call that is running in it returns."""
    import dis

    instructions = {i.offset: i for i in dis.get_instructions(frame.f_code)}
    following = instructions[min(offset for offset in instructions if offset > frame.f_lasti)]
    while following.opname == "JUMP_FORWARD":
        following = instructions[following.argval]
    return following.opname == "RETURN_VALUE"


def call_of(fn: FunctionType, frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a running function that differ from their defaults, as a call of it would give them."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(names), reversed(fn.__defaults__ or ()), strict=False)) | (fn.__kwdefaults__ or {})
    positional = list(names)
    while positional and positional[-1] in defaults and values[positional[-1]] is defaults[positional[-1]]:
        positional.pop()
    from .ops._generated import NUMPY_NAMES

    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    given = {name: values[name] for name in keywords if values[name] is not defaults.get(name) and name not in NUMPY_NAMES}
    return tuple(values[name] for name in positional), given


# ---- methods ------------------------------------------------------------------------------------------------------------------------


def own_members() -> Iterator[tuple[str, Any]]:
    """The methods and properties that Tensor itself defines."""
    for name, member in vars(Tensor).items():
        if name not in OWN and name not in IGNORED and isinstance(member, FunctionType | property):
            yield name, member


def derive(cls: type[Tensor]) -> None:
    """Give a class that is derived from Tensor methods and properties that ask."""
    install()
    made = _asking_members()
    for name, asking in made.items():
        inherited = next(vars(base)[name] for base in cls.__mro__ if name in vars(base) and vars(base)[name] is not asking)
        if inherited is vars(Tensor)[name]:
            if getattr(cls, name) is not asking:
                setattr(cls, name, asking)
        elif vars(cls).get(name) is None and getattr(cls, name) is asking:
            setattr(cls, name, inherited)  # of a base that stands before Tensor, but after another one that was derived from it


def _asking_members() -> dict[str, Any]:
    if not _members:
        for name, member in own_members():
            made: list[Any] = [_asking_function(fn, func) for fn, func in accessors(member)]
            if isinstance(member, property):
                getter, setter, deleter = [*made, None, None][:3]
                made = [property(getter, setter, deleter, member.__doc__)]
            _members[name] = made[0]
    return _members


_members: dict[str, Any] = {}


def _asking_function(fn: Any, func: Any) -> FunctionType:
    twin = copied(fn)
    twin.__wrapped__ = fn  # type: ignore[attr-defined]
    twin.__doc__ = fn.__doc__
    twin.__code__ = asking_code(Asking(func, fn), fn.__code__)
    return twin


def _watch_methods(change: int) -> None:
    """Make the methods and properties of Tensor itself ask, as long as there is a mode in any thread."""
    global _open_modes
    with _lock:
        _open_modes += change
        if not _open_modes:
            for fn, code in _codes.items():
                fn.__code__ = code
            _codes.clear()
        elif not _codes:
            for _, member in own_members():
                for fn, func in accessors(member):
                    if fn not in _codes:
                        run = copied(fn)
                        _codes[fn] = fn.__code__
                        fn.__code__ = asking_code(Asking(func, run), fn.__code__)


@contextmanager
def calls_as_written() -> Iterator[None]:
    """Inside, ops tell those that answer themselves of a call as it was written, and not with the arguments in the order of the signature,
    which is all that is known of them on the general path."""
    from .ops._registry import OPS

    changed: dict[FunctionType, tuple[CodeType, CodeType]] = {}
    for op in OPS.values():
        for fn in (op.function, getattr(op, "inplace_function", None)):
            if isinstance(fn, FunctionType) and fn.__code__.co_filename != __file__:
                code = fn.__code__
                fn.__code__ = asking_code(Asking(fn, copied(fn)), code)
                changed[fn] = code, fn.__code__
    try:
        yield
    finally:
        for fn, (code, asking) in changed.items():
            if fn.__code__ is asking:  # and not generated since
                fn.__code__ = code


def accessors(member: Any) -> list[tuple[Any, Any]]:
    """The functions behind a method or a property, each with what a `__torch_function__` is told was called."""
    if not isinstance(member, property):
        return [(member, member)]
    found = [(member.fget, member.__get__), (member.fset, member.__set__), (member.fdel, member.__delete__)]
    return [(fn, func) for fn, func in found if isinstance(fn, FunctionType)]


_lock = hold(Lock())
_open_modes = 0
_codes: dict[Any, CodeType] = {}  # what the methods have when there is no mode
