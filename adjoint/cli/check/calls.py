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


def troubles(name: str, function: Any, call: ast.Call, constants: Mapping[str, Any], bound: bool = False) -> Iterator[Trouble]:
    """What stands in the way of a call: `constants` are the values of arguments as far as they are known, by position or keyword."""
    signature = _signature(function)
    if signature is not None:
        yield from _not_accepted(name, signature, call, bound)
        yield from _perhaps_refused(name, function, signature, call, constants, bound)
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


def _not_accepted(name: str, signature: inspect.Signature, call: ast.Call, bound: bool) -> Iterator[Trouble]:
    parameters = signature.parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in named:
                yield Trouble("refused", f"{name} takes no argument '{keyword.arg}' here", TypeError)
    if inspect.Parameter.VAR_POSITIONAL not in kinds and not any(isinstance(argument, ast.Starred) for argument in call.args):
        most = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) - bound
        if len(call.args) > most:
            yield Trouble("refused", f"{name} takes at most {most} arguments by position here, not {len(call.args)}", TypeError)


def _perhaps_refused(
    name: str, function: Any, signature: inspect.Signature, call: ast.Call, constants: Mapping[str, Any], bound: bool
) -> Iterator[Trouble]:
    """Arguments that are refused for some values: the function itself says so by `if argument: raise NotImplementedError(...)`."""
    refusals = _refusals(function)
    if not refusals:
        return
    parameters = list(signature.parameters.values())[bound:]
    given = {keyword.arg: constants.get(str(keyword.arg), ...) for keyword in call.keywords if keyword.arg}
    given |= {p.name: constants.get(str(place), ...) for place, (p, _) in enumerate(zip(parameters, call.args, strict=False))}
    for parameter in parameters:
        reason = refusals.get(parameter.name)
        if reason is not None and parameter.name in given and not _is_default(given[parameter.name], parameter.default):
            yield Trouble("unknown", f"{name} refuses some values of '{parameter.name}'{reason}", NotImplementedError)


def _is_default(value: Any, default: Any) -> bool:
    return value is not ... and type(value) is type(default) and bool(value == default)


@cache
def _refusals(function: Any) -> dict[str, str]:
    """The arguments that are asked about before a NotImplementedError, and what it says."""
    function = function.__init__ if inspect.isclass(function) else function
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            for statement in node.body:
                if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
                    if isinstance(statement.exc.func, ast.Name) and statement.exc.func.id == "NotImplementedError":
                        asked = {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
                        found |= dict.fromkeys(asked, _said(statement.exc))
    return found


def _said(call: ast.Call) -> str:
    text = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return f": {text}" if isinstance(text, str) else ""


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


def constant(value: Any) -> Any:
    """What of a value can be asked for its kind: a dtype stays itself."""
    return value if isinstance(value, str | bool | int | float | dtype | None) else ...
