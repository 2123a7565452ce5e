"""The parts of the fuzzer that need no PyTorch: programs print and shrink, and each family of programs without an oracle runs."""

from __future__ import annotations

import random

import pytest

from adjoint._serving import compiles
from fuzz.known import KNOWN
from fuzz.program import Index, Leaf, Ref, Step, printed
from fuzz.shrink import leaves, shrink, without
from fuzz.targets import load

PROGRAM = (
    Step(0, "{}", (Leaf((3, 4), "float32", layout="transposed", grad=True),)),
    Step(1, ".sin", (Ref(0),)),
    Step(2, "torch.sum", (Ref(1), (0, 1)), {"keepdim": True}),
    Step(3, "{}[{}] = {}", (Ref(1), Index((slice(1, None), None)), 2.5)),
    Step(6, "def", (Ref(5),), body=(Step(5, "torch.mul", (Ref(4), Ref(2))),), params=(4,)),
)


def test_a_program_prints_as_python_that_stands_alone():
    text = printed(PROGRAM, "a note")
    compile(text, "program", "exec")
    assert "v2 = torch.sum(v1, (0, 1), keepdim=True)" in text
    assert "v1[1:, None] = 2.5" in text
    assert "def v6(v4):\n    v5 = torch.mul(v4, v2)\n    return v5" in text


def test_a_step_is_dropped_with_all_that_use_it():
    assert [step.number for step in without(PROGRAM, {2})] == [0, 1, 3]


def test_shrinking_finds_the_smallest_program_that_fails():
    def fails(program):
        return any(step.call == "torch.sum" for step in program) and any(leaf.grad for leaf in leaves(program))

    small = shrink(PROGRAM, fails)
    assert [step.call for step in small] == ["{}", "torch.sum"]
    (leaf,) = leaves(small)
    assert leaf == Leaf((), "float32", values=(1.0,), grad=True)


# The cache takes too long, and without llvmlite there is nothing to translate for.
CHECKED = {name for name, family in load().items() if hasattr(family, "check")} - {"cache", *(() if compiles() else ("translator",))}


@pytest.mark.parametrize("target", sorted(CHECKED))
def test_families_without_an_oracle_find_nothing(target):
    for number in range(30):
        assert load()[target].check(random.Random(f"{target} tests-{number}")) == ""


def test_every_known_difference_has_a_reason():
    assert all(reason for reason, _ in KNOWN)
