"""PyTorch's names for modules and submodules of `nn`."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad
from adjoint import nn

NAMES = {
    "activation": "ReLU MultiheadAttention", "adaptive": "AdaptiveLogSoftmaxWithLoss", "batchnorm": "_BatchNorm _NormBase SyncBatchNorm",
    "container": "Sequential ModuleList ParameterDict Container", "conv": "_ConvNd _ConvTransposeNd Conv2d LazyConv2d",
    "distance": "PairwiseDistance", "dropout": "Dropout", "flatten": "Flatten", "fold": "Fold", "instancenorm": "_InstanceNorm",
    "lazy": "LazyModuleMixin", "linear": "Linear Bilinear NonDynamicallyQuantizableLinear", "loss": "_Loss _WeightedLoss CTCLoss",
    "module": "Module register_module_forward_hook _EXTRA_STATE_KEY_SUFFIX",
    "normalization": "LayerNorm CrossMapLRN2d", "padding": "ZeroPad2d",
    "pixelshuffle": "PixelShuffle", "pooling": "_MaxPoolNd MaxPool2d", "rnn": "LSTM", "sparse": "EmbeddingBag",
    "transformer": "Transformer", "upsampling": "Upsample", "utils": "_pair _single _ntuple",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_submodules(name):
    module = importlib.import_module(f"adjoint.nn.modules.{name}")
    assert getattr(nn.modules, name) is module
    for member in NAMES[name].split():
        assert getattr(module, member) is getattr(nn, member, getattr(module, member))
    assert importlib.import_module(f"adjoint.nn.modules.{name}") is module


SCRIPT = """
import torch.nn.modules.conv
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.utils import _pair
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parallel import DataParallel
from torch.cuda.amp import GradScaler
import torch, torch.nn as nn
assert torch.nn.modules.conv.Conv2d is nn.Conv2d and issubclass(nn.BatchNorm2d, _BatchNorm) and _pair(3) == (3, 3)
with sdpa_kernel([SDPBackend.MATH]):
    print(DataParallel(nn.Identity())(torch.ones(1)))
"""


def test_in_an_unmodified_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "adjoint", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[2])
    assert done.stdout == "tensor([1.])\n", done.stderr


def test_tuples():
    utils = nn.modules.utils
    assert utils._triple(2) == (2, 2, 2) and utils._pair([1, 2]) == (1, 2) and utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    state = {"module.a": 1, "b": 2}
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a": 1, "b": 2}


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"module 'adjoint\.nn' has no attribute 'nothing'"):
        nn.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nn.modules.nothing  # noqa: B018


def test_sdpa_kernel_checks_its_argument():
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), nn.attention.sdpa_kernel(3):
        pass


def test_gradients_of_convolutions_by_hand():
    x, w = ad.randn(1, 2, 5, requires_grad=True), ad.randn(3, 2, 3, requires_grad=True)
    out = nn.functional.conv1d(x, w, stride=2)
    g = ad.randn(out.shape)
    out.backward(g)
    assert nn.grad.conv1d_input(x.shape, w, g, stride=2).tolist() == x.grad.tolist()
    assert nn.grad.conv1d_weight(x, w.shape, g, stride=2).tolist() == w.grad.tolist()
