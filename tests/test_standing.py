"""Names that are refused or inert say so where they are defined."""

import pytest

from adjoint._standing import inert, refused, standing_of


def test_a_refused_function_raises_whatever_it_is_called_with():
    @refused("there is no such thing here; write that instead")
    def f(x):
        return x

    with pytest.raises(NotImplementedError, match="write that instead"):
        f(1, 2, three=3)
    assert f.__name__ == "f"
    assert standing_of(f) == ("refused", "there is no such thing here; write that instead")


def test_an_inert_class_is_known_and_one_derived_from_it_is_the_users():
    @inert("nothing is compiled")
    class Inert:
        pass

    class Mine(Inert):
        pass

    assert standing_of(Inert) == ("inert", "nothing is compiled")
    assert standing_of(Mine) is None
    assert standing_of(3) is None
