"""State dicts with one level: each tensor and each value by a dotted name, and the way to it in the nested one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ..._tensor import Tensor

Way = tuple[str | int, ...]


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Way]]:
    """The values by dotted name, and the way to each. Lists without tensors or dictionaries in them are values."""
    flat: dict[str, Any] = {}
    ways: dict[str, Way] = {}
    stack: list[tuple[Way, Any]] = [((), state_dict)]
    while stack:
        way, value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend(reversed([((*way, str(key)), item) for key, item in value.items()]))
        elif isinstance(value, list | tuple) and not _is_plain(value):
            stack.extend(reversed([((*way, place), item) for place, item in enumerate(value)]))
        else:
            name = ".".join(map(str, way))
            if name in flat:
                raise ValueError(f"duplicated flatten key {name}")
            flat[name], ways[name] = value, way
    return flat, ways


def _is_plain(values: Any) -> bool:
    return all(
        not isinstance(value, Tensor | Mapping) and (not isinstance(value, list) or _is_plain(value)) for value in values
    )


def set_element(root: dict[str, Any], way: Way, value: Any) -> None:
    """Put a value where it belongs in a nested state dict; dictionaries and lists on the way are made if they are not there."""
    here: Any = root
    for step, following in pairwise(way):
        new: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            here.extend([None] * (step + 1 - len(here)))
            if here[step] is None:
                here[step] = new
        else:
            step = _key(here, step)
            here.setdefault(step, new)
        if isinstance(here[step], tuple):
            here[step] = list(here[step])
        here = here[step]
    last = way[-1]
    if isinstance(last, int):
        here.extend([None] * (last + 1 - len(here)))
        here[last] = value
    else:
        here[_key(here, last)] = value


def _key(mapping: dict[Any, Any], text: str) -> Any:
    """The key that a dotted name has for another one, such as the number of a parameter."""
    return next((key for key in mapping if not isinstance(key, str) and str(key) == text), text) if text not in mapping else text


def unflatten_state_dict(flat: Mapping[str, Any], ways: Mapping[str, Way]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(nested, ways.get(name, (name,)), value)
    return nested
