"""The small modules of `torch.utils`, and the functions of `torch._utils` that programs use."""

from __future__ import annotations

import copy
import gc

import pytest

import adjoint as ad
from adjoint import _utils, utils
from adjoint.utils import _device, collect_env, cpp_extension, weak


def test_weak_dictionaries_tell_keys_apart_by_identity():
    first, second = ad.ones(2), ad.ones(2)
    table = weak.WeakIdKeyDictionary({}, weak.WeakIdRef)
    table[first], table[second] = 1, 2
    assert len(table) == 2 and table[first] == 1 and second in table and ad.ones(2) not in table and "text" not in table
    assert dict((id(key), value) for key, value in table.items()) == {id(first): 1, id(second): 2}
    assert table == table.copy() == copy.deepcopy(table) == (table | table) and table.get(ad.ones(2), 7) == 7
    assert table.pop(second) == 2 and table.setdefault(second, 5) == 5
    del second
    gc.collect()
    assert list(table.values()) == [1] and len(table.keyrefs()) == 1
    assert table.popitem()[1] == 1 and not table
    reference = weak.TensorWeakRef(first)
    assert reference() is first
    with pytest.raises(AssertionError, match=r"expected torch\.Tensor"):
        weak.TensorWeakRef(3)


def test_devices_for_functions():
    @_device.set_device("meta")
    def make():
        return ad.empty(2), ad.tril_indices(2, 2), ad.fft.fftfreq(3), ad.empty(2, device="cpu")

    assert [x.device.type for x in make()] == ["meta", "meta", "meta", "cpu"] and ad.empty(1).device.type == "cpu"
    with _device.DeviceContext("meta"):
        assert ad.ones(1).is_meta
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        _device.set_device("meta")(ad.nn.Linear)


def test_facts_about_the_machine(capsys):
    assert f"PyTorch version: {ad.__version__}" in collect_env.get_pretty_env_info()
    collect_env.main()
    assert "Python version" in capsys.readouterr().out
    assert collect_env.run("echo hello") == (0, "hello", "")


def test_what_is_refused():
    for call in (lambda: cpp_extension.load("x", []), lambda: cpp_extension.load_inline("x", ""), lambda: cpp_extension.BuildExtension(),
                 lambda: utils.rename_privateuse1_backend("npu"), utils.generate_methods_for_privateuse1_backend):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(RuntimeError, match="Ninja is required"):
        cpp_extension.verify_ninja_availability()


def test_calls_as_texts():
    assert _utils.render_call(ad.add, [ad.ones(100)], {"alpha": 2}) == "torch.add(tensor([...], size=(100,)), alpha=2)"
    assert repr(_utils.KeyErrorMessage("a\nb")) == "a\nb"
    assert _utils.try_import("no_such_module") is None and _utils.try_import("json").__name__ == "json"
