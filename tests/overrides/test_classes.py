"""Classes of users beside Tensor: with slots of their own, with reflected operators, and those that cannot be derived."""

import pytest

import adjoint as ad


class Slotted(ad.Tensor):
    __slots__ = ("note",)


class Reflecting:
    def __radd__(self, other):
        return "added"

    def __rmul__(self, other):
        return "multiplied"

    def __rand__(self, other):
        return "met"


def test_a_class_with_slots():
    for x in (Slotted(ad.ones(2)), ad.ones(2).as_subclass(Slotted)):
        x.note = "mine"
        assert x.note == "mine"
        assert type(x + 1) is Slotted
        assert not hasattr(x + 1, "note")
    x = ad.ones(2, requires_grad=True)
    (x * 2).as_subclass(Slotted).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_operators_in_place_ask_the_other_operand():
    x = ad.ones(2)
    x += Reflecting()
    assert x == "added"
    x = ad.ones(2)
    x *= Reflecting()
    assert x == "multiplied"
    x = ad.tensor([1])
    x &= Reflecting()
    assert x == "met"
    added: object = ad.Size([1]) + Reflecting()
    assert added == "added"


def test_what_is_refused():
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Own", (ad.FloatTensor,), {})
    x = ad.ones(2)
    with pytest.raises(TypeError, match="does not support deleting items"):
        del x[0]
    with pytest.raises(RuntimeError, match="positive"):
        ad.set_num_interop_threads(-1)
