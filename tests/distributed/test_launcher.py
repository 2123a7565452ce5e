"""Functions and commands in several processes: `torch.distributed.launcher`."""

from __future__ import annotations

import os

import pytest
from adjoint.distributed.elastic.multiprocessing.errors import ChildFailedError
from adjoint.distributed.launcher.api import elastic_launch as same

from adjoint.distributed.launcher import LaunchConfig, elastic_launch, launch_agent


def config(**options):
    return LaunchConfig(1, 1, 2, **{"start_method": "fork", "max_restarts": 0, **options})


def told(word):
    return word, [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID")]


def fails(until):
    if os.environ["RANK"] == "1" and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < until:
        raise ValueError("not yet")
    return os.environ["TORCHELASTIC_RESTART_COUNT"]


def test_functions():
    assert same is elastic_launch
    before = dict(os.environ)
    results = elastic_launch(config(run_id="job"), told)("x")
    assert results == {rank: ("x", [str(rank), str(rank), "2", "0", "job"]) for rank in range(2)}
    assert dict(os.environ) == before
    assert launch_agent(config(max_restarts=1), fails, [1]) == {0: "1", 1: "1"}
    with pytest.raises(ChildFailedError, match=r"(?s)fails FAILED.*rank      : 1 .*ValueError: not yet") as caught:
        launch_agent(config(max_restarts=1), fails, [2])
    rank, failure = caught.value.get_first_failure()
    assert (rank, failure.local_rank, failure.exitcode, failure.signal_name()) == (1, 1, 1, "<N/A>")


def test_commands(capfd):
    assert elastic_launch(config(), "sh")("-c", "echo hello $RANK") == {0: None, 1: None}
    assert sorted(capfd.readouterr().out.splitlines()) == ["[rank0]: hello 0", "[rank1]: hello 1"]


def test_what_cannot_be():
    for call, kind, message in (
        (lambda: launch_agent(LaunchConfig(2, 2, 1), told, []), RuntimeError, "--host first,second"),
        (lambda: launch_agent(config(), None, []), ValueError, "entrypoint is None"),
        (lambda: launch_agent(config(), told, [], object()), NotImplementedError, "health_check_server"),
        (lambda: config(numa_options=object()), NotImplementedError, "no numa_options"),
    ):
        with pytest.raises(kind, match=message):
            call()
