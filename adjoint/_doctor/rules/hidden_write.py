from __future__ import annotations

import weakref
import zlib
from typing import Any

import numpy as np

from ...autograd.node import Node
from ...autograd.saved import SavedOutput
from ..events import OpCall, Pass
from ..reading import lines_like, node_of
from ..rule import Rule

WRITES = r"\.data\b.*(\w_\(|\]\s*[-+*/]?=|[-+*/]=|\.data\s*=)|\.numpy\(\)|^\s*\w+\s*[-+*/]=.*(np|rng|random)\b"  # how such lines look
MOST = 1 << 22  # bytes of a saved array that are summed up


class HiddenWrite(Rule):
    """A value that backward needs was changed behind autograd's back, through `.data`, `.numpy()` or shared memory."""

    name = "hidden-write"

    def start(self) -> None:
        self.sums: dict[int, tuple[weakref.ref[Node], list[tuple[int, int]]]] = {}

    def op(self, call: OpCall) -> None:
        node = node_of(call.result)
        if node is None or node.code is not call.site.code or (id(node) in self.sums and self.sums[id(node)][0]() is node):
            return
        if sums := [(place, checksum(array)) for place, array in enumerate(arrays_of(node)) if array.nbytes <= MOST]:
            self.sums[id(node)] = weakref.ref(node), sums

    def backward(self, event: Pass) -> None:
        for node in event.nodes:
            known = self.sums.get(id(node))
            if known is None or known[0]() is not node:
                continue
            arrays = arrays_of(node)
            if any(place < len(arrays) and checksum(arrays[place]) != before for place, before in known[1]):
                self.report(
                    f"a value that {node.name()} needs was changed before backward() could use it, in a way that autograd cannot see",
                    "change it under no_grad() and before it is used, or give the computation a .clone(); not through .data or .numpy()",
                    {"used": node.site, **lines_like(event.site.code, WRITES), **lines_like(node.site.code, WRITES)},
                )
                break
        self.sums.clear()


def arrays_of(node: Node) -> list[np.ndarray[Any, Any]]:
    """The arrays that a node keeps for its backward."""
    kept = node.saved if isinstance(node.saved, tuple) else ()
    found = [value.array if isinstance(value, SavedOutput) else getattr(value, "_data", value) for value in kept]
    return [array for array in found if isinstance(array, np.ndarray) and array.dtype.kind in "fc"]


def checksum(array: np.ndarray[Any, Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
