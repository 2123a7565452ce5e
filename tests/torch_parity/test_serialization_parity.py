"""Files exchanged with PyTorch, both ways."""

from __future__ import annotations

import io
from collections import OrderedDict

import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip


def to_torch(value, **options):
    buffer = io.BytesIO()
    ad.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True, **options)


def from_torch(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return ad.load(buffer)


def structure(library):
    base = library.arange(12.0).reshape(3, 4)
    ordered = OrderedDict(first=base.t(), second=base[1:, ::2])
    return {
        "base": base,
        "views": [ordered, base[:, 1], base[0, 0], base[2:2], base.expand(2, 3, 4)],
        "plain": (1, -7, 2**50, 1.5, "text", None, True, [], {}, ()),
        3: {"size": library.Size([2, 3]), "dtype": library.bfloat16, "device": library.device("cpu")},
        "leaf": library.ones(2, requires_grad=True),
        "parameter": library.nn.Parameter(library.zeros(2, 1)),
        "frozen": library.nn.Parameter(library.zeros(2, 1), requires_grad=False),
    }


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name):
    ours = ad.arange(6).reshape(2, 3).to(getattr(ad, name))
    theirs = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    assert repr(to_torch(ours)) == repr(theirs)
    assert repr(from_torch(theirs)) == repr(ours)


def test_structures():
    assert repr(to_torch(structure(ad))) == repr(structure(torch))
    assert repr(from_torch(structure(torch))) == repr(structure(ad))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol):
    assert repr(from_torch(structure(torch), pickle_protocol=protocol)) == repr(structure(ad))


def test_shared_memory_stays_shared():
    for exchange, library in ((to_torch, ad), (from_torch, torch)):
        base, view = exchange([x := library.arange(6.0).reshape(2, 3), x[:, 1]])
        base.zero_()
        assert view.tolist() == [0.0, 0.0]
        assert view.stride() == (3,)


def test_conjugate_views():
    assert from_torch(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_attributes_of_tensors():
    x = torch.ones(1)
    x.note = "hello"
    x.shape_of_things = [1]
    got = from_torch(x)
    assert (got.note, got.shape_of_things) == ("hello", [1])


def make(library):
    library.manual_seed(0)
    nn = library.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
    return model, library.optim.Adam(model.parameters(), lr=0.01)


def train(library, model, optimizer):
    x = library.linspace(-1, 1, 24).reshape(8, 3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@pytest.mark.parametrize(("first", "second", "exchange"), [(ad, torch, to_torch), (torch, ad, from_torch)])
def test_training_goes_on_in_the_other_library(first, second, exchange):
    model, optimizer = make(first)
    train(first, model, optimizer)
    saved = exchange({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other, other_optimizer = make(second)
    assert str(other.load_state_dict(saved["model"])) == "<All keys matched successfully>"
    other_optimizer.load_state_dict(saved["optimizer"])
    assert train(second, other, other_optimizer) == pytest.approx(train(first, model, optimizer), rel=1e-5)


def test_whole_modules_are_refused():
    with pytest.raises(Exception, match=r"GLOBAL torch.nn.modules.linear.Linear was not an allowed global"):
        from_torch(torch.nn.Linear(1, 1))


def test_old_format_is_refused_clearly():
    with pytest.raises(RuntimeError, match=r"before version 1\.6"):
        from_torch(torch.ones(1), _use_new_zipfile_serialization=False)


def test_files_can_be_mapped(tmp_path):
    ad.save([ad.arange(10.0), ad.ones(3)], tmp_path / "a.pt")
    assert [x.tolist() for x in torch.load(tmp_path / "a.pt", mmap=True)] == [list(range(10)), [1, 1, 1]]
    torch.save([torch.arange(10.0), torch.ones(3)], tmp_path / "b.pt")
    assert [x.tolist() for x in ad.load(tmp_path / "b.pt", mmap=True)] == [list(range(10)), [1, 1, 1]]
