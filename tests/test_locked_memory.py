"""Memory that is not to be written to, as of a file that is mapped for reading: writes are refused, by NumPy's code and by kernels."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

COUNT = 70_000  # enough for kernels to be compiled at once, and shared by threads
PLACES = np.arange(COUNT)

WRITES = {
    "add_": lambda x, y: x.add_(y),
    "mul_ by a number": lambda x, y: x.mul_(2.0),
    "exp_": lambda x, y: x.exp_(),
    "copy_": lambda x, y: x.copy_(y),
    "fill_": lambda x, y: x.fill_(1.0),
    "normal_": lambda x, y: x.normal_(),
    "uniform_": lambda x, y: x.uniform_(),
    "index_add_": lambda x, y: x.index_add_(0, ad.from_numpy(PLACES), y),
    "index_add_ to elements that repeat": lambda x, y: x.index_add_(0, ad.from_numpy(PLACES // 2), y),
    "scatter_add_": lambda x, y: x.scatter_add_(0, ad.from_numpy(PLACES), y),
    "scatter_add_ to a part": lambda x, y: x.view(7, -1).t().scatter_add_(0, ad.from_numpy(PLACES[:70].reshape(10, 7)), y.view(-1, 7)),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 1.0),
    "an element": lambda x, y: x.__setitem__(3, 1.0),
    "relu_": lambda x, y: x.relu_(),
    "out=": lambda x, y: ad.exp(y, out=x),
    "tril_": lambda x, y: x.view(70, -1).tril_(),
}  # fmt: skip


def locked():
    memory = np.zeros(COUNT, np.float32)
    memory.flags.writeable = False
    return memory


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_refused(name):
    memory = locked()
    for _ in range(3):
        with pytest.raises((ValueError, RuntimeError), match="read-only"):
            WRITES[name](ad.from_numpy(memory), ad.ones(COUNT))
    assert not memory.any()


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_gradients_and_parameters():
    memory = locked()
    weight = ad.nn.Parameter(ad.zeros(COUNT))
    weight.grad = ad.from_numpy(memory)
    with pytest.raises(ValueError, match="read-only"):
        ad.nn.utils.clip_grad_value_([weight], -1.0)
    other = ad.nn.Parameter(ad.from_numpy(memory))
    other.grad = ad.ones(COUNT)
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            ad.optim.SGD([other], lr=0.1).step()
    assert not memory.any()
