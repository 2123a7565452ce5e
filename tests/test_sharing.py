"""Tensors shared between processes: what one process writes, the others see."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.multiprocessing as mp
from adjoint import nn, optim

METHODS = [name for name in ("fork", "spawn") if name in mp.get_all_start_methods()]


def add_one(tensor: ad.Tensor) -> None:
    tensor.add_(1)


def train(model: nn.Module, x: ad.Tensor) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def answer(queue: object) -> None:
    tensor = queue.get()
    tensor.mul_(3)
    queue.task_done()


def run(method: str, function: object, *args: object) -> None:
    process = mp.get_context(method).Process(target=function, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("method", METHODS)
def test_what_a_child_writes_is_seen_by_its_parent(method: str) -> None:
    shared = ad.arange(6.0).reshape(2, 3).share_memory_()
    own = ad.zeros(2)
    assert shared.is_shared() and not own.is_shared() and shared.untyped_storage().is_shared()
    run(method, add_one, shared)
    run(method, add_one, shared[1])  # a view of it
    run(method, add_one, own)
    assert shared.tolist() == [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    assert own.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layer", [nn.Linear(4, 2), nn.BatchNorm1d(4)], ids=["linear", "batch-norm"])
def test_processes_train_one_model(method: str, layer: nn.Module) -> None:
    model = nn.Sequential(nn.Linear(4, 4), layer)
    x = ad.rand(8, 4) + 1
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert model.share_memory() is model
    assert all(value.is_shared() for value in model.state_dict().values())
    run(method, train, model, x)
    after = model.state_dict()
    moved = [name for name in before if not before[name].equal(after[name])]
    assert set(moved) >= {"0.weight", "0.bias", "1.weight", "1.bias"}
    if isinstance(layer, nn.BatchNorm1d):
        assert after["1.num_batches_tracked"].item() == before["1.num_batches_tracked"].item() + 5


@pytest.mark.parametrize("method", METHODS)
def test_a_shared_tensor_goes_through_a_queue(method: str) -> None:
    context = mp.get_context(method)
    queue = context.JoinableQueue()
    tensor = ad.ones(3, dtype=ad.int64).share_memory_()
    process = context.Process(target=answer, args=(queue,))
    process.start()
    queue.put(tensor)
    queue.join()
    process.join(60)
    assert tensor.tolist() == [3, 3, 3]


def test_sharing_keeps_what_the_tensor_is() -> None:
    weight = nn.Parameter(ad.randn(3, 2))
    values = weight.tolist()
    assert weight.share_memory_() is weight
    assert weight.is_leaf and weight.requires_grad and weight.tolist() == values
    (weight * 2).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [[2.0, 2.0]] * 3
    data = weight._data
    assert weight.share_memory_()._data is data  # it stays where it is
    assert not weight.clone().is_shared()
    assert ad.empty(0).share_memory_().shape == (0,)


def sent(value: Any) -> Any:
    """What another process would receive."""
    return ForkingPickler.loads(bytes(ForkingPickler.dumps(value)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ad.arange(6.0).reshape(2, 3), lambda: ad.arange(6.0)[1::2], lambda: ad.ones(2, 3).t(), lambda: ad.zeros(0, 3),
        lambda: ad.tensor(3), lambda: ad.arange(4).flip(0), lambda: ad.ones(2, 3, dtype=ad.complex64).conj(), lambda: ad.ones(1).expand(3),
        lambda: ad.from_numpy(np.asfortranarray(np.arange(6.0).reshape(2, 3)))[:, 1:],
        lambda: ad.frombuffer(bytearray(range(8)), dtype=ad.uint8),
        lambda: ad.empty(2, 3, device="meta"), lambda: nn.Parameter(ad.ones(2)), lambda: ad.ones(2, requires_grad=True),
    ],
)  # fmt: skip
def test_what_is_sent_arrives(make: Any) -> None:
    tensor = make()
    tensor.note = "mine"
    received = sent(tensor)
    assert type(received) is type(tensor) and received.dtype == tensor.dtype and received.shape == tensor.shape
    assert received.stride() == tensor.stride() and received.requires_grad == tensor.requires_grad and received.note == "mine"
    assert tensor.is_meta or received.tolist() == tensor.tolist()
    assert tensor.is_meta or not tensor.numel() or received.detach().data_ptr() != tensor.detach().data_ptr()


def test_tensors_of_one_message_share_their_memory_in_the_other_process_too() -> None:
    whole = ad.arange(6.0)
    received, row, again = sent([whole, whole[2:4], whole.reshape(2, 3)])
    received.add_(1)
    assert row.tolist() == [3.0, 4.0] and again.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_history_does_not_cross_processes() -> None:
    x = ad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Cowardly refusing to serialize non-leaf.*test_sharing.*\n  fix: send x.detach"):
        sent(x * 2)
    assert sent((x * 2).detach()).tolist() == [2.0, 2.0]
