"""Scenes with DistributedDataParallel, of which each returns numbers. The same text runs on PyTorch and on adjoint, on each rank."""

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
SCENES = []


def scene(function):
    SCENES.append(function)
    return function


def data(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def mlp(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def state(module):
    return [p.detach().flatten().tolist() for p in module.parameters()]


def grads(module):
    return [None if p.grad is None else p.grad.detach().flatten().tolist() for p in module.parameters()]


def train(model, steps=3, opt=None, seed=7):
    r, n = dist.get_rank(), dist.get_world_size()
    opt = opt or torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for i in range(steps):
        x, y = data(seed + i, 12, 4), data(100 + seed + i, 12, 2)
        opt.zero_grad()
        loss = ((model(x[r::n]) - y[r::n]) ** 2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


@scene
def small_buckets():
    model = DDP(mlp(), bucket_cap_mb=0.0001)
    return train(model, 4), state(model)


@scene
def bucket_view():
    model = DDP(mlp(), gradient_as_bucket_view=True, bucket_cap_mb=0.0001)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    out = []
    for none in (True, False, False, True):
        x = data(dist.get_rank(), 3, 4)
        opt.zero_grad(set_to_none=none)
        model(x).pow(2).sum().backward()
        out.append(grads(model))
        opt.step()
    return out, state(model)


@scene
def no_sync():
    model = DDP(mlp())
    r = dist.get_rank()
    with model.no_sync():
        model(data(r, 3, 4)).sum().backward()
        local = grads(model)
        model(data(10 + r, 3, 4)).sum().backward()
    model(data(20 + r, 3, 4)).sum().backward()
    both = grads(model)
    model(data(30 + r, 3, 4)).sum().backward()
    return local, both, grads(model)


@scene
def backward_twice():
    model = DDP(mlp())
    r = dist.get_rank()
    loss = model(data(r, 3, 4)).pow(2).sum()
    loss.backward(retain_graph=True)
    first = grads(model)
    loss.backward()
    second = grads(model)
    model.zero_grad()
    a, b = model(data(r, 3, 4)), model(data(5 + r, 3, 4))
    (a.sum() + b.pow(2).sum()).backward()
    return first, second, grads(model)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, way):
        if way == "both":
            return {"a": self.a(x), "b": [self.b(x)]}
        return {"a": self.a(x), "b": [self.a(x)]} if way == "a" else {"a": self.b(x), "b": [self.b(x)]}


@scene
def unused_error():
    model = DDP(Branches())
    model(data(0, 2, 4), "a")["a"].sum().backward()
    try:
        model(data(0, 2, 4), "a")
    except RuntimeError as error:
        words = str(error)
        return words[:120], "a" in words
    return None


@scene
def find_unused():
    model = DDP(Branches(), find_unused_parameters=True)
    r = dist.get_rank()
    out = []
    for way in ("a", "both", "b"):
        model.zero_grad()
        result = model(data(r, 3, 4), way)
        (result["a"].sum() + result["b"][0].pow(2).sum()).backward()
        out.append(grads(model))
    # a different way in each process
    model.zero_grad()
    result = model(data(r, 3, 4), "ab"[r % 2])
    (result["a"].sum() + result["b"][0].pow(2).sum()).backward()
    out.append(grads(model))
    # an output that the loss does not use
    model.zero_grad()
    model(data(r, 3, 4), "both")["b"][0].sum().backward()
    out.append(grads(model))
    # accumulated
    with model.no_sync():
        model(data(r, 3, 4), "a")["a"].sum().backward()
    model(data(r, 3, 4), "b")["a"].sum().backward()
    out.append(grads(model))
    return out


@scene
def static_graph():
    model = DDP(Branches(), static_graph=True)
    r = dist.get_rank()
    out = []
    for i in range(3):
        model.zero_grad()
        model(data(i + 10 * r, 3, 4), "b")["b"][0].sum().backward()
        out.append(grads(model))
    return out


class Checkpointed(nn.Module):
    def __init__(self, reentrant, twice=False):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.body, self.reentrant, self.twice = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh()), reentrant, twice

    def forward(self, x):
        x = self.first(x)
        x = checkpoint(self.body, x, use_reentrant=self.reentrant)
        return checkpoint(self.body, x, use_reentrant=self.reentrant) if self.twice else x


@scene
def checkpointing():
    out = []
    for reentrant, twice, static in ((False, False, False), (False, True, False), (True, False, False), (True, True, True)):
        model = DDP(Checkpointed(reentrant, twice), static_graph=static)
        for i in range(3):
            model.zero_grad()
            model(data(i + dist.get_rank(), 3, 4)).pow(2).sum().backward()
        out.append(grads(model))
    return out


@scene
def buffers():
    torch.manual_seed(dist.get_rank())
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    for i in range(3):
        model(data(i + 10 * dist.get_rank(), 5, 4)).sum().backward()
    mine = [b.tolist() for b in model.buffers()]
    with torch.no_grad():
        model(data(3 + 10 * dist.get_rank(), 5, 4))
    model.eval()
    after = model(data(3, 5, 4)).tolist()
    return mine, after, [b.tolist() for b in model.buffers()]


@scene
def own_buffers():
    torch.manual_seed(dist.get_rank())
    out = []
    for options in ({"broadcast_buffers": False}, {"forward_sync_buffers": False}):
        norm = nn.BatchNorm1d(4)
        norm.running_mean += dist.get_rank()
        model = DDP(norm, **options)
        for i in range(2):
            model(data(i + 10 * dist.get_rank(), 5, 4)).sum().backward()
        out.append([b.tolist() for b in model.buffers()])
    return out


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.frozen = nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x):
        return self.b(self.frozen(self.a(x)))


@scene
def shared_and_frozen():
    model = DDP(Shared())
    for i in range(3):
        model(data(i + dist.get_rank(), 3, 4)).pow(2).sum().backward()
    return grads(model), len(list(model.parameters()))


@scene
def nested():
    torch.manual_seed(0)
    inner = DDP(nn.Linear(4, 4))
    model = nn.Sequential(inner, nn.Tanh(), DDP(nn.Linear(4, 2)))
    outer = DDP(nn.Sequential(DDP(nn.Linear(4, 4)), nn.Linear(4, 1)))
    for i in range(3):
        model.zero_grad(), outer.zero_grad()
        model(data(i + dist.get_rank(), 3, 4)).pow(2).sum().backward()
        outer(data(i + dist.get_rank(), 3, 4)).pow(2).sum().backward()
    return grads(model), grads(outer)


@scene
def comm_hooks():
    from torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default

    out = []
    for state_, hook in (
        (None, default.allreduce_hook),
        (None, default.fp16_compress_hook),
        (None, debugging_hooks.noop_hook),
        (None, default.fp16_compress_wrapper(default.allreduce_hook)),
    ):
        model = DDP(mlp(), bucket_cap_mb=0.0001)
        model.register_comm_hook(state_, hook)
        for i in range(2):
            model.zero_grad()
            model(data(i + dist.get_rank(), 3, 4)).pow(2).sum().backward()
        out.append(grads(model))
    return out


@scene
def power_sgd():
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power

    out = []
    for feedback in (True, False):
        model = DDP(mlp())
        kept = power.PowerSGDState(
            None, 1, start_powerSGD_iter=2, min_compression_rate=2, use_error_feedback=feedback, warm_start=feedback
        )
        model.register_comm_hook(kept, power.powerSGD_hook)
        out.append([train(model, 6), state(model), list(kept.compression_stats())[1:]])
    return out


@scene
def local_sgd():
    from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    from torch.distributed.algorithms.model_averaging import averagers
    from torch.distributed.optim import PostLocalSGDOptimizer

    model = DDP(mlp())
    subgroup, _ = dist.new_subgroups(group_size=1)
    model.register_comm_hook(PostLocalSGDState(None, subgroup, 3), post_localSGD_hook)
    opt = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), averagers.PeriodicModelAverager(period=2, warmup_steps=3))
    losses = train(model, 8, opt)
    return losses, state(model), opt.state_dict()["step"]


@scene
def uneven():
    out = []
    for divide in (True, False):
        for options in ({}, {"find_unused_parameters": True}, {"static_graph": True}):
            torch.manual_seed(0)
            model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), bucket_cap_mb=0.0001, **options)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            with model.join(divide_by_initial_world_size=divide):
                for i in range(2 + 2 * dist.get_rank()):
                    opt.zero_grad()
                    model(data(i + 10 * dist.get_rank(), 5, 4)).pow(2).sum().backward()
                    opt.step()
            out.append([state(model), [b.tolist() for b in model.buffers()]])
    return out


@scene
def uneven_nothing_and_accumulation():
    model = DDP(mlp())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for i in range(4 * dist.get_rank()):
            if i % 2 == 0:
                with model.no_sync():
                    model(data(i, 3, 4)).pow(2).sum().backward()
                continue
            model(data(i, 3, 4)).pow(2).sum().backward()
            opt.step()
            opt.zero_grad()
    return state(model)


@scene
def zero():
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer as ZeRO

    out = []
    for views in (False, True):
        model = DDP(mlp())
        opt = ZeRO(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01, parameters_as_bucket_view=views)
        sched = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
        losses = train(model, 2, opt)
        sched.step(), sched.step()
        losses += train(model, 2, opt)
        own = sum(len(group["params"]) for group in opt.optim.param_groups)
        opt.consolidate_state_dict(to=0)
        if dist.get_rank() == 0:
            saved = opt.state_dict()
            shape = sorted(saved["state"]), [g["lr"] for g in saved["param_groups"]], saved["state"][0]["exp_avg"].flatten().tolist()
        else:
            saved = shape = None
            try:
                opt.state_dict()
            except RuntimeError as error:
                shape = str(error)[:40]
        box = [saved]
        dist.broadcast_object_list(box, src=0)
        again = ZeRO(model.parameters(), optimizer_class=torch.optim.Adam, lr=5.0)
        again.load_state_dict(box[0])
        losses += train(model, 2, again)
        out.append([losses, state(model), own, shape])
    model = DDP(mlp())
    opt = ZeRO(model.module[0].parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
    opt.add_param_group({"params": list(model.module[4].parameters()), "lr": 0.01})
    with Join([model, opt]):
        for i in range(1 + dist.get_rank()):
            model.zero_grad()
            model(data(i, 3, 4)).pow(2).sum().backward()
            opt.step()
    out.append(state(model))
    return out


@scene
def sparse_table():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Linear(4, 2)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.tensor([1 + dist.get_rank(), 3, 3])).pow(2).sum().backward()
        table = model.module[0].weight.grad
        kept = table.is_sparse, table.to_dense().tolist()
        opt.step()
    return kept, state(model)


@scene
def dtypes():
    torch.manual_seed(0)
    model = DDP(
        nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3).double(), "c": nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last)}),
        gradient_as_bucket_view=True,
    )

    class F(nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, x, image):
            return self.m["b"](self.m["a"](x).double()).sum() + self.m["c"](image).pow(2).sum()

    model = DDP(F(model.module), gradient_as_bucket_view=True)
    for i in range(3):
        model.zero_grad()
        model(data(i + dist.get_rank(), 3, 3), data(i + dist.get_rank(), 2, 2, 5, 5)).backward()
    return grads(model), [list(p.grad.stride()) for p in model.parameters()]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    results = {}
    for function in SCENES:
        results[function.__name__] = function()
        dist.barrier()
    Path(f"{sys.argv[1]}.{dist.get_rank()}").write_text(json.dumps(results))
    dist.destroy_process_group()
