"""`__torch_function__` of classes that have nothing to do with Tensor, modes, and `adjoint.overrides`."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint import overrides
from adjoint.nn import functional as F
from adjoint.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parents[2]


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, dict(kwargs or {})


class Mute:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Calls(overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


DUCK = Duck()
CALLS = {
    "ad.mean(d)": ad.mean, "ad.exp(d)": ad.exp, "ad.add(x, d)": ad.add, "ad.add(1, d)": ad.add, "ad.cat([x, d])": ad.cat,
    "ad.stack((d, d))": ad.stack, "F.relu(d)": F.relu, "F.linear(x, d)": F.linear, "F.cross_entropy(d, x)": F.cross_entropy,
    "ad.zeros_like(d)": ad.zeros_like, "ad.full((2,), d)": ad.full, "ad.linalg.inv(d)": ad.linalg.inv, "x.add_(d)": ad.Tensor.add_,
    "ad.autograd.grad(d, d)": ad.autograd.grad, "x.mul(d)": ad.mul, "ad.add(x, x, out=d)": ad.add, "ad.fft.fft(d)": ad.fft.fft,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_foreign_objects_answer(call):
    func, types, _, _ = eval(call, {"ad": ad, "F": F, "d": DUCK, "x": ad.ones(2)})
    assert func is CALLS[call] and types == (Duck,)


def test_arguments_are_as_given():
    x = ad.ones(2, 2)
    assert ad.mean(DUCK, dim=1)[2:] == ((DUCK,), {"dim": 1})
    assert ad.exp(DUCK)[2:] == ((DUCK,), {})
    assert ad.sum(input=DUCK)[2:] == ((), {"input": DUCK})
    assert (x + DUCK)[2] == (x, DUCK)
    assert ad.softmax(DUCK, 1)[2:] == ((DUCK, 1), {})


def test_nobody_answers():
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.mean'; all __torch_function__ handlers returned"):
        ad.mean(Mute())
    with pytest.raises(TypeError, match=r"no implementation found for 'torch.nn.functional.relu' on types that implement"):
        F.relu(Mute())
    with pytest.raises(TypeError, match="unsupported operand type"):
        ad.ones(2) + Mute()
    assert ad.add(Mute(), DUCK)[0] is ad.add  # type: ignore[comparison-overlap]


FIRST_CALLS = ["ad.mean(d)", "ad.exp(d)", "ad.ones(2) + d", "ad.cat([d])", "ad.sum(d, 0)", "ad.ones(2).add_(d)"]


@pytest.mark.parametrize("call", FIRST_CALLS)
def test_the_first_foreign_object_of_a_program_answers(call):
    """Before that, functions written in Python do not look for such objects at all."""
    code = f"""
import adjoint as ad
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, args
d = Duck()
name, args = {call}
flat = args[0] if isinstance(args[0], list) else args
assert name in {call!r}.replace("+", "add") and sum(x is d for x in flat) == 1, (name, args)
assert ad.std(d)[0] == "std"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_ordinary_programs_load_nothing():
    code = """
import sys
import adjoint as ad
x = ad.ones(2, requires_grad=True)
(ad.mean(x) + x.shape[0]).backward()
assert not {"adjoint.overrides", "adjoint._overriding", "adjoint._watching"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- modes --------------------------------------------------------------------------------------------------------------------------


def test_a_mode_sees_functions_methods_and_properties():
    with Calls() as mode:
        x = ad.ones(2, requires_grad=True)
        y = (x * 2).sum()
        y.backward()
        assert x.shape == (2,)
        F.relu(x)
    assert mode.names == [
        "torch.ones", "torch.mul", "torch.sum", "torch.Tensor.backward", "torch.Tensor.shape.__get__", "torch.nn.functional.relu"
    ]  # fmt: skip
    assert x.grad.tolist() == [2.0, 2.0]
    assert ad.ones(2).shape == (2,)
    assert len(mode.names) == 6


def test_modes_nest():
    with Calls() as outer, Calls() as inner:
        ad.ones(1)
        with overrides.BaseTorchFunctionMode():
            ad.zeros(1)
    assert inner.names == outer.names == ["torch.ones", "torch.zeros"]
    assert overrides._get_current_function_mode_stack() == []


def test_a_mode_can_replace_results():
    class Zero(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 0 if func is ad.exp else func(*args, **(kwargs or {}))

    with Zero():
        assert ad.exp(ad.ones(1)) == 0
    assert ad.exp(ad.zeros(1)) == 1


def test_modes_can_be_disabled_and_fail():
    with Calls() as mode:
        with ad._C.DisableTorchFunction():
            ad.ones(1)
        with pytest.raises(TypeError):
            ad.exp("text")
        ad.zeros(1)
    assert mode.names == ["torch.exp", "torch.zeros"]
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        ad.ones(1)


def test_modes_belong_to_their_thread():
    seen = []
    with Calls() as mode:
        thread = threading.Thread(target=lambda: seen.append(ad.ones(2).exp().shape))
        thread.start()
        thread.join()
    assert seen == [(2,)] and mode.names == []


def test_a_device_is_a_mode():
    with ad.device("meta"):
        assert ad.ones(2).is_meta
    assert not ad.ones(2).is_meta


def test_modes_and_derived_classes():
    class Derived(ad.Tensor):
        pass

    x = ad.ones(2).as_subclass(Derived)
    with Calls() as mode:
        y = x + 1
    assert type(y) is Derived and mode.names == ["torch.add"]


def test_dispatch_modes_see_ops():
    class Ops(TorchDispatchMode):
        def __init__(self):
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    x = ad.ones(2, requires_grad=True)
    with Ops() as mode:
        y = ad.mean(x * 2)
        x.detach().add_(1.0)
    y.backward()
    assert mode.names == ["aten.mul.default", "aten.mean.default", "aten.add_.default"]
    assert x.grad.tolist() == [1.0, 1.0]


TRANSFORMED = {
    "grad": lambda f, x: ad.func.grad(f)(x),
    "vjp": lambda f, x: ad.func.vjp(f, x)[1](ad.ones(()))[0],
    "jvp": lambda f, x: ad.func.jvp(f, (x,), (x,))[1],
    "hessian": lambda f, x: ad.func.hessian(f)(x),
    "grad of each": lambda f, x: ad.func.vmap(ad.func.grad(f))(x.unsqueeze(1)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_dispatch_modes_around_transforms(name):
    class Ops(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    def f(x):
        return (x.sin() * x).sum()

    expected = TRANSFORMED[name](f, ad.arange(3.0))
    with Ops() as outer, Ops() as inner:
        found = TRANSFORMED[name](f, ad.arange(3.0))
    assert found.equal(expected) and inner.count == outer.count > 0


# ---- the module ---------------------------------------------------------------------------------------------------------------------


def test_has_torch_function():
    x = ad.ones(1)
    assert overrides.has_torch_function((x, DUCK)) and not overrides.has_torch_function((x, 3))
    assert overrides.has_torch_function_unary(DUCK) and not overrides.has_torch_function_unary(x)
    assert overrides.has_torch_function_variadic(1, DUCK) and not overrides.has_torch_function_variadic(1, x)
    assert overrides.is_tensor_like(DUCK) and overrides.is_tensor_like(x) and not overrides.is_tensor_like(3)


def test_functions_of_ones_own():
    def double(x):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2

    assert double(DUCK)[0] is double and double(3) == 6

    @overrides.wrap_torch_function(lambda x, y=1: (x,))
    def triple(x, y=1):
        return x * 3

    assert triple(DUCK, y=2) == (triple, (Duck,), (DUCK,), {"y": 2}) and triple(2) == 6
    with pytest.raises(TypeError):
        triple(Mute())


NAMES = {
    "torch.add": ad.add, "torch.nn.functional.relu": F.relu, "torch.Tensor.shape.__get__": ad.Tensor.shape.__get__,
    "torch.linalg.inv": ad.linalg.inv, "torch.Tensor.dim": ad.Tensor.dim, "torch.nn.functional.linear": F.linear,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert overrides.resolve_name(NAMES[name]) == name
    assert overrides.is_tensor_method_or_property(NAMES[name]) == name.startswith("torch.Tensor.")


def test_lists_of_functions():
    assert overrides.resolve_name(print) is None
    functions = overrides.get_overridable_functions()
    assert ad.add in functions[ad] and F.relu in functions[F] and ad.Tensor.dim in functions[ad.Tensor]
    assert ad.is_tensor in overrides.get_ignored_functions() and ad.add not in overrides.get_ignored_functions()
    dummies = overrides.get_testing_overrides()
    assert dummies[ad.add](1, 2) == -1 and "other" in inspect.signature(dummies[ad.add]).parameters


def overridable():
    dummies = overrides.get_testing_overrides()
    return {overrides.resolve_name(fn): fn for fn in dummies if overrides.resolve_name(fn).count(".") == 1}


@pytest.mark.parametrize("name", overridable())
def test_each_function_asks(name):
    """With objects for all arguments that must be given."""
    fn = overridable()[name]
    signature = inspect.signature(overrides.get_testing_overrides()[fn])
    required = [p for p in signature.parameters.values() if p.default is p.empty]
    takes_objects = [p for p in required if p.kind is not p.VAR_KEYWORD]
    if not takes_objects:
        assert required == [] or name
        return
    positional = [[DUCK] if p.name == "tensors" else DUCK for p in takes_objects if p.kind is not p.KEYWORD_ONLY]
    keywords = {p.name: DUCK for p in takes_objects if p.kind is p.KEYWORD_ONLY}
    assert fn(*positional, **keywords)[1] == (Duck,)


def test_a_debugger_sees_the_variables_of_functions_that_ask():
    x = ad.ones(2)
    assert ad.as_strided(DUCK, (1,), (1,))[1] == (Duck,)  # from here on, functions ask
    with pytest.raises(RuntimeError) as found:
        x.as_strided_((9,), (1,), -5)
    seen = {entry.name: entry.frame.f_locals for entry in found.traceback}
    assert seen["changing"]["self"] is x


def test_operands_of_einsum_in_one_list_are_told_one_by_one():
    class Teller:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, args

    a, b = Teller(), Teller()
    for operands in ((a, b), [a, b]):
        answer: Any = ad.einsum("ij,jk->ik", operands)
        func, args = answer
        assert func is ad.einsum and args[0] == "ij,jk->ik" and args[1] is a and args[2] is b
