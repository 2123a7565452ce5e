"""Two processes of one thread each: collectives, and training steps whose gradients are averaged, beside PyTorch's gloo."""

from __future__ import annotations

from typing import Any

from ._ranks import ranks
from ._timing import Step
from .models import convolutional_network, language_model, multilayer_perceptron, training_step

MB = 2**20
SIZES = {"4 kB": 4096, "1 MB": MB, "25 MB": 25 * MB, "100 MB": 100 * MB}
MODELS = {"MLP 784-256-128-10": multilayer_perceptron, "CNN of the MNIST example": convolutional_network, "GPT of 4 layers": language_model}
BUCKETS = (1, 5, 25, 100)


def all_reduce(lib: Any, size: int) -> Step:
    values = lib.zeros(size // 4)
    return lambda: lib.distributed.all_reduce(values)


def averaged(lib: Any, model: Any) -> Any:
    """A model whose gradients are those of all processes."""
    return lib.nn.parallel.DistributedDataParallel(model)


def large_network(lib: Any, bucket: int | None) -> Step:
    """104 MB of parameters and little to compute with them."""
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    layers = [layer for _ in range(26) for layer in (nn.Linear(1024, 1024, bias=False), nn.ReLU())]
    model = nn.Sequential(*layers)
    if bucket is not None:
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=bucket)
    x, y = lib.randn(8, 1024), lib.randn(8, 1024)
    return training_step(lib, model, lib.optim.SGD(model.parameters(), 1e-3), lambda: F.mse_loss(model(x), y))


for size_name, size in SIZES.items():
    ranks(f"2 ranks: all_reduce of {size_name}")(lambda lib, size=size: all_reduce(lib, size))  # type: ignore[misc]
for model_name, model in MODELS.items():
    ranks(f"2 ranks: {model_name}, each for itself")(lambda lib, model=model: model(lib))  # type: ignore[misc]
    ranks(f"2 ranks: {model_name}, DistributedDataParallel")(lambda lib, model=model: model(lib, averaged))  # type: ignore[misc]
ranks("2 ranks: 104 MB of parameters, each for itself")(lambda lib: large_network(lib, None))
for bucket in BUCKETS:
    ranks(f"2 ranks: 104 MB of parameters, buckets of {bucket} MB")(lambda lib, bucket=bucket: large_network(lib, bucket))  # type: ignore[misc]
