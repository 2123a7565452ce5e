"""Threads: the same numbers for any number of them, and no harm from forks, signals and the end of the program."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import pool

TRAINING = textwrap.dedent(
    """
    import adjoint as ad

    def trained(steps):
        ad.manual_seed(0)
        model = ad.nn.Sequential(ad.nn.Linear(64, 256), ad.nn.Tanh(), ad.nn.Linear(256, 8))
        optimizer = ad.optim.Adam(model.parameters(), lr=0.01)
        x, y = ad.randn(512, 64), ad.randn(512, 8)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        return loss.item()
    """
)


def run(program, timeout=120, **options):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, check=False, **options)


@pytest.fixture
def any_number():
    before = pool.get_num_threads()
    yield
    pool.set_num_threads(before)


def gradients(result, *inputs):
    return [result.detach(), *ad.autograd.grad(result.sum(), inputs)]


def work():
    """Results of kernels of every kind that are large enough to be shared."""
    ad.manual_seed(1)
    x, y = ad.randn(700, 900, requires_grad=True), ad.randn(700, 900, requires_grad=True)
    image, filters = ad.randn(4, 16, 40, 40, requires_grad=True), ad.randn(24, 16, 3, 3, requires_grad=True)
    weight = ad.nn.Parameter(ad.ones(700, 900))
    weight.grad = y.detach().clone()
    optimizer = ad.optim.Adam([weight], lr=0.1)
    optimizer.step()
    return [
        *gradients(x.exp() * y, x, y), *gradients(ad.lgamma(x), x), *gradients(x.sum(0), x), *gradients(x.sum(1), x),
        *gradients(x.logsumexp(1), x), *gradients(x.softmax(1) * y, x), *gradients(x.softmax(0) * y, x), *gradients(x.std(), x),
        *gradients(x @ y.T, x, y), *gradients(ad.nn.functional.conv2d(image, filters, padding=1), image, filters),
        *gradients(ad.nn.functional.layer_norm(x, (900,)), x), x.detach().cumsum(1), x.detach().sort(1).values, weight.detach(),
    ]  # fmt: skip


def test_results_do_not_depend_on_the_number_of_threads(any_number):
    pool.set_num_threads(1)
    for _ in range(10):  # kernels appear after some calls
        expected = [result.numpy().tobytes() for result in work()]
    for threads in (2, 3, 7, 1):
        pool.set_num_threads(threads)
        assert [result.numpy().tobytes() for result in work()] == expected


def test_a_fork_in_the_middle_of_training():
    program = """
    import os
    trained(5)
    child = os.fork()
    if not child:
        os._exit(0 if trained(5) == trained(5) else 1)
    trained(5)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(TRAINING + textwrap.dedent(program))
    assert done.returncode == 0, done.stderr


def test_forked_workers():
    program = """
    import multiprocessing
    trained(20)  # from here on by kernels only
    here = trained(5)
    with multiprocessing.get_context("fork").Pool(2) as workers:
        assert workers.map(trained, [5] * 4) == [here] * 4
    """
    done = run(TRAINING + textwrap.dedent(program))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sleep", [0, 0.2])
def test_the_program_ends_while_threads_wait(sleep):
    done = run(TRAINING + f"import time\ntrained(5)\n(ad.randn(1_000_000) * 2).exp()\ntime.sleep({sleep})\nprint('end')", timeout=60)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_an_interrupt_during_large_kernels():
    # Without the handler a program that a shell runs in the background ignores interrupts.
    program = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nimport adjoint as ad\nx = ad.randn(4_000_000)\n"
    program += "print('ready', flush=True)\nwhile True:\n    x.exp().sum()\n"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode in (-signal.SIGINT, 1, 130)
    assert "KeyboardInterrupt" in errors


def test_the_affinity_is_respected():
    one = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" if hasattr(os, "sched_setaffinity") else ""
    expected = 1 if one else os.cpu_count()
    assert run(one + "import adjoint as ad\nprint(ad.get_num_threads())").stdout == f"{expected}\n"


@pytest.mark.parametrize(("limit", "cpus"), [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8), ("nonsense", 8)])
def test_the_quota_of_a_container_is_respected(monkeypatch, limit, cpus):
    monkeypatch.setattr(pool.os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(pool.Path, "read_text", lambda self: limit)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert pool.usable_cpus() == cpus
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert pool.usable_cpus() == 1


def test_the_number_of_threads_changes_between_calls(any_number):
    x = np.random.default_rng(0).standard_normal(1_000_000)
    expected = ad.tensor(x).exp().numpy()
    for threads in (4, 1, 3, 2):
        ad.set_num_threads(threads)
        assert ad.get_num_threads() == threads
        assert np.array_equal(ad.tensor(x).exp().numpy(), expected)
