"""Checkpoints that several processes write together, and other numbers of processes read."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint.distributed import checkpoint
from adjoint.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from tests.distributed.ranks import ROOT, run

PROGRAM = '''
import os
import sys

import adjoint as ad
from adjoint import nn
from adjoint import distributed as dist
from adjoint.distributed import checkpoint
from adjoint.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict, get_state_dict, set_model_state_dict, set_optimizer_state_dict,
    set_state_dict,
)
from adjoint.distributed.fsdp import fully_shard
from adjoint.distributed.tensor import DTensor

folder, job = sys.argv[1:]
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()


def build(seed):
    ad.manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.BatchNorm1d(7), nn.Linear(7, 3))
    if job != "one":
        for layer in (model[0], model[3]):
            fully_shard(layer)
        fully_shard(model)
    return model, ad.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)


data = ad.randn(6, 12, 5, generator=ad.Generator().manual_seed(1))


def step(model, optimizer, number):
    own = data[number].chunk(ranks)[rank]
    loss = (model.train(False)(own) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    whole = loss.detach().clone()
    dist.all_reduce(whole)
    return (whole / ranks).item()


class App:
    """What a program would put into its checkpoint."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def expect(kind, message, call):
    try:
        call()
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


if job in ("save", "one"):
    model, optimizer = build(0)
    for number in range(3):
        step(model, optimizer, number)
    checkpoint.save({"app": App(model, optimizer), "step": 3, "rates": [0.1, 0.2], "replicated": ad.arange(3)}, checkpoint_id=folder)
    files = sorted(name for name in os.listdir(folder) if name != ".metadata")
    assert files == [f"__{r}_0.distcp" for r in range(ranks)], files
else:
    model, optimizer = build(7)
    state = {"app": App(model, optimizer), "step": 0, "rates": [], "replicated": ad.zeros(3, dtype=ad.int64)}
    checkpoint.load(state, checkpoint_id=folder)
    assert state["step"] == 3 and state["rates"] == [0.1, 0.2] and state["replicated"].tolist() == [0, 1, 2]
    assert isinstance(model[0].weight, DTensor) and isinstance(optimizer.state[model[0].weight]["exp_avg"], DTensor)
print("losses", *(f"{step(model, optimizer, number):.7f}" for number in (3, 4)), flush=True)

if job == "save":  # what else state dicts can be, on the processes that are here anyway
    full = StateDictOptions(full_state_dict=True)
    first = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=full)
    assert not any(isinstance(value, DTensor) for value in weights.values()) and weights["0.weight"].shape == (7, 5)
    assert bool(get_model_state_dict(model, options=first)) == (rank == 0)
    assert bool(get_optimizer_state_dict(model, optimizer, options=first)) == (rank == 0)
    states = get_optimizer_state_dict(model, optimizer, options=full)
    assert ad.equal(states["state"]["3.bias"]["exp_avg"], optimizer.state[model[3].bias]["exp_avg"].full_tensor())
    spread = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    for options, source in ((full, weights), (spread, weights if rank == 0 else {})):
        other, other_optimizer = build(8)
        set_model_state_dict(other, source, options=options)
        set_optimizer_state_dict(other, other_optimizer, states if source else {}, options=options)
        assert all(ad.equal(p.full_tensor(), weights[name]) for name, p in other.named_parameters())
        assert step(other, other_optimizer, 5) == step(model, optimizer, 5)
        set_model_state_dict(model, weights, options=full)
        set_optimizer_state_dict(model, optimizer, states, options=full)
    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    entries = get_optimizer_state_dict(model, optimizer, options=flat)
    assert "state.0.weight.exp_avg" in entries and entries["param_groups.3.bias.lr"] == 0.01
    other, other_optimizer = build(8)
    set_optimizer_state_dict(other, other_optimizer, entries, options=flat)
    assert ad.equal(other_optimizer.state[other[0].bias]["exp_avg_sq"], optimizer.state[model[0].bias]["exp_avg_sq"])
    expect(ValueError, "full_state_dict must be True", lambda: set_model_state_dict(
        model, {}, options=StateDictOptions(broadcast_from_rank0=True)))

    # while it is written, the program goes on; what was there at the call is what is written
    before = get_model_state_dict(model, options=full)
    before = {name: value.clone() for name, value in before.items()}
    writing = checkpoint.async_save({"model": get_model_state_dict(model)}, checkpoint_id=folder + "/later")
    for number in range(3):
        step(model, optimizer, number)
    writing.result()
    other, _ = build(9)
    found = get_model_state_dict(other)
    checkpoint.load({"model": found}, checkpoint_id=folder + "/later")
    assert all(ad.equal(value.full_tensor() if isinstance(value, DTensor) else value, before[name]) for name, value in found.items())

    # one process fails, all are told
    class Failing(checkpoint.DefaultSavePlanner):
        def resolve_data(self, item):
            if rank == ranks - 1:
                raise OSError("the disk is full")
            return super().resolve_data(item)

    try:
        checkpoint.save({"model": get_model_state_dict(model)}, checkpoint_id=folder + "/later", planner=Failing())
    except checkpoint.CheckpointException as error:
        assert list(error.failures) == [ranks - 1] and "the disk is full" in str(error)
    else:
        raise AssertionError
    checkpoint.load({"model": found}, checkpoint_id=folder + "/later")  # the one that was there still is
    assert ad.equal(found["3.bias"].full_tensor(), before["3.bias"])
dist.destroy_process_group()
print("done")
'''


def losses(ranks, folder, job):
    done = run(ranks, PROGRAM, str(folder), job)
    assert done.code == 0 and all(text.endswith("done\n") for text in done.ranks), done
    found = {text.split("losses ")[1].split("\n")[0] for text in done.ranks}
    assert len(found) == 1, done
    return [float(number) for number in found.pop().split()]


def test_any_number_of_processes_goes_on_where_others_stopped(tmp_path):
    expected = losses(4, tmp_path / "four", "save")
    for ranks in (1, 3):
        assert losses(ranks, tmp_path / "four", "load") == pytest.approx(expected, rel=1e-5)
    whole = losses(1, tmp_path / "one", "one")  # without parts at all
    assert whole == pytest.approx(expected, rel=1e-5)
    assert losses(2, tmp_path / "one", "load") == pytest.approx(expected, rel=1e-5)


def test_one_process_without_a_group(tmp_path):
    model = ad.nn.Linear(2, 3)
    optimizer = ad.optim.Adam(model.parameters())
    model(ad.ones(1, 2)).sum().backward()
    optimizer.step()
    checkpoint.save({"model": model, "optimizer": optimizer, "nested": [{"x": ad.ones(2)}, 5], "tuple": (1, "a")}, checkpoint_id=tmp_path)
    other = ad.nn.Linear(2, 3)
    fresh = ad.optim.Adam(other.parameters())
    other(ad.ones(1, 2)).sum().backward()
    fresh.step()
    state: dict[str, Any] = {"model": other, "optimizer": fresh, "nested": [{"x": ad.zeros(2)}, 0], "tuple": None}
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert ad.equal(other.weight, model.weight) and state["nested"][0]["x"].tolist() == [1, 1]
    assert state["nested"][1] == 5 and state["tuple"] == (1, "a")
    assert ad.equal(fresh.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])
    everything = _load_state_dict_from_keys(checkpoint_id=tmp_path)
    assert list(everything) == ["model", "optimizer", "nested", "tuple"] and ad.equal(everything["model"]["bias"], model.bias)
    assert list(_load_state_dict_from_keys("model", checkpoint_id=tmp_path)) == ["model"]
    checkpoint.format_utils.dcp_to_torch_save(tmp_path, tmp_path / "file.pt")
    checkpoint.format_utils.torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "again")
    assert ad.equal(_load_state_dict_from_keys(checkpoint_id=tmp_path / "again")["model"]["bias"], model.bias)


def test_what_does_not_fit_is_said(tmp_path):
    checkpoint.save({"w": ad.ones(2, 3), "n": 1}, checkpoint_id=tmp_path / "some")
    for state, message in (
        ({"v": ad.ones(2)}, "Missing key in checkpoint state_dict: v"), ({"w": ad.ones(3, 2)}, "Size mismatch between saved"),
        ({"w": 1}, "is a tensor in the checkpoint or"),
    ):  # fmt: skip
        with pytest.raises(checkpoint.CheckpointException, match=message):
            checkpoint.load(state, checkpoint_id=tmp_path / "some")
    state = {"w": ad.zeros(2, 3), "v": ad.zeros(1)}
    checkpoint.load(state, checkpoint_id=tmp_path / "some", planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    assert state["w"].sum() == 6 and state["v"] == 0
    with pytest.raises(checkpoint.CheckpointException, match="no complete checkpoint"):
        checkpoint.load({}, checkpoint_id=tmp_path / "nothing")
    with pytest.raises(RuntimeError, match="must be specified"):
        checkpoint.save({})
    with pytest.raises(checkpoint.CheckpointException, match="overwrite=False"):
        checkpoint.save({}, storage_writer=checkpoint.FileSystemWriter(tmp_path / "some", overwrite=False))


def test_files_for_each_entry(tmp_path):
    writer = checkpoint.FileSystemWriter(tmp_path, single_file_per_rank=False)
    checkpoint.save({"a": ad.ones(2), "b": ad.arange(6).reshape(2, 3)[:, 1:], "c": "text"}, storage_writer=writer)
    assert len(list(tmp_path.glob("*.distcp"))) == 3
    state = {"a": ad.zeros(2), "b": ad.zeros(2, 2, dtype=ad.int64), "c": ""}
    checkpoint.load(state, storage_reader=checkpoint.FileSystemReader(tmp_path))
    assert state["b"].tolist() == [[1, 2], [4, 5]] and state["c"] == "text"


def test_nothing_in_the_files_is_executed(tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return exec, ("raise SystemExit('executed')",)

    (tmp_path / ".metadata").write_bytes(pickle.dumps({"x": Evil()}))
    with pytest.raises(checkpoint.CheckpointException, match=r"exec was not an allowed global"):
        checkpoint.load({"w": ad.ones(1)}, checkpoint_id=tmp_path)
    checkpoint.save({"w": ad.ones(1)}, checkpoint_id=tmp_path / "x")
    named = (tmp_path / "x" / ".metadata").read_bytes().replace(b"__0_0.distcp", b"../../etc/pw")
    (tmp_path / "x" / ".metadata").write_bytes(named)
    with pytest.raises(checkpoint.CheckpointException, match="not in the folder"):
        checkpoint.load({"w": ad.ones(1)}, checkpoint_id=tmp_path / "x")


KILLED = '''
import os
import sys
from pathlib import Path

import adjoint as ad
from adjoint.distributed import checkpoint

folder = sys.argv[1]
checkpoint.save({"w": ad.full((1000,), 0.0), "n": 0}, checkpoint_id=folder)


def counting(owner, name, count, last):
    function = getattr(owner, name)

    def counted(*args, **kwargs):
        count[0] += 1
        if count[0] == last:
            os._exit(9)  # as by kill -9: nothing is cleaned up
        return function(*args, **kwargs)

    setattr(owner, name, counted)


moments = 0
while True:
    moments += 1
    child = os.fork()
    if child == 0:
        count = [0]
        for owner, name in ((os, "fsync"), (Path, "iterdir"), (Path, "open"), (Path, "replace"), (Path, "unlink")):
            counting(owner, name, count, moments)
        checkpoint.save({"w": ad.full((1000,), float(moments)), "n": moments}, checkpoint_id=folder)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    state = {"w": ad.zeros(1000), "n": -1}
    checkpoint.load(state, checkpoint_id=folder)
    values = set(state["w"].tolist())
    assert values == {float(state["n"])} and state["n"] in (moments, moments - 1, before if moments > 1 else 0), (moments, state)
    before = state["n"]
    if ended == 0:
        break
    assert ended == 9, ended
assert state["n"] == moments and len(list(Path(folder).iterdir())) == 2, "what killed writers have left is gone"
print("killed at", moments - 1, "moments")
'''


def test_the_old_or_the_new_checkpoint_is_whole_whenever_the_writer_is_killed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "folder")], env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(Path.home())},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[2]) >= 6
