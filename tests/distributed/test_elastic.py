"""Training that goes on without lost ranks, or begins again from a checkpoint. `tools/faults.py` tries many more faults."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint.distributed import elastic
from adjoint.distributed.elastic import _training
from tools import faults


@pytest.mark.parametrize("case", [faults.Case("elastic", 3, "kill", 4, 0), faults.Case("restart", 2, "exception", 7, 1)], ids=str)
def test_a_training_survives_a_fault(case):
    faults.check(case, 120, {})


@pytest.fixture
def ranks(monkeypatch):
    """Set which of how many ranks this process takes itself for."""

    def become(rank, size):
        monkeypatch.setattr(_training, "get_rank", lambda: rank)
        monkeypatch.setattr(_training, "get_world_size", lambda: size)

    become(0, 1)
    return become


def test_a_sampler_divides_what_is_not_done_among_the_ranks_there_are(ranks):
    sampler = elastic.Sampler(range(24), seed=1)
    order = list(sampler)
    assert sorted(order) == list(range(24))

    def parts(size):
        drawn = []
        for rank in range(size):
            ranks(rank, size)
            drawn.append(list(sampler))
            assert len(sampler) == len(drawn[-1])
        return drawn

    sampler.done = 8
    assert [index for step in zip(*parts(4), strict=True) for index in step] == order[8:]
    assert [index for step in zip(*parts(2), strict=True) for index in step] == order[8:]
    sampler.set_epoch(0)
    assert sampler.done == 8  # the same epoch goes on
    sampler.done = 20
    assert parts(3) == [[order[20], order[23]], [order[21], order[20]], [order[22], order[21]]]  # as many for each, as in PyTorch
    assert [len(part) for part in parts(5)] == [1] * 5
    sampler.drop_last = True
    assert [len(part) for part in parts(3)] == [1, 1, 1]
    sampler.set_epoch(1)
    assert sampler.done == 0
    ranks(0, 1)
    assert sorted(sampler) == list(range(24))
    assert list(sampler) != order


def test_a_state_begins_again_from_its_last_commit(ranks, monkeypatch):
    monkeypatch.setattr(_training, "all_gather_object", lambda values, value: values.__setitem__(0, value))
    monkeypatch.setattr(_training, "broadcast_object_list", lambda values, root: None)
    model = ad.nn.Linear(2, 1)
    optimizer = ad.optim.SGD(model.parameters(), 0.1)
    state = elastic.State(model=model, optimizer=optimizer, sampler=elastic.Sampler(range(8)), epoch=0)
    before = model.weight.detach().clone()
    ranks(0, 2)
    state.commit(samples=3)
    assert state.sampler.done == 6
    ranks(0, 1)
    with ad.no_grad():
        model.weight.add_(1)
    state.epoch, state.sampler.done = 5, 8
    state._synchronise()
    assert ad.equal(model.weight, before)
    assert (state.epoch, state.sampler.done) == (0, 6)


def test_what_cannot_be_elastic_is_refused(ranks):
    sampler = ad.utils.data.DistributedSampler(range(4), 1, 0)
    with pytest.raises(TypeError, match=r"keeps its part when ranks change; write elastic.Sampler\(dataset\)"):
        elastic.State(sampler=sampler)
    with pytest.raises(ValueError, match=r"there are 0 samplers"):
        elastic.State(epoch=0).commit(samples=2)
    assert elastic.run(lambda state: state.epoch)(elastic.State(epoch=7)) == 7  # one process needs nothing
    ranks(0, 2)
    with pytest.raises(RuntimeError, match="or with --max-restarts and checkpoints, which any MPI can"):
        elastic.run(lambda state: None)(elastic.State())
