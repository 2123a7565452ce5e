"""Products of many tensors in an order that is cheap."""

from typing import Any

import opt_einsum as oe
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    a, b, c = torch.randn(4, 5, requires_grad=True), torch.randn(5, 6), torch.randn(6, 4)
    value = oe.contract("ij,jk,kl->il", a, b, c)
    value.pow(2).sum().backward()
    expression = oe.contract_expression("ij,jk,ki->", (4, 5), (5, 6), (6, 4))
    return {
        "value": value, "gradient": a.grad, "trace": expression(a.detach(), b, c),
        "batched": oe.contract("bij,bjk,bk->bi", torch.randn(3, 2, 4), torch.randn(3, 4, 5), torch.randn(3, 5), optimize="optimal"),
        "torch": torch.einsum("ij,jk,kl,lm->im", a.detach(), b, c, torch.randn(4, 2)),
    }  # fmt: skip
