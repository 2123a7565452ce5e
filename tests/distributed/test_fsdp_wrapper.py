"""`FullyShardedDataParallel`: the training and the state dicts of the module inside."""

from tests.distributed.ranks import run

PROGRAM = '''
from functools import partial

import adjoint as ad
from adjoint import nn
from adjoint import distributed as dist
from adjoint.distributed.fsdp import (
    FullStateDictConfig, FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy, StateDictType, wrap,
)
from adjoint.distributed.tensor import DTensor

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
cpu = ad.device("cpu")


def build():
    ad.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Sequential(nn.Linear(7, 7), nn.Tanh()), nn.Linear(7, 3))


data = ad.randn(4, 2 * ranks, 5, generator=ad.Generator().manual_seed(1))


def train(model, whole):
    optimizer = ad.optim.AdamW(model.parameters(), lr=0.05)
    for batch in data:
        (model(batch if whole else batch[2 * rank : 2 * rank + 2]) ** 2).mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1) if whole else model.clip_grad_norm_(0.1)
        optimizer.step()
        optimizer.zero_grad()
    return optimizer, norm


expected = build()
expected_optimizer, expected_norm = train(expected, True)


def same(state):
    assert list(state) == list(expected.state_dict()), list(state)
    for name, value in expected.state_dict().items():
        assert not isinstance(state[name], DTensor) and ad.allclose(state[name], value, atol=1e-6), name


for options in (
    {}, {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP}, {"sharding_strategy": ShardingStrategy.NO_SHARD},
    {"auto_wrap_policy": wrap.ModuleWrapPolicy({nn.Linear})},
    {"auto_wrap_policy": partial(wrap.size_based_auto_wrap_policy, min_num_params=40), "sync_module_states": True, "use_orig_params": True},
):
    model = FSDP(build(), device_id=cpu, **options)
    optimizer, norm = train(model, False)
    assert ad.allclose(norm, expected_norm, atol=1e-6)
    same(model.state_dict())
policy_wrapped = FSDP(build(), device_id=cpu, auto_wrap_policy=wrap.ModuleWrapPolicy({nn.Linear}))
assert len(FSDP.fsdp_modules(policy_wrapped)) == 4 and FSDP.fsdp_modules(policy_wrapped, root_only=True) == [policy_wrapped]
assert "_fsdp_wrapped_module" in repr(policy_wrapped) and policy_wrapped.module[0].out_features == 7

policy_wrapped.load_state_dict(model.state_dict())
same(policy_wrapped.state_dict())
with FSDP.state_dict_type(policy_wrapped, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):
    assert bool(policy_wrapped.state_dict()) == (rank == 0)
with FSDP.state_dict_type(policy_wrapped, StateDictType.SHARDED_STATE_DICT):
    sharded = policy_wrapped.state_dict()
    assert all(isinstance(value, DTensor) for value in sharded.values()) and list(sharded) == list(expected.state_dict())
    policy_wrapped.load_state_dict(sharded)
same(policy_wrapped.state_dict())
with FSDP.summon_full_params(policy_wrapped):
    assert [name for name, _ in policy_wrapped.named_parameters()] == [name for name, _ in expected.named_parameters()]
    assert ad.allclose(policy_wrapped.module[0].weight, expected[0].weight, atol=1e-6)
    with ad.no_grad():
        policy_wrapped.module[0].bias.fill_(7)
assert policy_wrapped.state_dict()["0.bias"].tolist() == [7] * 7

states = FSDP.optim_state_dict(model, optimizer)
assert ad.allclose(states["state"]["3.bias"]["exp_avg"], expected_optimizer.state[expected[3].bias]["exp_avg"], atol=1e-6)
other = FSDP(build(), device_id=cpu)
other_optimizer = ad.optim.AdamW(other.parameters(), lr=1.0)
other_optimizer.load_state_dict(FSDP.optim_state_dict_to_load(other, other_optimizer, states))
assert other_optimizer.param_groups[0]["lr"] == 0.05
again = FSDP.optim_state_dict(other, other_optimizer)
assert ad.allclose(again["state"]["0.weight"]["exp_avg_sq"], states["state"]["0.weight"]["exp_avg_sq"])

model = FSDP(build(), device_id=cpu)
with model.no_sync():
    model(data[0, 2 * rank : 2 * rank + 2]).sum().backward()
assert all(p.grad is None for p in model.parameters())
model(data[1, 2 * rank : 2 * rank + 2]).sum().backward()
whole = build()
((whole(data[0]) + whole(data[1])).sum() / ranks).backward()
for p, q in zip(model.parameters(), whole.parameters(), strict=True):
    assert ad.allclose(p.grad.full_tensor(), q.grad, atol=1e-5)
half = FSDP(build(), device_id=cpu, mixed_precision=MixedPrecision(param_dtype=ad.bfloat16))
assert half(data[0]).dtype == ad.bfloat16
for options, kind, message in (({}, RuntimeError, "device_id=ad.device('cpu')"),
    ({"device_id": cpu, "sharding_strategy": ShardingStrategy.HYBRID_SHARD}, ValueError, "device_mesh")):
    try:
        FSDP(nn.Linear(1, 1), **options)
    except kind as error:
        assert message in str(error)
    else:
        raise AssertionError
dist.destroy_process_group()
print("all the same")
'''


def test_the_older_form():
    job = run(2, PROGRAM)
    assert job.code == 0 and all("all the same" in text for text in job.ranks), job
