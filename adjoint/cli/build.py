"""`python -m adjoint cache build`: compile what most programs need, once per machine.

Kernels are compiled when they are first used. So this uses them: short pieces of ordinary programs in float32, on small and on large
tensors, in as many processes as there are CPUs. Each kernel is on disk as soon as it is compiled, and whoever stops this and starts it
again goes on where it was.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

import adjoint as ad
from adjoint import nn
from adjoint.nn import functional as F

from .._compiled_members import use_compiled_members
from .._kernels import cache, jit, pool
from .._serving import compiles
from ..ops._several import use_builtins

SMALL, LARGE = (8, 16), (256, 512)

FUNCTIONS = (
    "abs neg exp expm1 log log1p sqrt rsqrt square reciprocal sin cos tanh sigmoid erf sign floor relu "
    "gelu silu softplus leaky_relu elu mish hardtanh hardswish hardsigmoid logsigmoid"
).split()
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / (y * y + 1),
    "numbers": lambda x, y: (1 - x) * 2 / 3 + 1 / (1 + y * y), "power": lambda x, y: x**2 + x.abs() ** 0.5 + (1 + y * y) ** -1,
    "choice": lambda x, y: ad.where(x > y, x, y) + ad.maximum(x, y) - ad.minimum(x, y), "limits": lambda x, y: x.clamp(-1, 1) * y,
    "masks": lambda x, y: x.masked_fill(y > 0, 0.0),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x.sum() + x.sum(0).sum() + x.sum(1).sum(), "means": lambda x: x.mean() + x.mean(0).sum() + x.mean(1).sum(),
    "extremes": lambda x: x.max() + x.amax(0).sum() + x.max(1).values.sum() + x.min(), "spread": lambda x: x.std() + x.var(0).sum(),
    "norms": lambda x: x.norm() + x.norm(dim=1).sum(), "scans": lambda x: x.cumsum(1).sum(), "logsumexp": lambda x: x.logsumexp(1).sum(),
    "softmax": lambda x: (x.softmax(1) * x).sum() + (x.log_softmax(1) * x).sum() + (x.softmax(0) * x).sum(),
}  # fmt: skip
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: ad.optim.SGD(p, lr=1e-3), "SGD with momentum": lambda p: ad.optim.SGD(p, lr=1e-3, momentum=0.9),
    "Adam": lambda p: ad.optim.Adam(p), "AdamW": lambda p: ad.optim.AdamW(p),
    "RMSprop": lambda p: ad.optim.RMSprop(p), "Adagrad": lambda p: ad.optim.Adagrad(p),
}  # fmt: skip


def build() -> int:
    """Compile the standard set, and show how far it is. The exit code is 130 if it was interrupted."""
    if not compiles():
        print("nothing to build: there is no llvmlite here, or none that works, and NumPy does everything")
        return 0
    if why := cache.obstacle():
        print(f"nothing was built, since it could not be kept: {why}; name another directory by ADJOINT_CACHE_DIR")
        return 1
    begun, before = time.perf_counter(), count()
    jobs = list(standard())
    with ProcessPoolExecutor(pool.usable_cpus(), get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as processes:
        try:
            futures = [processes.submit(run, name) for name, _ in jobs]
            for number, future in enumerate(as_completed(futures), 1):
                print(f"\r{number:3} of {len(jobs)}  {future.result():<24}", end="", flush=True)
        except KeyboardInterrupt:
            processes.shutdown(cancel_futures=True)
            print(f"\nstopped: {count() - before} kernels were compiled and are kept; run it again to go on")
            return 130
    print(f"\n{count() - before} kernels compiled in {time.perf_counter() - begun:.1f} s, {count()} in {cache.directory()}")
    return 0


def run(name: str) -> str:
    """Do a job, in a process of its own."""
    jit.thorough = True
    dict(standard())[name]()
    return name


def count() -> int:
    return cache.kept()[0]


def standard() -> Iterator[tuple[str, Callable[[], None]]]:
    """What is used, by name; what takes longest comes first."""
    yield from PROGRAMS.items()
    for name, reduction in REDUCTIONS.items():
        yield name, repeated(reduction, large=True)
    for name, operator in OPERATORS.items():
        yield name, repeated(partial(of_two, operator))
    for name in FUNCTIONS:
        yield name, repeated(partial(of_one, getattr(ad, name, None) or getattr(F, name)))
    for name, make in OPTIMIZERS.items():
        yield name, partial(optimized, make)


def of_one(function: Callable[[Any], Any], x: Any) -> Any:
    return function(x.abs() if function in (ad.log, ad.sqrt, ad.rsqrt) else x).sum()


def of_two(function: Callable[[Any, Any], Any], x: Any) -> Any:
    return function(x, x.flip(0)).sum() + function(x, x[0]).sum()


def repeated(loss: Callable[[Any], Any], large: bool = False) -> Callable[[], None]:
    """A job that computes a loss and its gradient."""

    def job() -> None:
        for shape, times in ((SMALL, 2), (LARGE, 2 if large else 0)):
            x = ad.rand(shape).sub_(0.5).requires_grad_()
            for _ in range(times):
                x.grad = None
                loss(x).backward()

    return job


def trained(model: Any, loss: Callable[[Any], Any], times: int) -> None:
    for _ in range(times):
        model.zero_grad()
        loss(model).backward()


def perceptron() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.LayerNorm(64), nn.Linear(64, 10))
    targets = ad.arange(32) % 10
    for rows, times in ((4, 2), (512, 2)):
        x, y = ad.rand(rows, 64), targets.repeat(rows // 4)[:rows]
        trained(model, lambda net, x=x, y=y: F.cross_entropy(net(x), y) + F.mse_loss(net(x)[:, 0], x[:, 0]), times)  # type: ignore[misc]


def images() -> None:
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU())
    x = ad.rand(8, 3, 24, 24)
    trained(model, lambda net: F.avg_pool2d(net(x), 2).sum() + F.adaptive_avg_pool2d(net(x), 1).sum(), 2)


def language() -> None:
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    model = nn.ModuleList([nn.Embedding(50, 32), layer, nn.Linear(32, 50)])
    words = ad.arange(48).reshape(4, 12) % 50
    mask = nn.Transformer.generate_square_subsequent_mask(12)

    def loss(net: Any) -> Any:
        embedding, encoder, last = net
        return F.cross_entropy(last(encoder(embedding(words), src_mask=mask)).flatten(0, 1), words.flatten())

    trained(model, loss, 2)


def sequences() -> None:
    for layer in (nn.LSTM(32, 32), nn.GRU(32, 32)):
        x = ad.rand(24, 16, 32)
        trained(layer, lambda net, x=x: net(x)[0].sum(), 2)  # type: ignore[misc]


def indexing() -> None:
    for rows, times in ((16, 2), (4096, 2)):
        x, places = ad.rand(rows, 32, requires_grad=True), ad.arange(rows).flip(0)
        for _ in range(times):
            parts = ad.cat([x[places], x.index_select(0, places)], 1).split(16, 1)
            rest = x.gather(1, places[:, None] % 32) + x.t().contiguous().t()[:, :1] + x[x > 0.5].mean()
            (ad.stack(parts).sum() + rest.sum() + x.topk(2).values.sum() + x.sort().values.mean() + x[1:, ::2].sum()).backward()


def members() -> None:
    use_compiled_members()
    use_builtins()


PROGRAMS: dict[str, Callable[[], None]] = {
    "members": members, "indexing": indexing, "language": language, "images": images, "perceptrons": perceptron, "sequences": sequences,
}  # fmt: skip


def optimized(make: Callable[[Any], Any]) -> None:
    parameters = [nn.Parameter(ad.zeros(200, 200)), nn.Parameter(ad.zeros(200))]
    for parameter in parameters:
        parameter.grad = ad.ones_like(parameter)
    optimizer = make(parameters)
    for _ in range(3):
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
