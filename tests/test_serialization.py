"""`save` and `load`: round trips, damaged and hostile files, atomic writes. With PyTorch's files: torch_parity."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import _archive, _serialization, nn


def again(value, **options):
    buffer = io.BytesIO()
    ad.save(value, buffer)
    buffer.seek(0)
    return ad.load(buffer, **options)


def archive(records):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in records.items():
            file.writestr(f"archive/{name}", content)
    buffer.seek(0)
    return buffer


def tensor_file(offset=0, size=(2,), stride=(1,), count=4, storage=b"\0" * 16):
    """A file with one tensor of float32 that is described like this."""

    def number(value):
        return b"\x8a\x08" + struct.pack("<q", value)

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    persistent = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(count) + b"tQ"
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + persistent + number(offset) + numbers(size) + numbers(stride)
    return archive({"data.pkl": b"\x80\x02" + call + b"\x89}tR.", "data/0": storage})


# ---- round trips --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -1, 300, 2**40, -(2**70), 1.5, "text \u00e9", b"bytes\xff",
        bytearray(b"ab"), 1 + 2j, [1, [2]], (1,), (), (1, 2, 3, 4),
        {"a": 1, 2: "b", (1, "x"): None}, {1, 2}, Counter("aab"), OrderedDict(a=1), ad.float32, ad.strided, {((1, 2), "x"): 1},
        ad.Size([1, 2]), ad.device("cpu"), [],
    ],
)  # fmt: skip
def test_plain_data_comes_back(value):
    got = again(value)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("dtype", [ad.bool, ad.uint8, ad.uint16, ad.int8, ad.int64, ad.float16, ad.float32, ad.float64, ad.complex64])
def test_tensors_come_back(dtype):
    x = ad.arange(6).reshape(2, 3).to(dtype)
    got = again(x)
    assert got.dtype == dtype
    assert got.tolist() == x.tolist()
    got[0] = 0  # the memory is ours to write to


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    assert again(ad.ones(3, dtype=ad.bfloat16)).tolist() == [1.0, 1.0, 1.0]


class Point(NamedTuple):
    x: int
    y: object


class Words(list):
    pass


class Table(dict):
    pass


def test_classes_are_kept():
    value = {
        "number": np.float32(1.5), "pair": Point(1, ad.ones(1)), "missing": defaultdict(list, a=[1]), "words": Words([1, 2]),
        "table": Table(a=1), "frozen": frozenset([1]), "range": range(3), "values": ad.tensor([3.0, 1.0]).max(0),
    }  # fmt: skip
    got = again(value, weights_only=False)
    assert got == value and [type(x) for x in got.values()] == [type(x) for x in value.values()]
    assert got["missing"]["b"] == []
    for name in ("pair", "missing", "words", "number", "frozen"):
        with pytest.raises(pickle.UnpicklingError, match="was not an allowed global by default"):
            again(value[name])
    with ad.serialization.safe_globals([Point]):
        assert again(Point(1, 2)) == Point(1, 2)


class Outer:
    class Inner:
        pass

    @staticmethod
    def rate(step):
        return step


def test_what_stands_inside_a_class_is_kept(tmp_path):
    assert again({"f": Outer.rate, "c": Outer.Inner}, weights_only=False) == {"f": Outer.rate, "c": Outer.Inner}


def test_attributes_of_tensors_are_kept():
    x, weight = ad.ones(2), nn.Parameter(ad.ones(2))
    x.note, weight.note = "a", ["b"]
    for options in ({}, {"weights_only": False}):
        got, trained = again([x, weight], **options)
        assert got.note == "a" and trained.note == ["b"] and isinstance(trained, nn.Parameter) and trained.requires_grad


class Measured(ad.Tensor):
    pass


class Counted(ad.Tensor):
    def __getstate__(self):
        return {"count": 3}

    def __setstate__(self, state):
        self.seen = state["count"]


@pytest.mark.parametrize("zipped", [True, False])
def test_subclasses_of_tensors(zipped):
    value = [ad.ones(2).as_subclass(Measured), ad.ones(2).as_subclass(Counted)]
    value[0].unit = "m"
    buffer = io.BytesIO()
    ad.save(value, buffer, _use_new_zipfile_serialization=zipped)
    with pytest.raises(pickle.UnpicklingError, match="Measured was not an allowed global"):
        buffer.seek(0)
        ad.load(buffer)
    buffer.seek(0)
    with ad.serialization.safe_globals([Measured, Counted]):
        measured, counted = ad.load(buffer)
    assert type(measured) is Measured and measured.unit == "m" and measured.tolist() == [1, 1]
    assert type(counted) is Counted and counted.seen == 3


def test_recursive_tuples_and_shared_ones():
    shared: tuple[int, list] = (1, [])
    shared[1].append(shared)
    got = again([shared, shared])
    assert got[0] is got[1] and got[0][1][0] is got[0]


@pytest.mark.parametrize("make", [lambda x: x.t(), lambda x: x[:, 1], lambda x: x[1:1], lambda x: x[0, 0], lambda x: x.expand(2, 2, 3)])
def test_views_keep_sharing_memory(make):
    x = ad.arange(6.0).reshape(2, 3)
    whole, view = again([x, make(x)])
    assert view.tolist() == make(x).tolist()
    assert view.stride() == make(x).stride() or not view.numel()
    whole.zero_()
    assert not view.any()


def test_arrays_that_step_backwards_are_copied():
    x = ad.zeros(3)
    x._data = np.arange(3, dtype=np.float32)[::-1]
    assert again(x).tolist() == [2, 1, 0]


def test_identity_is_kept():
    x = ad.ones(1)
    inner = [x]
    cycle = [inner, inner, x]
    cycle.append(cycle)
    got = again(cycle)
    assert got[0] is got[1]
    assert got[0][0] is got[2]
    assert got[3] is got


def test_parameters_and_requires_grad():
    weight, leaf = again([nn.Parameter(ad.ones(2)), ad.ones(2, requires_grad=True)])
    assert isinstance(weight, nn.Parameter)
    assert weight.requires_grad
    assert leaf.requires_grad
    frozen = again(nn.Parameter(ad.ones(2), requires_grad=False))
    assert not frozen.requires_grad


def test_state_dicts():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer = ad.optim.Adam(model.parameters())
    model(ad.randn(4, 2)).sum().backward()
    optimizer.step()
    got = again({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other.load_state_dict(got["model"])
    assert got["model"]._metadata == model.state_dict()._metadata
    twin = ad.optim.Adam(other.parameters())
    twin.load_state_dict(got["optimizer"])
    x = ad.ones(4, 2)
    assert other(x).tolist() == model(x).tolist()
    assert [p.tolist() for p in other.parameters()] == [p.tolist() for p in model.parameters()]


# ---- files --------------------------------------------------------------------------------------------------------


def test_paths_and_maps(tmp_path):
    path = tmp_path / "x.pt"
    ad.save({"x": ad.arange(1000.0)}, path)
    assert ad.load(str(path), map_location="cpu", weights_only=False)["x"].sum().item() == 499500
    mapped = ad.load(path, mmap=True)["x"]
    mapped[0] = 5  # a private copy of the page
    assert ad.load(path)["x"][0] == 0
    with zipfile.ZipFile(path) as file:
        assert file.namelist()[0] == "x/data.pkl"
        assert file.testzip() is None


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    ad.save(1, path)
    with pytest.raises(pickle.PicklingError, match="the object"):
        ad.save(lambda: 1, path)


    def failing(file, records, *options):
        file.write(records[0][1])
        raise OSError("disk full")

    monkeypatch.setattr(_serialization, "write_archive", failing)
    with pytest.raises(OSError, match="disk full"):
        ad.save(2, path)
    assert ad.load(path) == 1
    assert os.listdir(tmp_path) == ["x.pt"]  # noqa: PTH208


@pytest.mark.parametrize("long", [0xFFFFFFFF, 600])  # from which number on 64 bits are taken
def test_archives_are_aligned_whatever_their_size(monkeypatch, long):
    monkeypatch.setattr(_archive, "_LONG", long)
    data = {"ä": ad.arange(1000.0), "b": ad.arange(3)}
    file = io.BytesIO()
    ad.save(data, file)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            lengths = struct.unpack_from("<26x2H", file.getvalue(), info.header_offset)
            assert (info.header_offset + 30 + sum(lengths)) % 64 == 0
    file.seek(0)
    assert {name: x.tolist() for name, x in ad.load(file).items()} == {name: x.tolist() for name, x in data.items()}


def test_archives_of_very_many_records():
    file = io.BytesIO()
    _archive.write_archive(file, [(str(number), b"") for number in range(0x10000)])
    with zipfile.ZipFile(file) as archive:
        assert len(archive.namelist()) == 0x10000


def test_a_large_file_is_replaced_and_given_up(tmp_path):
    path = tmp_path / "large.pt"
    for value in (1, 2):
        ad.save(ad.full((3_000_000,), value, dtype=ad.float32), path)
        assert ad.load(path)[-1] == value
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join(10)
    assert "large.pt" not in str([number.resolve() for number in Path("/proc/self/fd").glob("*")])  # elsewhere there is no such folder


def test_links_and_modes_are_kept(tmp_path):
    (tmp_path / "real.pt").touch(mode=0o600)
    (tmp_path / "link.pt").symlink_to("real.pt")
    ad.save(1, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink()
    assert (tmp_path / "real.pt").stat().st_mode & 0o777 == 0o600
    assert ad.load(tmp_path / "real.pt") == 1


class Settings(NamedTuple):
    width: int


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings, self.history, self.activation = Settings(3), np.arange(3.0), F.relu
        self.first, self.last = nn.Linear(3, 3), nn.Linear(3, 3)
        self.last.weight = self.first.weight
        self.register_buffer("count", ad.tensor(2))
        self.itself = [self]

    def forward(self, x):
        return self.last(self.activation(self.first(x)))


def test_whole_modules_come_back_where_the_file_is_trusted():
    network = Network()
    twin = again({"model": network, "step": 3, "mean": np.float64(0.5)}, weights_only=False)["model"]
    x = ad.rand(2, 3)
    assert ad.equal(twin(x), network(x)) and twin.last.weight is twin.first.weight and twin.first.weight.requires_grad
    assert twin.settings == Settings(3) and twin.settings.width == 3 and twin.itself[0] is twin
    assert twin.history.tolist() == [0, 1, 2] and twin.activation is F.relu and twin.count.item() == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Network(), "GLOBAL .*Network was not an allowed global"),
        ([np.ones(2)], "GLOBAL numpy"),
        ({"f": len}, "GLOBAL len was not an allowed global"),
    ],
)
def test_objects_are_not_read_by_default(value, message):
    for options in ({}, {"weights_only": True}, {"weights_only": None}):
        with pytest.raises(pickle.UnpicklingError, match=message):
            again(value, **options)


def test_allowed_classes_are_read():
    value = argparse.ArgumentTypeError("text")
    with ad.serialization.safe_globals([argparse.ArgumentTypeError]):
        assert again({"a": value, "x": ad.ones(2)})["a"].args == ("text",)
        with pytest.raises(pickle.UnpicklingError, match="Network was not an allowed global"):
            again(Network())
        with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL (posix|nt).system whose module (posix|nt) is blocked"):
            ad.load(archive({"data.pkl": pickle.dumps(Evil(), 2)}))
    with pytest.raises(pickle.UnpicklingError, match="ArgumentTypeError was not an allowed global"):
        again(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [({"a": lambda: 1}, r"Can't pickle .*lambda.*the object\['a'\]"), ([iter(()).__next__, (n for n in [1])], "cannot pickle 'generator'")],
)
def test_what_python_cannot_pickle_is_not_saved(value, message):
    with pytest.raises((pickle.PicklingError, TypeError), match=message):
        ad.save(value, io.BytesIO())


def test_other_refusals(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory"):
        ad.save(1, tmp_path / "no" / "x.pt")
    with pytest.raises(AttributeError, match="expected 'f' to be string"):
        ad.save(1, 3)
    with pytest.raises(FileNotFoundError):
        ad.load(tmp_path / "x.pt")
    with pytest.raises(AttributeError, match="seekable"):
        ad.load(3)
    with pytest.raises(ValueError, match="f must be a file path"):
        ad.load(io.BytesIO(WHOLE.getvalue()), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        ad.load(io.BytesIO(), mmap=True)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module"):
        ad.load(io.BytesIO(WHOLE.getvalue()), pickle_module=pickle, weights_only=True)
    with pytest.raises(TypeError, match="has no callable attribute 'write'"):
        ad.save(1, argparse.Namespace(write=3))
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        ad.save(nested, io.BytesIO())


# ---- damaged and hostile files ------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must not run",)


def nested_tuples(end):
    return archive({"data.pkl": b"\x80\x02" + b"}" * bool(end) + b")" + b"\x85" * 1_000_000 + end + b"."})


def doubling_tuples():
    return archive({"data.pkl": b"\x80\x02})" + b"q\0h\0\x86" * 100 + b"Ns."})


def duplicate_records():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a/data.pkl", b"N.")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a/data.pkl", b"N.")
    buffer.seek(0)
    return buffer


def bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", b"N." + b"\0" * 10_000_000)
    buffer.seek(0)
    return buffer


def older(keys):
    """A file in the format without archive, with these keys of storages."""
    return io.BytesIO(b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, [1], keys)))


CALL = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: io.BytesIO(b"PK\3\4"), "failed reading zip archive"),
        (lambda: io.BytesIO(b"nonsense" * 100), "Unsupported operand"),
        (lambda: io.BytesIO(pickle.dumps(3, 2)), "Invalid magic number"),
        (lambda: older(5), "expected a list of the keys of storages, got int"),
        (lambda: archive({"x": b""}), "data.pkl: file not found"),
        (lambda: archive({"data.pkl": b"N"}), "truncated"),
        (lambda: archive({"data.pkl": b"."}), "damaged"),
        (lambda: archive({"data.pkl": b"NN."}), "left over"),
        (lambda: archive({"data.pkl": b"(."}), "a value is missing"),
        (lambda: archive({"data.pkl": b"t."}), "damaged"),
        (lambda: archive({"data.pkl": b"Nt."}), "no mark"),
        (lambda: archive({"data.pkl": b"N(Ku."}), "damaged|Can only|truncated"),
        (lambda: archive({"data.pkl": b"h\x05."}), "damaged"),
        (lambda: archive({"data.pkl": b"X\xff\xff\xff\xff."}), "truncated: 4294967295 bytes"),
        (lambda: archive({"data.pkl": b"\x8d" + b"\xff" * 8 + b"."}), "truncated"),
        (lambda: archive({"data.pkl": b"cabc"}), "inside a name"),
        (lambda: archive({"data.pkl": b"}]Ns."}), "no key"),
        (lambda: archive({"data.pkl": b"Nr\xff\xff\xff\x7fcos\nsystem\n."}), "GLOBAL os.system whose module os is blocked"),
        (lambda: archive({"data.pkl": pickle.dumps(Evil(), 2)}), "GLOBAL (posix|nt).system whose module"),
        (lambda: archive({"data.pkl": pickle.dumps(nn.Linear(1, 1), 2)}), r"adjoint.nn.linear.Linear .*\n.*state_dict"),
        (lambda: archive({"data.pkl": b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R."}), "only known with bytes"),
        (lambda: archive({"data.pkl": b"ccollections\nOrderedDict\n)RNb."}), "Can only build"),
        (lambda: archive({"data.pkl": b"X\x01\0\0\0a)R."}), "unrecognized function"),
        (lambda: archive({"data.pkl": CALL + b"(NK\0))tR."}), "no storage"),
        (lambda: archive({"data.pkl": b"NQ."}), "persistent_load id must be tuple"),
        (lambda: nested_tuples(b"Ns"), "no key"),
        (doubling_tuples, "no key"),
        (duplicate_records, "two records"),
        (bomb, "compressed"),
        (lambda: tensor_file(offset=3), "does not lie inside its storage of 4 elements"),
        (lambda: tensor_file(offset=-1), "impossible offset"),
        (lambda: tensor_file(size=(-1,)), "impossible"),
        (lambda: tensor_file(stride=(-1,)), "impossible"),
        (lambda: tensor_file(stride=(2**61,)), "does not lie inside"),
        (lambda: tensor_file(size=(2, 2), stride=(1,)), "2 sizes and 1 strides"),
        (lambda: tensor_file(size=(1,) * 100, stride=(1,) * 100), "100 sizes"),
        (lambda: tensor_file(size=(2**40, 2**40), stride=(0, 0)), "does not lie inside"),
        (lambda: tensor_file(size=(2**61,), stride=(0,)), "damaged"),
        (lambda: tensor_file(size=(0,), offset=9), "does not lie inside"),
        (lambda: tensor_file(count=2**40), "should have"),
        (lambda: tensor_file(count=5), "should have 20 bytes but has 16"),
    ],
)  # fmt: skip
def test_bad_files_give_a_clear_error(make, message, capfd):
    file = make()
    start, memory = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=message):
        ad.load(file)
    assert time.thread_time() - start < 3  # about a second; whatever else the machine does meanwhile does not count
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200_000  # KiB
    assert capfd.readouterr().out == ""


def test_a_million_nested_tuples_are_read():
    value = ad.load(nested_tuples(b""))
    depth = 0
    while value:
        (value,) = value
        depth += 1
    assert depth == 1_000_000


def test_a_good_tensor_file_is_read():
    assert ad.load(tensor_file()).tolist() == [0, 0]


def test_every_truncation_is_an_error():
    buffer = io.BytesIO()
    ad.save({"x": ad.arange(10.0), "n": [1, 2]}, buffer)
    whole = buffer.getvalue()
    for length in range(0, len(whole), 7):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            ad.load(io.BytesIO(whole[:length]))


WHOLE = io.BytesIO()
ad.save({"x": ad.arange(10.0).reshape(2, 5).t(), "p": nn.Parameter(ad.ones(1)), "n": (1, "a", 2.5)}, WHOLE)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE.getvalue()) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_damage_is_an_error_or_another_value(changes):
    damaged = bytearray(WHOLE.getvalue())
    for position, byte in changes:
        damaged[position] = byte
    try:
        ad.load(io.BytesIO(damaged))
    except (RuntimeError, pickle.UnpicklingError, ValueError, UserWarning):  # the last of an unusual protocol
        pass


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6))
def test_damaged_pickles_with_right_checksums(changes):
    with zipfile.ZipFile(WHOLE) as file:
        records = {name.removeprefix("archive/"): file.read(name) for name in file.namelist()}
    structure = bytearray(records["data.pkl"])
    for position, byte in changes:
        structure[position % len(structure)] = byte
    try:
        ad.load(archive(records | {"data.pkl": bytes(structure)}))
    except (RuntimeError, pickle.UnpicklingError, ValueError, UserWarning):  # the last of an unusual protocol
        pass


def test_whatever_can_be_written_to_is_a_file():
    class Sink:
        def __init__(self):
            self.parts = []

        def write(self, content):
            self.parts.append(bytes(content))

    sink = Sink()
    ad.save({"small": ad.arange(3), "large": ad.ones(3 * 2**20)}, sink)
    found = ad.load(io.BytesIO(b"".join(sink.parts)))
    assert found["small"].tolist() == [0, 1, 2] and found["large"].sum() == 3 * 2**20


def test_sparse_tensors_are_kept_and_checked():
    x = ad.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 3))
    for found in (again({"x": x})["x"], pickle.loads(pickle.dumps(x))):
        assert found.shape == (2, 3)
        assert found.to_dense().equal(x.to_dense())
        assert not found.is_coalesced()
    assert again(x.coalesce()).is_coalesced()
    x._indices().add_(5)  # what a damaged file may say
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        again(x)


KILLED = """
import os, signal, sys
from pathlib import Path
from adjoint._archive import replacing

with replacing(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_nothing_behind(tmp_path):
    ad.save(ad.ones(2), tmp_path / "model.pt")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "model.pt"], check=False)
    assert done.returncode != 0
    assert ad.load(tmp_path / "model.pt").tolist() == [1.0, 1.0]
    nameless = _archive._nameless(tmp_path)
    if nameless is not None:  # where files can be without a name
        os.close(nameless)
        assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_files_that_need_a_name_have_one_for_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(_archive, "_nameless", lambda directory: None)
    ad.save(ad.ones(2), tmp_path / "model.pt")
    assert ad.load(tmp_path / "model.pt").tolist() == [1.0, 1.0]
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_records_of_a_file_are_read_one_by_one(tmp_path):
    ad.save({"weight": ad.arange(6.0), "step": 3}, tmp_path / "model.pt")
    reader = ad.PyTorchFileReader(str(tmp_path / "model.pt"))
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1")
    assert b"weight" in reader.get_record("data.pkl")
    assert reader.get_storage_from_record("data/0", 4, ad.float32).tolist() == [0.0, 1.0, 2.0, 3.0]
    whole = reader.get_storage_from_record("data/0", 24, ad.UntypedStorage)
    assert whole.dtype == ad.uint8 and whole.untyped_storage().nbytes() == 24
    content = (tmp_path / "model.pt").read_bytes()
    start = reader.get_record_offset("data/0")
    assert content[start : start + 24] == reader.get_record("data/0")
    with pytest.raises(RuntimeError, match="failed locating file data/7"):
        reader.get_record("data/7")


@pytest.mark.parametrize("key", ["0", ["0"], ("0", [1])])
def test_a_storage_that_nothing_uses(key):
    with pytest.raises(AssertionError, match="not found in deserialized_objects"):
        ad.load(older([key]))
