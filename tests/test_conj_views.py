"""`conj` of a complex tensor is a view, and so is what is made of it: what is read and written through it, and its gradients."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import adjoint as ad

VALUES = [[1 + 2j, 3 - 1j], [0 + 1j, 2 + 2j]]


def numbers(requires_grad=False):
    return ad.tensor(VALUES, requires_grad=requires_grad)


CONJUGATE = np.conjugate(np.array(VALUES)).tolist()


def test_a_conjugate_is_a_view_of_the_same_memory():
    x = numbers()
    c = x.conj()
    assert c.is_conj()
    assert c._base is x
    assert c.data_ptr() == x.data_ptr()
    assert c.tolist() == CONJUGATE
    assert not c.conj().is_conj()
    assert c.conj().tolist() == VALUES
    real = ad.ones(2)
    assert real.conj() is real
    assert x.resolve_conj() is x


def test_what_is_computed_of_a_conjugate_is_not_one():
    c = numbers().conj()
    for result in (c + 1, c.clone(), c.resolve_conj(), c[ad.tensor([0])], c.to(ad.complex128), c @ c, c.t().reshape(4)):
        assert not result.is_conj()
    assert c.resolve_conj().tolist() == CONJUGATE
    assert (c + 1).tolist() == (np.array(CONJUGATE) + 1).tolist()


VIEWS = [
    lambda x: x[0], lambda x: x.t(), lambda x: x.view(4), lambda x: x.reshape(4), lambda x: x.unsqueeze(0), lambda x: x.diagonal(),
    lambda x: x.expand(3, 2, 2), lambda x: x.unbind(0)[1], lambda x: x.split(1)[0], lambda x: x.detach(), lambda x: x.mT,
    lambda x: x.flatten(),
    lambda x: x.as_strided((2,), (2,)), lambda x: x[:, ::2], lambda x: x.contiguous(),
]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_conjugate_are_conjugates(view):
    x = numbers()
    seen = view(x.conj())
    assert seen.is_conj()
    assert seen.tolist() == view(x).conj().resolve_conj().tolist()


@pytest.mark.parametrize("of", [lambda x: x.mH, lambda x: x.H, lambda x: x.adjoint()])
def test_the_adjoint_is_a_view(of):
    x = numbers()
    assert of(x).is_conj()
    assert of(x).tolist() == np.array(CONJUGATE).T.tolist()
    of(x).zero_()
    assert x.abs().sum() == 0


WRITES = [
    lambda x: x.mul_(2j), lambda x: x.add_(1 + 1j), lambda x: x.zero_(), lambda x: x.fill_(3j), lambda x: x.copy_(ad.full((2, 2), 1j)),
    lambda x: x.__setitem__(0, 5j), lambda x: x.__setitem__((0, 1), 5j), lambda x: x.__setitem__(0, ad.tensor([1j, 2j])),
    lambda x: x.__setitem__(ad.tensor([1]), 2j), lambda x: x[0].mul_(1j), lambda x: x.exp_(), lambda x: x.real.zero_(),
    lambda x: x.imag.add_(1),
    lambda x: x.masked_fill_(ad.tensor([[True, False], [False, True]]), 1j), lambda x: x.index_add_(0, ad.tensor([0]), ad.full((1, 2), 1j)),
    lambda x: x.scatter_(0, ad.tensor([[0, 0]]), 1j), lambda x: ad.add(ad.full((2, 2), 1j), 1, out=x),
    lambda x: ad.mm(numbers(), numbers(), out=x),
    lambda x: x.normal_(0, 0), lambda x: x.t_().mul_(1j), lambda x: x.addcmul_(numbers(), numbers()), lambda x: x.lerp_(numbers(), 0.5),
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_what_is_written_to_a_conjugate_is_read_of_it(write):
    x, apart = numbers(), numbers().conj_physical()
    c = x.conj()
    write(c)
    write(apart)
    assert np.allclose(c.tolist(), apart.tolist(), atol=1e-6)
    assert c.is_conj()
    assert x._version >= 1
    assert np.allclose(np.conjugate(np.array(c.tolist())).reshape(-1), (x.t() if c.stride() != x.stride() else x).reshape(-1).tolist())


def test_a_write_to_the_base_shows_in_the_conjugate():
    x = numbers()
    c = x.conj()
    x.mul_(1j)
    assert c.tolist() == x.conj_physical().tolist()
    x.add_(c)
    assert x.imag.abs().sum() == 0


def test_the_imaginary_part_of_a_conjugate_is_a_negative_view():
    x = numbers()
    part = x.conj().imag
    assert part.is_neg()
    assert not part.is_conj()
    assert part.tolist() == np.array(CONJUGATE).imag.tolist()
    assert not (part + 1).is_neg()
    assert not part.resolve_neg().is_neg()
    part[0] = 7.0
    assert x[0].imag.tolist() == [-7.0, -7.0]
    assert not x.conj().real.is_neg()


def written_to_the_base(y):
    c = y.conj()
    y.mul_(3j)
    return c


def written_to_both(y):
    c = y.conj()
    c[0].mul_(3j)
    y[1].mul_(2)
    return c * y


def transposed_and_written(y):
    c = y.conj()
    c.t_()
    c.mul_(ad.tensor([1j, 2.0]))
    return y


GRADIENTS = [
    lambda y: y.conj() * (1 + 2j), lambda y: y.mH @ y, lambda y: y.conj().imag, lambda y: y.conj()[0] * 2j,
    lambda y: (y.conj().mul_(2j), y)[1],
    lambda y: (y.conj()[0].mul_(2j), y)[1], lambda y: (y.conj().exp_(), y)[1], lambda y: (y.conj().imag.mul_(3), y)[1],
    lambda y: (y.conj().copy_(y.clone() * 2), y)[1], lambda y: (y.conj().__setitem__(0, y.clone()[1] * 2j), y)[1],
    written_to_the_base, written_to_both, transposed_and_written,
    lambda y: y.conj().resolve_conj() * 1j, lambda y: ad.einsum("ij,kj->ik", y, y.conj()), lambda y: y.conj().sum() * 1j,
]  # fmt: skip


@pytest.mark.parametrize("function", GRADIENTS)
def test_gradients_through_conjugates(function):
    x = ad.tensor(VALUES, dtype=ad.complex128, requires_grad=True)
    assert ad.autograd.gradcheck(lambda x: function(x * 1), (x,))
    assert ad.autograd.gradgradcheck(lambda x: function(x * 1), (x,))


def test_transforms_see_conjugates():
    x = numbers()
    assert ad.func.vmap(lambda row: row.conj())(x).tolist() == CONJUGATE
    assert ad.func.vmap(lambda row: row * 2)(x.conj()).tolist() == (np.array(CONJUGATE) * 2).tolist()
    assert ad.func.grad(lambda x: (x.conj() * x).sum().real)(x).tolist() == (np.array(VALUES) * 2).tolist()
    assert ad.func.jvp(lambda x: x.conj() * 2j, (x,), (x,))[1].tolist() == (np.array(CONJUGATE) * 2j).tolist()


def test_numpy_is_refused_until_the_conjugation_is_resolved():
    c = numbers().conj()
    with pytest.raises(RuntimeError, match="has conjugate bit set"):
        c.numpy()
    with pytest.raises(RuntimeError, match="has negative bit set"):
        c.imag.numpy()
    with pytest.raises(RuntimeError, match="unresolved conjugated tensors"):
        ad.view_as_real(c)
    with pytest.raises(RuntimeError, match="conjugate view tensors"):
        c.view(ad.float32)
    assert c.numpy(force=True).tolist() == CONJUGATE


def test_a_conjugate_is_printed_and_kept_by_its_values():
    c = numbers().conj()
    assert repr(c) == repr(c.resolve_conj())
    assert copy.deepcopy(c).tolist() == CONJUGATE
    for x in (c, c.imag):
        file = io.BytesIO()
        ad.save(x, file)
        file.seek(0)
        for twin in (pickle.loads(pickle.dumps(x)), ad.load(file)):
            assert (twin.is_conj(), twin.is_neg()) == (x.is_conj(), x.is_neg())
            assert twin.tolist() == x.tolist()


def test_gradients_that_are_conjugates_are_taken():
    x = numbers(requires_grad=True)
    (x * 2).backward(numbers().conj())
    assert x.grad.tolist() == (np.array(CONJUGATE) * 2).tolist()
    x.grad = numbers().conj()
    ad.optim.SGD([x], lr=1.0).step()
    assert np.allclose(x.tolist(), np.array(VALUES) - np.array(CONJUGATE))
