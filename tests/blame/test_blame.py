"""`ad.blame`: every pattern is found with its line, its repair and its samples, before backward and long after it; healthy twins are not
blamed."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint._blame.patterns import FORWARD
from tests.autograd.nan_programs import NAN_PROGRAMS
from tests.blame.broken_programs import PROGRAMS

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")
FINITE = ("exploding gradient", "saturated probability")  # which recordings do not look for
CASES = pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)


def check(found, program):
    assert found.pattern == program.pattern, found
    assert found.site.text == program.line, found
    assert found.rewrite == program.write, found
    assert found.samples == program.samples, found
    assert found and found.advice and "{" not in found.advice and "torch." not in found.advice


@CASES
def test_broken_program_is_understood_before_backward(program):
    if program.graph:
        program = program._replace(**dict(zip(("pattern", "line", "samples"), program.graph, strict=True)))
    check(ad.blame(program.broken()), program)


@CASES
def test_healthy_twin_is_not_blamed(program):
    found = ad.blame(program.healthy())
    assert not found and found.cause.name == "FINITE", found


@CASES
def test_broken_program_is_understood_by_running_it_again(program):
    if program.pattern not in FINITE:
        check(ad.blame.replay(program.broken), program)


@CASES
def test_recording_knows_it_after_the_fact(program):
    with ad.blame.recording() as record:
        program.healthy().backward()
        assert record.first is None, record.first
        loss = program.broken()
        loss.backward()
        program.healthy().backward()
    if program.pattern in FINITE:
        assert record.first is None
    else:
        check(record.first, program)
        assert record.first_pass == 1
        check(ad.blame(loss), program)


def test_every_pattern_of_the_forward_pass_has_a_program():
    told_elsewhere = {"inf was put in", "inf / inf", "unexplained", "normalisation without variance", "custom function"}
    assert {pattern.name for pattern in FORWARD} - told_elsewhere <= {program.pattern for program in PROGRAMS.values()}


@pytest.mark.parametrize("name", NAN_PROGRAMS)
def test_programs_of_anomaly_mode_are_understood(name):
    for program in NAN_PROGRAMS[name]:
        found = ad.blame(program(ad))
        assert found and found.pattern and found.site is not None, found
