"""Hooks on what a graph saves, beyond facts/graph.py: promotion, half precision, memory, threads, writes to shared memory."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import adjoint as ad

graph = ad.autograd.graph


def copied(saved: ad.Tensor) -> ad.Tensor:
    return saved.clone()


def same(packed: ad.Tensor) -> ad.Tensor:
    return packed


PROGRAMS = {
    "product": lambda x, w: x * w,
    "own result": lambda x, w: (x.tanh() + w.sigmoid()).sqrt(),
    "matrices": lambda x, w: x @ w.t(),
    "softmax": lambda x, w: ad.softmax(x * w, -1).pow(2),
    "norms": lambda x, w: ad.nn.functional.layer_norm(x, (3,), w[0], w[1]),
    "index": lambda x, w: x[[0, 1, 0]] * w.gather(1, ad.tensor([[0, 2, 1], [1, 1, 0], [0, 0, 2]])),
    "promotion": lambda x, w: x.double() * w * 2,
    "two dtypes": lambda x, w: x * w.double(),
    "half": lambda x, w: x.half() * w.half(),
    "writes": lambda x, w: (x * 2).mul_(w).exp_(),
    "several": lambda x, w: ad.cat([*x.unbind(), *w.split(1, 1)[0].unbind()]).prod(),
    "convolution": lambda x, w: ad.nn.functional.conv1d(x[None], w[:, :, None][:2, :2].contiguous()[:, :, :1].repeat(1, 2, 1)[:, :3]),
}


def gradients(program, *, create_graph=False):
    x = (ad.arange(9.0).reshape(3, 3) / 5 + 0.5).requires_grad_()
    w = (ad.arange(9.0).flip(0).reshape(3, 3) / 7 + 0.25).requires_grad_()
    out = program(x, w).sum()
    grads = ad.autograd.grad(out, (x, w), create_graph=create_graph)
    if create_graph and any(g.requires_grad for g in grads):
        grads += ad.autograd.grad(sum((g * g).sum() for g in grads), (x, w), allow_unused=True, materialize_grads=True)
    return grads


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_packing_does_not_change_gradients(name, create_graph):
    plain = gradients(PROGRAMS[name], create_graph=create_graph)
    with graph.saved_tensors_hooks(copied, same):
        packed = gradients(PROGRAMS[name], create_graph=create_graph)
    for a, b in zip(plain, packed, strict=True):
        assert a.dtype == b.dtype
        assert ad.allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutation_may_be_allowed_anywhere(name):
    plain = gradients(PROGRAMS[name])
    with graph.allow_mutation_on_saved_tensors():
        guarded = gradients(PROGRAMS[name])
    assert all(ad.allclose(a, b) for a, b in zip(plain, guarded, strict=True))


def test_pack_hook_gets_the_tensor_before_promotion():
    seen = []
    x = ad.ones(2, requires_grad=True)
    w = ad.ones(2, dtype=ad.float64, requires_grad=True)
    with graph.saved_tensors_hooks(lambda s: seen.append(s.dtype) or s, same):
        y = x * w
    y.sum().backward()
    assert set(seen) == {ad.float64, ad.float32}
    assert x.grad.dtype == ad.float32


def test_hooks_hold_in_their_thread_only():
    counts = []
    x = ad.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(lambda s: counts.append(1) or s, same):
        worker = threading.Thread(target=x.exp)
        worker.start()
        worker.join()
    assert counts == []


def test_packed_values_are_freed_by_backward():
    class Box:
        def __init__(self, tensor: ad.Tensor) -> None:
            self.tensor = tensor.clone()

    boxes = []

    def pack(saved: ad.Tensor) -> Box:
        box = Box(saved)
        boxes.append(weakref.ref(box))
        return box

    x = ad.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        y = x.exp()
    assert boxes[0]() is not None
    y.sum().backward()
    assert boxes[0]() is None


def test_copies_are_made_of_what_is_written_only():
    x = ad.ones(3, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as guard:
        a, b = x * 2, x * 3
        y = a * a + b * b
        assert len(guard.cloned) == 0
        a.zero_()
        a.zero_()
        assert len(guard.cloned) == 1
        y.sum().backward()
    assert x.grad.tolist() == [26.0, 26.0, 26.0]


def test_saved_view_survives_a_write_to_its_base():
    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        base = x.clone()
        y = base[1:] * base[1:]
        base.zero_()
        y.sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]


def test_guard_forgets_graphs_that_are_gone():
    x = ad.ones(3, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors() as guard:
        y = x * 2
        z = y.cos()
        assert len(guard.original) == 1
        del y, z
        gc.collect()
        assert len(guard.original) == 0


def test_saved_tensor_of_a_leaf_leads_to_the_leaf():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    with graph.saved_tensors_hooks(lambda s: s.detach().clone(), same):
        y = x * x
    saved = y.grad_fn._saved_self
    assert saved.is_leaf and saved.requires_grad and saved is not x
    (saved * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_view_made_without_recording_has_no_gradient_of_its_own():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    with ad.no_grad():
        v = x[:1]
    y = v * v
    assert y.requires_grad and y.grad_fn.next_functions == ((None, 0), (None, 0))
    (g,) = ad.autograd.grad((y * x[:1]).sum(), x, create_graph=True)
    assert g.tolist() == [1.0, 0.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        v.backward(ad.ones(1))
    v.requires_grad_()
    (v * 2).sum().backward()
    assert v.grad.tolist() == [2.0]
