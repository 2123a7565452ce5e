"""Groups of processes, what they do together, and what is written on it: meshes, wrappers, state dicts."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn
from adjoint._standing import standing_of
from adjoint.distributed._groups import GroupMember, ProcessGroup, _pg_map
from adjoint.distributed._stores import HashStore
from adjoint.distributed._transport import Alone


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


class Twin(Alone):
    """A transport of two processes: the other one has the same values plus ten, and this one is the second."""

    rank, size = 1, 2

    def part(self, ranks):
        return self if 1 in ranks else None

    def all_reduce(self, array, operation, later=False):
        array[...] = {"SUM": array + (array + 10), "MAX": array + 10}[operation]

    def reduce_scatter(self, target, array, operation, later=False):
        combined = array.reshape(2, -1)[1].copy()
        self.all_reduce(combined, operation)
        target[...] = combined

    def broadcast(self, array, root, later=False):
        array += 10 * (root == 0)

    def all_gather(self, target, array, later=False):
        target.reshape(2, -1)[:] = array.reshape(-1) + 10, array.reshape(-1)

    def scatter(self, target, array, root, later=False):
        target[...] = array.reshape(2, -1)[1]

    def all_to_all(self, target, target_counts, array, counts, later=False):
        part = array.reshape(-1)[counts[0] :]
        target.reshape(2, -1)[:] = part + 10, part


@pytest.fixture
def twins():
    GroupMember.WORLD = made = ProcessGroup(Twin(), (0, 1), "gloo", "0", "default_pg", HashStore())
    _pg_map[made] = "gloo", made.get_group_store()  # without a watchdog: there is no other process to watch
    yield made
    dist.destroy_process_group()


# ---- groups -------------------------------------------------------------------------------------------------------------------------


def test_before_there_is_a_group():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    assert dist.get_rank(GroupMember.NON_GROUP_MEMBER) == dist.get_world_size(GroupMember.NON_GROUP_MEMBER) == -1
    for call in (dist.get_rank, dist.barrier, dist.destroy_process_group, lambda: dist.all_reduce(ad.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"backend": "nccl"}, RuntimeError, "doesn't have NCCL built in"),
        ({"backend": "foo"}, AssertionError, "Unknown backend type foo"),
        ({"backend": "gloo", "rank": 1, "world_size": 2}, ValueError, "variable MASTER_ADDR expected.*python -m adjoint launch"),
        ({"store": HashStore()}, AssertionError, "world_size must be positive if using store"),
        ({"store": HashStore(), "world_size": 1}, AssertionError, "rank must be non-negative if using store"),
        ({"backend": "gloo", "timeout": 3}, TypeError, r"of type datetime\.timedelta"),
        ({"backend": 3}, ValueError, "must be string-ish"),
    ],
)
def test_groups_that_cannot_be(arguments, kind, message):
    with pytest.raises(kind, match=message):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_the_environment_says_rank_and_size(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group()
    assert dist.get_backend() == "undefined" and dist.get_backend_config() == "cpu:gloo" and dist.group.WORLD.name() == "gloo"
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()
    dist.destroy_process_group()


def test_without_mpi_the_error_names_the_extra(monkeypatch):
    for variable, value in (("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")):
        monkeypatch.setenv(variable, value)  # as if mpiexec had started this process
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(RuntimeError, match=r"could not be loaded.*pip install 'adjoint\[mpi\]'"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()


def test_mpi_is_available_where_it_is_installed(monkeypatch, tmp_path):
    assert dist.is_mpi_available() and dist.is_backend_available("mpi")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert not dist.is_mpi_available() and not dist.is_backend_available("mpi") and dist.is_backend_available("gloo")


def test_groups_of_groups(world):
    assert (world.rank(), world.size(), world.group_desc) == (0, 1, "default_pg") and dist.get_backend() == "gloo"
    small = dist.new_group([0])
    assert isinstance(small, dist.ProcessGroup) and dist.get_process_group_ranks(small) == [0] and dist.get_pg_count() == 2
    assert dist.get_global_rank(small, 0) == dist.get_group_rank(small, 0) == 0
    for call, message in (
        (lambda: dist.new_group([1]), "Rank 1 is out of range"),
        (lambda: dist.new_group([0, 0]), "duplicate entries"),
        (lambda: dist.get_global_rank(small, 1), "Group rank 1 is not part of group"),
        (lambda: dist.get_group_rank(small, 1), "Global rank 1 is not part of group"),
        (lambda: dist.all_reduce(ad.ones(1), group="g"), "Invalid process group"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    own, (same,) = dist.new_subgroups(1)
    assert own is same
    dist.destroy_process_group(small)
    with pytest.raises(ValueError, match="Invalid process group"):
        dist.get_rank(small)


def test_names_of_operations_and_backends():
    total: Any = dist.ReduceOp.SUM
    assert total == dist.ReduceOp.RedOpType.SUM and isinstance(total, dist.ReduceOp)
    assert [op.name for op in dist.ReduceOp.RedOpType] == ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"]
    assert dist.Backend("GLOO") == dist.Backend.GLOO == "gloo" and dist.Backend.default_device_backend_map["cuda"] == "nccl"
    from adjoint.distributed.distributed_c10d import ProcessGroup as Same
    from adjoint.distributed.distributed_c10d import _get_default_group, default_pg_timeout

    assert Same is dist.ProcessGroup and default_pg_timeout.total_seconds() == 1800
    with pytest.raises(ValueError, match="has not been initialized"):
        _get_default_group()


# ---- collectives --------------------------------------------------------------------------------------------------------------------


def test_one_process_talks_to_itself(world):
    x, out = ad.tensor([1.0, 2.0]), ad.zeros(2)
    assert dist.all_reduce(x) is None and x.tolist() == [1, 2] and dist.all_reduce(x, async_op=True).wait()
    dist.all_gather([out], x)
    assert out.tolist() == [1, 2]
    dist.reduce_scatter(out, [x * 2], dist.ReduceOp.AVG)
    assert out.tolist() == [2, 4]
    dist.all_to_all_single(out, x * 3)
    assert out.tolist() == [3, 6]
    dist.all_gather_into_tensor(out, x)
    dist.scatter(x, [out * 5], src=0)
    assert out.tolist() == [1, 2] and x.tolist() == [5, 10]
    objects = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    dist.scatter_object_list(objects, [7])
    assert objects == [7]
    dist.gather_object("o", objects)
    dist.broadcast_object_list(objects, src=0)
    assert objects == ["o"]
    dist.barrier()
    dist.monitored_barrier()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: dist.all_reduce([x]), TypeError, "Expected parameter `tensor` of type"),
        (lambda x: dist.all_reduce(x, op="sum"), TypeError, r"ReduceOp\.SUM, but got 'sum'"),
        (lambda x: dist.all_reduce(x, op=dist.ReduceOp.PREMUL_SUM), RuntimeError, "multiply the tensor first"),
        (lambda x: dist.all_gather([x, x], x), RuntimeError, "expected length 1, got 2"),
        (lambda x: dist.all_gather([ad.ones(3)], x), RuntimeError, "invalid tensor size at index 0"),
        (lambda x: dist.all_gather_into_tensor(ad.ones(3), x), RuntimeError, "invalid tensor size at index 0"),
        (lambda x: dist.broadcast(x), ValueError, "Must specify global_rank or group_rank"),
        (lambda x: dist.broadcast(x, 1), ValueError, "Global rank 1 is not part of group"),
        (lambda x: dist.broadcast(x, 0, group_src=0), ValueError, "Can't specify both"),
        (lambda x: dist.gather(x), ValueError, "``gather_list`` must be specified"),
        (lambda x: dist.scatter(x), ValueError, "``scatter_list`` must be specified"),
        (lambda x: dist.scatter_object_list([], [1]), ValueError, "size at least 1"),
        (lambda x: dist.send(x, 0), ValueError, "Invalid destination rank"),
        (lambda x: dist.irecv(x, 0), ValueError, "Invalid source rank"),
        (lambda x: dist.P2POp(dist.send, x, 0), ValueError, "Invalid ``op``"),
        (lambda x: dist.all_to_all_single(x, x, [1], [2]), RuntimeError, "Split sizes"),
    ],
)
def test_arguments_are_checked(world, call, kind, message):
    x = ad.ones(2)
    with pytest.raises(kind, match=message):
        call(x)
    assert x.tolist() == [1, 1]


def test_collectives_are_written_for_any_transport(twins):
    x = ad.tensor([1.0, 2.0])
    dist.all_reduce(x)
    assert x.tolist() == [12, 14]
    x, outs = ad.tensor([1.0, 2.0]), [ad.zeros(2), ad.zeros(2)]
    dist.all_gather(outs, x)
    assert [out.tolist() for out in outs] == [[11, 12], [1, 2]]
    flat = ad.zeros(4)
    dist.all_gather_into_tensor(flat, x)
    assert flat.tolist() == [11, 12, 1, 2]
    part = ad.zeros(1)
    dist.reduce_scatter_tensor(part, x, dist.ReduceOp.MAX)
    assert part.tolist() == [12]  # the second process takes the second
    dist.all_to_all_single(flat, ad.arange(4.0))
    assert flat.tolist() == [12, 13, 2, 3]
    dist.broadcast(x, src=0)
    assert x.tolist() == [11, 12]
    dist.reduce(x, dst=0)
    assert x.tolist() == [11, 12]  # the first process has it
    target = ad.zeros(1)
    dist.scatter(target, [ad.ones(1), ad.ones(1) * 2], src=1)
    assert target.tolist() == [2]
    with pytest.raises(ValueError, match="must NOT be specified"):
        dist.scatter(target, [ad.ones(1)], src=0)


def test_gradients_go_through_collectives(twins):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    summed = dist.nn.all_reduce(x)
    assert summed.tolist() == [12, 14]
    summed.sum().backward()
    assert x.grad.tolist() == [12, 12]  # the gradients of both, and the other's is ten more


def test_gradients_in_one_process(world):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    parts = (dist.nn.all_reduce(x), dist.nn.all_gather(x)[0], dist.nn.broadcast(x, 0), dist.nn.reduce(x, 0),
             dist.nn.functional.reduce_scatter(ad.zeros(2), [x]), dist.nn.all_to_all([ad.zeros(2)], [x])[0],
             dist.nn.all_to_all_single(ad.zeros(2), x), dist.nn.gather(x)[0], dist.nn.scatter([x]))  # fmt: skip
    assert all(part.tolist() == [1, 2] for part in parts)
    sum(parts).sum().backward()
    assert x.grad.tolist() == [9, 9]


def test_functional_collectives(world):
    from adjoint.distributed import _functional_collectives as functional

    x = ad.tensor([1.0, 2.0])
    mesh = dist.init_device_mesh("cpu", (1,))
    for result in (functional.all_reduce(x, "sum", world), functional.all_gather_tensor(x, 0, mesh), functional.broadcast(x, 0, (mesh, 0)),
                   functional.reduce_scatter_tensor(x, "avg", 0, [0]), functional.all_to_all_single(x, None, None, world.group_name),
                   functional.permute_tensor(x, [0], world)):  # fmt: skip
        assert result is not x and ad.equal(functional.wait_tensor(result), x)
    assert not isinstance(result, functional.AsyncCollectiveTensor)


# ---- what is written on it ----------------------------------------------------------------------------------------------------------


def test_device_mesh(world):
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    assert mesh.shape == (1, 1) and mesh.size() == mesh.size(0) == 1 and mesh.get_coordinate() == (0, 0) and mesh["data"].ndim == 1
    assert repr(mesh["data", "model"]) == "DeviceMesh((data=1, model=1), 'cpu', stride=(1, 1))" and mesh["data"].get_local_rank() == 0
    assert mesh.get_group("model").size() == 1 and mesh._flatten().mesh_dim_names == ("data_model",) and mesh == mesh["data", "model"]
    assert dist.DeviceMesh.from_group(world, "cpu").get_group() is world
    for call, kind, message in (
        (lambda: dist.init_device_mesh("cpu", (2,)), RuntimeError, "not be bigger than default world size 1"),
        (lambda: mesh["x"], KeyError, "Invalid mesh_dim_names"),
        (lambda: mesh.get_group(), RuntimeError, "say which one"),
        (lambda: dist.init_device_mesh("cpu:0", (1,)), RuntimeError, "Device type with index"),
        (lambda: dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a",)), RuntimeError, "same length"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_distributed_data_parallel(world):
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1), find_unused_parameters=True)
    with model.no_sync(), model.join():
        model(ad.ones(1, 2)).sum().backward()
    assert list(model.state_dict()) == ["module.weight", "module.bias"] and model.module.weight.grad.tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="device_ids"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1), device_ids=[0])
    with pytest.raises(TypeError, match="hook must be callable"):
        model.register_comm_hook(None, None)
    with dist.algorithms.join.Join([model]):
        pass


def test_fully_shard_in_one_process(world):
    from adjoint.distributed.fsdp import FSDPModule, FullyShardedDataParallel, fully_shard
    from adjoint.distributed.tensor import DTensor

    model = nn.Linear(2, 1)
    data, expected = model.weight._data, model(ad.ones(1, 2))
    assert fully_shard(model) is model and isinstance(model, FSDPModule) and isinstance(model, nn.Linear)
    assert type(model).__name__ == "FSDPLinear" and list(model.state_dict()) == ["weight", "bias"]
    assert isinstance(model.weight, DTensor) and model.weight._local_tensor._data is data
    assert ad.equal(model(ad.ones(1, 2)), expected)
    model.unshard(async_op=True).wait()
    assert model.weight._data is data  # where there is one part, it is the whole, and nothing is copied
    model.reshard()
    optimizer = ad.optim.SGD(model.parameters(), lr=1.0)
    model(ad.ones(1, 2)).sum().backward()
    optimizer.step()
    assert ad.equal(model(ad.ones(1, 2)), expected - 3)
    with pytest.raises(RuntimeError, match="FSDP needs a non-CPU accelerator device"):
        FullyShardedDataParallel(nn.Linear(1, 1))


def test_policies_of_wrapping():
    from adjoint.distributed.fsdp import wrap

    chosen = wrap.ModuleWrapPolicy([nn.Linear])
    assert chosen(nn.Linear(1, 1), False) and not chosen(nn.ReLU(), False) and chosen(nn.ReLU(), True)
    assert wrap.size_based_auto_wrap_policy(nn.ReLU(), False, 10, min_num_params=5)
    attention, layers = nn.MultiheadAttention(2, 1), nn.ModuleList()
    assert wrap.size_based_auto_wrap_policy(attention, False, 10, 5) and not wrap.size_based_auto_wrap_policy(attention, True, 10, 5)
    assert wrap.size_based_auto_wrap_policy(layers, True, 10, 5) and not wrap.size_based_auto_wrap_policy(layers, False, 10, 5)
    assert not wrap.size_based_auto_wrap_policy(nn.ReLU(), False, 10, 5, exclude_wrap_modules={nn.ReLU})
    module = nn.ReLU()
    assert wrap.wrap(module) is module
    with wrap.enable_wrap(wrapper_cls=nn.Sequential):
        assert wrap.wrap(module)[0] is module


def test_tensors_in_one_part(world):
    from adjoint.distributed.tensor._utils import compute_local_shape_and_global_offset

    from adjoint.distributed._tensor import DTensor
    from adjoint.distributed.tensor import Replicate, Shard, distribute_tensor
    from adjoint.distributed.tensor.placement_types import Partial

    assert not isinstance(ad.ones(1), DTensor) and Shard(0) == Shard(0) != Shard(1) and Shard(1).is_shard(1) and Replicate().is_replicate()
    assert repr([Shard(0), Replicate(), Partial()]) == "[Shard(dim=0), Replicate(), Partial(sum)]"
    mesh = dist.init_device_mesh("cpu", (1,))
    assert compute_local_shape_and_global_offset((4, 2), mesh, (Shard(0),)) == ((4, 2), (0, 0))
    assert [Shard.local_shard_size_and_offset(5, 3, rank) for rank in range(3)] == [(2, 0), (2, 2), (1, 4)]
    x = distribute_tensor(ad.arange(3.0), mesh, [Shard(0)])
    zeros = dist.tensor.zeros(3, 2, device_mesh=mesh, placements=[Shard(0)], requires_grad=True)
    assert zeros.requires_grad and zeros.placements == (Shard(0),) and zeros.full_tensor().tolist() == [[0, 0]] * 3
    assert dist.tensor.full((2,), 5.0, device_mesh=mesh).placements == (Replicate(),)
    ad.manual_seed(3)
    drawn = dist.tensor.randn((4, 2), device_mesh=mesh, placements=[Shard(1)], dtype=ad.float64)
    assert ad.equal(drawn.full_tensor(), ad.randn(4, 2, dtype=ad.float64, generator=ad.Generator().manual_seed(3)))
    assert (x + 1).full_tensor().tolist() == [1, 2, 3] and x.norm().item() == x.to_local().norm().item()
    assert DTensor.from_local(ad.ones(2), mesh, [Shard(0)]).sum().to_local() == 2
    with pytest.raises(NotImplementedError, match=r"parameters \(fully_shard\)"):
        dist.tensor.parallel.parallelize_module(nn.Linear(1, 1), mesh, {})


def test_optimizers_with_all_of_their_state(world):
    w = nn.Parameter(ad.ones(2))
    optimizer = dist.optim.ZeroRedundancyOptimizer([w], ad.optim.Adam, lr=0.1)
    same = nn.Parameter(ad.ones(2))
    plain = ad.optim.Adam([same], lr=0.1)
    for _ in range(2):
        for one, parameter in ((optimizer, w), (plain, same)):
            one.zero_grad()
            (parameter**2).sum().backward()
            one.step()
    assert ad.equal(w, same) and optimizer.param_groups[0]["lr"] == 0.1
    optimizer.consolidate_state_dict()
    state = optimizer.state_dict()
    assert ad.equal(state["state"][0]["exp_avg"], plain.state_dict()["state"][0]["exp_avg"])
    optimizer.load_state_dict(state)
    optimizer.step()


def test_checkpointed_modules_keep_their_names():
    from adjoint.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        CheckpointImpl,
        CheckpointWrapper,
        apply_activation_checkpointing,
        checkpoint_wrapper,
    )

    ad.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    names, x = list(model.state_dict()), ad.ones(1, 2)
    expected = ad.autograd.grad(model(x).sum(), list(model.parameters()))
    apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, nn.Linear))
    assert isinstance(model[0], CheckpointWrapper) and model[0].out_features == 2 and list(model.state_dict()) == names
    found = ad.autograd.grad(model(x).sum(), list(model.parameters()))
    assert all(ad.equal(one, other) for one, other in zip(found, expected, strict=True))
    model.load_state_dict({name: ad.zeros_like(value) for name, value in model.state_dict().items()})
    assert not model(x).any()
    assert [name for name, _ in checkpoint_wrapper(nn.Linear(1, 1), CheckpointImpl.REENTRANT).named_parameters()] == ["weight", "bias"]


def test_state_dicts_by_names(world):
    from adjoint.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict

    def made():
        model = nn.parallel.DistributedDataParallel(ad.compile(nn.Linear(2, 1)))
        optimizer = ad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model(ad.ones(1, 2)).sum().backward()
        optimizer.step()
        return model, optimizer

    model, optimizer = made()
    weights, states = get_state_dict(model, optimizer)
    assert list(weights) == ["weight", "bias"] and list(states["state"]) == ["weight", "bias"]
    other, other_optimizer = made()
    other_optimizer.param_groups[0]["lr"] = 5.0
    set_state_dict(other, other_optimizer, model_state_dict=weights, optim_state_dict=states)
    assert ad.equal(other.module.weight, model.module.weight) and other_optimizer.param_groups[0]["lr"] == 0.1
    assert ad.equal(*(one.state[m.module.weight]["momentum_buffer"] for one, m in ((optimizer, model), (other_optimizer, other))))
    model.module.bias.requires_grad_(False)
    assert list(get_model_state_dict(model, options=StateDictOptions(ignore_frozen_params=True))) == ["weight"]


def test_what_needs_other_processes_says_so():
    from adjoint.distributed.launcher.api import LaunchConfig

    from adjoint.distributed import pipelining, rpc
    from adjoint.distributed.run import get_args_parser

    assert not rpc.is_available() and LaunchConfig(1, 1, 1).nproc_per_node == 1
    assert get_args_parser().parse_args(["--nproc_per_node", "2", "train.py", "--x"]).training_script_args == ["--x"]
    for call, kind, message in (
        (lambda: rpc.init_rpc("w"), RuntimeError, "call the function itself"),
        (lambda: pipelining.pipeline(None, ()), RuntimeError, "call the model itself"),
    ):
        with pytest.raises(kind, match=message):
            call()
    assert standing_of(rpc.rpc_sync).kind == "refused"
    from adjoint.distributed.elastic.multiprocessing.errors import record

    assert record(len) is len


def test_functions_that_call_others_can_be_defined():
    from adjoint.distributed import rpc

    @rpc.api._require_initialized
    def gather(x):
        return x

    with pytest.raises(RuntimeError, match="call no functions of each other"):
        gather(1)
