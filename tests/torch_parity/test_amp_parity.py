"""Autocast against PyTorch: which dtypes come out of which functions, and training in mixed precision."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad

pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
X = np.random.default_rng(0).standard_normal((4, 4)).astype("float32")

# Of x in float32 and h in half precision.
FUNCTIONS = {
    "linear": lambda lib, x, h, y: lib.nn.functional.linear(x, x, x[0]),
    "matmul": lambda lib, x, h, y: x @ x,
    "vector times matrix": lambda lib, x, h, y: x[0] @ x,
    "batches": lambda lib, x, h, y: x.reshape(2, 2, 4) @ x,
    "mm": lambda lib, x, h, y: lib.mm(x, x),
    "bmm": lambda lib, x, h, y: lib.bmm(x[None], x[None]),
    "addmm": lambda lib, x, h, y: lib.addmm(x, x, x),
    "baddbmm": lambda lib, x, h, y: lib.baddbmm(x, x[None], x[None]),
    "half times single": lambda lib, x, h, y: h @ x,
    "double": lambda lib, x, h, y: x.double() @ x.double(),
    "conv": lambda lib, x, h, y: lib.nn.functional.conv1d(x[None], x[:, :, None], x[0]),
    "conv_transpose": lambda lib, x, h, y: lib.nn.functional.conv_transpose1d(x[None], x[:, :, None]),
    "prelu": lambda lib, x, h, y: lib.nn.functional.prelu(x, x[0]),
    "attention": lambda lib, x, h, y: lib.nn.functional.scaled_dot_product_attention(x, x, x),
    "add": lambda lib, x, h, y: h + x,
    "sum": lambda lib, x, h, y: h.sum(),
    "exp": lambda lib, x, h, y: h.exp(),
    "softmax": lambda lib, x, h, y: h.softmax(-1),
    "gelu": lambda lib, x, h, y: lib.nn.functional.gelu(h),
    "cat": lambda lib, x, h, y: lib.cat([h, x]),
    "layer_norm": lambda lib, x, h, y: lib.nn.functional.layer_norm(h, (4,), x[0], x[1]),
    "batch_norm": lambda lib, x, h, y: lib.nn.BatchNorm1d(4)(h),
    "embedding": lambda lib, x, h, y: lib.nn.functional.embedding(y, x),
    "prod": lambda lib, x, h, y: h.prod(),
    "mse_loss": lambda lib, x, h, y: lib.nn.functional.mse_loss(h, x),
    "smooth_l1_loss": lambda lib, x, h, y: lib.nn.functional.smooth_l1_loss(h, x),
    "cross_entropy": lambda lib, x, h, y: lib.nn.functional.cross_entropy(h, y),
    "nll_loss": lambda lib, x, h, y: lib.nn.functional.nll_loss(h, y),
    "bce": lambda lib, x, h, y: lib.nn.functional.binary_cross_entropy_with_logits(h, x),
    "switched off": lambda lib, x, h, y: lib.autocast("cpu", enabled=False)(lambda: x @ x)(),
    "other dtype": lambda lib, x, h, y: lib.autocast("cpu", dtype=lib.float16)(lambda: x @ x)(),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_dtypes_and_values(function, dtype):
    results = []
    for library in LIBRARIES:
        chosen = getattr(library, dtype)
        x = library.tensor(X)
        with library.autocast("cpu", dtype=chosen):
            out = function(library, x, x.to(chosen), library.tensor([0, 1, 3, 2]))
        results.append((str(out.dtype), out.detach().double().numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=0.02, atol=0.03)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_training_in_mixed_precision(dtype):
    losses = []
    for library in LIBRARIES:
        library.manual_seed(0)
        nn = library.nn
        first = nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten()
        model = nn.Sequential(*first, nn.Linear(32, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
        optimizer = library.optim.SGD(model.parameters(), lr=0.1)
        scaler = library.amp.GradScaler("cpu", init_scale=8.0)
        x, y = library.tensor(np.stack([X, X + 1, X * 2])), library.tensor([0, 1, 2])
        found = []
        for _ in range(10):
            optimizer.zero_grad()
            with library.autocast("cpu", getattr(library, dtype)):
                out = model(x)
                loss = nn.functional.cross_entropy(out, y)
            assert out.dtype == getattr(library, dtype) and loss.dtype == library.float32
            scaler.scale(loss).backward()
            assert all(p.grad.dtype == library.float32 for p in model.parameters())
            scaler.step(optimizer)
            scaler.update()
            found.append(loss.item())
        losses.append(found)
    assert losses[0][-1] < 0.5 * losses[0][0]
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.05, atol=0.02)


def states(lib):
    seen = []

    def look():
        seen.append((lib.is_autocast_enabled("cpu"), lib.is_autocast_enabled(), str(lib.get_autocast_dtype("cpu"))))

    look()
    with lib.autocast("cpu"):
        look()
        with lib.autocast("cpu", dtype=lib.float16):
            look()
            with lib.autocast("cpu", enabled=False):
                seen.append(lib.is_autocast_enabled("cpu"))
        look()
    look()
    try:
        with lib.autocast("cpu"):
            raise KeyError
    except KeyError:
        look()
    seen += [lib.amp.is_autocast_available("cpu"), str(lib.get_autocast_dtype("cuda"))]
    return seen


def test_state():
    assert states(ad) == states(torch)


def functions_of_ones_own(lib):
    log = []

    class Plain(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x):
            log.append(str((x @ x).dtype))
            return x * 2

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            log.append(lib.is_autocast_enabled("cpu"))
            return g * 2

    class Single(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float32)
        def forward(ctx, x):
            log.append((str(x.dtype), str((x @ x).dtype)))
            return x * 2

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            log.append(lib.is_autocast_enabled("cpu"))
            return g * 2

    x = lib.tensor(X, requires_grad=True)
    with lib.autocast("cpu"):
        first, second = Plain.apply(x), Single.apply(x.bfloat16())
    (first.sum() + second.float().sum()).backward()
    return log


def test_functions_of_ones_own():
    assert functions_of_ones_own(ad) == functions_of_ones_own(torch)


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.autocast("cuda"), lambda lib: lib.autocast("cpu", dtype=lib.float64), lambda lib: lib.amp.GradScaler("cuda"),
        lambda lib: lib.cuda.amp.GradScaler(), lambda lib: lib.cuda.amp.autocast(),
    ],
)  # fmt: skip
def test_what_is_not_there_is_switched_off_with_a_warning(make):
    messages = []
    for library in LIBRARIES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = make(library)
        messages.append([(w.category, str(w.message).split("\n")[0]) for w in caught])
        if hasattr(made, "__enter__"):
            with made:
                assert (library.ones(2, 2) @ library.ones(2, 2)).dtype == library.float32
        else:
            assert not made.is_enabled() and made.scale(3) == 3
    assert messages[0] == messages[1]
