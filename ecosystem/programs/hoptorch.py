"""Loops over the first dimension with a carried state."""

from typing import Any

import torch
from hoptorch import scan


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, start = torch.randn(6, 3), torch.zeros(3)
    last, sums = scan(lambda carry, row: (carry + row, carry * row), start, x)
    return {"last": last, "sums": sums}
