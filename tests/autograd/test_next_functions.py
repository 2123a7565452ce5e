"""The edges of nodes, in PyTorch's order."""

from __future__ import annotations

import adjoint as ad
from adjoint import nn


def test_linear_shows_its_bias_first():
    layer = nn.Linear(3, 2)
    x = ad.ones(4, 3, requires_grad=True)
    shown = [node.variable for node, _ in layer(x).grad_fn.next_functions]
    assert shown[0] is layer.bias and shown[1] is x and shown[2] is layer.weight
    shown = layer(x.detach()).grad_fn.next_functions
    assert shown[0][0].variable is layer.bias and shown[1] == (None, 0) and shown[2][0].variable is layer.weight
    plain = nn.Linear(3, 2, bias=False)
    assert [node.variable for node, _ in plain(x).grad_fn.next_functions] == [x, plain.weight]
