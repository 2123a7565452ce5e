"""Indices out of bounds are refused everywhere, before anything is written, also where arithmetic with them would wrap around."""

import numpy as np
import pytest

import adjoint as ad

OUTSIDE = [3, -4, 2**31, 2**32, 2**61, 2**62, -(2**62), 2**63 - 1, -(2**63)]
WRITES = {
    "index_put_": lambda x, i: x.index_put_((i,), ad.ones(4, 4)),
    "index_put_, a number": lambda x, i: x.index_put_((i,), ad.tensor(1.0)),
    "index_put_, added": lambda x, i: x.index_put_((i,), ad.ones(4, 4), accumulate=True),
    "index_put_, added, columns": lambda x, i: x.index_put_((i, ad.tensor([0, 1, 2, 3])), ad.ones(4), accumulate=True),
    "index_add_": lambda x, i: x.index_add_(0, i, ad.ones(4, 4)),
    "index_copy_": lambda x, i: x.index_copy_(0, i, ad.ones(4, 4)),
    "index_fill_": lambda x, i: x.index_fill_(0, i, 1.0),
    "index_reduce_": lambda x, i: x.index_reduce_(0, i, ad.ones(4, 4), "amax"),
    "scatter_": lambda x, i: x.scatter_(0, i[None], ad.ones(1, 4)),
    "scatter_, a number": lambda x, i: x.scatter_(0, i[None], 1.0),
    "scatter_add_": lambda x, i: x.scatter_add_(0, i[None], ad.ones(1, 4)),
    "scatter_reduce_": lambda x, i: x.scatter_reduce_(0, i[None], ad.ones(1, 4), "amin", include_self=False),
    "put_": lambda x, i: x.put_(i * 4 if abs(int(i[0])) < 9 else i, ad.ones(4)),
    "put_, added": lambda x, i: x.put_(i * 4 if abs(int(i[0])) < 9 else i, ad.ones(4), accumulate=True),
}
READS = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x.t()[:, i],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[None]),
    "take": lambda x, i: x.take(i * 4 if abs(int(i[0])) < 9 else i),
    "take_along_dim": lambda x, i: ad.take_along_dim(x, i[None], 0),
    "embedding": lambda x, i: ad.nn.functional.embedding(i, x),
    "embedding of each example": lambda x, i: ad.func.vmap(lambda w: ad.nn.functional.embedding(i, w))(ad.stack([x, x])),
    "unravel_index": lambda x, i: ad.unravel_index(i, (3,)),
}


@pytest.mark.parametrize("place", OUTSIDE)
@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_written_if_an_index_is_out_of_bounds(write, place):
    x = ad.zeros(3, 4)
    with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
        WRITES[write](x, ad.tensor([place, 0, 0, 1]))
    assert not x.any()


@pytest.mark.parametrize("place", OUTSIDE)
@pytest.mark.parametrize("read", READS)
def test_nothing_is_read_if_an_index_is_out_of_bounds(read, place):
    with pytest.raises((IndexError, RuntimeError, ValueError), match=r"out of (bounds|range)"):
        READS[read](ad.zeros(3, 4), ad.tensor([place, 0, 0, 1]))


def test_a_flat_index_does_not_count_from_the_end():
    with pytest.raises(RuntimeError, match="index -1 is out of bounds"):
        ad.take_along_dim(ad.ones(2, 3), ad.tensor([-1]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, i: x.index_fill(0, i.int(), 1), IndexError, "Expected dtype int64 for index"),
        (lambda x, i: x.index_fill(0, i, 1j), RuntimeError, "Converting complex Scalar to non-complex type is not supported"),
        (lambda x, i: x.index_fill(0, i, ad.tensor(1j)), RuntimeError, "Converting complex Scalar to non-complex type"),
        (lambda x, i: x.index_copy(0, i.int(), ad.ones(2, 4)), RuntimeError, "Expected a long tensor for index, but got Int"),
        (lambda x, i: x.index_copy(0, i, ad.ones(2, 3)), RuntimeError, "must have same slice shapes"),
        (lambda x, i: x[0].index_add(0, i[0], ad.tensor(1.0)), RuntimeError, "source tensor shape must match self tensor shape"),
        (lambda x, i: x.index_reduce(0, i, ad.ones(2, 3), "prod"), RuntimeError, "source tensor shape must match self"),
        (lambda x, i: x.index_reduce(0, i, ad.ones(2, 4), "sum"), RuntimeError, "Expected reduce to be one of prod, mean, amax or amin"),
        (lambda x, i: x.index_reduce(0, [0, 1], ad.ones(2, 4), "prod"), TypeError, "must be Tensor, not list"),
        (lambda x, i: ad.tensor(1.0).index_select(0, i), RuntimeError, "Index to scalar can have only 1 value, got 2"),
        (lambda x, i: ad.zeros(0, 3).index_select(0, i), RuntimeError, "self indexing axis dim should be positive"),
        (lambda x, i: x.sum(1.0), TypeError, "must be int, not float"),
        (lambda x, i: x.index_select(True, i), TypeError, "must be int, not bool"),
    ],
)
def test_what_does_not_fit_an_index(call, error, words):
    with pytest.raises(error, match=words):
        call(ad.ones(3, 4), ad.tensor([0, 1]))


def test_a_tensor_of_an_integer_is_a_dimension():
    x = ad.arange(6.0).reshape(2, 3).requires_grad_()
    for name in ("softmax", "log_softmax", "cumsum", "logcumsumexp"):
        found, wanted = getattr(x, name)(ad.tensor(0)), getattr(x, name)(0)
        assert found.equal(wanted)
        assert ad.autograd.grad(found[0].sum(), x)[0].equal(ad.autograd.grad(wanted[0].sum(), x)[0])
        with pytest.raises(TypeError, match="must be int, not Tensor"):
            getattr(x, name)(ad.tensor([0]))
    assert x.sum(ad.tensor([0])).equal(x.sum(0))  # where several may be given
    for dims in (ad.tensor([0, 1]), np.array([0, 1]), np.array([0])):
        with pytest.raises(TypeError, match="must be int, not"):
            x.sum(dims)
