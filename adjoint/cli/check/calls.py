"""What a call of something of ours comes to: whether the arguments are accepted, and what it gives."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from ..._dtype import dtype

DEVICES = ("cuda", "mps", "xpu", "hpu", "mtia", "xla", "npu", "ipu", "vulkan", "hip")
NO_DEVICE = "adjoint computes on the CPU: use device='cpu', or leave device out"
# Questions that have one answer here, whatever a program does.
_SETTLED = re.compile(r"(is_(\w+_)?(available|built|scripting|tracing|compiling|exporting|supported|in_onnx_export)|device_count)$")


class Trouble(NamedTuple):
    kind: str  # "refused" or "unknown"
    what: str
    error: type[Exception]


def is_other_device(value: Any) -> bool:
    """Whether a constant names a device that is not there."""
    return isinstance(value, str) and value.partition(":")[0] in DEVICES


def refused_dtype(value: Any) -> str | None:
    """Why there are no tensors of a dtype."""
    if isinstance(value, dtype):
        try:
            value.numpy  # noqa: B018  # found when it is asked for
        except (NotImplementedError, RuntimeError) as error:
            return str(error)
    return None


def troubles(name: str, function: Any, call: ast.Call, constants: Mapping[str, Any]) -> Iterator[Trouble]:
    """What stands in the way of a call: `constants` are the values of arguments as far as they are known, by position or keyword."""
    signature = _signature(function)
    if signature is not None:
        yield from _not_accepted(name, signature, call)
    for reason in _refusals(function):
        yield Trouble("unknown", f"{name} is refused in some cases: {reason}", NotImplementedError)
    for value in constants.values():
        if why := refused_dtype(value):
            yield Trouble("refused", f"{name} is refused: {why}", NotImplementedError)
    for keyword in ("device", "map_location"):
        if is_other_device(value := constants.get(keyword)):
            yield Trouble("refused", f"{name}({keyword}={value!r}) is refused: {NO_DEVICE}", AssertionError)
    if name.endswith(".set_default_device") and is_other_device(value := constants.get("0")):
        yield Trouble("refused", f"{name}({value!r}) is refused: {NO_DEVICE}", AssertionError)
    if name.endswith(".init_process_group") and "nccl" in (constants.get("0"), constants.get("backend")):
        yield Trouble("refused", f"{name}('nccl') is refused: adjoint runs on the CPU; write backend='gloo'", RuntimeError)


@cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _not_accepted(name: str, signature: inspect.Signature, call: ast.Call) -> Iterator[Trouble]:
    parameters = signature.parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        named = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}  # also `dims` of `flip(x, *dims)`
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in named:
                yield Trouble("refused", f"{name} takes no argument '{keyword.arg}' here", TypeError)
    if inspect.Parameter.VAR_POSITIONAL not in kinds and not any(isinstance(argument, ast.Starred) for argument in call.args):
        most = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        if len(call.args) > most:
            yield Trouble("refused", f"{name} takes at most {most} arguments by position here, not {len(call.args)}", TypeError)


@cache
def _refusals(function: Any) -> tuple[str, ...]:
    """What a function says that refuses something on a condition: NotImplementedErrors that speak of adjoint, where PyTorch's do not."""
    function = inspect.unwrap(function.__init__ if inspect.isclass(function) else function)
    trees = [_tree(function)]
    for node in ast.walk(trees[0]):  # functions of the same module that it calls
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = getattr(function, "__globals__", {}).get(node.func.id)
            if inspect.isfunction(called) and called.__module__ == function.__module__:
                trees.append(_tree(called))
    said = [_said(node.exc) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return tuple(dict.fromkeys(text for text in said if re.search(r"\badjoint \w", text)))


def _tree(function: Any) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])


def _said(call: ast.Call) -> str:
    """The text of `NotImplementedError("...")`, with dots for what is filled in."""
    if not isinstance(call.func, ast.Name) or call.func.id != "NotImplementedError" or not call.args:
        return ""
    first = call.args[0]
    parts = first.values if isinstance(first, ast.JoinedStr) else [first]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in parts).partition("\n")[0]


# ---- results ------------------------------------------------------------------------------------------------------------------------


def settled(function: Any) -> Any:
    """The answer of a function that always gives the same one here, None if it is not such a function."""
    name = getattr(function, "__name__", "")
    if not isinstance(function, Callable) or not _SETTLED.match(name):  # type: ignore[arg-type]
        return None
    try:
        return function()
    except Exception:  # it wants arguments
        return None


def gives_tensor(function: Any) -> bool:
    """Whether a function says that it returns a tensor."""
    annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return") if callable(function) else None
    return annotation in ("Tensor", "Array")
