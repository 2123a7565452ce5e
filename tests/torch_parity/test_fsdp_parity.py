"""Parameters in parts, and checkpoints of several processes, beside PyTorch's over gloo."""

import sys

import pytest

import adjoint as ad
from adjoint.distributed import checkpoint
from tests.distributed.ranks import finish, run

torch = pytest.importorskip("torch")

PROGRAM = '''
import os
import sys

library, folder, job = sys.argv[1:4]
if library == "adjoint":
    import adjoint as torch
    import adjoint.distributed.checkpoint as checkpoint
    from adjoint.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from adjoint.distributed.fsdp import fully_shard
else:
    import torch
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.fsdp import fully_shard
nn, dist = torch.nn, torch.distributed


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(13, 12)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(12, 2, 20, dropout=0.0, batch_first=True) for _ in range(2)])
        self.out = nn.Linear(12, 13, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        h = self.emb(x)
        for layer in self.layers:
            h = layer(h)
        return self.out(h)


def main(rank):
    if library == "adjoint":
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    else:
        dist.init_process_group("gloo", init_method=f"file://{folder}.store", rank=rank, world_size=2)
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    model = Model()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.randint(0, 13, (10, 8, 7), generator=torch.Generator().manual_seed(1))
    if job == "load":
        weights, states = get_state_dict(model, optimizer)
        state = {"model": weights, "optimizer": states, "step": 0}
        checkpoint.load(state, checkpoint_id=folder)
        assert state["step"] == 5
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    for step in range(0 if job == "save" else 5, 10):
        x = data[step, rank::2]
        loss = nn.functional.cross_entropy(model(x[:, :-1]).reshape(-1, 13), x[:, 1:].reshape(-1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5).full_tensor()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print("step", step, loss.item(), norm.item(), flush=True)
        if step == 4:
            weights, states = get_state_dict(model, optimizer)
            checkpoint.save({"model": weights, "optimizer": states, "step": 5}, checkpoint_id=folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    if library == "adjoint":
        main(0)
    else:
        import torch.multiprocessing

        torch.multiprocessing.spawn(main, nprocs=2)
'''


def numbers(text):
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith("step ")]
    return {int(step): (float(loss), float(norm)) for step, loss, norm in rows}


def by_adjoint(folder, job):
    done = run(2, PROGRAM, "adjoint", str(folder), job)
    assert done.code == 0, done
    return numbers(done.ranks[0])


def by_pytorch(folder, job):
    program = folder.parent / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = finish([sys.executable, str(program), "torch", str(folder), job])
    assert done.code == 0, done
    folder.with_suffix(".store").unlink(missing_ok=True)
    return numbers(done.text)


def test_losses_and_norms_and_checkpoints_are_those_of_pytorch(tmp_path):
    theirs, ours = by_pytorch(tmp_path / "torch", "save"), by_adjoint(tmp_path / "adjoint", "save")
    assert list(ours) == list(range(10))
    for step, (loss, norm) in theirs.items():
        assert ours[step] == (pytest.approx(loss, rel=2e-5), pytest.approx(norm, rel=2e-4)), step
    resumed = by_adjoint(tmp_path / "torch", "load"), by_pytorch(tmp_path / "adjoint", "load")  # each the other's
    for found in resumed:
        for step in range(5, 10):
            assert found[step][0] == pytest.approx(theirs[step][0], rel=2e-5), step


def test_checkpoints_of_one_process_are_exchanged(tmp_path):
    import torch.distributed.checkpoint as dcp

    def state(library):
        return {
            "w": library.arange(6.0).reshape(2, 3), "n": 5, "half": library.ones(2, dtype=library.bfloat16), "list": [library.ones(1), "x"],
            "nested": {"deep": {"flag": library.tensor([True, False])}, "pair": (1, 2.5)}, "scalar": library.tensor(3),
        }  # fmt: skip

    def empty(library):
        return {
            "w": library.zeros(2, 3), "n": 0, "half": library.zeros(2, dtype=library.bfloat16), "list": [library.zeros(1), ""],
            "nested": {"deep": {"flag": library.tensor([False, False])}, "pair": None}, "scalar": library.tensor(0),
        }  # fmt: skip

    with pytest.warns(UserWarning):
        dcp.save(state(torch), checkpoint_id=tmp_path / "theirs")
    checkpoint.save(state(ad), checkpoint_id=tmp_path / "ours")
    ours, theirs = empty(ad), empty(torch)
    checkpoint.load(ours, checkpoint_id=tmp_path / "theirs")
    with pytest.warns(UserWarning):
        dcp.load(theirs, checkpoint_id=tmp_path / "ours")
    assert repr(ours) == repr(theirs) == repr(state(ad))
