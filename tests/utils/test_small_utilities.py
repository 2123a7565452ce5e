"""The small modules of `torch.utils`, and the functions of `torch._utils` that programs use."""

from __future__ import annotations

import copy
import gc

import pytest

import adjoint as ad
from adjoint import _utils, utils
from adjoint.utils import _device, collect_env, cpp_extension, weak
from adjoint.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator


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


class _Noted(_DecoratorContextManager):
    """Notes when it is entered and left."""

    def __init__(self, notes):
        self.notes = notes

    def __enter__(self):
        self.notes.append("in")

    def __exit__(self, *error):
        self.notes.append("out")

    def clone(self):
        return _Noted(self.notes)


def test_a_derived_context_manager_decorates_functions_and_generators():
    notes: list[str] = []

    @_Noted(notes)
    def work():
        notes.append("work")
        return 1

    @_Noted(notes)
    def numbers():
        notes.append("first")
        yield 1
        notes.append("second")

    assert work() == 1
    assert notes == ["in", "work", "out"]
    notes.clear()
    for _ in numbers():
        notes.append("between")
    assert notes == ["in", "first", "out", "between", "in", "second", "out"]


def test_a_context_around_a_function_is_made_for_each_call_or_given():
    notes: list[str] = []
    made = context_decorator(lambda: _Noted(notes), lambda: notes.append("work"))
    made()
    made()
    assert notes == ["in", "work", "out"] * 2

    class Both(_Noted):
        def __call__(self, fn):
            return fn

    with pytest.raises(AssertionError, match="both callable and also a valid context manager"):
        context_decorator(Both(notes), lambda: None)


def test_one_without_arguments_decorates_without_parentheses():
    entered = []

    class Bare(_NoParamDecoratorContextManager):
        def __enter__(self):
            entered.append(self)

        def __exit__(self, *error):
            pass

    @Bare
    def work():
        return len(entered)

    assert work() == 1
    with Bare():
        assert len(entered) == 2


def test_modes_of_autograd_are_such_context_managers():
    off = ad.no_grad()
    assert isinstance(off, _DecoratorContextManager)
    with off.clone():
        assert not ad.is_grad_enabled()
    assert ad.is_grad_enabled()


# ---- timing -------------------------------------------------------------------------------------------------------------------------


def test_a_timer_uses_as_many_threads_as_it_is_told_and_tells_of_each_block():
    from adjoint.utils.benchmark import Timer

    seen: set[int] = set()
    blocks, before = [], ad.get_num_threads()
    timer = Timer("seen.add(ad.get_num_threads())", globals={"seen": seen, "ad": ad}, num_threads=2, env="branch")
    measured = timer.blocked_autorange(lambda runs, seconds: blocks.append(seconds / runs), min_run_time=0.001)
    assert seen == {2} and ad.get_num_threads() == before and blocks == measured.times and measured.description == "branch"


def test_a_timer_measures_python():
    from adjoint.utils.benchmark import Timer

    with pytest.raises(NotImplementedError, match="statements in c\\+\\+ are not compiled"):
        Timer("int x;", language="c++")
    with pytest.raises(ValueError, match=r"global_setup is C\+\+ only"):
        Timer("pass", global_setup="int x;")


def test_modules_need_not_be_given_to_be_counted():
    from adjoint.utils.flop_counter import FlopCounterMode

    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(ad.nn.Linear(1, 1), display=False)
