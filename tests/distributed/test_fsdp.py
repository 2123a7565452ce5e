"""Parameters of which each process has a part: the training is that of one process with the whole batch."""

import pytest

from tests.distributed.ranks import run

PROGRAM = '''
import gc
import weakref

import adjoint as ad
from adjoint import nn
from adjoint import distributed as dist
from adjoint.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from adjoint.distributed.tensor import DTensor, Replicate, Shard
from adjoint.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = dist.init_device_mesh("cpu", (ranks,))


class Model(nn.Module):
    """Uneven sizes, a shared parameter, a buffer, a frozen layer, an input that needs no gradient."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 5)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(5, 11), nn.Tanh(), nn.Linear(11, 5)) for _ in range(3)])
        self.norm = nn.BatchNorm1d(5, affine=False, momentum=None)
        self.frozen = nn.Linear(5, 5).requires_grad_(False)
        self.out = nn.Linear(5, 7)
        self.out.weight = self.emb.weight

    def forward(self, tokens, scale=1.0):
        h = self.emb(tokens).mean(1)
        for layer in self.layers:
            h = h + layer(h) * scale
        return self.out(self.frozen(h))

    def embed(self, tokens):
        return self.emb(tokens)


def build():
    ad.manual_seed(0)
    return Model()


def shard(model, **options):
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


def close(what, found, expected, atol=1e-6):
    found = found.full_tensor() if isinstance(found, DTensor) else found
    assert found.shape == expected.shape and ad.allclose(found, expected, atol=atol), (what, found, expected)


data = ad.randint(0, 7, (6, 4 * ranks, 3), generator=ad.Generator().manual_seed(1))
target = ad.randint(0, 7, (6, 4 * ranks), generator=ad.Generator().manual_seed(2))


def train(model, make, whole, steps=4, clip=0.5):
    optimizer = make(model.parameters())
    norms = []
    for step in range(steps):
        own = slice(None) if whole else slice(4 * rank, 4 * rank + 4)
        loss = nn.functional.cross_entropy(model(data[step, own]), target[step, own])
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        norms.append(norm.full_tensor() if isinstance(norm, DTensor) else norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return optimizer, ad.stack(norms)


# ---- memory -------------------------------------------------------------------------------------------------------------------------
model = build()
whole = sum(p.numel() for p in model.parameters())
held = [weakref.ref(p._data) for p in model.parameters()]
names = [name for name, _ in model.named_parameters()]
shard(model)
gc.collect()
assert all(array() is None for array in held), "the whole parameters are still in memory"
assert [name for name, _ in model.named_parameters()] == names and isinstance(model, FSDPModule) and type(model).__name__ == "FSDPModel"
assert sum(p.numel() for p in model.parameters()) == whole
local = sum(p.to_local().numel() for p in model.parameters())
assert local < whole / ranks + 11 * len(names), (local, whole)
output = model(data[0, :4])
pages = model.layers[1]._fsdp_state.group.pages.bytes
assert not pages.any() and isinstance(model.layers[1][0].weight, DTensor), "given up after forward"
assert isinstance(model.out.weight, nn.Parameter) and not isinstance(model.out.weight, DTensor), "the root stays for backward"
output.sum().backward()
assert isinstance(model.out.weight, DTensor) and not pages.any() and model.out.weight is model.emb.weight
assert all(isinstance(p.grad, DTensor) and p.grad.placements == p.placements for p in model.parameters() if p.requires_grad)
assert model.frozen.weight.grad is None
model.layers[1].unshard()
assert ad.equal(model.layers[1][0].weight, build().layers[1][0].weight)
model.layers[1].reshard()

# ---- the same training --------------------------------------------------------------------------------------------------------------
others = ({}, {"reshard_after_forward": False}, {"shard_placement_fn": lambda p: Shard(p.ndim - 1)})
for make in (
    lambda parameters: ad.optim.AdamW(parameters, lr=0.05),
    lambda parameters: ad.optim.Adam(parameters, lr=0.05, foreach=True, amsgrad=True),
    lambda parameters: ad.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    lambda parameters: ad.optim.SGD(parameters, lr=0.1),
):
    for options in others:
        one, other = build(), shard(build(), **options)
        others = ({},)  # the other ways once
        optimizer, norms = train(one, make, True)
        sharded, found = train(other, make, False)
        close("norms", found, norms)
        for (name, p), q in zip(one.named_parameters(), other.parameters(), strict=True):
            close(name, q, p)
            for key, value in optimizer.state[p].items():
                close((name, key), sharded.state[q][key], value)

# ---- other ways around the forward --------------------------------------------------------------------------------------------------
expected = build()
loss = nn.functional.cross_entropy(expected(data[0]), target[0])
loss.backward()
own = slice(4 * rank, 4 * rank + 4)


def gradients(model, **arguments):
    nn.functional.cross_entropy(model(data[0, own], **arguments), target[0, own]).backward()
    for (name, p), q in zip(expected.named_parameters(), model.parameters(), strict=True):
        if p.grad is not None:
            close(name, q.grad, p.grad)


model = build()  # each block is computed again in backward, inside and outside of the sharded module
for place, layer in enumerate(model.layers):
    model.layers[place] = checkpoint_wrapper(fully_shard(layer, mesh=mesh)) if place else fully_shard(checkpoint_wrapper(layer), mesh=mesh)
gradients(fully_shard(model, mesh=mesh))
model = build()
fully_shard([model.layers[0], model.layers[1]], mesh=mesh)
gradients(fully_shard(model, mesh=mesh), scale=ad.ones(()))
gradients(fully_shard(build(), ignored_params=set(expected.parameters())))  # the default mesh; somebody else's parameters
model = build()
ignored = model.layers[0][0].weight
fully_shard(model, ignored_params={ignored})
assert model.layers[0][0].weight is ignored and not isinstance(ignored, DTensor) and isinstance(model.layers[0][0].bias, DTensor)

model = shard(build())  # gradients of two batches add up, and are reduced once
half = nn.functional.cross_entropy
for step, last in ((0, False), (1, True)):
    model.set_requires_gradient_sync(last)
    half(model(data[step, own]), target[step, own]).backward()
    assert (model.layers[0][0].weight.grad is None) == (not last)
two = build()
(half(two(data[0]), target[0]) + half(two(data[1]), target[1])).backward()
for p, q in zip(two.parameters(), model.parameters(), strict=True):
    if p.grad is not None:
        close("accumulated", q.grad, p.grad)

model = shard(build())  # an error in backward leaves nothing behind
handle = model.layers[1][0].register_full_backward_hook(lambda *_: 1 / 0)
try:
    gradients(model)
except ZeroDivisionError:
    pass
handle.remove()
for p in model.parameters():
    p.grad = None
gradients(model)

model = shard(build())
register_fsdp_forward_method(model, "embed")
close("a method", model.embed(data[0, own]), expected.embed(data[0, own]))
model.eval()
with ad.no_grad():
    before = model(data[0, own])
    model.load_state_dict({name: value * 0 for name, value in model.state_dict().items()})
    assert before.any() and not model(data[0, own]).any(), "what is loaded is gathered"
seen = []
model = shard(build())
handle = model.layers[0][0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
gradients(model)
assert len(seen) == 1 and isinstance(seen[0], DTensor)

# ---- lower precision ----------------------------------------------------------------------------------------------------------------
kinds = []
policy = MixedPrecisionPolicy(param_dtype=ad.bfloat16, reduce_dtype=ad.float32, output_dtype=ad.float32)
model = build()
for layer in model.layers:
    fully_shard(layer, mp_policy=MixedPrecisionPolicy(param_dtype=ad.bfloat16, reduce_dtype=ad.float32))
fully_shard(model, mp_policy=policy)
model.layers[0][0].register_forward_hook(lambda module, args, output: kinds.append((args[0].dtype, module.weight.dtype)))
result = model(data[0, own])
assert result.dtype == ad.float32 and kinds == [(ad.bfloat16, ad.bfloat16)]
half(result, target[0, own]).backward()
assert all(p.dtype == ad.float32 and p.grad.dtype == ad.float32 for p in model.parameters() if p.requires_grad)
for p, q in zip(expected.parameters(), model.parameters(), strict=True):
    if p.grad is not None:
        close("bfloat16", q.grad, p.grad, atol=0.03)

# ---- parameters that were never whole -----------------------------------------------------------------------------------------------
with ad.device("meta"):
    model = Model()
shard(model)
assert all(p.is_meta for p in model.parameters())
model.to_empty(device="cpu")
ad.manual_seed(3)
for p in model.parameters():
    nn.init.normal_(p, std=0.2)
with ad.no_grad():
    ad.manual_seed(3)
    other = build()
    ad.manual_seed(3)
    for p in other.parameters():
        nn.init.normal_(p, std=0.2)
for p, q in zip(other.parameters(), model.parameters(), strict=True):
    close("drawn", q, p)
assert model(data[0, own]).isfinite().all()

# ---- replicas -----------------------------------------------------------------------------------------------------------------------
if ranks == 4:
    square = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = build()
    for layer in model.layers:
        fully_shard(layer, mesh=square)
    fully_shard(model, mesh=square)
    assert model.out.bias.placements == (Replicate(), Shard(0)) and model.out.bias.to_local().numel() == 4 - rank % 2
    gradients(model)

for call, kind, message in (
    (lambda: fully_shard(nn.ModuleList([nn.Linear(1, 1)])), ValueError, "forward"),
    (lambda: fully_shard(model), AssertionError, "once"),
    (lambda: fully_shard(nn.Linear(1, 1), reshard_after_forward=2), NotImplementedError, "True or False"),
    (lambda: __import__("copy").deepcopy(model), AssertionError, "deepcopy"),
):
    try:
        call()
    except kind as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
dist.destroy_process_group()
print("all the same")
'''


@pytest.mark.parametrize("ranks", [3, 4])
def test_training_with_parameters_in_parts(ranks):
    job = run(ranks, PROGRAM)
    assert job.code == 0 and all("all the same" in text for text in job.ranks), job
