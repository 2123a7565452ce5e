"""`adjoint.profiler` and `adjoint.autograd.profiler`: what they see, and that they see nothing when they are off."""

from __future__ import annotations

import gzip
import json
import time

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.autograd import profiler as old
from adjoint.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def names(found):
    return [event.name for event in found.events()]


def test_ops_ranges_and_backward_are_seen():
    x = ad.ones(3, 2, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as found:
        with record_function("forward"):
            with record_function("inner"):
                y = x * 2
            loss = y.sum()
        loss.backward()
    assert names(found) == [
        "forward", "inner", "aten::mul", "aten::sum", "autograd::engine::evaluate_function: SumBackward0", "SumBackward0",
        "autograd::engine::evaluate_function: MulBackward0", "MulBackward0",
    ]  # fmt: skip
    forward, inner, mul, total = found.events()[:4]
    assert forward.cpu_children == [inner, total] and inner.cpu_children == [mul] and mul.cpu_parent is inner
    assert mul.input_shapes[0] == [3, 2] and forward.is_user_annotation and not mul.is_user_annotation
    assert x.grad.tolist() == [[2.0, 2.0]] * 3


def test_times_are_those_of_the_clock():
    with profile() as found:
        start = time.perf_counter()
        with record_function("outer"):
            time.sleep(0.01)
            with record_function("sleep"):
                time.sleep(0.02)
        elapsed = (time.perf_counter() - start) * 1e6
    outer, inner = found.events()
    assert 20_000 <= inner.cpu_time_total <= outer.cpu_time_total - 10_000 <= elapsed
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert found.key_averages().self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_averages_and_table():
    x, m = ad.ones(2), ad.ones(3, 3)
    with profile(record_shapes=True) as found:
        for _ in range(3):
            x.exp()
        m.exp()
        m @ m
    averages = {event.key: event for event in found.key_averages()}
    assert averages["aten::exp"].count == 4 and averages["aten::mm"].count == 1
    assert averages["aten::exp"].cpu_time == pytest.approx(averages["aten::exp"].cpu_time_total / 4)
    by_shape = [(event.key, event.count) for event in found.key_averages(group_by_input_shape=True)]
    assert by_shape[:2] == [("aten::exp", 3), ("aten::exp", 1)]
    text = found.key_averages().table(sort_by="count", row_limit=1)
    lines = text.splitlines()
    assert lines[1].split() == "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls".split()
    assert lines[3].split()[0] == "aten::exp" and lines[3].split()[-1] == "4" and "aten::mm" not in text
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError):
        found.key_averages().table(sort_by="nonsense")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_chrome_trace_is_json(tmp_path, suffix):
    with profile() as found, record_function("block"):
        ad.ones(2).exp()
    path = tmp_path / f"trace.json{suffix}"
    found.export_chrome_trace(str(path))
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if suffix else data)
    events = {event["name"]: event for event in trace["traceEvents"]}
    assert events["block"]["ph"] == "X" and events["block"]["dur"] >= events["aten::exp"]["dur"] >= 0
    assert events["block"]["ts"] <= events["aten::exp"]["ts"]


def test_schedule_and_handler(tmp_path):
    ready = []
    choose = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=choose, on_trace_ready=lambda found: ready.append((found.step_num, names(found)))) as found:
        for step in range(10):
            ad.full((2,), float(step)).exp()
            found.step()
    assert ready == [(4, ["ProfilerStep#2", "aten::exp", "ProfilerStep#3", "aten::exp"]),
                     (8, ["ProfilerStep#6", "aten::exp", "ProfilerStep#7", "aten::exp"])]  # fmt: skip
    assert [event.key for event in found.key_averages()] == ["ProfilerStep*", "aten::exp"]
    actions = [schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)(step) for step in range(6)]
    none, warmup, record, save = ProfilerAction
    assert actions == [none, none, warmup, record, save, none]
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "worker")):
        ad.ones(2).exp()
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("worker.") and json.loads(file.read_text())["traceEvents"]


def test_a_training_step():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), ad.ones(4, 2)
    optimizer = ad.optim.SGD(model.parameters(), lr=0.1)
    with profile() as found:
        model(x).pow(2).mean().backward()
        optimizer.step()
    seen = names(found)
    assert {"aten::linear", "aten::tanh", "aten::pow", "aten::mean", "TanhBackward0", "Optimizer.step#SGD.step"} <= set(seen)
    optimizer.step()
    assert names(found) == seen


def test_in_place_ops_and_second_derivatives_are_seen():
    x = ad.ones(2, requires_grad=True)
    with profile() as found:
        ad.ones(2).add_(1.0)
        ad.autograd.grad((x**3).sum(), x, create_graph=True)
    assert "aten::add_" in names(found) and "PowBackward0" in names(found)
    nested = next(event for event in found.events() if event.name == "PowBackward0")
    assert any(child.name.startswith("aten::") for child in nested.cpu_children)


def test_errors_leave_nothing_behind():
    with pytest.raises(RuntimeError), profile() as found:
        ad.ones(2) + ad.ones(3)
    assert names(found) == ["aten::add"]
    with profile() as later:
        ad.ones(2).exp()
    assert [event.cpu_parent for event in later.events()] == [None]


def test_nothing_is_seen_outside():
    with profile() as found:
        pass
    ad.ones(2).exp()
    with record_function("ignored"):
        pass
    assert found.events() == []


def test_the_old_profiler():
    x = ad.ones(2, requires_grad=True)

    @old.record_function("decorated")
    def double(x):
        return x * 2

    with old.profile(record_shapes=True) as found:
        double(x).sum().backward()
    assert [event.name for event in found.function_events][:3] == ["decorated", "aten::mul", "aten::sum"]
    assert "aten::mul" in str(found) and "aten::mul" in found.table(sort_by="cpu_time_total")
    assert found.total_average().count == len(found.function_events) and found.self_cpu_time_total > 0
    with old.profile(enabled=False) as off:
        x * 2
    assert off.enabled is False
    with pytest.raises(AssertionError, match="didn't finish running"):
        off.key_averages()
    with old.emit_nvtx(), old.emit_itt(False):
        assert (x * 2).tolist() == [2.0, 2.0]


def test_anomaly_mode_goes_on_while_profiling():
    x = ad.zeros(1, requires_grad=True)
    with pytest.warns(UserWarning), ad.autograd.detect_anomaly(), profile():
        with pytest.raises(RuntimeError, match="returned nan values"):
            (x.sqrt() * 0).sum().backward()


def test_times_in_one_unit():
    with profile() as prof:
        ad.ones(3).exp()
    lines = prof.key_averages().table(time_unit="s").splitlines()
    assert all(field.endswith("s") and not field.endswith(("ms", "us")) for line in lines[3:-2] for field in line.split()[2::2][:1])
    assert lines[-1].endswith("s") and not lines[-1].endswith(("ms", "us"))
    with pytest.raises(ValueError, match="time_unit is 'h'"):
        prof.key_averages().table(time_unit="h")
