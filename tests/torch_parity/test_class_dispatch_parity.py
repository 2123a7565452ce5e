"""A program with tensors that wrap others gives the same numbers, and its classes see the same operations."""

import pytest

import adjoint as ad
from adjoint.autograd import differentiate

torch = pytest.importorskip("torch")


def program(lib, pytree, disabled):
    seen = []

    class Logged(lib.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            return lib.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=elem.device, requires_grad=requires_grad
            )

        def __init__(self, elem, requires_grad=False):
            self.elem = elem

        __torch_function__ = disabled

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def unwrap(x):
                return x.elem if isinstance(x, cls) else x

            result = func(*pytree.tree_map(unwrap, args), **pytree.tree_map(unwrap, kwargs or {}))
            seen.append(func.overloadpacket.__name__)
            return pytree.tree_map(lambda x: cls(x) if isinstance(x, lib.Tensor) else x, result)

    lib.manual_seed(0)
    x, w = Logged(lib.randn(3, 4)), Logged(lib.randn(4, 2), requires_grad=True)
    hidden = lib.tanh(x @ w)
    loss = (hidden * hidden).sum() + lib.sigmoid(w).exp().mean()
    forwards = list(seen)
    loss.backward()
    z = Logged(lib.zeros(2))
    z.add_(1)
    return forwards, [loss.elem, w.grad.elem, z.elem, (z * 2).elem], type(w.grad) is Logged


def test_wrappers(monkeypatch):
    import torch.utils._pytree as theirs

    from adjoint._C import _disabled_torch_function_impl
    from adjoint.utils import _pytree as ours

    monkeypatch.setattr(differentiate, "through_tensors", False)
    seen, values, kept = program(ad, ours, _disabled_torch_function_impl)
    expected, results, wrapped = program(torch, theirs, torch._C._disabled_torch_function_impl)
    assert kept and wrapped and seen == [name for name in expected if name != "detach"]  # by which PyTorch saves results
    for ours_value, theirs_value in zip(values, results, strict=True):
        torch.testing.assert_close(torch.from_numpy(ours_value.detach().numpy()), theirs_value)
