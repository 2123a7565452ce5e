"""Facts about gradients: how they are asked for, where they go, how they look; graphs in memory, copies and pickles."""

from __future__ import annotations

import threading

from ._base import attempt, fact, leaf


@fact
def backward_several_roots(t):
    x = leaf(t)
    y = x * 2
    t.autograd.backward([y.sum(), (y * y).sum(), y], [None, None, t.ones(3)])
    return x.grad


@fact
def backward_same_root_twice(t):
    x = leaf(t)
    y = (x * 2).sum()
    t.autograd.backward([y, y])
    return x.grad


@fact
def backward_argument_errors(t):
    x = leaf(t)
    y = x * 2
    return [
        attempt(y.backward),
        attempt(lambda: y.backward(t.ones(2))),
        attempt(lambda: t.autograd.backward([y.exp(), y.exp()], [t.ones(3)])),
        attempt(lambda: t.autograd.backward([y.sum()], inputs=[])),
        attempt(lambda: t.ones(2).sum().backward()),
        attempt(lambda: y.backward(3)),
        attempt(lambda: y.sum().backward(inputs=[t.ones(2)])),
        attempt(lambda: t.autograd.backward([y, t.ones(())], [t.ones(3), None])),
        attempt(lambda: y.backward(t.ones(3, dtype=t.complex64))),
        attempt(lambda: x.exp().backward(t.ones(3, dtype=t.float64))),
        attempt(lambda: x.exp().backward(t.ones(3, dtype=t.int64))),
        attempt(lambda: t.autograd.backward([y], t.ones(3), grad_variables=t.ones(3)))[:9],
        attempt(lambda: t.autograd.backward([])),
        attempt(lambda: t.autograd.grad([], [x])),
    ]


@fact
def backward_with_inputs(t):
    x, w = leaf(t), leaf(t)
    y = x * w
    y.sum().backward(inputs=x, retain_graph=True)
    first = x.grad.clone(), w.grad
    y.sum().backward(inputs=[w, y])
    return first, x.grad, w.grad, y.grad


@fact
def backward_inputs_unreachable(t):
    x, w = leaf(t), leaf(t)
    return attempt(lambda: (x * 2).sum().backward(inputs=[w])), w.grad


@fact
def backward_inputs_of_result_without_retain(t):
    x = leaf(t)
    y = x * 2
    y.exp().sum().backward(inputs=[y])
    return y.grad is not None, y.retains_grad, x.grad


@fact
def backward_twice(t):
    x = leaf(t)
    y = x.exp().sum()
    y.backward()
    second = attempt(y.backward)
    z = (x + 1).sum()
    z.backward()
    return second, attempt(z.backward), attempt(lambda: t.autograd.grad(y, x))


@fact
def backward_on_leaf(t):
    x = t.tensor(2.0, requires_grad=True)
    x.backward()
    v = leaf(t)
    v.backward(t.tensor([1.0, 2.0, 3.0]))
    return x.grad, v.grad, t.autograd.grad(x, x)


@fact
def backward_seed_is_not_aliased(t):
    x = leaf(t)
    seed = t.ones(3)
    x.backward(seed)
    y = leaf(t)
    (y + 0).backward(seed)
    return x.grad is seed, x.grad.data_ptr() == seed.data_ptr(), y.grad.data_ptr() == seed.data_ptr()


@fact
def two_leaves_do_not_share_a_gradient(t):
    x, w = leaf(t), leaf(t)
    (x + w).sum().backward()
    x.grad.zero_()
    return w.grad, x.grad.data_ptr() == w.grad.data_ptr()


@fact
def grad_basic_errors(t):
    x, w = leaf(t), leaf(t)
    y = (x * 2).sum()
    return [
        attempt(lambda: t.autograd.grad(y, w, retain_graph=True)),
        attempt(lambda: t.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True)),
        attempt(lambda: t.autograd.grad(y, [x, w], materialize_grads=True, retain_graph=True)),
        attempt(lambda: t.autograd.grad(y, w, allow_unused=False, materialize_grads=True)),
        attempt(lambda: t.autograd.grad(y, t.ones(2))),
        attempt(lambda: t.autograd.grad(x * 2, x)),
        attempt(lambda: t.autograd.grad(t.ones(2).sum(), x)),
        attempt(lambda: t.autograd.grad(y, [])),
        attempt(lambda: t.autograd.grad(y, x, grad_outputs=t.ones(2))),
        attempt(lambda: t.autograd.grad((x * x).sum(), x, only_inputs=False)),
        attempt(lambda: t.autograd.grad(y, 3))[:9],
        attempt(lambda: t.autograd.grad(3, x))[:9],
    ]


@fact
def grad_leaves_grads_alone(t):
    x, w = leaf(t), leaf(t)
    found = t.autograd.grad((x * w).sum(), x)
    return found, x.grad, w.grad


@fact
def grad_same_input_twice(t):
    x = leaf(t)
    return t.autograd.grad((x * 2).sum(), [x, x])


@fact
def grad_of_input_that_is_output(t):
    x = leaf(t)
    y = x.sum()
    return t.autograd.grad(y, y), t.autograd.grad([y, y * 2], [y, x])


@fact
def grad_of_int_outputs(t):
    x = leaf(t)
    return (
        attempt(lambda: t.autograd.grad(x.long().sum(), x)),
        attempt(lambda: (x > 1).sum().backward()),
        attempt(lambda: x.argmax().backward()),
    )


@fact
def grad_of_int_inputs(t):
    x = leaf(t)
    i = t.tensor([0, 1])
    return attempt(lambda: t.autograd.grad(x[i].sum(), i))


@fact
def complex_outputs(t):
    z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    return (
        z.grad,
        attempt(lambda: (z * 2).sum().backward()),
        t.autograd.grad((z * 2).sum(), z, t.tensor(1 + 0j)),
        attempt(lambda: t.autograd.grad((z * 2).sum(), z, t.tensor(1.0))),
    )


@fact
def complex_and_real_mixed(t):
    x = leaf(t, 1.0, 2.0)
    z = t.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    (x * z).abs().sum().backward()
    return x.grad.dtype, z.grad.dtype, x.grad


@fact
def accumulate_create_graph(t):
    x = leaf(t)
    (x**2).sum().backward(create_graph=True)
    g = x.grad
    first = g.requires_grad, g.grad_fn is not None
    (x**2).sum().backward(create_graph=True)
    return first, x.grad is g, x.grad, x.grad.requires_grad


@fact
def accumulate_plain_on_recorded(t):
    x = leaf(t)
    (x**2).sum().backward(create_graph=True)
    g = x.grad
    (x**2).sum().backward()
    return x.grad is g, x.grad, x.grad.requires_grad


@fact
def accumulate_keeps_identity(t):
    x = leaf(t)
    x.grad = t.tensor([10.0, 10.0, 10.0])
    g = x.grad
    (x * 2).sum().backward()
    return x.grad is g, g


@fact
def accumulate_recorded_on_given(t):
    x = leaf(t)
    x.grad = t.tensor([10.0, 10.0, 10.0])
    g = x.grad
    (x * 2).sum().backward(create_graph=True)
    return x.grad is g, g, x.grad


@fact
def accumulate_into_grad_that_requires_grad(t):
    x = leaf(t)
    x.grad = t.ones(3, requires_grad=True)
    return attempt(lambda: (x * 2).sum().backward()), x.grad, x.grad.requires_grad


@fact
def grad_assignment_errors(t):
    x = leaf(t)
    return [
        attempt(lambda: setattr(x, "grad", t.ones(2))),
        attempt(lambda: setattr(x, "grad", t.ones(3, dtype=t.float64))),
        attempt(lambda: setattr(x, "grad", 3)),
        attempt(lambda: setattr(x, "grad", x)),
        attempt(lambda: setattr(x, "grad", t.ones(3, device="meta"))),
        attempt(lambda: setattr(x, "grad", None)),
        attempt(lambda: setattr(x, "grad", t.ones(3, dtype=t.complex64))),
        attempt(lambda: setattr(x, "grad", t.ones(1, 3))),
        attempt(lambda: setattr(t.ones(3), "grad", t.ones(3))),
        attempt(lambda: setattr(x * 2, "grad", t.ones(3))),
        attempt(lambda: setattr(t.ones(2, dtype=t.int64), "grad", t.ones(2, dtype=t.int64))),
    ]


@fact
def grad_deletion(t):
    x = leaf(t)
    x.sum().backward()
    del x.grad
    return x.grad


@fact
def gradient_layouts(t):
    seen = []
    for make in (
        lambda: t.ones(2, 3), lambda: t.ones(2, 3).t(), lambda: t.ones(2, 3, 4).permute(2, 0, 1), lambda: t.ones(6)[::2],
        lambda: t.ones(1, 3).expand(2, 3), lambda: t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last),
    ):  # fmt: skip
        x = make().detach().requires_grad_()
        (x * 2).sum().backward()
        first = x.grad.stride()
        x.grad = None
        x.backward(t.ones(x.shape).transpose(0, -1).contiguous().transpose(0, -1))
        seen.append((first, x.grad.stride()))
    return seen


@fact
def gradient_layout_is_kept_when_accumulating(t):
    x = t.ones(2, 3, requires_grad=True)
    x.grad = t.zeros(3, 2).t()
    g = x.grad
    (x * 2).sum().backward()
    return x.grad is g, x.grad.stride()


@fact
def gradient_layout_recorded(t):
    x = t.ones(2, 3).t().requires_grad_()
    (x * x).sum().backward(create_graph=True)
    return x.grad.stride()


@fact
def gradient_of_expanded(t):
    x = leaf(t, 2.0)
    x.expand(4).sum().backward()
    y = t.ones(2, 3, requires_grad=True)
    y.sum().backward()
    return x.grad, y.grad.stride(), y.grad.is_contiguous()


@fact
def undefined_gradients(t):
    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            return None, g

    x, w = leaf(t), leaf(t)
    y = x * 2
    out = Nothing.apply(y, w)
    out.sum().backward(retain_graph=True)
    return (
        x.grad,
        w.grad,
        attempt(lambda: t.autograd.grad(out.sum(), x, retain_graph=True)),
        attempt(lambda: t.autograd.grad(out.sum(), [x, w], allow_unused=True)),
    )


@fact
def undefined_gradients_reach_custom_functions(t):
    seen = []

    class Two(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a is None, b is None))
            return a if b is None else b

    x = leaf(t)
    a, _b = Two.apply(x)
    a.sum().backward()
    return seen, x.grad


@fact
def set_multithreading_enabled(t):
    mode = t.autograd.set_multithreading_enabled
    x = leaf(t)
    with mode(False):
        x.sum().backward()
    return x.grad


@fact
def grad_modes(t):
    x = leaf(t)
    seen = []
    with t.no_grad():
        seen.append((t.is_grad_enabled(), (x * 2).requires_grad))
        with t.enable_grad():
            seen.append((t.is_grad_enabled(), (x * 2).requires_grad))
        seen.append(t.is_grad_enabled())
    with t.set_grad_enabled(False):
        seen.append((x * 2).requires_grad)
    t.set_grad_enabled(False)
    seen.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    seen.append(t.autograd.grad_mode.set_grad_enabled(True) is not None)

    @t.no_grad()
    def inside():
        return (x * 2).requires_grad

    @t.no_grad
    def bare():
        return (x * 2).requires_grad

    @t.set_grad_enabled(False)
    def off():
        return t.is_grad_enabled()

    @t.inference_mode
    def inferred():
        return (x * 2).is_inference()

    return seen, inside(), bare(), off(), inferred(), t.is_grad_enabled()


@fact
def grad_mode_in_generators(t):
    @t.no_grad()
    def numbers():
        yield t.is_grad_enabled()
        yield t.is_grad_enabled()

    seen = []
    for inside in numbers():
        seen.append((inside, t.is_grad_enabled()))
    return seen


@fact
def grad_mode_is_per_thread(t):
    seen = []
    with t.no_grad():
        worker = threading.Thread(target=lambda: seen.append(t.is_grad_enabled()))
        worker.start()
        worker.join()
    return seen


@fact
def grad_mode_after_exception(t):
    try:
        with t.no_grad():
            raise KeyError
    except KeyError:
        pass
    return t.is_grad_enabled()


@fact
def grad_mode_of_class(t):
    return attempt(lambda: t.no_grad()(3) if False else isinstance(t.no_grad(), t.autograd.no_grad))


@fact
def requires_grad_of_creation_in_no_grad(t):
    with t.no_grad():
        x = t.ones(2, requires_grad=True)
        y = x * 2
        p = t.nn.Parameter(t.ones(2))
    return x.requires_grad, y.requires_grad, p.requires_grad, (x * 2).requires_grad


@fact
def backward_under_no_grad(t):
    x = leaf(t)
    y = (x * x).sum()
    with t.no_grad():
        y.backward()
    return x.grad


@fact
def backward_under_no_grad_create_graph(t):
    x = leaf(t)
    y = (x * x).sum()
    with t.no_grad():
        (g,) = t.autograd.grad(y, x, create_graph=True)
    return g.requires_grad
