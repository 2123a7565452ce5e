"""`__torch_dispatch__` on classes, tensors that wrap others, and fake tensors."""

import subprocess
import sys
from typing import Any

import pytest

import adjoint as ad
from adjoint._C import _disabled_torch_function_impl
from adjoint._class_dispatch import disabled_torch_dispatch
from adjoint._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode, is_fake, unset_fake_temporarily
from adjoint.autograd import differentiate
from adjoint.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass, return_and_correct_aliasing, transform_subclass
from adjoint.utils._pytree import tree_map


@pytest.fixture(autouse=True)
def arrays_flow_back_afterwards(monkeypatch):
    monkeypatch.setattr(differentiate, "through_tensors", False)


class Logged(ad.Tensor):
    """Wraps a tensor, and remembers the names of the ops that it sees."""

    log: list = []  # type: ignore[assignment]  # noqa: RUF012

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        return ad.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=elem.device, requires_grad=requires_grad
        )

    def __init__(self, elem, requires_grad=False):
        self.elem = elem

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def __repr__(self):
        return f"Logged({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(x):
            return x.elem if isinstance(x, cls) else x

        result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        cls.log.append(func.overloadpacket.__name__)
        return tree_map(lambda x: cls(x) if isinstance(x, ad.Tensor) else x, result)


class Scaled(ad.Tensor):
    """Whole numbers with a scale, which ops see as what they stand for."""

    @staticmethod
    def __new__(cls, whole, scale):
        return ad.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=ad.float32)

    def __init__(self, whole, scale):
        self.whole, self.scale = whole, scale

    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

    def __tensor_flatten__(self):
        return ["whole", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["whole"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is ad.ops.aten.detach.default:
            return return_and_correct_aliasing(func, args, kwargs, cls(args[0].whole, args[0].scale))
        return func(*tree_map(lambda x: x.whole.float() * x.scale if isinstance(x, cls) else x, args), **(kwargs or {}))


@pytest.fixture
def log():
    Logged.log = []
    return Logged.log


def test_facts_and_ops(log):
    x = Logged(ad.ones(2, 3))
    assert (x.shape, x.dtype, x.device.type, x.is_meta, x.stride()) == ((2, 3), ad.float32, "cpu", False, (3, 1))
    y = (x * 2 + 1).sum()
    assert type(y) is Logged and y.elem.item() == 18.0 and log == ["mul", "add", "sum"]
    x.add_(1)
    assert x.elem.tolist() == [[2.0] * 3] * 2 and type(x.view(3, 2).t()) is Logged and ad.cat([x, x]).shape == (4, 3)
    assert log[3:] == ["add_", "view", "t", "cat"]


def test_gradients_are_wrapped_too(log):
    x, w = Logged(ad.tensor([[1.0, 2.0]])), Logged(ad.tensor([[3.0], [-4.0]]), requires_grad=True)
    loss = (ad.relu(-(x @ w)) ** 2).sum()
    assert loss.grad_fn.name() == "SumBackward0"
    loss.backward()
    assert type(w.grad) is Logged and w.grad.elem.tolist() == [[-10.0], [-20.0]]
    z = Logged(ad.tensor([0.5]), requires_grad=True)
    (z.exp() * ad.sigmoid(z)).sum().backward()  # whose rules use the results
    plain = ad.tensor([0.5], requires_grad=True)
    (plain.exp() * ad.sigmoid(plain)).sum().backward()
    assert ad.allclose(z.grad.elem, plain.grad)


def test_a_wrapped_weight_that_is_not_trained():
    weight = Scaled(ad.tensor([[1, -2], [3, 4]], dtype=ad.int8), ad.tensor(0.5))
    x = ad.ones(1, 2, requires_grad=True)
    layer = ad.nn.Linear(2, 2, bias=False)
    kept: Any = ad.nn.Parameter(weight, requires_grad=False)
    layer.weight = kept
    assert type(kept) is Scaled and isinstance(kept, ad.nn.Parameter) and layer.weight is kept
    y = layer(x)
    assert type(y) is ad.Tensor and y.tolist() == [[-0.5, 3.5]]
    y.sum().backward()
    assert x.grad.tolist() == [[2.0, 1.0]]


def test_what_wrappers_consist_of():
    weight = Scaled(ad.ones(2, dtype=ad.int8), ad.tensor(0.5))
    assert is_traceable_wrapper_subclass(weight) and not is_traceable_wrapper_subclass(ad.ones(1))
    doubled = transform_subclass(weight, lambda name, inner: inner * 2 if name == "scale" else inner)
    assert type(doubled) is Scaled and doubled.scale.item() == 1.0
    x = ad.ones(1)
    assert return_and_correct_aliasing(ad.ops.aten.add_.Tensor, (x, 1), {}, None) is x


def test_nobody_answers():
    class Silent(ad.Tensor):
        __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Without(ad.Tensor):
        pass

    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented: Silent"):
        ad.Tensor._make_wrapper_subclass(Silent, (2,)) + 1
    with pytest.raises(RuntimeError, match="has to define __torch_dispatch__"):
        ad.Tensor._make_wrapper_subclass(Without, (2,))


def test_a_class_with_elements_of_its_own():
    seen = []

    class Watched(ad.Tensor):
        __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return ad._class_dispatch.disabled_torch_dispatch(func, types, args, kwargs)

    x = ad.ones(2).as_subclass(Watched)
    assert (x * 2).tolist() == [2.0, 2.0] and seen == ["aten.mul.default"]


def test_operators_of_programs_are_seen(log):
    @ad.library.custom_op("testing::double", mutates_args=())
    def double(x: ad.Tensor) -> ad.Tensor:
        return x * 2

    double.register_fake(lambda x: ad.empty_like(x))
    assert double(Logged(ad.ones(2))).elem.tolist() == [2.0, 2.0] and log[-1] == "double"
    assert is_fake(double(FakeTensorMode().from_tensor(ad.ones(2))))
    ad.library.register_torch_dispatch(double, Logged, lambda cls, func, types, args, kwargs: "instead")
    assert double._opoverload.compute([Logged(ad.ones(1))]) == "instead"
    ad._ops.remove_operator("testing::double")


# ---- fake tensors -------------------------------------------------------------------------------------------------------------------


def test_fake_tensors():
    mode, x = FakeTensorMode(), ad.ones(3, 4)
    fake = mode.from_tensor(x)
    assert (type(fake), fake.shape, fake.device.type, is_fake(fake), is_fake(x)) == (FakeTensor, (3, 4), "cpu", True, False)
    assert mode.from_tensor(fake) is fake and repr(fake @ fake.t()) == "FakeTensor(..., size=(3, 3))" and is_fake(fake.sum(0))
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + x
    assert is_fake(FakeTensorMode(allow_non_fake_inputs=True).from_tensor(x) + x)
    with pytest.raises(DataDependentOutputException, match=r"aten._local_scalar_dense"):
        fake.sum().item()
    with pytest.raises(NotImplementedError, match="no symbolic sizes"):
        FakeTensorMode(shape_env=object())


def test_inside_the_mode_everything_is_fake():
    with FakeTensorMode():
        layer = ad.nn.Linear(1 << 20, 1 << 20)  # which would not fit into memory
        y = layer(ad.ones(2, 1 << 20))
        with unset_fake_temporarily():
            assert type(ad.ones(2)) is ad.Tensor
    assert is_fake(layer.weight) and is_fake(y) and y.shape == (2, 1 << 20) and y.requires_grad


def test_who_only_asks_whether_a_tensor_is_fake_does_not_pay():
    program = (
        "import adjoint as ad, adjoint._subclasses.fake_tensor as fake\n"
        "assert not fake.is_fake(ad.ones(2)) and ad.mean.__code__.co_filename.endswith('reduce.py'), ad.mean.__code__"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    fake = FakeTensorMode().from_tensor(ad.ones(2, 3))
    assert all(map(is_fake, (fake.contiguous(), fake.detach(), fake.new_zeros(4), fake.cpu())))


@pytest.mark.parametrize(("take", "calls"), [
    (lambda x: x[0], [("select", (0, 0))]),
    (lambda x: x.select(1, 2), [("select", (1, 2))]),
    (lambda x: x[:, 1:3], [("slice", (1, 1, 3))]),
    (lambda x: x[1:, ::2], [("slice", (0, 1, 2**63 - 1)), ("slice", (1, 0, 2**63 - 1, 2))]),
    (lambda x: x[..., None, 0], [("unsqueeze", (1,)), ("select", (2, 0))]),
    (lambda x: x[...], [("alias", ())]),
    (lambda x: x[:, [0, 2]], [("index", ([None, [0, 2]],))]),
])  # fmt: skip
def test_a_class_sees_an_index_as_the_ops_that_pytorch_makes_of_it(take, calls):
    seen = []

    def shown(value):
        return [item if item is None else item.tolist() for item in value] if isinstance(value, list) else value

    class Seeing(ad.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((func.overloadpacket.__name__, tuple(map(shown, args[1:]))))
            return disabled_torch_dispatch(func, types, args, kwargs).as_subclass(Seeing)

    x = ad.arange(6.0).reshape(2, 3)
    result = take(x.as_subclass(Seeing))
    assert seen == calls
    assert result.tolist() == take(x).tolist()


def test_wrappers_among_indices(log):
    """They have no elements, so their class has to say what is meant."""
    x, index = ad.arange(12.0).view(4, 3), Logged(ad.tensor([2, 0]))
    assert ad.equal(x[index].elem, x[ad.tensor([2, 0])]) and ad.equal(x[1:, index].elem, x[1:][:, [2, 0]])
    assert ad.zeros(3).scatter_add_(0, index, ad.tensor([1.0, 5])).elem.tolist() == [5, 0, 1]
    assert log == ["index", "index", "scatter_add_"]


def test_names_of_attributes_that_tensors_have_too(tmp_path):
    class Shared(Logged):
        def __init__(self, elem, requires_grad=False):
            super().__init__(elem, requires_grad)
            self._data = elem * 10

    x = Shared(ad.ones(2, 3))
    assert x.shape == (2, 3) and x.dtype is ad.float32 and x._data.tolist() == [[10] * 3] * 2
    assert (x + 1)._data.tolist() == [[20] * 3] * 2 and (x + 1).shape == (2, 3)
    x._data = "mine"
    assert x._data == "mine" and x.sum().elem.item() == 6


def test_modes_see_what_is_written_to_a_part():
    seen = []

    class Ops(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func).split(".")[1])
            return func(*args, **(kwargs or {}))

    x, index, ones = ad.zeros(3), ad.tensor([0, 1]), ad.ones(2)
    with Ops():
        x.scatter_add_(0, index, ones)
        x.index_add_(0, index, ones)
        x[index] = 3.0
        x.index_put_((index,), ones, accumulate=True)
        x.masked_fill_(ad.tensor([True, False, False]), 7.0)
        x.copy_(x + 1)
    assert x.tolist() == [8, 5, 1]
    assert seen == ["scatter_add_", "index_add_", "index_put_", "index_put_", "masked_fill_", "add", "copy_"]


def test_wrappers_see_what_fills_them_and_what_is_made_like_them():
    x = Logged(ad.ones(2))
    Logged.log.clear()
    x.copy_(Logged(ad.zeros(2)))
    x.fill_(3.0)
    x.zero_()
    ad.nn.init.uniform_(x)
    made = ad.zeros_like(x), ad.full_like(x, 2.0)
    assert Logged.log == ["copy_", "fill_", "zero_", "uniform_", "zeros_like", "full_like"]
    assert made[1].elem.tolist() == [2, 2] and x.elem.any()
