"""`torch.library`: operators of programs, and `torch.ops`, which finds them."""

import copy
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

import adjoint as ad
from adjoint import Tensor
from adjoint.library import Library, custom_op, define, impl, infer_schema, opcheck, register_autograd, register_fake, register_kernel
from adjoint.utils._python_dispatch import TorchDispatchMode


@pytest.fixture
def sine():
    @custom_op("testing::sine", mutates_args=())
    def sine(x: Tensor) -> Tensor:
        return ad.from_numpy(np.sin(x.numpy()))

    yield sine
    ad._ops.remove_operator("testing::sine")


@pytest.fixture
def differentiable(sine):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    sine.register_autograd(backward, setup_context=setup_context)
    return sine


@pytest.fixture
def lib():
    with ad.library._scoped_library("testing_lib", "DEF") as lib:
        yield lib


# ---- signatures ---------------------------------------------------------------------------------------------------------------------


def test_signatures_from_annotations():
    def f(  # type: ignore[empty-body]
        x: Tensor, y: float = 2.0, z: Tensor | None = None, *, n: int = 3, s: str = "a", d: ad.dtype | None = None
    ) -> tuple[Tensor, Tensor]: ...
    def g(xs: Sequence[Tensor], out: Tensor, sizes: list[int], by: int | float | bool) -> None: ...

    expected = '(Tensor x, float y=2.0, Tensor? z=None, *, SymInt n=3, str s="a", ScalarType? d=None) -> (Tensor, Tensor)'
    assert infer_schema(f, mutates_args=()) == expected
    assert infer_schema(g, mutates_args={"out"}, op_name="g") == "g(Tensor[] xs, Tensor(a1!) out, SymInt[] sizes, Scalar by) -> ()"
    assert infer_schema(g, mutates_args="unknown").startswith("(Tensor(a0!)[] xs, Tensor(a1!) out")


def test_annotations_that_are_refused():
    def nothing(x) -> Tensor: ...  # type: ignore[empty-body]
    def a_dict(x: dict) -> Tensor: ...  # type: ignore[empty-body]
    def no_result(x: Tensor): ...
    def default(x: Tensor, sizes: Sequence[int] = (1, 2)) -> Tensor: ...  # type: ignore[empty-body]
    def any_number(*xs: Tensor) -> Tensor: ...  # type: ignore[empty-body]

    for function, words in (
        (nothing, "Parameter x must have a type annotation"), (a_dict, "Parameter x has unsupported type <class 'dict'>"),
        (no_result, "No return type annotation was provided"), (default, "Parameter sizes has an unsupported default value type"),
        (any_number, "We do not support positional-only args, varargs, or varkwargs"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            infer_schema(function, mutates_args=())
    with pytest.raises(ValueError, match=r"{'q'} in mutates_args were not found in the custom op's signature"):
        infer_schema(nothing, mutates_args={"q"})


def test_signatures_from_text(lib):
    text = 'all(Tensor x, int a=2, *, str s="m, n", float e=1., int[] l=[1, 2], int[2] k=1, Tensor(a!)? out=None) -> (Tensor o, Tensor[])'
    lib.define(text)
    assert str(ad.ops.testing_lib.all.default._schema) == f"testing_lib::{text}"
    for wrong, words in (
        ("f(Tensor x", "expected \\) but found 'eof'"),
        ("f(Tensor x) Tensor", "expected ->"),
        ("f(Tensor) -> Tensor", "name of an argument"),
    ):
        with pytest.raises(RuntimeError, match=words):
            lib.define(wrong)


def test_arguments_are_bound_and_checked(lib):
    lib.define("f(Tensor x, int a=2, float[]? s=None, *, int[2] k=1, ScalarType t=float64) -> Tensor")
    seen = []
    lib.impl("f", lambda x, a, s, *, k, t: seen.append((a, s, k, t)) or x.clone(), "CPU")
    x = ad.ones(1)
    ad.ops.testing_lib.f(x)
    ad.ops.testing_lib.f(x, 3, (1, 2.5), k=4, t=ad.float32)
    assert seen == [(2, None, [1, 1], ad.float64), (3, [1.0, 2.5], [4, 4], ad.float32)]
    for call, words in (
        (lambda f: f(3), "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        (lambda f: f(x, 1.5), "Expected a value of type 'int' for argument 'a' but instead found type 'float'"),
        (lambda f: f(), "is missing value for argument 'x'"),
        (lambda f: f(x, 1, None, 2), "expected at most 5 argument"),
        (lambda f: f(x, q=1), "unexpected or repeated keyword argument 'q'"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            call(ad.ops.testing_lib.f)


# ---- custom_op ----------------------------------------------------------------------------------------------------------------------


def test_an_operator_is_found_by_its_name(sine):
    x = ad.randn(3)
    for call in (sine, ad.ops.testing.sine, ad.ops.testing.sine.default):
        assert ad.equal(call(x), x.sin())
    overload = ad.ops.testing.sine.default
    assert (repr(sine), str(overload), overload.name()) == ("<CustomOpDef(testing::sine)>", "testing.sine.default", "testing::sine")
    assert str(overload._schema) == "testing::sine(Tensor x) -> Tensor" and ad.ops.testing.sine.overloads() == ["default"]
    assert pickle.loads(pickle.dumps(overload)) is overload is copy.deepcopy(overload)
    assert not hasattr(ad.ops.testing, "nothing") and repr(ad.ops.testing) == "<module 'torch.ops.testing' from 'torch.ops'>"
    with pytest.raises(AttributeError, match=r"has no overload name 'other'; it has default"):
        ad.ops.testing.sine.other  # noqa: B018


def test_defining_it_again_replaces_it(sine):
    @custom_op("testing::sine", mutates_args=())
    def again(x: Tensor) -> Tensor:
        return x + 1

    assert ad.ops.testing.sine(ad.ones(1)).tolist() == [2.0]


def test_without_a_derivative_backward_is_refused(sine):
    y = sine(ad.ones(1, requires_grad=True))
    assert y.grad_fn.name() == "GeneratedBackwardFor_testing_sine_defaultBackward"
    with pytest.raises(RuntimeError, match=r"Trying to backward through testing.sine.default but no autograd formula was registered"):
        y.backward()


def test_a_derivative(differentiable):
    x = ad.randn(3, dtype=ad.float64, requires_grad=True)
    assert ad.equal(ad.autograd.grad(differentiable(x).sum(), x)[0], x.cos())
    assert ad.autograd.gradcheck(differentiable, (x,))
    assert ad.allclose(ad.func.grad(lambda x: differentiable(x).sum())(x), x.cos())
    with ad.no_grad():
        assert not differentiable(x).requires_grad


def test_tensors_without_elements(sine):
    x = ad.empty(3, device="meta")
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        sine(x)
    sine.register_fake(lambda x: ad.empty_like(x))
    assert sine(x).shape == (3,) and sine(x).is_meta


def test_batches(differentiable):
    x = ad.randn(4, 3)
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for testing::sine"):
        assert ad.equal(ad.vmap(lambda x: differentiable(x))(x), x.sin())
    seen = []

    @differentiable.register_vmap
    def _(info, in_dims, x):
        seen.append((info.batch_size, in_dims))
        return differentiable(x), in_dims[0]

    assert ad.equal(ad.vmap(differentiable, in_dims=1)(x), x.sin().t()) and seen == [(3, (1,))]


def test_lists_defaults_and_several_results():
    @custom_op("testing::lists", mutates_args=())
    def lists(xs: Sequence[Tensor], by: float = 2.0, *, more: int = 1) -> list[Tensor]:
        return [x * by * more for x in xs]

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = inputs[1] * keyword_only_inputs["more"]
        assert isinstance(output, list)

    lists.register_autograd(lambda ctx, grads: ([grad * ctx.factor for grad in grads], None), setup_context=setup_context)
    x = ad.ones(2, requires_grad=True)
    first, second = lists([x, x.detach()], more=3)
    (first + second).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0] and not lists([ad.ones(1)])[0].requires_grad
    ad._ops.remove_operator("testing::lists")

    @custom_op("testing::two", mutates_args=())
    def two(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    two.register_autograd(lambda ctx, a, b: 2 * a + 3 * b)
    x.grad = None
    sum(two(x)).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    ad._ops.remove_operator("testing::two")


def test_writes():
    @custom_op("testing::add_to", mutates_args={"out"})
    def add_to(x: Tensor, out: Tensor) -> None:
        out.numpy()[...] += x.numpy()

    out = ad.zeros(2)
    version = out._version
    assert add_to(ad.ones(2), out) is None and out.tolist() == [1.0, 1.0] and out._version > version
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        add_to.register_autograd(lambda ctx: None)
    ad._ops.remove_operator("testing::add_to")


def test_results_that_are_refused():
    @custom_op("testing::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    @custom_op("testing::number", mutates_args=())
    def number(x: Tensor) -> Tensor:
        return 3  # type: ignore[return-value]

    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        same(ad.ones(1))
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        number(ad.ones(1))
    for name in ("same", "number"):
        ad._ops.remove_operator(f"testing::{name}")


def test_kernels_for_devices():
    @custom_op("testing::place", mutates_args=(), device_types="cuda")
    def place(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match="Could not run 'testing::place' with arguments from the 'CPU' backend"):
        place(ad.ones(1))
    place.register_kernel("cpu")(lambda x: x * 10)
    register_kernel(place, None, lambda x: x * 20)
    assert place(ad.ones(1)).tolist() == [10.0]
    with place.set_kernel_enabled("cpu", False):
        assert place(ad.ones(1)).tolist() == [20.0]
    place.register_autocast("cpu", ad.float16)
    with ad.autocast("cpu", ad.float16):
        assert place(ad.ones(1)).dtype is ad.float16
    ad._ops.remove_operator("testing::place")


def test_modes_see_operators(sine):
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Seen():
        ad.ops.testing.sine(ad.ones(1)) + 1
    assert seen == [ad.ops.testing.sine.default, ad.ops.aten.add.Tensor] and seen[1].overloadpacket == ad.ops.aten.add
    ad.library.register_torch_dispatch(sine, Seen, lambda mode, func, types, args, kwargs: "instead")
    with Seen():
        assert sine(ad.ones(1)) == "instead"


def test_opcheck(differentiable):
    differentiable.register_fake(lambda x: ad.empty_like(x))
    x = ad.randn(3, requires_grad=True)
    assert set(opcheck(differentiable, (x,)).values()) == {"SUCCESS"}
    differentiable.register_fake(lambda x: ad.empty(1, device="meta"))
    with pytest.raises(Exception, match=r"test_faketensor failed with the fake implementation gives torch.float32 of \[1\]"):
        opcheck(differentiable, (x,))
    assert opcheck(differentiable, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}

    @custom_op("testing::writes", mutates_args=())
    def writes(x: Tensor) -> Tensor:
        return x.add_(1).clone()

    found = opcheck(writes, (ad.ones(1),), raise_exception=False)
    assert "Argument x is not defined as mutable but was mutated" in str(found["test_schema"])
    ad._ops.remove_operator("testing::writes")


# ---- Library ------------------------------------------------------------------------------------------------------------------------


def test_a_library(lib):
    assert lib.define("scale(Tensor x, int by=2) -> Tensor") == "scale"
    lib.impl("scale", lambda x, by: x * by, "CPU")
    x = ad.ones(2, requires_grad=True)
    y = ad.ops.testing_lib.scale(x, by=3)
    assert y.tolist() == [3.0, 3.0] and ad.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0]  # what the kernel does is recorded
    lib.define("scale.more(Tensor x, Tensor by) -> Tensor")
    impl(lib, "scale.more", "CompositeImplicitAutograd")(lambda x, by: x + by)
    assert ad.ops.testing_lib.scale(x, x).tolist() == [2.0, 2.0] and ad.ops.testing_lib.scale.overloads() == ["default", "more"]
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("scale(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace testing_lib"):
        Library("testing_lib", "DEF")
    with ad.library._scoped_library("testing_lib", "FRAGMENT") as fragment:
        fragment.define("more(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match="Could not run 'testing_lib::more'"):
            ad.ops.testing_lib.more(x)
    assert not hasattr(ad.ops.testing_lib, "more")


def test_an_autograd_kernel(lib):
    class Doubled(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return ad.ops.testing_lib.doubled(x)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    lib.define("doubled(Tensor x) -> Tensor")
    lib.impl("doubled", lambda x: ad.from_numpy(x.detach().numpy() * 2), "CPU")
    lib.impl("doubled", Doubled.apply, "Autograd")
    x = ad.ones(2, requires_grad=True)
    ad.ops.testing_lib.doubled(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_functions_that_register(lib):
    define("testing_lib::q", "(Tensor x, float s) -> Tensor", lib=lib)
    lib._op_defs.add("testing_lib::q")
    impl("testing_lib::q", "cpu")(lambda x, s: x * s)
    register_fake("testing_lib::q")(lambda x, s: x.new_empty(x.shape))
    register_autograd(
        "testing_lib::q", lambda ctx, g: (g * ctx.s, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "s", inputs[1])
    )
    x = ad.ones(2, requires_grad=True)
    assert ad.autograd.grad(ad.ops.testing_lib.q(x, 3.0).sum(), x)[0].tolist() == [3.0, 3.0]
    assert ad.ops.testing_lib.q(ad.ones(2, device="meta"), 3.0).is_meta
    for wrong, error, words in (
        (lambda: define("q", "(Tensor x) -> Tensor"), ValueError, "have the form 'namespace::name'"),
        (lambda: define("a::q", "q(Tensor x) -> Tensor"), ValueError, "expected schema to look like"),
        (lambda: register_fake("testing_lib::no"), RuntimeError, "Could not find an operator testing_lib::no"),
        (lambda: register_fake(3), ValueError, "Expected the name of an operator"),
        (lambda: Library("a", "NO"), ValueError, "Unsupported kind: NO"),
        (lambda: Library("aten", "IMPL").impl("add", len), NotImplementedError, "adjoint's own operations cannot be replaced"),
        (lambda: ad.ops.load_library("no.so"), OSError, r"Could not load this library: no.so"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            wrong()


def test_an_operator_with_triton_kernels_is_refused_only_where_it_launches_one():
    @ad.library.triton_op("testing_lib::maybe_fused", mutates_args=())
    def maybe_fused(x: ad.Tensor, fused: bool) -> ad.Tensor:
        if fused:
            ad.library.wrap_triton(object())
        return x * 2

    assert maybe_fused(ad.ones(2), False).tolist() == ad.ops.testing_lib.maybe_fused(ad.ones(2), False).tolist() == [2.0, 2.0]
    assert maybe_fused(ad.ones(3, device="meta"), False).shape == (3,)
    maybe_fused.register_autograd(lambda ctx, grad: (grad * 2, None))
    x = ad.ones(2, requires_grad=True)
    assert ad.autograd.grad(maybe_fused(x, False).sum(), x)[0].tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="adjoint runs no Triton kernels"):
        maybe_fused(ad.ones(2), True)


def test_own_operations_by_name():
    x = ad.ones(2)
    assert ad.ops.aten.add(x, x).tolist() == ad.ops.aten.add.Tensor(x, x).tolist() == [2.0, 2.0]
    assert ad.ops.aten.mul_.Tensor(x, 3).tolist() == [3.0, 3.0]
    assert repr(ad.ops.aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    with pytest.raises(AttributeError, match="object has no attribute 'no_such_op' that can be called"):
        ad.ops.aten.no_such_op(x)


def test_an_operator_goes_with_its_library():
    library = Library("goes", "FRAGMENT")
    define("goes::one", "(Tensor x) -> Tensor", lib=library)
    assert hasattr(ad.ops.goes, "one")
    library._destroy()
    assert not hasattr(ad.ops.goes, "one")


def test_options_of_a_library_that_mean_nothing_here_are_refused():
    library = Library("options", "FRAGMENT")
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type ELSEWHERE"):
        library.define("one(Tensor x) -> Tensor", "ELSEWHERE")
    assert library.define("one(Tensor x) -> Tensor", "CONSERVATIVE") == "one"
    with pytest.raises(NotImplementedError, match="no sets of dispatch keys"):
        library.impl("one", lambda keys, x: x, "CPU", with_keyset=True)
    library._destroy()


def test_opcheck_allows_for_rounding_as_it_is_told():
    calls = iter(range(100))

    @custom_op("docs_rounding::scaled", mutates_args=())
    def scaled(x: ad.Tensor) -> ad.Tensor:
        return x * 2

    scaled.register_autograd(lambda ctx, g: g * (2 + 1e-3 * next(calls)))
    x = ad.ones(3, requires_grad=True)
    near = opcheck(scaled, (x,), test_utils="test_aot_dispatch_static", rtol=0.1)
    far = opcheck(scaled, (x,), test_utils="test_aot_dispatch_static", raise_exception=False)
    assert near == {"test_aot_dispatch_static": "SUCCESS"} and "different gradients" in str(far["test_aot_dispatch_static"])


def test_implementations_may_come_before_the_definition():
    @ad.library.impl("early::scale", ["CPU"])
    def scale(x, by):
        return x * by

    assert not hasattr(ad.ops.early, "scale")
    ad.library.define("early::scale", "(Tensor x, int by) -> Tensor")
    assert ad.ops.early.scale(ad.ones(2), 3).tolist() == [3, 3]
