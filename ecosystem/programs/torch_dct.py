"""Cosine transforms and their inverses."""

from typing import Any

import torch
import torch_dct as dct


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(3, 4, 8, requires_grad=True)
    results: dict[str, Any] = {"dct": dct.dct(x), "idct": dct.idct(x), "orthogonal": dct.dct(x, norm="ortho"), "dct1": dct.dct1(x)}
    results["dct_2d"], results["idct_2d"], results["dct_3d"] = dct.dct_2d(x), dct.idct_2d(dct.dct_2d(x)), dct.dct_3d(x)
    (dct.dct_2d(x, norm="ortho") ** 3).sum().backward()
    results["gradient"], results["layer"] = x.grad, dct.LinearDCT(8, "dct")(x)
    return results
