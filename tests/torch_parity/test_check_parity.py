"""`check` knows every attribute of PyTorch's tensors, modules and optimizers that adjoint lacks."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint._tensor import Tensor
from adjoint.cli.check.members import LACKING

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("ours", "example", "theirs"), [
    (Tensor, Tensor, torch.ones(1)),
    (nn.Module, nn.Module(), torch.nn.Module()),
    (optim.Optimizer, optim.SGD([ad.ones(1)], lr=1.0), torch.optim.SGD([torch.ones(1)], lr=1.0)),
], ids=["Tensor", "Module", "Optimizer"])  # fmt: skip
def test_what_pytorch_has_is_there_or_known_to_be_missing(ours, example, theirs):
    names = {name for name in dir(theirs) if not (name.startswith("__") and name.endswith("__"))}
    assert {name for name in names if not hasattr(example, name)} <= LACKING[ours]
