"""What is to be written into the `meta` of nodes while they are made."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .node import Node

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta", "set_current_meta",
]  # fmt: skip

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, nodes that are made while a graph is run get the `meta` of the node that is running."""
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta() -> bool:
    return should_preserve_node_meta


def get_current_meta() -> dict[str, Any]:
    return current_meta


@contextmanager
def set_current_meta(node: Node) -> Iterator[None]:
    """Inside, this is the node that is running."""
    global current_meta
    before = current_meta
    if should_preserve_node_meta and node.meta:
        current_meta = node.meta.copy()
    try:
        yield
    finally:
        current_meta = before


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, nodes get these entries in `meta["custom"]`."""
    global current_meta
    before = current_meta
    current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The same for all that a function does."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


def set_stack_trace(stack: list[str]) -> None:
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The lines that nodes made now come from."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
