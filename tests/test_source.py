"""What messages read in the source of a program, when they are made."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint._source import called

ROOT = Path(__file__).resolve().parent.parent


def raised(tmp_path, source: str, kind: type[Exception] = RuntimeError) -> Any:
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(source))
    with pytest.raises(kind) as caught:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "train"})
    return caught.value


@pytest.mark.parametrize(
    ("line", "name"), [("import adjoint as ad", "ad"), ("import adjoint as torch", "torch"), ("import adjoint", "adjoint")]
)
def test_advice_calls_the_package_what_the_program_calls_it(tmp_path, line, name):
    error = raised(tmp_path, f"{line}\nx = {name}.ones(3, requires_grad=True)\nx += 1")
    assert error.fix.startswith(f"with {name}.no_grad(): x += 1")
    plain = raised(tmp_path, f"{line}\n{name}.mm({name}.ones(2, 2), {name}.ones(2))")
    assert str(plain).endswith(f"fix: {name}.matmul takes vectors and batches too")


def test_a_program_that_has_no_name_for_it_is_told_pytorchs():
    code = "from adjoint import ones; ones(3, requires_grad=True).add_(1)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "fix: with torch.no_grad()" in done.stderr


# (what the line that changes the value is, and what it is to be)
WRITES = {
    "y += 1": "write line 4 as y = y + 1",
    "y.mul_(2)": "write line 4 as y = y.mul(2)",
    "z = y.mul_(2)": "write y.mul(2) on line 4",
    "y.zero_()": "write line 4 as y = ad.zeros_like(y)",
    "y.fill_(3)": "write line 4 as y = ad.full_like(y, 3)",
    "y.copy_(x)": "write line 4 as y = x",
    "y[0] = 0": "write y = y.clone() before line 4, so that",
    "y[0] += 1": "write y = y.clone() before line 4, so that",
    "y[:2].mul_(3)": "write y = y.clone() before line 4, so that",
    "y.detach().add_(1)": "write y = y.clone() before line 4, so that",
    "ad.nn.functional.elu(y, inplace=True)": "leave inplace=True out on line 4: ad.nn.functional.elu(y)",
    "for i in range(2): y[i] = 0": "collect the parts in a list, parts.append(...) in place of line 4, and join them "
    "after the loop: y = ad.stack(parts)",
    "ad.add(y, 1, out=y) if 0 else y.add_(1)": "write line 4 as y = y.add(1)",
}


@pytest.mark.parametrize("line", WRITES)
def test_repair_of_a_write(tmp_path, line):
    error = raised(tmp_path, f"import adjoint as ad\nx = ad.ones(3, requires_grad=True)\ny = x.exp()\n{line}\ny.sum().backward()")
    assert error.fix.startswith(WRITES[line])


@pytest.mark.parametrize("line", [line for line, fix in WRITES.items() if fix.startswith(("write line", "write y ="))])
def test_a_repaired_write_runs(line):
    fix = WRITES[line].removesuffix(", so that").removeprefix("write ")
    repaired = fix.removeprefix("line 4 as ") if fix.startswith("line") else f"{fix.removesuffix(' before line 4')}; {line}"
    names: dict[str, Any] = {"ad": ad, "x": ad.ones(3, requires_grad=True)}
    exec(f"y = x.exp()\nz = y * 1\n{repaired}\n(y.sum() + z.sum()).backward()", names)
    assert names["x"].grad is not None


def test_layers_that_write_into_their_input_are_named(tmp_path):
    source = """
        import adjoint as ad

        net = ad.nn.Sequential(ad.nn.Sigmoid(), ad.nn.ELU(inplace=True))
        y = net(ad.ones(3, requires_grad=True))
        y.sum().backward()
    """
    fix = raised(tmp_path, source).fix
    assert fix == "line 5 calls a layer that writes into its input (net.1): nn.ELU(inplace=True) -> nn.ELU(inplace=False)"


def test_states_of_a_loop(tmp_path):
    source = """
        import adjoint as ad

        class Cell:
            def __init__(self):
                self.h = ad.zeros(1)
                self.w = ad.ones(1, requires_grad=True)

            def step(self):
                self.h = ad.tanh(self.h + self.w)
                self.h.sum().backward()

        cell = Cell()
        for _ in range(2):
            cell.step()
    """
    assert raised(tmp_path, source).fix == "cut off the state that line 10 carries over: self.h = self.h.detach()"


def test_names_of_tensors():
    weights = ad.ones(3)
    assert called(weights, "x") == called(weights._data, "x") == "weights"
    assert called(ad.ones(3), "x") == "x"


def test_looking_for_names_keeps_nothing_alive():
    kept = ad.ones(3)
    gone = weakref.ref(kept)
    assert called(kept, "x") == "kept"
    del kept
    assert gone() is None


def test_a_line_without_source_gets_general_advice():
    with pytest.raises(RuntimeError) as caught:
        exec("x = ad.ones(3, requires_grad=True)\ny = x.exp()\ny += 1\ny.sum().backward()", {"ad": ad})
    assert "out of place (x = x + 1 instead of x += 1)" in str(caught.value)
