"""`no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode`: as blocks, as decorators, in generators and coroutines."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import adjoint as ad

# name, how to make the mode, and the state inside: (recording, inference)
MODES = {
    "no_grad": (ad.no_grad, (False, False)),
    "enable_grad": (ad.enable_grad, (True, False)),
    "set_grad_enabled(True)": (lambda: ad.set_grad_enabled(True), (True, False)),
    "set_grad_enabled(False)": (lambda: ad.set_grad_enabled(False), (False, False)),
    "inference_mode()": (ad.inference_mode, (False, True)),
    "inference_mode(False)": (lambda: ad.inference_mode(False), (True, False)),
}
every_mode = pytest.mark.parametrize(("make", "inside"), MODES.values(), ids=MODES)


def state() -> tuple[bool, bool]:
    return ad.is_grad_enabled(), ad.is_inference_mode_enabled()


@pytest.fixture(params=[True, False], ids=["recording", "not recording"])
def outside(request):
    """The state in which a mode is entered."""
    with ad.set_grad_enabled(request.param):
        yield state()


# ----- Blocks -----


@every_mode
def test_block(make, inside, outside):
    with make():
        assert state() == inside
    assert state() == outside


@every_mode
def test_block_left_by_an_exception(make, inside, outside):
    with pytest.raises(KeyError), make():
        assert state() == inside
        raise KeyError
    assert state() == outside


@every_mode
def test_block_left_by_return(make, inside, outside):
    def leave():
        with make():
            return state()

    assert leave() == inside
    assert state() == outside


@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
def test_nested_blocks(outer, inner):
    make_outer, in_outer = MODES[outer]
    make_inner, in_inner = MODES[inner]
    with make_outer():
        with make_inner():
            expected = (in_inner[0], in_inner[1] or (in_outer[1] and not inner.startswith("inference")))
            assert state() == expected
        assert state() == in_outer
    assert state() == (True, False)


def test_one_object_entered_again_and_again():
    mode = ad.no_grad()
    for _ in range(2):
        with mode:
            assert not ad.is_grad_enabled()
        assert ad.is_grad_enabled()


def test_set_grad_enabled_acts_at_once():
    ad.set_grad_enabled(False)
    try:
        assert not (ad.ones(1, requires_grad=True) * 2).requires_grad
    finally:
        ad.set_grad_enabled(True)
    assert (ad.ones(1, requires_grad=True) * 2).requires_grad


def test_set_grad_enabled_made_before_its_block():
    mode = ad.set_grad_enabled(False)
    with mode:
        assert not ad.is_grad_enabled()
    assert ad.is_grad_enabled()


# ----- What they do -----


def test_no_grad_makes_leaves_without_history():
    x = ad.ones(2, requires_grad=True)
    with ad.no_grad():
        y = x * 2
        made = ad.ones(2, requires_grad=True)
        parameter = ad.nn.Parameter(ad.ones(1))
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf
    assert made.requires_grad
    assert parameter.requires_grad


def test_no_grad_lets_a_leaf_be_written():
    x = ad.ones(2, requires_grad=True)
    with ad.no_grad():
        x -= 0.5
        x[0] = 7
        x.view(-1).mul_(2)
    assert x.tolist() == [14.0, 1.0]
    assert x.is_leaf
    assert x.requires_grad


def test_no_grad_write_keeps_the_history_of_a_result():
    x = ad.ones(2, requires_grad=True)
    y = x + 1
    with ad.no_grad():
        y.mul_(10)
    assert y.tolist() == [20.0, 20.0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_enable_grad_inside_no_grad():
    x = ad.ones(2, requires_grad=True)
    with ad.no_grad(), ad.enable_grad():
        y = x * 2
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_enable_grad_inside_inference_mode_records_nothing():
    x = ad.ones(2, requires_grad=True)
    with ad.inference_mode(), ad.enable_grad():
        y = x * 2
    assert y.is_inference()
    assert not y.requires_grad


def test_inference_tensors():
    with ad.inference_mode():
        x = ad.ones(2)
        y = x * 2
        z = x[0]
        x.add_(1)
    assert x.is_inference() and y.is_inference() and z.is_inference()
    assert not ad.ones(2).is_inference()
    assert x.tolist() == [2.0, 2.0]


def test_inference_tensors_outside_their_mode():
    with ad.inference_mode():
        x = ad.ones(2)
    assert not (x * 2).is_inference()  # they may be read
    assert not x.clone().is_inference()
    w = ad.ones(2, requires_grad=True)
    (x.clone() * w).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]
    (x + w).sum().backward()  # addition saves nothing
    assert w.grad.tolist() == [2.0, 2.0]


def test_normal_tensors_in_inference_mode():
    x = ad.ones(2)
    w = ad.ones(2, requires_grad=True)
    with ad.inference_mode():
        view = x[0]
        x.mul_(3)
        assert not view.is_inference()
        assert (w * 2).is_inference()
    assert x.tolist() == [3.0, 3.0]
    x.mul_(2)
    assert x.tolist() == [6.0, 6.0]


# ----- Decorators -----


@every_mode
def test_decorator(make, inside, outside):
    @make()
    def inner(a, *, b):
        """Words."""
        return a, b, state()

    assert state() == outside
    assert inner(1, b=2) == (1, 2, inside)
    assert state() == outside
    assert inner.__name__ == "inner"
    assert inner.__doc__ == "Words."


@pytest.mark.parametrize("mode", [ad.no_grad, ad.enable_grad, ad.inference_mode], ids=["no_grad", "enable_grad", "inference_mode"])
def test_decorator_without_parentheses(mode, outside):
    @mode
    def inner(a):
        return a, state()

    assert inner(1)[0] == 1
    assert inner(1)[1][0] is (mode is ad.enable_grad)
    assert state() == outside


@every_mode
def test_decorator_and_exceptions(make, inside, outside):
    @make()
    def inner():
        raise KeyError(state())

    with pytest.raises(KeyError) as error:
        inner()
    assert error.value.args == (inside,)
    assert state() == outside


def test_decorated_function_calls_itself():
    @ad.no_grad()
    def inner(depth):
        if depth:
            inner(depth - 1)
        return state()

    assert inner(5) == (False, False)
    assert state() == (True, False)


def test_decorated_method():
    class Model:
        @ad.no_grad()
        def predict(self, x):
            return self, (x * 2).requires_grad

    model = Model()
    assert model.predict(ad.ones(1, requires_grad=True)) == (model, False)


# ----- Generators -----


@every_mode
def test_generator(make, inside, outside):
    @make()
    def generator():
        for _ in range(3):
            yield state()

    for seen in generator():
        assert seen == inside
        assert state() == outside  # while it is suspended, the caller's mode holds
    assert state() == outside


@every_mode
def test_generator_protocol(make, inside, outside):
    @make()
    def generator():
        log = []
        try:
            received = yield "first"
            log.append((received, state()))
            try:
                yield "second"
            except KeyError:
                log.append(("thrown", state()))
            yield log
        finally:
            finished.append(state())
        return "never"

    finished: list[tuple[bool, bool]] = []
    running = generator()
    assert next(running) == "first"
    assert running.send("sent") == "second"
    assert state() == outside
    assert running.throw(KeyError()) == [("sent", inside), ("thrown", inside)]
    assert state() == outside
    running.close()
    assert finished == [inside]
    assert state() == outside


@every_mode
def test_generator_returns_a_value(make, inside, outside):
    @make()
    def generator():
        yield 1
        return state()

    def outer():
        result = yield from generator()
        yield result

    assert list(outer()) == [1, inside]
    assert state() == outside


@every_mode
def test_generator_that_fails(make, inside, outside):
    @make()
    def generator():
        yield 1
        raise KeyError(state())

    running = generator()
    next(running)
    with pytest.raises(KeyError) as error:
        next(running)
    assert error.value.args == (inside,)
    assert state() == outside


def test_generator_dropped_while_suspended():
    finished = []

    @ad.no_grad()
    def generator():
        try:
            yield 1
        finally:
            finished.append(state())

    running = generator()
    next(running)
    del running
    assert finished == [(False, False)]
    assert state() == (True, False)


def test_generators_interleaved():
    @ad.no_grad()
    def without():
        while True:
            yield ad.is_grad_enabled()

    @ad.enable_grad()
    def with_grad():
        while True:
            yield ad.is_grad_enabled()

    a, b = without(), with_grad()
    for _ in range(3):
        assert (next(a), next(b)) == (False, True)
    assert ad.is_grad_enabled()


def test_block_inside_a_plain_generator_holds_until_it_is_left():
    def generator():
        with ad.no_grad():
            yield ad.is_grad_enabled()

    running = generator()
    assert next(running) is False
    assert not ad.is_grad_enabled()  # as in PyTorch: only the decorator knows of suspension
    assert list(running) == []
    assert ad.is_grad_enabled()


def test_decorated_generator_is_still_a_generator_function():
    @ad.no_grad()
    def generator():
        yield 1

    assert inspect.isgenerator(generator())


# ----- Coroutines -----


def test_block_in_a_coroutine():
    async def work():
        with ad.no_grad():
            before = state()
            await asyncio.sleep(0)
            return before, state()

    assert asyncio.run(work()) == ((False, False), (False, False))
    assert state() == (True, False)


def test_decorated_coroutine():
    @ad.no_grad()
    async def work():
        before = state()
        await asyncio.sleep(0)
        return before, state()

    assert asyncio.run(work()) == ((False, False), (False, False))
    assert state() == (True, False)


def test_tasks_do_not_share_modes():
    async def quiet(entered, seen):
        with ad.no_grad():
            entered.set()
            await seen.wait()
            return state()

    async def watch(entered, seen):
        await entered.wait()
        seen.set()
        return state()

    async def both():
        entered, seen = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(quiet(entered, seen), watch(entered, seen))

    assert asyncio.run(both()) == [(False, False), (True, False)]
