"""The order of samples, and the random numbers in workers, are PyTorch's for the same seed."""

from __future__ import annotations

import random

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
from torch.utils import data as torch_data  # noqa: E402

BOTH = [(ad, ad.utils.data), (torch, torch_data)]


def same(run):
    """Run with both libraries, from the same seed, and compare the results and where the generators stand afterwards."""
    results = []
    for library, data in BOTH:
        library.manual_seed(7)
        generator = library.Generator()
        generator.manual_seed(11)
        result = run(data, generator)
        results.append((result, library.randint(0, 1000, (3,)).tolist(), generator.get_state().tolist()))
    assert results[0] == results[1]


class RandomNumbers:
    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index, self.library.rand(()).item(), random.random(), np.random.random()  # noqa: NPY002


@pytest.mark.parametrize(
    "make",
    [
        lambda data, g: data.RandomSampler(range(10)),
        lambda data, g: data.RandomSampler(range(10), generator=g),
        lambda data, g: data.RandomSampler(range(10), num_samples=25, generator=g),
        lambda data, g: data.RandomSampler(range(10), replacement=True, num_samples=70, generator=g),
        lambda data, g: data.RandomSampler(range(10), replacement=True, num_samples=64),
        lambda data, g: data.SubsetRandomSampler([3, 5, 8, 9]),
        lambda data, g: data.SubsetRandomSampler([3, 5, 8, 9], generator=g),
        lambda data, g: data.WeightedRandomSampler([0.1, 0.6, 0.3], 20, generator=g),
        lambda data, g: data.WeightedRandomSampler([0.1, 0.6, 0.3], 2, replacement=False),
        lambda data, g: data.BatchSampler(data.RandomSampler(range(10), generator=g), 3, True),
        lambda data, g: data.DistributedSampler(range(10), 3, 1, seed=5),
        lambda data, g: data.DistributedSampler(range(2), 5, 4, shuffle=False),
        lambda data, g: data.DistributedSampler(range(10), 3, 1, drop_last=True),
    ],
)
def test_samplers(make):
    same(lambda data, g: (list(sampler := make(data, g)), len(sampler), list(sampler)))


@pytest.mark.parametrize("lengths", [[3, 7], [0.3, 0.3, 0.4], [1 / 3, 1 / 3, 1 / 3], [10]])
def test_random_split(lengths):
    same(lambda data, g: [list(part) for part in data.random_split(range(10), lengths, generator=g)])
    same(lambda data, g: [list(part) for part in data.random_split(range(10), lengths)])


@pytest.mark.parametrize("own_generator", [False, True])
@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"shuffle": True, "drop_last": True}, {"num_workers": 1, "shuffle": True}])
def test_loader(options, own_generator):
    def run(data, g):
        loader = data.DataLoader(range(10), batch_size=4, generator=g if own_generator else None, **options)
        iterator = iter(loader)  # this draws a seed already
        g.manual_seed(3) if own_generator else None
        return [[batch.tolist() for batch in iterator], [batch.tolist() for batch in loader]]

    same(run)


def test_persistent_workers_draw_one_seed():
    def run(data, g):
        loader = data.DataLoader(range(6), 2, shuffle=True, generator=g, num_workers=1, persistent_workers=True)
        return [[batch.tolist() for batch in loader] for _ in range(3)]

    same(run)


def test_random_numbers_in_workers():
    results = []
    for library, data in BOTH:
        library.manual_seed(5)
        results.append([row for row in data.DataLoader(RandomNumbers(library), batch_size=None, num_workers=2, shuffle=True)])
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "batch",
    [
        [1, 2], [1.5, 2], [True, False], ["a", "b"], [(1, "a"), (2, "b")], [[1, 2], [3, 4]], [{"a": 1}, {"a": 2}],
        [np.float32(1), np.float32(2)], [np.ones(2), np.ones(2)], [np.array(1), np.array(2)], [range(2), range(2)], [np.True_],
        [None], [{1}], [[1], [1, 2]], [np.array("s")],
    ],
)  # fmt: skip
def test_collate(batch):
    def outcome(data):
        try:
            return repr(data.default_collate(batch))
        except (TypeError, RuntimeError) as error:
            return type(error), str(error)[:50]

    assert outcome(ad.utils.data) == outcome(torch_data)
