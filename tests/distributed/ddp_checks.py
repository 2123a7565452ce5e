"""What must hold of DistributedDataParallel and what trains with it, checked on every rank; run by `test_ddp.py`."""

from __future__ import annotations

import copy
import io
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn
from adjoint.distributed.algorithms import _hooks as hooks
from adjoint.distributed.algorithms._averaging import HierarchicalModelAverager, PeriodicModelAverager
from adjoint.distributed.algorithms._join import Join
from adjoint.distributed.algorithms._power_sgd import PowerSGDState, batched_powerSGD_hook, powerSGD_hook
from adjoint.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from adjoint.utils.checkpoint import checkpoint

DDP: Any = nn.parallel.DistributedDataParallel
CHECKS: list[Callable[[], None]] = []
SMALL = 0.0001  # MB: a few parameters in a bucket


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


def rank() -> int:
    return dist.get_rank()


def size() -> int:
    return dist.get_world_size()


def data(seed: int, *shape: int) -> ad.Tensor:
    return ad.randn(*shape, generator=ad.Generator().manual_seed(seed))


def mlp(seed: int = 0) -> Any:
    ad.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def trained(model: Any, steps: int = 4, optimizer: Any = None, whole: bool = False) -> list[ad.Tensor]:
    """The parameters after some steps: on this rank's part of batches of twelve, or on all of them."""
    optimizer = optimizer or ad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = data(step, 12, 4), data(100 + step, 12, 2)
        if not whole:
            x, y = x[rank() :: size()], y[rank() :: size()]
        optimizer.zero_grad()
        ad.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return [one.detach() for one in model.parameters()]


def gradients(model: Any) -> list[Any]:
    return [None if one.grad is None else one.grad.clone() for one in model.parameters()]


def everywhere(make: Callable[[int], Any]) -> Any:
    """The average of what `make` gives for each rank, computed here."""
    return sum(make(one) for one in range(size())) / size()


def close(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) == (other is None), (one, other)
        if one is not None:
            ad.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def same_on_all_ranks(tensors: Any) -> None:
    for one in tensors:
        all_of_them: list[Any] = [None] * size()
        dist.all_gather_object(all_of_them, one.detach().numpy().tobytes())
        assert len(set(all_of_them)) == 1


def refuses(kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}: {words}")


@check
def steps_are_those_of_the_whole_batch() -> None:
    wanted = trained(mlp(), whole=True)
    view = {"gradient_as_bucket_view": True}
    every: tuple[Any, ...] = ({}, {"bucket_cap_mb": SMALL}, {"bucket_cap_mb_list": [SMALL, 1]}, view, {**view, "bucket_cap_mb": SMALL},
                    {"find_unused_parameters": True, "bucket_cap_mb": SMALL}, {"static_graph": True, "bucket_cap_mb": SMALL},
                              {"process_group": dist.new_group()})  # fmt: skip
    for options in every:
        model = DDP(mlp(rank()), **options)
        found = trained(model)
        close(found, wanted)
        same_on_all_ranks(found)
    close(trained(ad.compile(DDP(mlp()))), wanted)


@check
def buckets_follow_the_order_of_gradients() -> None:
    model = DDP(mlp(), bucket_cap_mb=SMALL)
    assert [bucket.numbers for bucket in model.reducer._buckets] == [[0, 1, 2, 3, 4, 5]]
    trained(model, 2)
    last = model.reducer._buckets[-1].numbers
    assert len(model.reducer._buckets) > 2 and set(last) <= {0, 1} and model._get_ddp_logging_data()["has_rebuilt_buckets"]
    unused = DDP(mlp(), bucket_cap_mb=SMALL, find_unused_parameters=True).reducer._buckets
    assert unused[0].numbers[-1] == 5 and unused[-1].numbers[0] == 0


@check
def gradients_are_views_of_buckets() -> None:
    model = DDP(mlp(), gradient_as_bucket_view=True)
    for _ in range(3):
        model(data(rank(), 3, 4)).sum().backward()
        model.zero_grad(set_to_none=False)
    (bucket,) = model.reducer._buckets
    storage = bucket.buffer.untyped_storage().data_ptr()
    assert all(one.grad is not None and one.grad.untyped_storage().data_ptr() == storage for one in model.parameters())
    plain = DDP(nn.Conv2d(2, 3, 3).to(memory_format=ad.channels_last), gradient_as_bucket_view=True)
    plain(data(0, 1, 2, 4, 4)).sum().backward()
    assert plain.module.weight.grad.stride() == plain.module.weight.stride()


@check
def gradients_accumulate_without_being_sent() -> None:
    model, alone = DDP(mlp()), mlp()
    with model.no_sync():
        model(data(rank(), 3, 4)).pow(2).sum().backward()
    alone(data(rank(), 3, 4)).pow(2).sum().backward()
    close(gradients(model), gradients(alone))
    model(data(10 + rank(), 3, 4)).pow(2).sum().backward()
    alone.zero_grad()
    everywhere(lambda one: sum(alone(data(start + one, 3, 4)).pow(2).sum() for start in (0, 10))).backward()
    close(gradients(model), gradients(alone))


@check
def several_backward_passes() -> None:
    model, alone = DDP(mlp()), mlp()
    loss = model(data(rank(), 3, 4)).pow(2).sum()
    loss.backward(retain_graph=True)
    everywhere(lambda one: alone(data(one, 3, 4)).pow(2).sum()).backward()
    close(gradients(model), gradients(alone))
    model.zero_grad()
    alone.zero_grad()
    (model(data(rank(), 3, 4)).sum() + model(data(9, 3, 4)).sum()).backward()  # two forward passes, one backward
    everywhere(lambda one: alone(data(one, 3, 4)).sum() + alone(data(9, 3, 4)).sum()).backward()
    close(gradients(model), gradients(alone))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        ad.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: ad.Tensor, ways: str) -> dict[str, Any]:
        return {way: [getattr(self, way)(x)] for way in ways}


@check
def missing_gradients_are_named() -> None:
    model = DDP(Branches())
    model(data(0, 2, 4), "a")["a"][0].sum().backward()
    words = f"did not receive grad for rank {rank()}: b.weight, b.bias, c.weight, c.bias"
    refuses(RuntimeError, words, lambda: model(data(0, 2, 4), "a"))
    refuses(RuntimeError, "Expected to have finished reduction in the prior iteration", lambda: _twice(DDP(Branches())))


def _twice(model: Any) -> None:
    for _ in range(2):
        model(data(0, 2, 4), "ab")["a"][0].sum().backward()


@check
def unused_parameters_are_found() -> None:
    model, alone = DDP(Branches(), find_unused_parameters=True, bucket_cap_mb=SMALL), Branches()
    for ways, used in ((["ab"] * size(), "ab"), (["ab"] * size(), "b"), (["a"] * (size() - 1) + ["b"], "ab")):
        model.zero_grad()
        alone.zero_grad()
        out = model(data(rank(), 3, 4), ways[rank()])
        sum(out[way][0].pow(2).sum() for way in out if way in used).backward()
        everywhere(lambda one: sum(
            getattr(alone, way)(data(one, 3, 4)).pow(2).sum() for way in ways[one] if way in used)).backward()  # noqa: B023  # fmt: skip
        close(gradients(model), gradients(alone))
        assert model.module.c.weight.grad is None


@check
def a_static_graph_learns_what_is_unused() -> None:
    model, alone = DDP(Branches(), static_graph=True, bucket_cap_mb=SMALL), Branches()
    for step in range(3):
        model.zero_grad()
        alone.zero_grad()
        model(data(step + rank(), 3, 4), "ab")["b"][0].sum().backward()
        everywhere(lambda one: alone.b(data(step + one, 3, 4)).sum()).backward()  # noqa: B023
        close(gradients(model), gradients(alone))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model._set_static_graph()
    assert "no need to set it again" in str(seen[0].message)


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool, times: int) -> None:
        super().__init__()
        ad.manual_seed(0)
        self.first, self.body = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.reentrant, self.times = reentrant, times

    def forward(self, x: ad.Tensor) -> ad.Tensor:
        x = self.first(x)
        for _ in range(self.times):
            x = checkpoint(self.body, x, use_reentrant=self.reentrant)
        return x


@check
def checkpointed_parts() -> None:
    for reentrant, times, static in ((False, 2, False), (True, 1, False), (True, 2, True)):
        model, alone = DDP(Checkpointed(reentrant, times), static_graph=static), Checkpointed(False, times)
        for step in range(3):
            model.zero_grad()
            alone.zero_grad()
            model(data(step + rank(), 3, 4)).pow(2).sum().backward()
            everywhere(lambda one: alone(data(step + one, 3, 4)).pow(2).sum()).backward()  # noqa: B023
            close(gradients(model), gradients(alone))
    model = DDP(Checkpointed(True, 2))
    words = "Expected to mark a variable ready only once. The gradient of body.0"
    refuses(RuntimeError, words, lambda: model(data(0, 3, 4)).sum().backward())


@check
def derivatives_of_derivatives() -> None:
    model, alone = DDP(mlp()), mlp()

    def penalty(module: Any, who: int) -> Any:
        x = data(who, 3, 4).requires_grad_()
        out = module(x)
        (slope,) = ad.autograd.grad(out.sum(), x, create_graph=True)
        return out.pow(2).mean() + slope.pow(2).sum()

    penalty(model, rank()).backward()
    everywhere(lambda one: penalty(alone, one)).backward()
    close(gradients(model), gradients(alone))
    model.zero_grad()
    alone.zero_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that gradients keep their graph
        model(data(rank(), 3, 4)).pow(2).sum().backward(create_graph=True)
    everywhere(lambda one: alone(data(one, 3, 4)).pow(2).sum()).backward()
    close([one.detach() for one in gradients(model)], gradients(alone))
    assert all(one.grad.requires_grad for one in model.parameters())


@check
def shared_frozen_and_nested_modules() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            ad.manual_seed(0)
            self.a, self.b, self.frozen = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4).requires_grad_(False)
            self.b.weight = self.a.weight

        def forward(self, x: ad.Tensor) -> Any:
            return self.b(self.frozen(self.a(x)))

    for make in (Tied, mlp):
        model, alone = DDP(make()), make()
        if make is mlp:
            model = DDP(nn.Sequential(DDP(model.module[:2]), DDP(model.module[2:])))
        for step in range(2):
            model.zero_grad()
            alone.zero_grad()
            model(data(step + rank(), 3, 4)).pow(2).sum().backward()
            everywhere(lambda one: alone(data(step + one, 3, 4)).pow(2).sum()).backward()  # noqa: B023
        close(gradients(model), gradients(alone))


@check
def buffers_are_those_of_the_first() -> None:
    ad.manual_seed(rank())
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    for step in range(2):
        model(data(step + rank(), 6, 4)).sum().backward()
    dist.broadcast(first := model.module[1].running_mean.clone(), 0)
    model(data(5, 6, 4))
    expected = (first * 0.9 + 0.1 * model.module[0](data(5, 6, 4)).mean(0)).detach()
    close([model.module[1].running_mean], [expected])
    own = DDP(nn.BatchNorm1d(4), forward_sync_buffers=False)
    own(data(rank(), 6, 4)).sum().backward()
    own(data(rank(), 6, 4))
    close([own.module.running_mean], [0.19 * data(rank(), 6, 4).mean(0)])
    model._register_buffer_comm_hook(None, lambda _, buffers: dist.all_reduce(buffers["1.num_batches_tracked"]))
    model(data(0, 6, 4))
    assert model.module[1].num_batches_tracked.item() == 4 * size()


@check
def what_cannot_be() -> None:
    refuses(RuntimeError, "weight is torch.float32 of shape [3, 4]" if size() == 2 else "on rank 0", lambda: DDP(nn.Linear(4, 2 + rank())))
    bias = nn.Linear(4, 2, bias=rank() == 0)
    refuses(RuntimeError, "DDP expects same model across all ranks, but Rank 0 has 2 params, while rank 1", lambda: DDP(bias))
    refuses(RuntimeError, "is not needed when a module doesn't have any parameter", lambda: DDP(nn.ReLU()))
    refuses(RuntimeError, "uninitialized parameters", lambda: DDP(nn.LazyLinear(2)))
    refuses(ValueError, "device_ids", lambda: DDP(nn.Linear(1, 1), device_ids=[0]))
    refuses(NotImplementedError, "autocast", lambda: DDP(nn.Linear(1, 1), mixed_precision=1))
    refuses(ValueError, "need to be set at the same time", lambda: DDP(nn.Linear(1, 1), delay_all_reduce_named_params=[]))
    refuses(TypeError, "must be callable", lambda: DDP(nn.Linear(1, 1)).register_comm_hook(None, 3))


@check
def ignored_and_delayed_parameters() -> None:
    module = mlp()
    DDP._set_params_and_buffers_to_ignore_for_model(module, ["4.weight"])
    with ad.no_grad():
        module[4].weight += rank()
    model, alone = DDP(module), mlp()
    assert len(list(DDP._get_data_parallel_params(module))) == 5
    model(data(0, 3, 4)).sum().backward()
    alone(data(0, 3, 4)).sum().backward()
    close([module[4].weight.grad, module[4].weight], [alone[4].weight.grad, alone[4].weight + rank()])
    late, alone = mlp(rank()), mlp()
    named = [(name, one) for name, one in late.named_parameters() if name.startswith("4")]
    model = DDP(late, delay_all_reduce_named_params=named, param_to_hook_all_reduce=late[0].bias)
    model(data(rank(), 3, 4)).pow(2).sum().backward()
    everywhere(lambda one: alone(data(one, 3, 4)).pow(2).sum()).backward()
    close(gradients(model), gradients(alone))


@check
def pickles_and_copies_go_on_training() -> None:
    model = DDP(mlp(), static_graph=True)
    trained(model, 2)
    ad.save(model, buffer := io.BytesIO())
    buffer.seek(0)
    loaded, copied = ad.load(buffer, weights_only=False), copy.deepcopy(model)
    wanted = mlp()
    trained(wanted, 2, whole=True)
    trained(wanted, 2, whole=True)
    for one in (loaded, copied):
        close(trained(one, 2), [one.detach() for one in wanted.parameters()])
    refuses(RuntimeError, "DDP Pickling/Unpickling", lambda: copy.deepcopy(DDP(mlp(), process_group=dist.new_group())))
    module = model.module
    del model, loaded, copied, one
    module(data(rank(), 3, 4)).sum().backward()  # whose hooks have gone with the wrapper
    assert not any(one._hooks.post for one in module.parameters())


@check
def sparse_gradients() -> None:
    ad.manual_seed(0)
    model = DDP(nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Linear(4, 2)))
    alone = copy.deepcopy(model.module)
    for _ in range(2):
        model.zero_grad()
        alone.zero_grad()
        model(ad.tensor([rank(), 3, 3])).pow(2).sum().backward()
        everywhere(lambda one: alone(ad.tensor([one, 3, 3])).pow(2).sum()).backward()
        assert model.module[0].weight.grad.is_sparse
        close([model.module[0].weight.grad.to_dense()], [alone[0].weight.grad.to_dense()])


@check
def communication_hooks() -> None:
    wanted = trained(mlp(), whole=True)
    tried = (
        (hooks.allreduce_hook, 1e-5), (hooks.fp16_compress_hook, 1e-2), (hooks.bf16_compress_hook, 5e-2),
        (hooks.bf16_compress_wrapper(hooks.allreduce_hook), 5e-2),
        (hooks.fp16_compress_wrapper(hooks.allreduce_hook), 1e-2),
    )  # fmt: skip
    for hook, tolerance in tried:
        model = DDP(mlp(), bucket_cap_mb=SMALL)
        model.register_comm_hook(None, hook)
        found = trained(model)
        close(found, wanted, tolerance)
        same_on_all_ranks(found)
    model = DDP(mlp())
    hooks.register_ddp_comm_hook(hooks.DDPCommHookType.NOOP, model)
    model(data(rank(), 3, 4)).sum().backward()
    (alone := mlp())(data(rank(), 3, 4)).sum().backward()
    close(gradients(model), gradients(alone))
    refuses(RuntimeError, "can only be called once", lambda: model.register_comm_hook(None, hooks.noop_hook))

    seen: list[Any] = []

    def mine(state: Any, bucket: Any) -> Any:
        shapes = [view.shape for view in bucket.gradients()]
        assert shapes == [one.shape for one in bucket.parameters()]
        state.append((bucket.index(), bucket.is_last()))
        work: Any = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda sent: sent.value()[0] / (2 * size()))

    model = DDP(mlp(), bucket_cap_mb=SMALL)
    model.register_comm_hook(seen, mine)
    close(trained(model, optimizer=ad.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)), wanted)
    assert seen[0] == (0, True) and seen[1:3] == [(0, False), (1, False)] and seen[-1][1]


@check
def thin_matrices_instead_of_gradients() -> None:
    wanted = trained(mlp(), whole=True)
    full = {"matrix_approximation_rank": 8, "start_powerSGD_iter": 2, "min_compression_rate": 0.1}
    for options in ({}, {"batch_tensors_with_same_shape": True}, {"use_error_feedback": False, "warm_start": False}):
        model = DDP(mlp())
        state = PowerSGDState(None, **{**full, **options})
        model.register_comm_hook(state, powerSGD_hook)
        found = trained(model)
        close(found, wanted, 1e-4)  # of full rank: nothing is lost
        same_on_all_ranks(found)
    model, losses = DDP(mlp()), []
    state = PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1)
    model.register_comm_hook(copy.deepcopy(state), batched_powerSGD_hook)
    optimizer = ad.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        loss = (model(data(rank(), 12, 4)) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[2] / 3
    same_on_all_ranks(model.parameters())
    refuses(ValueError, "`start_powerSGD_iter` > 1", lambda: PowerSGDState(None, start_powerSGD_iter=1))


@check
def parameters_are_averaged_now_and_then() -> None:
    model = DDP(mlp())
    alone, _ = dist.new_subgroups(group_size=1)
    model.register_comm_hook(hooks.PostLocalSGDState(None, alone, 2), hooks.post_localSGD_hook)
    inner = ad.optim.SGD(model.parameters(), lr=0.1)
    optimizer = PostLocalSGDOptimizer(inner, PeriodicModelAverager(period=2, warmup_steps=2))
    trained(model, 4, optimizer)
    assert optimizer.state_dict()["step"] == 4 and not _equal_everywhere(model)
    trained(model, 1, optimizer)
    assert _equal_everywhere(model)
    optimizer.load_state_dict(optimizer.state_dict())
    one = nn.Parameter(ad.full((2,), float(rank())))
    one.grad = ad.zeros(2)
    averager = HierarchicalModelAverager(OrderedDict([(2, 1), (4, size())]))
    averager.average_parameters([one])
    assert one.tolist() == [(size() - 1) / 2] * 2
    refuses(ValueError, "must be equal to the size", lambda: HierarchicalModelAverager({1: size() + 1}))


def _equal_everywhere(model: Any) -> bool:
    found: list[Any] = [None] * size()
    dist.all_gather_object(found, [one.tolist() for one in model.parameters()])
    return all(one == found[0] for one in found)


@check
def uneven_inputs() -> None:
    for divide in (True, False):
        for options in ({}, {"find_unused_parameters": True}, {"static_graph": True}):
            model, alone = DDP(mlp(), bucket_cap_mb=SMALL, **options), mlp()
            optimizers = [ad.optim.SGD(one.parameters(), lr=0.1) for one in (model, alone)]
            with model.join(divide_by_initial_world_size=divide):
                for step in range(2 + rank()):
                    optimizers[0].zero_grad()
                    model(data(step + 10 * rank(), 3, 4)).pow(2).sum().backward()
                    optimizers[0].step()
            for step in range(1 + size()):
                optimizers[1].zero_grad()
                active = [one for one in range(size()) if step < 2 + one]
                loss: Any = sum(alone(data(step + 10 * one, 3, 4)).pow(2).sum() for one in active)
                (loss / (size() if divide else len(active))).backward()
                optimizers[1].step()
            close(model.parameters(), alone.parameters())
            same_on_all_ranks(model.parameters())


@check
def uneven_inputs_of_which_some_accumulate_or_there_are_none() -> None:
    model = DDP(mlp())
    optimizer = ad.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for step in range(4 * rank()):
            with model.no_sync() if step % 2 == 0 else ad.enable_grad():
                model(data(step, 3, 4)).pow(2).sum().backward()
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()
    same_on_all_ranks(model.parameters())
    try:
        with model.join(throw_on_early_termination=True):
            for _ in range(1 + rank()):
                model(data(0, 3, 4)).sum().backward()
    except RuntimeError as error:
        assert str(error).startswith("Rank 0 exhausted all inputs" if rank() == 0 else "Detected at least one rank that exhausted inputs")
    else:
        raise AssertionError("no error")
    refuses(ValueError, "at least one joinable", lambda: Join([]))


@check
def states_are_divided() -> None:
    for views in (False, True):
        model, alone = DDP(mlp()), mlp()
        optimizer = ZeroRedundancyOptimizer(model.parameters(), ad.optim.Adam, lr=0.01, parameters_as_bucket_view=views)
        plain = ad.optim.Adam(alone.parameters(), lr=0.01)
        schedulers = [ad.optim.lr_scheduler.StepLR(one, 1, 0.5) for one in (optimizer, plain)]
        for _ in range(2):
            close(trained(model, 2, optimizer), trained(alone, 2, plain, whole=True))
            for one in schedulers:
                one.step()
        owned = [one for group in optimizer.optim.param_groups for one in group["params"]]
        total: list[Any] = [None] * size()
        dist.all_gather_object(total, len(owned))
        assert 0 < len(owned) < 6 and sum(total) == 6 and set(map(id, optimizer.optim.state)) == set(map(id, owned))
        optimizer.consolidate_state_dict(to=1)
        box: list[Any] = [None]
        if rank() == 1:
            box = [optimizer.state_dict()]
            _same_state(box[0], plain.state_dict())
        else:
            refuses(RuntimeError, "has not been consolidated on this rank", optimizer.state_dict)
        dist.broadcast_object_list(box, src=1)
        again = ZeroRedundancyOptimizer(model.parameters(), ad.optim.Adam, lr=5.0)
        again.load_state_dict(box[0])
        assert again.param_groups[0]["lr"] == 0.0025
        close(trained(model, 2, again), trained(alone, 2, plain, whole=True))
    refuses(ValueError, "doesn't match the size", lambda: again.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]}))
    early = {"optimizer_class": ad.optim.SGD, "overlap_with_ddp": True}
    refuses(NotImplementedError, "overlap_with_ddp=False", lambda: ZeroRedundancyOptimizer(model.parameters(), **early))


def _same_state(found: Any, wanted: Any) -> None:
    assert found["param_groups"] == wanted["param_groups"] and list(found["state"]) == list(wanted["state"])
    for number, state in wanted["state"].items():
        close([ad.as_tensor(value) for value in found["state"][number].values()], [ad.as_tensor(value) for value in state.values()])


@check
def divided_states_of_several_groups_and_uneven_inputs() -> None:
    model = DDP(mlp())
    optimizer = ZeroRedundancyOptimizer(model.module[0].parameters(), ad.optim.SGD, lr=0.1)
    optimizer.add_param_group({"params": list(model.module[4].parameters()), "lr": 0.01})
    before = [one.detach().clone() for one in model.module[2].parameters()]
    with Join([model, optimizer]):
        for step in range(1 + rank()):
            model.zero_grad()
            model(data(step, 3, 4)).pow(2).sum().backward()
            optimizer.step()
    close(model.module[2].parameters(), before)
    same_on_all_ranks(model.parameters())


@check
def statistics_of_all_batches() -> None:
    ad.manual_seed(0)
    last = nn.BatchNorm2d(2, momentum=None, affine=False)
    plain: Any = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3), last)
    with ad.no_grad():
        plain[1].weight.uniform_(0.5, 2)
    converted: Any = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain))
    model = DDP(converted)
    bounds = [0, *(2 + 3 * one for one in range(size()))]  # batches of different sizes
    mine = slice(bounds[rank()], bounds[rank() + 1])
    x = data(0, bounds[-1], 3, 8, 8) * 3 + 100
    for _ in range(2):
        model.zero_grad()
        plain.zero_grad()
        out, wanted = model(x[mine]), plain(x)
        close([out], [wanted[mine]], 2e-4)
        (out.pow(3).sum() * size()).backward()
        wanted.pow(3).sum().backward()
        for one, other in zip(gradients(model), gradients(plain), strict=True):
            assert (one - other).abs().max() < 1e-3 * max(1.0, float(other.abs().max())), (one, other)
        close(model.module.buffers(), plain.buffers(), 1e-4)
    close([model.eval()(x)], [plain.eval()(x)], 1e-4)
    layer, twin = nn.SyncBatchNorm(2).double(), nn.BatchNorm1d(2).double()
    shape = (4 * size(), 2)
    z = data(1, *shape).double().requires_grad_()
    part = slice(4 * rank(), 4 * rank() + 4)
    (first,) = ad.autograd.grad(layer(z[part]).pow(3).sum(), z, create_graph=True)
    (second,) = ad.autograd.grad(first.pow(2).sum(), z)
    (one,) = ad.autograd.grad(twin(z).pow(3).sum(), z, create_graph=True)
    (two,) = ad.autograd.grad(one.pow(2).sum(), z)
    close([first[part], second[part]], [one[part], two[part]], 1e-6)


@check
def clipping_and_scaling() -> None:
    model, alone = DDP(mlp()), mlp()
    scaler = ad.amp.GradScaler("cpu", init_scale=8.0)
    optimizers = [ad.optim.SGD(one.parameters(), lr=0.1) for one in (model, alone)]
    for step in range(3):
        optimizers[0].zero_grad()
        optimizers[1].zero_grad()
        scaler.scale(model(data(step + rank(), 3, 4)).pow(2).sum()).backward()
        scaler.unscale_(optimizers[0])
        everywhere(lambda one: alone(data(step + one, 3, 4)).pow(2).sum()).backward()  # noqa: B023
        close(*([nn.utils.clip_grad_norm_(one.parameters(), 0.5)] for one in (model, alone)))
        scaler.step(optimizers[0])
        scaler.update()
        optimizers[1].step()
    close(model.parameters(), alone.parameters())


@check
def samplers_divide_a_dataset() -> None:
    from adjoint.utils.data import DistributedSampler

    sampler: Any = DistributedSampler(range(25), seed=3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        found: list[Any] = [None] * size()
        dist.all_gather_object(found, list(sampler))
        assert len({len(one) for one in found}) == 1 and {one for part in found for one in part} == set(range(25))
    assert sorted(DistributedSampler(range(24), shuffle=False)) == list(range(rank(), 24, size()))


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for function in CHECKS:
        try:
            function()
        except Exception:
            print("FAILED", function.__name__, traceback.format_exc(), flush=True)
            raise SystemExit(1) from None  # what ranks send each other may no longer match
    print("all", len(CHECKS))
    dist.destroy_process_group()
