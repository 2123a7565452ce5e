"""`vmap` against PyTorch's: what programs compute, which random numbers they see, how mistakes are refused."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad
from tests.func.vmap_programs import DRAWS, PROGRAMS, REFUSALS, Program, drawn

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")
WORDS = 5  # of a message that must be PyTorch's
COMBINED = [(name, how) for name in DRAWS for how in ("error", "different", "same")]


def facts(value: Any) -> Any:
    """Something with lists in place of tensors."""
    if hasattr(value, "tolist"):
        return [str(value.dtype), tuple(value.shape), value.double().tolist()]
    if isinstance(value, dict):
        return {key: facts(item) for key, item in value.items()}
    return tuple(map(facts, value)) if isinstance(value, tuple) else value


def answer(program: Program, t: Any) -> Any:
    try:
        return "value", facts(program(t))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        kind = next(kind for kind in (IndexError, ValueError, TypeError, RuntimeError) if isinstance(error, kind))
        return kind, str(error).split()[:WORDS]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    ours, theirs = answer(PROGRAMS[name], ad), answer(PROGRAMS[name], torch)
    assert ours == theirs
    assert ours[0] == "value"


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    ours, theirs = answer(REFUSALS[name], ad), answer(REFUSALS[name], torch)
    assert ours == theirs
    assert ours[0] != "value"


@pytest.mark.parametrize(("name", "randomness"), COMBINED)
def test_randomness(name: str, randomness: str) -> None:
    ours, theirs = answer(drawn(name, randomness), ad), answer(drawn(name, randomness), torch)
    assert ours[0] == theirs[0]
    if ours[0] != "value":
        assert ours == theirs
        return
    (kind, shape, numbers), (their_kind, their_shape, their_numbers) = ours[1], theirs[1]
    assert (kind, shape) == (their_kind, their_shape)
    torch.testing.assert_close(torch.tensor(numbers), torch.tensor(their_numbers), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["vmap", "grad", "both", "jvp"])
def test_printing(kind: str) -> None:
    def shown(t: Any) -> str:
        seen: list[str] = []

        def look(x: Any) -> Any:
            seen.append(repr(x))
            return x.sum()

        x = t.arange(6.0).reshape(2, 3)
        wrapped = {
            "vmap": lambda: t.vmap(look)(x),
            "grad": lambda: t.func.grad(look)(x),
            "both": lambda: t.vmap(t.func.grad(look))(x),
            "jvp": lambda: t.func.jvp(look, (x,), (x,)),
        }
        wrapped[kind]()
        return seen[0]

    assert shown(ad) == shown(torch)
