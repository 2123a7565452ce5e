"""The named tuples that ops with several results return."""

from __future__ import annotations

import pickle

import pytest

import adjoint as ad
from adjoint import _return_types as return_types


def test_a_pair_has_names_and_torch_repr() -> None:
    pair = ad.tensor([[1.0, 3.0, 2.0]]).max(1)
    assert type(pair) is return_types.max
    assert repr(pair) == "torch.return_types.max(\nvalues=tensor([3.]),\nindices=tensor([1]))"
    values, indices = pair
    assert values is pair.values is pair[0]
    assert indices is pair.indices is pair[1]


def test_the_type_looks_like_torchs() -> None:
    assert repr(return_types.aminmax) == "<class 'torch.return_types.aminmax'>"
    assert return_types.aminmax.__match_args__ == ("min", "max")
    assert return_types.aminmax.n_fields == 2


def test_made_from_one_iterable() -> None:
    assert return_types.max(iter((1, 2))).indices == 2
    with pytest.raises(TypeError, match=r"torch.return_types.max\(\) takes a 2-sequence \(3-sequence given\)"):
        return_types.max((1, 2, 3))


def test_a_pair_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(return_types.svd((1, 2, 3))))
    assert type(again) is return_types.svd
    assert again == (1, 2, 3)
