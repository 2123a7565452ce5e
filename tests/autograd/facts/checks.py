"""Facts about gradcheck, autograd.functional and the profiler."""

from __future__ import annotations

import warnings

from ._base import attempt, fact, leaf


def double(t, *values):
    return t.tensor(list(values) or [0.5, 1.5], dtype=t.float64, requires_grad=True)


def wrong(t, factor=3.0, jvp_factor=None):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * factor

        if jvp_factor is not None:

            @staticmethod
            def jvp(ctx, g):
                return g * jvp_factor

    return Wrong.apply


@fact
def gradcheck_kinds(t):
    g = t.autograd.gradcheck
    x = double(t)
    fs = {
        "right": lambda: g(lambda x: x**2, (x,)),
        "wrong": lambda: g(wrong(t), (x,)),
        "wrong_quiet": lambda: g(wrong(t), (x,), raise_exception=False),
        "wrong_fast": lambda: g(wrong(t), (x,), fast_mode=True),
        "forward_wrong": lambda: g(wrong(t, 2.0, 3.0), (x,), check_forward_ad=True),
        "forward_right": lambda: g(wrong(t, 2.0, 2.0), (x,), check_forward_ad=True),
        "forward_missing": lambda: g(wrong(t, 2.0), (x,), check_forward_ad=True),
        "no_input": lambda: g(lambda x: x**2, (t.ones(2, dtype=t.float64),)),
        "no_output": lambda: g(lambda x: x.detach(), (x,)),
        "int_output": lambda: g(lambda x: x.int(), (x,)),
        "overlapping": lambda: g(lambda x: x * 1, (x[:1].detach().expand(3).requires_grad_(),)),
        "empty_output": lambda: g(lambda x: (), (x,)),
        "nondeterministic": lambda: g(lambda x, n=[0]: (n.__setitem__(0, n[0] + 1), x * (1 + n[0] % 2))[1], (x,)),
        "list_outputs": lambda: g(lambda x: [x, x * 2], (x,)),
        "tuple_inputs": lambda: g(lambda x, y: x * y, (x, double(t))),
        "bare_input": lambda: g(lambda x: x * 2, x),
        "none_grad": lambda: g(lambda x, y: x * 1, (x, double(t))),
        "atol": lambda: g(wrong(t, 2.001), (x,), atol=0.1, rtol=0.1),
        "both_off": lambda: g(lambda x: x, (x,), check_forward_ad=False, check_backward_ad=False),
        "batched": lambda: g(lambda x: x**2, (x,), check_batched_grad=True),
        "batched_fast": lambda: g(lambda x: x**2, (x,), check_batched_grad=True, fast_mode=True),
        "complex": lambda: g(lambda z: z * z, (t.tensor([1 + 2j], dtype=t.complex128, requires_grad=True),)),
        "complex_out": lambda: g(lambda x: x.to(t.complex128) * 1j, (x,)),
        "gg": lambda: t.autograd.gradgradcheck(lambda x: x**3, (x,)),
        "gg_wrong": lambda: t.autograd.gradgradcheck(wrong(t), (x,)),
        "gg_outputs": lambda: t.autograd.gradgradcheck(lambda x: x**3, (x,), t.ones(2, dtype=t.float64, requires_grad=True)),
        "gg_forward": lambda: t.autograd.gradgradcheck(lambda x: x**3, (x,), check_fwd_over_rev=True),
        "single_precision": lambda: g(lambda x: x * 2, (leaf(t, 1.0),), eps=1e-2, atol=1e-2),
        "undefined": lambda: g(lambda x: x * 2, (x,), check_undefined_grad=True),
        "grad_dtypes": lambda: g(lambda x: x * 2, (x,), check_grad_dtypes=True),
        "nan": lambda: g(lambda x: (x - x) / (x - x), (x,)),
        "inplace_input": lambda: g(lambda x: x.mul_(2), (x,)),
        "zero_size": lambda: g(lambda x: x * 2, (t.empty(0, dtype=t.float64, requires_grad=True),)),
        "wrong_backward_count": lambda: g(lambda x: x, ()),
    }
    return {name: attempt(f) for name, f in fs.items()}


@fact
def gradcheck_backward_of_wrong_type(t):
    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return (g * 2).float()

    class Shape(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return t.ones(5, dtype=t.float64)

    class Undefined(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = double(t)
    return [attempt(lambda f=f: t.autograd.gradcheck(f.apply, (x,))) for f in (Bad, Shape)]


@fact
def gradcheck_warning(t):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        r = attempt(lambda: t.autograd.gradcheck(lambda x: x * 2, (leaf(t, 1.0),)))
    return r, [" ".join(str(w.message).split()[:6]) for w in caught]


@fact
def gradcheck_error_class(t):
    E = t.autograd.gradcheck.__globals__["GradcheckError"]
    return issubclass(E, RuntimeError), E.__name__


@fact
def functional_all(t):
    f = t.autograd.functional
    x, v = t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])

    def s(x):
        return (x**3).sum()

    def p(x, y):
        return (x * y, x + y)

    return [
        attempt(g)
        for g in (
            lambda: f.vjp(lambda x: x**2, x, v),
            lambda: f.vjp(s, x),
            lambda: f.vjp(lambda x: x**2, x),
            lambda: f.jvp(lambda x: x**2, x, v),
            lambda: f.jvp(s, x),
            lambda: f.vhp(s, x, v),
            lambda: f.hvp(s, x, v),
            lambda: f.jacobian(lambda x: x**2, x),
            lambda: f.hessian(s, x),
            lambda: f.jacobian(p, (x, v)),
            lambda: f.hessian(lambda x, y: (x * y).sum(), (x, v)),
            lambda: f.vjp(p, (x, v), (x, v)),
            lambda: f.jvp(p, (x, v), (x, v)),
            lambda: f.vhp(lambda x, y: (x * y).sum(), (x, v), (x, v)),
            lambda: f.hvp(lambda x, y: (x * y).sum(), (x, v), (x, v)),
            lambda: f.jacobian(lambda x: x**2, x, vectorize=True),
            lambda: f.jacobian(lambda x: x**2, x, strategy="forward-mode"),
            lambda: f.jacobian(lambda x: x**2, x, strategy="nope"),
            lambda: f.hessian(s, x, outer_jacobian_strategy="nope"),
            lambda: f.jacobian(lambda x: x.detach(), x),
            lambda: f.jacobian(lambda x: x.detach(), x, strict=True),
            lambda: f.jacobian(lambda x: t.ones(2), x, strict=True),
            lambda: f.hessian(lambda x: x.sum(), x),
            lambda: f.hessian(lambda x: x.sum(), x, strict=True),
            lambda: f.vjp(lambda x: x.detach(), x, v, strict=True),
            lambda: f.jvp(lambda x: x.detach(), x, v, strict=True),
            lambda: f.vhp(lambda x: x.sum(), x, v, strict=True),
            lambda: f.hvp(lambda x: x.sum(), x, v, strict=True),
            lambda: f.vjp(lambda x: x**2, x, t.ones(3)),
            lambda: f.jvp(lambda x: x**2, x, t.ones(3)),
            lambda: f.hvp(s, x, t.ones(3)),
            lambda: f.hessian(lambda x: x**2, x),
            lambda: f.vhp(lambda x: x**2, x, v),
            lambda: f.hessian(lambda x: (x.sum(), x.sum()), x),
            lambda: f.jacobian(lambda x: 3, x),
            lambda: f.jacobian(lambda x: x, 3),
            lambda: f.jacobian(lambda x: x**2, x, create_graph=True).requires_grad,
            lambda: f.jacobian(lambda x: x**2, x.clone().requires_grad_(), create_graph=True).requires_grad,
            lambda: f.jacobian(lambda x: x**2, x, create_graph=True, strategy="forward-mode", vectorize=True),
            lambda: f.jacobian(lambda x: x.sum(), x),
            lambda: f.jacobian(lambda x: x.reshape(1, 2), x),
            lambda: f.jacobian(lambda x: (x, (x, x)), x),
            lambda: f.jvp(lambda x: x**2, x),
            lambda: f.hvp(s, x),
            lambda: f.jvp(s, t.tensor(2.0)),
            lambda: f.vjp(s, x, create_graph=True)[1].requires_grad,
            lambda: f.hessian(s, x, vectorize=True),
        )
    ]


@fact
def profiler_names(t):
    x = leaf(t)
    with t.autograd.profiler.profile() as prof:
        y = (x * 2).exp().sum()
        with t.autograd.profiler.record_function("mine"):
            y.backward()
    names = [e.name for e in prof.function_events]
    return (
        [n in names for n in ("aten::mul", "aten::exp", "aten::sum", "mine")],
        any("MulBackward0" in n for n in names),
        len(prof.function_events) > 4,
    )


@fact
def profiler_averages(t):
    x = leaf(t)
    with t.autograd.profiler.profile(record_shapes=True) as prof:
        for _ in range(3):
            x * 2
    a = {e.key: e.count for e in prof.key_averages()}
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    e = next(e for e in prof.key_averages() if e.key == "aten::mul")
    total = prof.total_average()
    s = prof.key_averages(group_by_input_shape=True)
    return (
        a["aten::mul"],
        "aten::mul" in table,
        "Self CPU" in table,
        e.cpu_time_total > 0,
        e.self_cpu_time_total > 0,
        e.cpu_time > 0,
        total.count >= 3,
        prof.self_cpu_time_total > 0,
        any(list(x.input_shapes)[:1] == [[3]] for x in s),
        hasattr(e, "cpu_time_total_str"),
        "Self CPU time total" in table,
    )


@fact
def profiler_rules(t):
    p = t.autograd.profiler.profile

    def unfinished():
        with p() as prof:
            return str(prof)

    def twice():
        with p() as prof:
            with prof:
                pass

    with p(enabled=False):
        leaf(t) * 2
    return attempt(unfinished), attempt(twice)


@fact
def profiler_record_function(t):
    R = t.autograd.profiler.record_function

    @R("decorated")
    def f(x):
        return x + 1

    with t.autograd.profiler.profile() as prof:
        f(leaf(t))
        with R("outer"):
            with R("inner"):
                leaf(t) * 2
    ev = {e.name: e for e in prof.function_events}
    return (
        "decorated" in ev,
        ev["inner"].cpu_parent.name,
        [c.name for c in ev["outer"].cpu_children],
        ev["outer"].count,
        ev["inner"].cpu_time_total <= ev["outer"].cpu_time_total,
        ev["outer"].key,
        ev["inner"].is_async,
        type(ev["outer"].time_range).__name__,
    )


@fact
def profiler_emitters(t):
    p = t.autograd.profiler

    def nvtx():
        with p.emit_nvtx(enabled=False):
            return leaf(t).sum()

    def itt():
        with p.emit_itt(enabled=False):
            return leaf(t).sum()

    return (
        attempt(nvtx),
        attempt(itt),
        hasattr(p, "EventList"),
        hasattr(p, "FunctionEvent"),
        hasattr(p, "FormattedTimesMixin"),
        hasattr(p, "Interval"),
        hasattr(p, "Kernel"),
        hasattr(p, "kineto_available"),
    )


@fact
def profiler_sequence(t):
    x = leaf(t)
    with t.autograd.profiler.profile() as prof:
        y = x * 2
        y.sum().backward()
    ev = [e for e in prof.function_events if e.name in ("aten::mul", "MulBackward0")]
    return len(ev) >= 1, all(
        hasattr(e, "sequence_nr") and hasattr(e, "thread") and hasattr(e, "scope") and hasattr(e, "fwd_thread") for e in ev
    )


@fact
def jacobians_of_old(t):
    from importlib import import_module

    old = import_module(f"{t.__name__}.autograd.gradcheck")
    x = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
    return [
        attempt(f)
        for f in (
            lambda: old.get_numerical_jacobian(lambda x: x[0] * x[0], (x,), eps=1e-6),
            lambda: old.get_analytical_jacobian((x,), x * x),
            lambda: old.get_analytical_jacobian((x,), x * x, grad_out=2.0),
        )
    ]


@fact
def what_forward_mode_is_checked_with(t):
    fw, seen = t.autograd.forward_ad, []

    def f(x, y, z):
        duals = [fw.unpack_dual(one).tangent is not None for one in (x, y, z)]
        if any(duals):
            seen.append((duals, x.requires_grad, y.requires_grad))
        return x * y * z

    x, y = (t.tensor([value], dtype=t.float64, requires_grad=True) for value in (1.0, 2.0))
    return t.autograd.gradcheck(f, (x, y, t.ones(1)), check_forward_ad=True, check_backward_ad=False), seen[:2]
