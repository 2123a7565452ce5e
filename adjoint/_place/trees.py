"""The tables of modules as dictionaries for optree.

optree takes only exact dictionaries apart, and `module._parameters` is of a class of its own here (`nn._members`). So when optree is
loaded, it is told that class; what it puts together again is a plain dictionary.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def register_tables(optree: ModuleType | None = None) -> None:
    """Tell optree of the tables of modules, if it is loaded."""
    library: Any = optree or sys.modules.get("optree")
    if library is None:
        return
    from ..nn._members import Members

    def flatten(table: Members) -> tuple[list[Any], list[str], list[str]]:
        names = sorted(table)  # as it sorts the keys of dictionaries
        return [table[name] for name in names], names, names

    def unflatten(names: list[str], values: Any) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    everywhere = vars(library.registry)["__GLOBAL_NAMESPACE"]
    library.register_pytree_node(Members, flatten, unflatten, path_entry_type=library.MappingEntry, namespace=everywhere)
