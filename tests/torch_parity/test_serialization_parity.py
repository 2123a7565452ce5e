"""Files exchanged with PyTorch, both ways."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections import OrderedDict
from contextlib import nullcontext

import numpy
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip


def to_torch(value, **options):
    buffer = io.BytesIO()
    ad.save(value, buffer, **options)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


def from_torch(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    buffer.seek(0)
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
    with pytest.warns(UserWarning, match=f"Detected pickle protocol {protocol}") if protocol > 2 else nullcontext():
        assert repr(from_torch(structure(torch), pickle_protocol=protocol)) == repr(structure(ad))
        assert repr(to_torch(structure(ad), pickle_protocol=protocol)) == repr(structure(torch))


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
    assert (to_torch(got).note, to_torch(got).shape_of_things) == ("hello", [1])


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


def test_the_older_format():
    older = {"_use_new_zipfile_serialization": False}
    assert repr(from_torch(structure(torch), **older)) == repr(structure(ad))
    assert repr(to_torch(structure(ad), **older)) == repr(structure(torch))
    for exchange, library in ((to_torch, ad), (from_torch, torch)):
        base, view = exchange([x := library.arange(6.0).reshape(2, 3), x[:, 1]], **older)
        base.zero_()
        assert view.tolist() == [0.0, 0.0]


CALLS = [
    "torch.load(io.BytesIO(b''))",
    "torch.load(io.BytesIO(b'PK\\x03\\x04abc'))",
    "torch.save(1, 5)",
    "torch.save(1, '/nonexistent/x.pt')",
    "torch.load(5)",
    "again(torch.ones(2), map_location='cuda')",
    "again(torch.ones(2), map_location='nowhere')",
    "again(torch.ones(2), map_location='meta')",
    "again(torch.ones(2), map_location=torch.device('meta'))",
    "again(torch.ones(2, device='meta'))",
    "again(torch.ones(2), map_location={'cpu': 'meta'})",
    "again(torch.ones(2), map_location=lambda storage, place: None)",
    "again(torch.ones(2), map_location=lambda storage, place: storage.fill_(0))",
    "again(frozenset([1]))",
    "again(range(3))",
    "again(numpy.float32(3))",
    "again(numpy.float32(3), weights_only=False)",
    "again([x := torch.ones(2), x.view(torch.int32)])",
    "again(1, pickle_module=pickle, weights_only=True)",
    "torch.load(io.BytesIO(pickle.dumps([1])), weights_only=False)",
    "torch.serialization.set_default_load_endianness('little')",
    "torch.serialization.set_default_mmap_options(77)",
    "torch.UntypedStorage(4).fill_(3)",
    "torch.UntypedStorage(4).fill_(3)[1:3]",
    "torch.UntypedStorage(2)[5]",
    "torch.UntypedStorage(2)['a']",
    "torch.UntypedStorage([1, 2, 3]).tolist()",
    "torch.arange(3.).untyped_storage().nbytes()",
    "torch.arange(3.)._typed_storage()._getitem(1) if hasattr(torch.TypedStorage, '_getitem') else 1.0",
    "torch.UntypedStorage.from_buffer(b'abcd', dtype=torch.int16)",
    "torch.UntypedStorage.from_buffer(b'abcd', 'middle', dtype=torch.int16)",
    "torch.UntypedStorage.from_buffer(b'abcd', 'big', dtype=torch.int16).tolist()",
    "torch.UntypedStorage.from_buffer(b'abc', 'big', dtype=torch.int16)",
    "torch.UntypedStorage.from_buffer(b'abcd', 'big', 3, 0, dtype=torch.int16)",
    "copy.deepcopy(torch.UntypedStorage([1, 2])).tolist()",
    "torch.UntypedStorage([1, 2]).float().tolist()",
]


def outcome(library, call):
    def again(value, pickle_module=None, **options):
        buffer = io.BytesIO()
        library.save(value, buffer)
        buffer.seek(0)
        return library.load(buffer, pickle_module=pickle_module, **options)

    names = {"torch": library, "again": again, "io": io, "pickle": pickle, "numpy": numpy, "copy": copy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(call, names))
        except Exception as error:
            return type(error).__name__, str(error)[:40]


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    assert outcome(ad, call) == outcome(torch, call)


def test_files_can_be_mapped(tmp_path):
    ad.save([ad.arange(10.0), ad.ones(3)], tmp_path / "a.pt")
    assert [x.tolist() for x in torch.load(tmp_path / "a.pt", mmap=True)] == [list(range(10)), [1, 1, 1]]
    torch.save([torch.arange(10.0), torch.ones(3)], tmp_path / "b.pt")
    assert [x.tolist() for x in ad.load(tmp_path / "b.pt", mmap=True)] == [list(range(10)), [1, 1, 1]]
