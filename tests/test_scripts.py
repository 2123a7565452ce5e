"""What ordinary PyTorch scripts import and ask for besides computing: it is there, and answers as on a machine with one CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad

ROOT = Path(__file__).resolve().parent.parent

IMPORTS = """
import sys
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.onnx
import torch.nn.functional as F
from torch import Tensor, GradScaler
from torch.autograd.variable import Variable
from torch.autograd.profiler import profile as old_profile
from torch.distributed import destroy_process_group, init_process_group
from torch.hub import load_state_dict_from_url
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.optim.optimizer import Optimizer, ParamsT, required
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.testing import assert_close, make_tensor
from torch.types import Device, Number, _size
from torch.utils.benchmark import Timer
from torch.utils.data._utils.collate import default_collate
from torch.utils.dlpack import from_dlpack
from torch.utils.hooks import RemovableHandle
from torch.utils.model_zoo import load_url

cudnn.benchmark = True
assert torch.backends.cudnn.benchmark and not torch.backends.mps.is_available()
assert int(torch.__version__.split(".")[0]) >= 2 and torch.version.__version__ == torch.__version__
assert not (dist.is_initialized() or torch.accelerator.is_available() or torch.xpu.is_available())
assert not hasattr(torch, "no_such_package")
"""


def test_imports(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IMPORTS, encoding="utf-8")
    command, environment = [sys.executable, "-m", "adjoint", "run", str(script)], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_variable():
    x = ad.ones(2, requires_grad=True)
    leaf = ad.autograd.Variable(x * 2, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and not ad.autograd.Variable(x).requires_grad
    assert isinstance(x, ad.autograd.Variable) and not isinstance(1, ad.autograd.Variable)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        ad.autograd.Variable([1, 2])


def test_compile_and_jit_give_back_what_they_get():
    model = ad.nn.Linear(1, 1)
    assert ad.compile(test_variable, mode="max-autotune") is test_variable and model.compile() is None
    assert ad.compile(fullgraph=True, disable=True)(model) is model
    assert ad.jit.script(model) is ad.jit.trace(model, ad.ones(1)) is model
    assert ad.jit.ignore(test_variable) is ad.jit.ignore(drop=True)(test_variable) is test_variable
    assert ad.compiler.disable(test_variable) is ad.compiler.disable()(test_variable) is test_variable
    assert not (ad.jit.is_scripting() or ad.compiler.is_compiling())
    with pytest.raises(RuntimeError, match="Either mode or options"):
        ad.compile(model, mode="default", options={})


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ad.onnx.export(None, None, "f"), NotImplementedError, "does not write ONNX files; write torch.save"),
        (lambda: ad.hub.load("a/b", "c"), NotImplementedError, r"clone the repository, and write torch.hub.load\(directory"),
        (lambda: ad.hub.download_url_to_file("https://u/v", "w"), NotImplementedError, r"does not download weights \(https://u/v\)"),
        (lambda: ad.jit.save(None, "f"), NotImplementedError, "writes no TorchScript files"),
        (lambda: ad.distributed.init_process_group("nccl"), RuntimeError, "Distributed package doesn't have NCCL built in"),
        (lambda: ad.distributed.init_process_group("gloo", rank=0, world_size=2), ValueError, "MASTER_ADDR expected, but not set"),
        (lambda: ad.utils.data.DistributedSampler([1]), ValueError, "Default process group has not been initialized"),
        (ad.distributed.get_rank, ValueError, "Default process group has not been initialized"),
        (lambda: ad.nn.parallel.DistributedDataParallel(ad.nn.Linear(1, 1)), ValueError, "Default process group has not been"),
        (lambda: ad.cuda.set_device(0), AssertionError, "Torch not compiled with CUDA enabled"),
        (ad.accelerator.synchronize, RuntimeError, "Cannot access accelerator device when none is available"),
    ],
)
def test_what_is_not_there_says_so(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_settings_of_backends():
    before = ad.backends.cudnn.deterministic
    with ad.backends.cudnn.flags(deterministic=not before):
        assert ad.backends.cudnn.deterministic is not before
    assert ad.backends.cudnn.deterministic is before
    with ad.backends.cuda.sdp_kernel(enable_flash=False):
        assert not ad.backends.cuda.flash_sdp_enabled()
    assert ad.backends.cuda.flash_sdp_enabled()


def test_profile(tmp_path):
    traces: list[object] = []
    steps = ad.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with ad.profiler.profile(schedule=steps, on_trace_ready=traces.append) as prof:
        for _ in range(6):
            with ad.profiler.record_function("forward"):
                pass
            prof.step()
    step, event = prof.key_averages()
    assert (step.key, event.key, event.count, traces) == ("ProfilerStep*", "forward", 2, [prof])
    assert "forward" in prof.key_averages().table(sort_by="cpu_time_total")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) == 4


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (ad.ones(2), ad.ones(2) + 1e-3, r"Tensor-likes are not close!\n\nMismatched elements: 2 / 2 \(100.0%\)\nGreatest absolute"),
        (ad.ones(2), ad.ones(3), r"The values for attribute 'shape' do not match: torch.Size\(\[2\]\) != torch.Size\(\[3\]\)."),
        (ad.ones(2), ad.ones(2).double(), "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
        ([1.0], [2.0], r"Expected 2.0 but got 1.0.(.|\n)*The failure occurred for item \[0\]"),
        ([1.0], [], "The length of the sequences mismatch: 1 != 0"),
        ({"a": 1}, {"b": 1}, r"Missing keys in the actual mapping: \['b'\]"),
        (ad.tensor([1, 2]), ad.tensor([1, 3]), "Tensor-likes are not equal!"),
        (float("nan"), float("nan"), "Scalars are not close!"),
    ],
)
def test_assert_close_refuses(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        ad.testing.assert_close(actual, expected)


def test_assert_close_accepts():
    ad.testing.assert_close({"a": [ad.ones(2), 1.0]}, {"a": [ad.ones(2) + 1e-7, 1.0 + 1e-9]})
    ad.testing.assert_close(float("nan"), float("nan"), equal_nan=True)
    ad.testing.assert_close(ad.ones(2), ad.ones(2).double(), check_dtype=False)
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs"):
        ad.testing.assert_close(ad.ones(1), 1.0)
    with pytest.raises(AssertionError, match=r"^mine$"):
        ad.testing.assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(ValueError, match="must be either specified or omitted"):
        ad.testing.assert_close(1.0, 1.0, rtol=1.0)


@pytest.mark.parametrize("dtype", [ad.float32, ad.bfloat16, ad.int64, ad.bool])
def test_make_tensor(dtype):
    made = ad.testing.make_tensor(3, 4, dtype=dtype, device="cpu", exclude_zero=True)
    assert made.shape == (3, 4) and made.dtype == dtype and bool((made != 0).all())


def test_benchmark_timer():
    measured = ad.utils.benchmark.Timer("x + 1", globals={"x": 1}).blocked_autorange(min_run_time=0.01)
    assert 0 < measured.median < 1e-3 and "x + 1" in repr(measured)


def test_configuration():
    assert "NumPy" in ad.__config__.show()
    assert f"get_num_threads() : {ad.get_num_threads()}" in ad.__config__.parallel_info()


def test_benchmark_table(capsys):
    timed = ad.utils.benchmark.Timer("1", sub_label="row", description="one").timeit(10)
    timed.times = [2.5e-6]
    table = ad.utils.benchmark.Compare([timed])
    table.extend_results([ad.utils.benchmark.Measurement([1e-6], 1, "x", "row", "two")])
    table.print()
    assert capsys.readouterr().out.splitlines()[:2] == ["     |   one  |   two", "row  |  2.50  |  1.00"]


def test_spmm_and_save_on_cpu():
    x = ad.eye(2, requires_grad=True)
    with ad.autograd.graph.save_on_cpu():
        y = ad.spmm(x, ad.ones(2, 2)).sum()
    y.backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_group_of_one_process():
    dist = ad.distributed
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo", rank=0, world_size=1)
        model = ad.nn.parallel.DistributedDataParallel(ad.nn.Linear(2, 1))
        assert list(model.state_dict()) == ["module.weight", "module.bias"] and model(ad.ones(3, 2)).shape == (3, 1)
        with model.no_sync():
            assert not model.require_backward_grad_sync
        with pytest.raises(RuntimeError, match="not needed when a module doesn't have any parameter"):
            ad.nn.parallel.DistributedDataParallel(ad.nn.ReLU())
        x, copies = ad.ones(2), [ad.zeros(2)]
        assert dist.all_reduce(x) is None and dist.all_reduce(x, async_op=True).wait() and x.tolist() == [1, 1]
        dist.all_gather(copies, x)
        assert copies[0].tolist() == [1, 1]
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()) == (0, 1, "gloo", True)
        assert list(ad.utils.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()
