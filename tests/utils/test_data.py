"""Datasets, samplers, collation and the loader."""

from __future__ import annotations

import collections
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.utils import data

ROOT = Path(__file__).resolve().parents[2]
Point = collections.namedtuple("Point", "x y")


class Numbers(data.Dataset):
    """0, 1, 2, ..., and on the way something that happens at number 5."""

    def __init__(self, size=8, at_five=None):
        self.size = size
        self.at_five = at_five

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index == 5 and self.at_five:
            self.at_five()
        return index


class Stream(data.IterableDataset):
    def __init__(self, size=10):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.size, step))

    def __len__(self):
        return self.size


class RandomNumbers(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        numpy_number = np.random.random()  # noqa: NPY002
        return ad.rand(()).item(), random.random(), numpy_number, data.get_worker_info().seed


def fail():
    no_keys: dict[str, int] = {}
    no_keys["k"]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def sleep():
    time.sleep(30)


def fail_to_start(worker):
    raise ValueError(f"no worker {worker} today")


def batches(loader):
    return [batch.tolist() for batch in loader]


# ---- datasets -----------------------------------------------------------------------------------------------------


def test_datasets():
    first, second = Numbers(3), Numbers(2)
    assert list(first + second) == [0, 1, 2, 0, 1]
    assert len(first + second) == 5
    assert (first + second)[-1] == 1
    assert list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2]
    assert len(Stream(2) + Stream(3)) == 5
    assert data.StackDataset(first, a_list := [7, 8, 9])[1] == (1, 8)
    assert data.StackDataset(a=first, b=a_list).__getitems__([0, 2]) == [{"a": 0, "b": 7}, {"a": 2, "b": 9}]
    rows = data.TensorDataset(ad.arange(3), ad.ones(3, 2))
    assert len(rows) == 3
    assert [part.tolist() for part in rows[1]] == [1, [1.0, 1.0]]
    part = data.Subset(first, [2, 0])
    assert list(part) == part.__getitems__([0, 1]) == [2, 0]


def test_subset_subclass_is_not_bypassed_by_batches():
    class Doubled(data.Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    assert batches(data.DataLoader(Doubled(Numbers(), [3, 1]), batch_size=2)) == [[6, 2]]


def test_random_split():
    parts: list[data.Subset] = data.random_split(range(10), [0.5, 0.25, 0.25], generator=ad.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [6, 2, 2]
    assert sorted(number for part in parts for number in part) == list(range(10))
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(1), [0.5, 0.5])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: data.Dataset()[0], NotImplementedError, "Subclasses of Dataset should implement __getitem__"),
        (lambda: iter(data.IterableDataset()), NotImplementedError, "implement __iter__"),
        (lambda: data.TensorDataset(ad.ones(2), ad.ones(3)), AssertionError, "Size mismatch between tensors"),
        (data.StackDataset, ValueError, "At least one dataset"),
        (lambda: data.StackDataset([1], [1, 2]), ValueError, "Size mismatch between datasets"),
        (lambda: data.StackDataset([1], a=[1]), ValueError, "Supported either"),
        (lambda: data.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
        (lambda: data.ConcatDataset([Stream()]), AssertionError, "ConcatDataset does not support IterableDataset"),
        (lambda: data.ConcatDataset([Numbers(2)])[-3], ValueError, "absolute value of index"),
        (lambda: list(data.ChainDataset([Numbers()])), AssertionError, "ChainDataset only supports IterableDataset"),
        (lambda: data.random_split(range(3), [1, 1]), ValueError, "Sum of input lengths does not equal"),
        (lambda: data.random_split(range(3), [1.5, -0.5]), ValueError, "Fraction at index 0"),
        (lambda: data.RandomSampler([]), ValueError, "num_samples should be a positive integer"),
        (lambda: data.RandomSampler([1], replacement=1), TypeError, "replacement should be a boolean"),
        (lambda: data.WeightedRandomSampler(ad.ones(1, 1), 1), ValueError, "weights should be a 1d sequence"),
        (lambda: data.BatchSampler([1], 0, False), ValueError, "batch_size should be a positive integer"),
        (lambda: data.BatchSampler([1], 1, 0), ValueError, "drop_last should be a boolean"),
        (lambda: data.DistributedSampler([1], 2, 2), ValueError, "Invalid rank 2"),
        (lambda: data.DataLoader([1], num_workers=-1), ValueError, "num_workers option should be non-negative"),
        (lambda: data.DataLoader([1], timeout=-1), ValueError, "timeout option should be non-negative"),
        (lambda: data.DataLoader([1], prefetch_factor=2), ValueError, "prefetch_factor option could only"),
        (lambda: data.DataLoader([1], persistent_workers=True), ValueError, "persistent_workers option needs"),
        (lambda: data.DataLoader([1], sampler=[0], shuffle=True), ValueError, "sampler option is mutually exclusive"),
        (lambda: data.DataLoader([1], batch_size=2, batch_sampler=[[0]]), ValueError, "batch_sampler option is mutually"),
        (lambda: data.DataLoader([1], batch_size=None, drop_last=True), ValueError, "batch_size=None option disables"),
        (lambda: data.DataLoader(Stream(), shuffle=True), ValueError, "expected unspecified shuffle option"),
        (lambda: data.DataLoader(Stream(), sampler=[0]), ValueError, "expected unspecified sampler option"),
        (lambda: data.DataLoader(Stream(), batch_sampler=[[0]]), ValueError, "expected unspecified batch_sampler option"),
        (lambda: data.DataLoader([1], multiprocessing_context="fork"), ValueError, "multiprocessing_context can only"),
        (lambda: data.DataLoader([1], num_workers=1, multiprocessing_context="x"), ValueError, "valid start method"),
        (lambda: data.DataLoader([1], num_workers=1, multiprocessing_context=3), TypeError, "valid context"),
        (lambda: setattr(data.DataLoader([1]), "batch_size", 3), ValueError, "batch_size attribute should not be set"),
        (lambda: data.default_collate([None]), TypeError, "batch must contain tensors"),
        (lambda: data.default_collate([np.array("s")]), TypeError, "found <U1"),
        (lambda: data.default_collate([[1], [1, 2]]), RuntimeError, "each element in list of batch"),
    ],
)  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---- samplers -----------------------------------------------------------------------------------------------------


def test_samplers():
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(data.RandomSampler("abc", num_samples=4))[:3] != [0, 1, 2, 3]
    assert len(list(data.RandomSampler("abc", replacement=True, num_samples=70))) == 70
    assert sorted(data.SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    assert set(data.WeightedRandomSampler([0.0, 1.0, 0.0], 5)) == {1}
    sampler = data.BatchSampler(range(5), 2, False)
    assert (list(sampler), len(sampler)) == ([[0, 1], [2, 3], [4]], 3)
    sampler = data.BatchSampler(range(5), 2, True)
    assert (list(sampler), len(sampler)) == ([[0, 1], [2, 3]], 2)


def test_distributed_sampler_covers_everything():
    parts = [data.DistributedSampler(range(7), 3, rank) for rank in range(3)]
    assert {index for part in parts for index in part} == set(range(7))
    assert {len(list(part)) for part in parts} == {3}
    before = list(parts[0])
    parts[0].set_epoch(1)
    assert list(parts[0]) != before


# ---- collation ----------------------------------------------------------------------------------------------------


def test_collate_keeps_structure():
    batch = data.default_collate([{"p": Point(1, "a"), "q": (np.ones(2), 1.5)}, {"p": Point(2, "b"), "q": (np.zeros(2), 2)}])
    assert repr(batch) == (
        "{'p': Point(x=tensor([1, 2]), y=('a', 'b')), 'q': [tensor([[1., 1.],\n"
        "        [0., 0.]], dtype=torch.float64), tensor([1.5000, 2.0000], dtype=torch.float64)]}"
    )
    assert isinstance(data.default_collate([collections.defaultdict(int, a=1)]), collections.defaultdict)


def test_convert():
    converted = data.default_convert({"a": np.ones(1), "b": (1, "x", np.float32(2))})
    assert repr(converted) == "{'a': tensor([1.], dtype=torch.float64), 'b': [1, 'x', tensor(2.)]}"


# ---- the loader in one process ------------------------------------------------------------------------------------


def test_batches():
    loader = data.DataLoader(Numbers(5), batch_size=2)
    assert (batches(loader), len(loader)) == ([[0, 1], [2, 3], [4]], 3)
    loader = data.DataLoader(Numbers(5), batch_size=2, drop_last=True, pin_memory=True)
    assert (batches(loader), len(loader)) == ([[0, 1], [2, 3]], 2)
    assert list(data.DataLoader(Numbers(3), batch_size=None)) == [0, 1, 2]
    assert list(data.DataLoader(Numbers(3), batch_sampler=[[2, 1], [0]], collate_fn=tuple)) == [(2, 1), (0,)]


def test_stream_batches():
    loader = data.DataLoader(Stream(5), batch_size=2)
    assert batches(loader) == [[0, 1], [2, 3], [4]]
    assert len(loader) == 3
    assert batches(data.DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(data.DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]


def test_too_long_stream_is_noticed():
    class Short(Stream):
        def __len__(self):
            return 1

    loader = data.DataLoader(Short(2))
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1"):
        list(loader)


# ---- workers ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    if multiprocessing.active_children():  # collecting is slow, and most tests start none
        gc.collect()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_give_the_same_batches(context):
    options = {"batch_size": 3, "num_workers": 2, "multiprocessing_context": context}
    assert batches(data.DataLoader(Numbers(), **options)) == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_streams_end_one_by_one():
    assert batches(data.DataLoader(Stream(7), batch_size=2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    any_order = batches(data.DataLoader(Stream(7), batch_size=2, num_workers=2, in_order=False))
    assert sorted(number for batch in any_order for number in batch) == list(range(7))


def test_persistent_workers_serve_every_epoch():
    pids = set()
    loader = data.DataLoader(Numbers(), 4, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert batches(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
        pids.add(tuple(process.pid for process in multiprocessing.active_children()))
    for _ in loader:
        break  # what is under way must not appear in the next epoch
    assert batches(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len({pid for group in pids for pid in group}) == 2


def test_workers_have_their_own_random_numbers():
    loader = data.DataLoader(RandomNumbers(), num_workers=2, generator=ad.Generator().manual_seed(0))
    rows = [tuple(column.item() for column in batch) for batch in loader]
    assert len({row[:3] for row in rows}) == 4
    assert rows[1][3] == rows[0][3] + 1


def test_abandoned_iterator_ends_its_workers():
    next(iter(data.DataLoader(Numbers(), num_workers=2)))
    gc.collect()
    assert multiprocessing.active_children() == []


def test_error_in_a_worker_has_its_traceback():
    with pytest.raises(KeyError, match="k") as caught:
        list(data.DataLoader(Numbers(at_five=fail), num_workers=2))
    text = str(caught.value)
    assert text.startswith("Caught KeyError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n")
    assert 'no_keys["k"]' in text


def test_an_error_does_not_end_the_iteration():
    iterator = iter(data.DataLoader(Numbers(at_five=fail), num_workers=1))
    seen = []
    for _ in range(8):
        try:
            seen.append(next(iterator).item())
        except KeyError:
            seen.append("error")
    assert seen == [0, 1, 2, 3, 4, "error", 6, 7]
    with pytest.raises(StopIteration):
        next(iterator)


def test_worker_init_fn_that_fails():
    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0.*no worker 0 today"):
        list(data.DataLoader(Numbers(), num_workers=1, worker_init_fn=fail_to_start))


def test_unpicklable_batch():
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(data.DataLoader(Numbers(), num_workers=1, collate_fn=lambda batch: lambda: batch))


def test_dead_worker():
    iterator = iter(data.DataLoader(Numbers(at_five=die), num_workers=2))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: it was killed by signal 9"):
        list(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_timeout():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.5 seconds"):
        list(data.DataLoader(Numbers(at_five=sleep), num_workers=1, timeout=0.5))


INTERRUPTED = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with the signal ignored
sys.path.insert(0, {root!r})
from adjoint.utils import data

class Slow(data.Dataset):
    def __len__(self): return 100
    def __getitem__(self, index):
        if index > 1: time.sleep(60)
        return index

loader = data.DataLoader(Slow(), num_workers=2)
for number, batch in enumerate(loader):
    print(os.getpid(), flush=True)
"""


def test_ctrl_c_ends_the_workers_quietly():
    code = INTERRUPTED.format(root=str(ROOT))
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    process.stdout.readline()
    process.stdout.readline()
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # the terminal sends it to all processes of the group
    _, errors = process.communicate(timeout=20)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1
    assert time.monotonic() - start < 4
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_rows_of_tensors_are_taken_together():
    """The same batches as of samples that are collated one by one, also for indices that are no plain numbers."""
    x, y = ad.arange(12.0).view(6, 2), ad.arange(6)
    rows = data.TensorDataset(x, y)
    plain = [(x[i], y[i]) for i in range(6)]
    for dataset, samples in ((rows, plain), (data.Subset(rows, [5, 3, 1]), [plain[5], plain[3], plain[1]])):
        for batch, expected in zip(data.DataLoader(dataset, batch_size=2), data.DataLoader(samples, batch_size=2), strict=True):
            assert type(batch) is list and all(map(ad.equal, batch, expected))
    (odd,) = data.DataLoader(rows, batch_sampler=[[ad.tensor(1), ad.tensor(4)]])
    assert odd[1].tolist() == [1, 4]
    grown = data.TensorDataset(x.clone().requires_grad_())
    (first, *_) = data.DataLoader(grown, batch_size=2)
    assert first[0].requires_grad


class Words(list):
    note: str | None = None


def test_collation_keeps_classes_and_takes_other_functions():
    first, second = Words([1, 2]), Words([3, 4])
    first.note = "kept"
    batch = data.default_collate([first, second])
    assert type(batch) is Words and batch.note == "kept" and [x.tolist() for x in batch] == [[1, 3], [2, 4]]
    collate = data._utils.collate

    def longest(batch, *, collate_fn_map=None):
        return max(batch, key=len)

    functions = {**collate.default_collate_fn_map, str: longest}
    assert collate.collate([{"a": "x", "b": 1}, {"a": "yy", "b": 2}], collate_fn_map=functions)["a"] == "yy"
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        data.default_collate([np.array(["a"])])
