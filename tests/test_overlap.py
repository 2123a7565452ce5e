"""Memory that is written while it is read: what is refused, and what is not."""

from __future__ import annotations

import pytest

import adjoint as ad

REFUSED = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def numbers(count=6):
    return ad.arange(float(count))


def places(count=4):
    return ad.arange(count)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", ["add_", "mul_", "sub_", "div_", "pow_", "copy_", "atan2_", "hypot_", "clamp_min_", "eq_"])
def test_a_part_may_not_be_written_from_a_shifted_one(name, recorded):
    x = numbers() * ad.ones((), requires_grad=recorded)
    before = x.tolist()
    with pytest.raises(RuntimeError, match=REFUSED):
        getattr(x[1:], name)(x[:-1])
    assert x.tolist() == before


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(x.view(6)[0]), lambda x: x.mul_(x[0]), lambda x: x.copy_(x[:1]), lambda x: x[0].lerp_(x[0, 1:2], 0.5),
        lambda x: x.view(6)[1:].addcmul_(x.view(6)[:-1], ad.ones(5)),
    ],
)  # fmt: skip
def test_parts_of_the_target_itself_are_refused(write):
    with pytest.raises(RuntimeError, match=REFUSED):
        write(numbers().view(2, 3))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(x), lambda x: x[1:].add_(x[1:]), lambda x: x[:3].add_(x[3:]), lambda x: x[::2].add_(x[1::2]),
        lambda x: x.add_(x[:1].expand(6)), lambda x: x.masked_scatter_(ad.ones(6) > 0, x), lambda x: x.fill_(x[1]),
        lambda x: x.masked_fill_(x > 2, x[1]), lambda x: x[:3].index_add_(0, places(3), x[3:]), lambda x: x.__setitem__(0, x[1]),
        lambda x: x.__setitem__(x > 3, x[0]), lambda x: ad.add(x, 1, out=x), lambda x: ad.sin(x, out=x), lambda x: ad.cumsum(x, 0, out=x),
    ],
)  # fmt: skip
def test_the_same_elements_and_others_may_be_read(write):
    write(numbers())


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.index_add_(0, places(6), x), lambda x: x[1:].index_copy_(0, places(5), x[:5]), lambda x: x.index_put_((places(6),), x),
        lambda x: x.put_(places(6), x), lambda x: x.scatter_(0, places(6), x), lambda x: x[1:].scatter_add_(0, places(5), x[:5]),
        lambda x: x[1:].scatter_reduce_(0, places(5), x[:5], "sum"), lambda x: x.index_reduce_(0, places(6), x, "prod"),
        lambda x: x.__setitem__(places(2), x[1:3]),
    ],
)  # fmt: skip
def test_indexed_writes_read_other_memory(write):
    with pytest.raises(RuntimeError, match=REFUSED):
        write(numbers())


@pytest.mark.parametrize(
    "write",
    [
        lambda i: i.index_add_(0, i, i.clone()), lambda i: i.index_copy_(0, i, i.clone()), lambda i: i.index_fill_(0, i, 1),
        lambda i: i.put_(i, i.clone()), lambda i: i.index_put_((i,), i.clone()), lambda i: i.scatter_(0, i, i.clone()),
        lambda i: i.scatter_(0, i, 1), lambda i: i.scatter_add_(0, i, i.clone()), lambda i: ad.gather(i, 0, i, out=i),
        lambda i: ad.take(i, i, out=i), lambda i: ad.index_select(i, 0, i, out=i), lambda i: i.__setitem__(i, 1),
    ],
)  # fmt: skip
def test_an_index_may_not_be_written(write):
    with pytest.raises(RuntimeError, match=REFUSED):
        write(places())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ad.add(x[:-1], 1, out=x[1:]), lambda x: ad.sin(x[:-1], out=x[1:]), lambda x: ad.where(x[:-1] > 0, x[:-1], 0.0, out=x[1:]),
        lambda x: ad.cat([x[:3], x[3:]], out=x), lambda x: ad.stack([x[:2], x[1:3]], out=x[:4].view(2, 2)),
        lambda x: ad.gather(x, 0, places(2), out=x[:2]), lambda x: ad.take(x, places(2), out=x[:2]),
        lambda x: ad.masked_select(x, x > 0, out=x),
        lambda x: ad.kthvalue(x.view(2, 3), 1, 1, out=(x[:2], ad.empty(2, dtype=ad.int64))), lambda x: ad.cumsum(x[:-1], 0, out=x[1:]),
        lambda x: ad.topk(x, 2, out=(x[:2], ad.empty(2, dtype=ad.int64))),
        lambda x: ad.scatter(x, 0, places(2), x[:2], out=x), lambda x: ad.cross(x[:3], x[3:], dim=0, out=x[:3]),
        lambda x: ad.linalg.cross(x[:3], x[3:], out=x[1:4]), lambda x: x[:4].view(2, 2).addr_(x[:2], x[4:]),
        lambda x: ad.addr(x[:4].view(2, 2), x[:2], x[4:], out=x[:4].view(2, 2)),
    ],
)  # fmt: skip
def test_out_may_not_be_what_is_read(call):
    with pytest.raises(RuntimeError, match=REFUSED):
        call(numbers())


def test_a_mask_may_be_written_where_it_is_true():
    mask = ad.tensor([True, False, True])
    assert mask.masked_fill_(mask, False).tolist() == [False, False, False]
    with pytest.raises(RuntimeError, match=REFUSED):
        mask[1:].masked_fill_(mask[:2], True)
