"""Storages as objects, and the settings of `torch.serialization`."""

from __future__ import annotations

import copy
import io
import mmap
import pickle
import sys
import warnings

import pytest

import adjoint as ad
from adjoint import nn, serialization
from adjoint.utils.serialization import config


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="TypedStorage is deprecated")
        yield


def again(value, options=None, **loading):
    buffer = io.BytesIO()
    ad.save(value, buffer, **(options or {}))
    buffer.seek(0)
    return ad.load(buffer, **loading)


# ---- storages -----------------------------------------------------------------------------------------------------------------------


def test_a_storage_is_the_memory():
    x = ad.arange(4.0)
    storage = x.untyped_storage()
    storage[0:4] = 255
    storage[3] = 0x7F
    assert x[0].isnan() and storage[0] == 255
    storage.fill_(0)
    assert not x.any()
    typed = x._typed_storage()
    typed[1] = 5
    assert x.tolist() == [0, 5, 0, 0] and typed[1] == 5.0 and typed.tolist() == [0, 5, 0, 0]
    twin = storage.clone()
    assert twin.data_ptr() != storage.data_ptr() and twin.tolist() == storage.tolist()
    part = storage[4:8]
    part.fill_(0)
    assert not x.any() and part.nbytes() == 4


def test_typed_storages():
    made = ad.FloatStorage([1, 2, 3])
    assert isinstance(made, ad.FloatStorage) and not isinstance(made, ad.IntStorage) and type(made) is ad.TypedStorage
    assert made.dtype is ad.float32 and made.nbytes() == 12 and made.type() == "torch.FloatStorage"
    assert made.long().tolist() == [1, 2, 3] and made.long().dtype is ad.int64
    assert ad.TypedStorage(2, dtype=ad.int16).nbytes() == 4
    made.resize_(2)
    assert made.tolist() == [1, 2]
    assert ad.LongStorage.from_buffer(bytes(8), "little").tolist() == [0]
    for wrong, error in ((lambda: ad.FloatStorage(1, 2), RuntimeError), (lambda: ad.FloatStorage(1, dtype=ad.int8), RuntimeError),
                         (lambda: made[0:1], RuntimeError), (lambda: ad.TypedStorage(wrap_storage=made), RuntimeError),
                         (lambda: ad.FloatStorage(3.5), TypeError)):  # fmt: skip
        with pytest.raises(error):
            wrong()


def test_files_as_storages(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(range(8)))
    private = ad.UntypedStorage.from_file(path, False, 8)
    private[0] = 77
    assert path.read_bytes()[0] == 0 and private.filename is None
    shared = ad.UntypedStorage.from_file(path, True, 8)
    shared[0] = 77
    assert path.read_bytes()[0] == 77 and shared.filename == str(path)
    assert ad.from_file(str(path), size=2, dtype=ad.int16).tolist() == [0x0100 + 77, 0x0302]
    ad.from_file(str(path), shared=True, size=8, dtype=ad.uint8).zero_()
    assert path.read_bytes() == bytes(8)
    with pytest.raises(RuntimeError, match="smaller than the required"):
        ad.UntypedStorage.from_file(path, False, 9)


def test_storages_are_saved_and_copied():
    x = ad.arange(3.0)
    tensor, storage = again([x, x._typed_storage()])
    storage[0] = 9
    assert tensor[0] == 9
    twin, whole = copy.deepcopy([x.untyped_storage(), x.untyped_storage()])
    assert twin == whole and twin != x.untyped_storage()
    assert pickle.loads(pickle.dumps(x._typed_storage())).tolist() == [0, 1, 2]
    assert again(x.untyped_storage(), weights_only=False).tolist() == x.untyped_storage().tolist()


# ---- serialization ------------------------------------------------------------------------------------------------------------------


class Slotted(ad.Tensor):
    __slots__ = ["unit"]


def test_slots_of_derived_classes_are_kept():
    x = ad.ones(2).as_subclass(Slotted)
    x.unit, x.note = "m", "n"
    for twin in (again(x, weights_only=False), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(twin) is Slotted and (twin.unit, twin.note) == ("m", "n") and twin.tolist() == [1, 1]


def test_one_memory_has_one_type():
    x = ad.ones(2)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different types"):
        again([x, x.view(ad.int32)])


@pytest.mark.parametrize("older", [False, True])
def test_whole_modules_inside_safe_globals(older):
    options = {"_use_new_zipfile_serialization": not older}
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    if older:
        allowed = serialization.safe_globals([nn.Sequential])
        with allowed, pytest.raises(pickle.UnpicklingError, match="Only persistent_load of storage is allowed"):
            again(model, options)
        assert repr(again(model, options, weights_only=False)) == repr(model)
        return
    with pytest.raises(pickle.UnpicklingError, match="Sequential was not an allowed global"):
        again(model)
    with serialization.safe_globals([nn.Sequential, nn.Linear, nn.BatchNorm1d]):
        twin = again(model)
    assert repr(twin) == repr(model) and ad.equal(twin[0].weight, model[0].weight)
    assert serialization.get_safe_globals() == []


def test_names_in_a_file_that_are_not_safe():
    buffer = io.BytesIO()
    ad.save({"m": nn.Linear(1, 1), "x": ad.ones(1), "s": {1}}, buffer)
    buffer.seek(0)
    name = f"{nn.Linear.__module__}.Linear"
    assert serialization.get_unsafe_globals_in_checkpoint(buffer) == [name]
    with serialization.safe_globals([(nn.Linear, name)]):
        buffer.seek(0)
        assert serialization.get_unsafe_globals_in_checkpoint(buffer) == []
        buffer.seek(0)
        assert isinstance(ad.load(buffer)["m"], nn.Linear)
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abc"))


def test_several_files_one_after_the_other():
    buffer = io.BytesIO()
    for number in range(3):
        ad.save(ad.full((2,), float(number)), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [ad.load(buffer)[0].item() for _ in range(3)] == [0, 1, 2]
    buffer = io.BytesIO(b"12345")
    buffer.seek(5)
    ad.save(ad.ones(2), buffer)
    buffer.seek(5)
    assert ad.load(buffer).tolist() == [1, 1]


def test_files_of_the_other_byte_order():
    buffer = io.BytesIO()
    x = ad.tensor([1.0, 2.0]).untyped_storage()
    x.byteswap(ad.float32)
    swapped = ad.tensor([0.0, 0.0])
    swapped.untyped_storage().copy_(x)
    ad.save(swapped, buffer, _disable_byteorder_record=True)
    other = serialization.LoadEndianness.BIG if sys.byteorder == "little" else serialization.LoadEndianness.LITTLE
    try:
        serialization.set_default_load_endianness(other)
        assert serialization.get_default_load_endianness() is other
        buffer.seek(0)
        assert ad.load(buffer).tolist() == [1, 2]
    finally:
        serialization.set_default_load_endianness(None)


def test_skipped_data_and_settings(tmp_path):
    path = tmp_path / "x.pt"
    with serialization.skip_data():
        ad.save(ad.ones(1000), path)
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
            ad.save(ad.ones(1), path, _use_new_zipfile_serialization=False)
    assert not ad.load(path).any() and path.stat().st_size > 4000
    with serialization.skip_data():
        assert ad.load(path).shape == (1000,)
    assert serialization.get_crc32_options()
    serialization.set_crc32_options(False)
    try:
        ad.save(ad.ones(2), path)
    finally:
        serialization.set_crc32_options(True)
    assert ad.load(path).tolist() == [1, 1]
    with config.patch({"load.mmap": True}), serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ad.load(path)[0] = 7
    assert ad.load(path)[0] == 7 and not config.load.mmap and serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(AttributeError, match="does not exist"):
        config.patch("load.nothing", 3)


def test_places():
    seen = []

    def remember(storage, place):
        seen.append((type(storage), place))
        return storage

    assert again(ad.ones(2), map_location=remember).tolist() == [1, 1] and seen == [(ad.UntypedStorage, "cpu")]
    assert again(ad.ones(2), map_location={"cpu": "meta"}).is_meta and again([ad.ones(2)], map_location=ad.device("meta"))[0].is_meta
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        again(ad.ones(2), map_location="cuda:1")
    serialization.register_package(1, lambda storage: "moon", lambda storage, place: storage.fill_(0) if place == "moon" else None)
    try:
        assert again(ad.ones(2)).tolist() == [0, 0]
    finally:
        del serialization._package_registry[0]


class ReadOnly:
    def __init__(self, content):
        self._file = io.BytesIO(content)

    def __getattr__(self, name):
        if name in ("read", "readline", "seek", "tell"):
            return getattr(self._file, name)
        raise AttributeError(name)


@pytest.mark.parametrize("older", [False, True])
def test_what_can_be_read_and_sought_is_a_file(older):
    buffer = io.BytesIO()
    ad.save({"x": ad.arange(3)}, buffer, _use_new_zipfile_serialization=not older)
    assert ad.load(ReadOnly(buffer.getvalue()))["x"].tolist() == [0, 1, 2]

    class Stream(io.BytesIO):
        def seek(self, *_):
            raise io.UnsupportedOperation("seek")

    with pytest.raises(io.UnsupportedOperation, match=r"You can only torch\.load from a file that is seekable"):
        ad.load(Stream(buffer.getvalue()))


def test_other_pickle_modules():
    class Module:
        class Pickler(pickle._Pickler):
            pass

        class Unpickler(pickle._Unpickler):
            pass

    x = ad.arange(3.0)
    x.note = "a"
    got = again([x, x[1:], nn.Linear(1, 1)], {"pickle_module": Module}, weights_only=False, pickle_module=Module)
    got[0].zero_()
    assert got[0].note == "a" and got[1].tolist() == [0, 0]


def test_forced_by_the_environment(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert again(range(3)) == range(3)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        again(1)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        again(range(3), weights_only=False)


def test_hooks_are_not_saved():
    x = ad.ones(1, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        assert again(x).requires_grad
    y = ad.ones(1, requires_grad=True)
    y.register_hook(ad.utils.hooks.unserializable_hook(lambda g: g))
    assert again(y).requires_grad


def test_a_file_as_memory(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(ad.arange(5.0).numpy().tobytes())
    shared = ad.from_file(str(path), shared=True, size=5)
    shared[0] = 9
    own = ad.from_file(path, size=5)
    own[1] = 7
    assert ad.from_file(path, True, 3).tolist() == [9.0, 1.0, 2.0]
    assert own.tolist() == [9.0, 7.0, 2.0, 3.0, 4.0]
    assert shared.untyped_storage().filename == str(path)
    assert own.untyped_storage().filename is None
    storage = ad.FloatStorage.from_file(str(path), True, 5)
    assert ad.FloatTensor(storage).data_ptr() == storage.data_ptr()
    assert ad.Storage is ad.FloatStorage
    with pytest.raises(RuntimeError, match="unable to open file"):
        ad.from_file(tmp_path / "nothing", size=1)
    assert ad.from_file(path, size=2, layout=ad.strided, device=ad.device("cpu"), pin_memory=False).tolist() == [9.0, 1.0]
    with pytest.raises(RuntimeError, match="the memory of a file is on the CPU, not on meta"):
        ad.from_file(path, size=2, device="meta")
    assert isinstance(ad.UntypedStorage(2), ad.StorageBase) and not isinstance(storage, ad.StorageBase)
