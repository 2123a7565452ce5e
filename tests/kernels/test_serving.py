"""Whoever serves first serves always: equal calls give equal bits, dtypes and special values, whatever ran before."""

import os
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import _serving
from tests.ops._check import Call, data
from tests.ops.samples import load

ROWS = load()
TIMES = 40
LOSSES = """
import adjoint as ad
ad.manual_seed(0)
model = ad.nn.Sequential(ad.nn.Linear(3, 8), ad.nn.GELU(), ad.nn.LayerNorm(8), ad.nn.Linear(8, 4))
optimizer = ad.optim.Adam(model.parameters())
x, y = ad.randn(6, 3), ad.arange(6) % 4
for _ in range(40):
    optimizer.zero_grad()
    loss = ad.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""


def run(program: str, **variables: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], check=False, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def outcome(call: Call) -> list[object]:
    """What a call gives, and the gradients that it leaves, to the last bit; or how it ends."""
    tensors = [ad.from_numpy(array.copy()) for array in call.arrays]
    tensors = [x.requires_grad_() if x.is_floating_point() or x.is_complex() else x for x in tensors]
    ad.manual_seed(0)
    try:
        outputs = call(tensors)
        for output in outputs:
            if isinstance(output, ad.Tensor) and output.requires_grad and (output.is_floating_point() or output.is_complex()):
                output.backward(ad.ones_like(output), retain_graph=True)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return [type(error)]
    results = [data(output) if isinstance(output, ad.Tensor) else np.asarray(output) for output in outputs]
    results += [data(x.grad) for x in tensors if x.grad is not None]
    return [(array.dtype, array.shape, array.tobytes()) for array in results]


@pytest.mark.parametrize("name", ROWS)
def test_equal_calls_give_equal_bits(name):
    """Forty times, the others of the op in between."""
    calls = [Call(ROWS[name], sample) for sample in ROWS[name].samples()][:12]
    first = [outcome(call) for call in calls]
    for _ in range(TIMES - 1):
        for call, expected in zip(calls, first, strict=True):
            assert outcome(call) == expected, (name, call.args, call.kwargs)


SPECIAL = {
    "var_mean": lambda: ad.var_mean(ad.tensor([[np.inf, 1.0, 2.0]]), 1)[1],
    "cross entropy": lambda: ad.nn.functional.binary_cross_entropy_with_logits(ad.tensor([-np.inf]), ad.tensor([1.0])),
    "tanh after a product": lambda: (ad.linspace(-1, 1, 256).reshape(16, 16) @ ad.linspace(-2, 2, 16)).tanh(),
    "products": lambda: ad.prod(ad.ones(3, 4, dtype=ad.int16), dtype=ad.int32),
    "half precision": lambda: ad.linspace(-3, 3, 100, dtype=ad.float16).exp(),
    "complex": lambda: ad.linspace(-3, 3, 100, dtype=ad.complex64).exp(),
    "into": lambda: ad.exp(ad.linspace(-3, 3, 100), out=ad.empty(100)),
    "in place": lambda: ad.linspace(-3, 3, 100).exp_(),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_nothing_changes_in_forty_calls(name):
    found = [SPECIAL[name]() for _ in range(TIMES)]
    assert len({(x.dtype, x.numpy().tobytes()) for x in found}) == 1


def test_the_ways_to_call_an_op_give_equal_bits():
    """Elementwise ops: as a function, in place, into a tensor, with and without history, in inference mode, for a part of the numbers."""
    x = ad.linspace(-4, 4, 1000)
    for name in ("exp", "tanh", "sigmoid", "sin", "expm1", "erf"):
        function = getattr(ad, name)
        with ad.inference_mode():
            inferred = function(x)
        ways = [
            function(x), function(x.clone().requires_grad_()).detach(), function(x, out=ad.empty(1000)), getattr(x.clone(), f"{name}_")(),
            inferred, ad.cat([function(part) for part in x.split(7)]), function(x.reshape(10, 100).t()).t().reshape(-1),
            ad.stack([function(x[::2]), function(x[1::2])], 1).reshape(-1), function(x.expand(2, 1000))[1],
        ]  # fmt: skip
        for other in ways[1:]:
            assert other.numpy().tobytes() == ways[0].numpy().tobytes(), name


def test_the_cache_does_not_change_the_numbers(tmp_path, nothing_compiled):
    """The first run compiles, the second reads what is there."""
    first, second = (run(LOSSES, ADJOINT_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
    assert any((tmp_path / "cache").glob("*.kernels"))
    assert first == second != ""


def test_what_is_on_disk_is_used_without_llvm(tmp_path, nothing_compiled):
    program = LOSSES + "import sys\nassert 'llvmlite.binding' not in sys.modules"
    run(LOSSES, ADJOINT_CACHE_DIR=str(tmp_path))
    run(program, ADJOINT_CACHE_DIR=str(tmp_path))


def test_kernels_can_be_forbidden():
    program = "import sys\nassert 'llvmlite' not in sys.modules and not ad._serving.compiles()"
    numpy, kernels = (run(LOSSES + program * (setting == "0"), ADJOINT_KERNELS=setting) for setting in ("0", "1"))
    assert numpy != kernels and float.fromhex(numpy.split()[-1]) == pytest.approx(float.fromhex(kernels.split()[-1]), rel=1e-4)
    done = subprocess.run(
        [sys.executable, "-c", "import adjoint as ad; ad.ones(3).exp()"], env={**os.environ, "ADJOINT_KERNELS": "off"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "ValueError: ADJOINT_KERNELS=off: 0 is for NumPy alone" in done.stderr


def test_which_arrays_kernels_take():
    double = np.zeros(1)
    assert _serving.serves(double) == _serving.serves(double, double) == _serving.compiles()
    for arrays in [(np.zeros(1, int),), (double, np.zeros(1, "float32")), (double, np.float64(1)), (np.zeros(1, ">f8"), double)]:
        assert not _serving.serves(*arrays)
