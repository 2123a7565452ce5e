"""Eight threads: no gradient is lost, and modes belong to the thread that set them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.autograd import views

THREADS = 8


@pytest.fixture(autouse=True)
def busy_scheduler():
    """Threads take turns a thousand times more often than usual, so that races show."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Run `work(number)` in each thread at the same time; results in order, the first error raised again."""
    results: list[Any] = [None] * threads
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_own_graphs():
    def work(number):
        for i in range(50):
            x = ad.full((3,), float(number), requires_grad=True)
            y = (x * x * (i + 1)).sum()
            y.backward()
            assert x.grad.tolist() == [2.0 * number * (i + 1)] * 3
        return number

    assert together(work) == list(range(THREADS))


def test_shared_leaf_loses_no_gradient():
    x = ad.zeros(4, requires_grad=True)
    rounds = 200

    def work(number):
        for _ in range(rounds):
            (x * (number + 1)).sum().backward()

    together(work)
    assert x.grad.tolist() == [float(rounds * sum(range(1, THREADS + 1)))] * 4


@pytest.mark.parametrize("size", [200_000])
def test_shared_leaf_of_large_arrays(size):
    """Where NumPy and the kernels release the GIL in the middle of an addition."""
    x = ad.zeros(size, requires_grad=True)
    rounds = 10

    def work(number):
        for _ in range(rounds):
            (x * 1.0).sum().backward()

    together(work)
    assert ad.equal(x.grad, ad.full((size,), float(THREADS * rounds)))


def test_shared_model():
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    data = ad.randn(THREADS, 5, 3, dtype=ad.float64)
    for batch in data:
        model(batch).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    together(lambda number: model(data[number]).sum().backward())
    for p, g in zip(model.parameters(), expected, strict=True):
        assert ad.allclose(p.grad, g)


def test_shared_retained_graph():
    x = ad.tensor([2.0, 3.0], requires_grad=True)
    y = (x**3).sum()

    def work(number):
        for _ in range(20):
            y.backward(retain_graph=True)

    together(work)
    assert x.grad.tolist() == [12.0 * 20 * THREADS, 27.0 * 20 * THREADS]


def test_shared_subgraph():
    x = ad.tensor([1.0], requires_grad=True)
    common = x * 2

    def work(number):
        (common * (number + 1)).sum().backward(retain_graph=True)

    together(work)
    assert x.grad.item() == 2.0 * sum(range(1, THREADS + 1))


def test_autograd_grad_on_a_shared_graph():
    x = ad.tensor([2.0], requires_grad=True)
    y = (x**4).sum()

    def work(number):
        (first,) = ad.autograd.grad(y, x, create_graph=True)
        (second,) = ad.autograd.grad(first, x)
        return first.item(), second.item()

    assert together(work) == [(32.0, 48.0)] * THREADS
    assert x.grad is None


def test_graph_built_here_differentiated_there():
    built: list[Any] = []
    x = ad.tensor([3.0], requires_grad=True)

    def build():
        built.append((x * x).sum())

    def differentiate():
        built[0].backward()

    for step in (build, differentiate):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert x.grad.item() == 6.0


def test_hooks_run_in_the_thread_of_backward():
    x = ad.ones(1, requires_grad=True)
    y = x * 2
    names = []
    y.register_hook(lambda g: names.append(threading.current_thread().name))
    thread = threading.Thread(target=y.backward, name="elsewhere")
    thread.start()
    thread.join()
    assert names == ["elsewhere"]


# ----- Modes -----


def test_new_threads_start_with_recording_on():
    with ad.no_grad():
        assert together(lambda number: (ad.is_grad_enabled(), ad.is_inference_mode_enabled()), 2) == [(True, False)] * 2
    with ad.inference_mode():
        assert together(lambda number: ad.is_inference_mode_enabled(), 2) == [False] * 2


def test_modes_do_not_leak_between_threads():
    modes: list[Any] = [ad.no_grad, ad.enable_grad, ad.inference_mode]
    x = ad.ones(2, requires_grad=True)

    def work(number):
        mode = modes[number % 3]
        for _ in range(200):
            with mode():
                assert (x * 2).requires_grad is (mode is ad.enable_grad)
            assert (x * 2).requires_grad

    together(work)
    assert ad.is_grad_enabled()


def test_backward_in_one_thread_does_not_stop_recording_in_another():
    x = ad.ones(1, requires_grad=True)
    inside, leave = threading.Event(), threading.Event()

    def hook(gradient):
        inside.set()
        leave.wait(10)

    y = x * 2
    y.register_hook(hook)
    thread = threading.Thread(target=y.backward)
    thread.start()
    inside.wait(10)
    z = x * 3
    leave.set()
    thread.join()
    assert z.requires_grad


def test_dual_levels_belong_to_their_thread():
    import adjoint.autograd.forward_ad as fwAD

    def work(number):
        for _ in range(20):
            with fwAD.dual_level():
                x = fwAD.make_dual(ad.ones(2), ad.full((2,), float(number)))
                tangent = fwAD.unpack_dual(x * 3).tangent
                assert tangent.tolist() == [3.0 * number] * 2

    together(work)


# ----- Errors and first calls -----


def test_an_error_in_one_thread_leaves_the_others_alone():
    x = ad.ones(2, requires_grad=True)

    def work(number):
        if number % 2:
            y = x * 2
            y.register_hook(lambda g: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                y.sum().backward()
        else:
            (x * 1).sum().backward()

    together(work)
    assert x.grad.tolist() == [THREADS / 2] * 2


def test_inplace_writes_to_own_views_of_one_tensor():
    base = ad.zeros(THREADS, 1000)

    def work(number):
        row = base[number]
        for _ in range(100):
            row.add_(1)

    together(work)
    assert base._version == 100 * THREADS
    np.testing.assert_array_equal(base.numpy(), 100)


def test_threads_that_take_views_at_once_share_one_counter(monkeypatch):
    """What counts the writes to a tensor is made when the first view is taken: here another thread comes while one is making it."""
    base, others = ad.zeros(2, 2), []

    def interrupted():
        monkeypatch.undo()
        others.append(views.counter_of(base))
        return views.VersionCounter()

    monkeypatch.setattr(views, "VersionCounter", interrupted)
    assert views.counter_of(base) is others[0] is base._vc


def test_first_use_of_an_op_by_all_threads_at_once():
    """The code of an op is generated when it is first called: in a fresh process, by eight threads."""
    import subprocess

    program = """
import sys, threading
sys.setswitchinterval(1e-6)
import adjoint as ad
x = ad.ones(3, requires_grad=True)
names = ["sin", "cos", "exp", "tanh", "sqrt", "sigmoid", "log1p", "square", "abs", "neg", "t", "sum", "mean", "cumsum", "norm"]
start, failed = threading.Barrier(8), []
def work():
    start.wait()
    try:
        for name in names:
            result = getattr(x, name)(*([0] if name == "cumsum" else []))
            result.sum().backward()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
if failed:
    raise failed[0]
total = x.grad.sum().item()
x.grad = None
work_alone = [getattr(x, name)(*([0] if name == "cumsum" else [])).sum().backward() for name in names]
assert abs(total - 8 * x.grad.sum().item()) < 1e-3, (total, x.grad)
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "ok\n", done.stderr
