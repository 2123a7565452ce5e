"""Tensors of which each process has a part: what they compute is what whole tensors compute."""

import pytest

from tests.distributed.ranks import run

PROGRAM = '''
import adjoint as ad
from adjoint import nn
from adjoint import distributed as dist
from adjoint.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

dist.init_process_group("gloo")
mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
ad.manual_seed(0)
w, v = ad.randn(5, 3), ad.randn(5, 3)
x, y = distribute_tensor(w, mesh, [Shard(0)]), distribute_tensor(v, mesh, [Shard(1)])


def same(what, found, expected):
    found = found.full_tensor() if isinstance(found, DTensor) else found
    assert found.shape == expected.shape and found.dtype == expected.dtype, (what, found, expected)
    assert ad.allclose(found, expected, atol=1e-6), (what, found, expected)


for text in (
    "X + Y", "X * 2", "2 - X", "X.exp()", "ad.where(X > 0, X, Y)", "X.clamp(0)", "X.lerp(Y, 0.3)", "X.addcmul(X, Y)", "X.double()",
    "X.sum()", "X.sum(0)", "X.sum(1)", "X.sum(0, keepdim=True)", "X.mean()", "X.mean(0)", "X.norm()", "X.norm(1)",
    "X.norm(float('inf'))", "ad.linalg.vector_norm(X, 3)", "X.max()", "X.amax(0)", "X.amin(1)", "X.abs().min()", "(X > 9).any()",
    "(X > -9).all()", "X.prod()", "X.t()", "X.t() @ X", "X.clone()", "ad.zeros_like(X)", "ad.ones_like(X)",
    "ad.full_like(X, 3.0)", "X.pow(2).sum().sqrt()", "X / X.norm()", "X - X.mean(0)",
):
    same(text, eval(text, {"X": x, "Y": y, "ad": ad}), eval(text, {"X": w, "Y": v, "ad": ad}))

assert x.shape == (5, 3) and x.numel() == 15 and x.stride() == (3, 1) and len(x) == 5
assert x.to_local().shape[0] == Shard.local_shard_size_and_offset(5, mesh.size(), dist.get_rank())[0]
for placements in ([Shard(0)], [Shard(1)], [Replicate()], [Partial()]):
    z = x.redistribute(placements=placements)
    assert z.placements == tuple(placements)
    same(placements, z, w)
    same((placements, "and back"), z.redistribute(placements=[Shard(1)]), w)
local = ad.full((2, 3), float(dist.get_rank()))
z = DTensor.from_local(local, mesh, [Shard(0)])
assert z.shape == (2 * mesh.size(), 3) and z.full_tensor()[::2, 0].tolist() == list(map(float, range(mesh.size())))
assert DTensor.from_local(local, mesh, [Partial()]).full_tensor()[0, 0] == sum(range(mesh.size()))

z = x.detach().clone()
z.zero_()
same("zero_", z, w * 0)
z.copy_(y)
same("copy_", z, v)
z.mul_(2).add_(x, alpha=3)
same("mul_, add_", z, v * 2 + 3 * w)
for fill in (lambda t: t.normal_(), lambda t: t.uniform_(1, 2), nn.init.kaiming_uniform_, nn.init.trunc_normal_, nn.init.orthogonal_):
    ad.manual_seed(5)
    fill(z)
    ad.manual_seed(5)
    whole = ad.empty(5, 3)
    fill(whole)
    same(fill, z, whole)
assert ad.equal(x, x.clone()) and not ad.equal(x, y) and bool(x.sum() == x.sum()) and ad.allclose(x, x)
assert abs(x.sum().item() - w.sum().item()) < 1e-5

p = nn.Parameter(x)
assert isinstance(p, nn.Parameter) and type(p) is DTensor and p.requires_grad and p.is_leaf
eye = distribute_tensor(ad.eye(3) * 2, mesh, [Replicate()])
for compute in (
    lambda p, y, eye: (p * y).sum(), lambda p, y, eye: p.exp().mean(), lambda p, y, eye: (p.t() @ p).sum(),
    lambda p, y, eye: nn.functional.linear(p, eye).sum(), lambda p, y, eye: p.norm(),
):
    p.grad = None
    compute(p, y, eye).backward()
    whole = w.clone().requires_grad_()
    compute(whole, v, ad.eye(3) * 2).backward()
    same(compute, p.grad, whole.grad)
for take in (lambda p: p.full_tensor(), lambda p: p.to_local()):
    p.grad = None
    (take(p) ** 2).sum().backward()
    same(take, p.grad, 2 * w)
    assert p.grad.placements == (Shard(0),)

for text, kind, message in (
    ("x.view(-1)", NotImplementedError, "full_tensor"), ("x[0]", NotImplementedError, "full_tensor"),
    ("x.softmax(0)", NotImplementedError, "full_tensor"), ("y @ x.t()", NotImplementedError, "full_tensor"),
    ("x + w", RuntimeError, "mixed torch.Tensor and DTensor"),
    ("x.copy_(w)", RuntimeError, "distribute_tensor"), ("x.tolist()", NotImplementedError, "full_tensor"),
    ("ad.save(x, '/dev/null')", NotImplementedError, "checkpoint.save"), ("x.redistribute(placements=[])", ValueError, "same length"),
    ("distribute_tensor(w, mesh, [Shard(2)])", IndexError, "2 dimensions"),
):
    try:
        eval(text)
    except kind as error:
        assert message in str(error), (text, error)
    else:
        raise AssertionError(text)
assert repr(x).startswith("DTensor(local_tensor=tensor(") and repr(x).endswith("placements=(Shard(dim=0),))")
if mesh.size() % 2 == 0:
    square = dist.init_device_mesh("cpu", (2, mesh.size() // 2), mesh_dim_names=("a", "b"))
    for placements in ([Shard(0), Shard(0)], [Shard(1), Shard(0)], [Replicate(), Shard(0)], [Shard(1), Replicate()]):
        z = distribute_tensor(w, square, placements)
        same(placements, z, w)
        same((placements, "moved"), z.redistribute(placements=[Shard(0), Shard(1)]), w)
        same((placements, "sum"), z.sum(0), w.sum(0))
dist.destroy_process_group()
print("all the same")
'''


@pytest.mark.parametrize("ranks", [3, 4])
def test_what_tensors_in_parts_compute(ranks):
    job = run(ranks, PROGRAM)
    assert job.code == 0 and all("all the same" in text for text in job.ranks), job
