"""`python -m adjoint debug`: whole programs, with commands from a pipe and from a terminal."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.autograd import engine
from adjoint.autograd.stepping import every_pass
from adjoint.debugging import programs
from adjoint.debugging.programs import Passes

ROOT = Path(__file__).resolve().parents[2]

TRAINING = """import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.rand(8, 3), torch.rand(8, 1)
for step in range(3):
    optimizer.zero_grad()
    error = (model(x) - y).abs()
    if step == 2:
        error = error * 0
    loss = error.sqrt().mean()
    loss.backward()
    optimizer.step()
    print("step", step)
print(sum(parameter.sum() for parameter in model.parameters()).item(), sys.argv[1:])
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAINING, encoding="utf-8")
    return path


def command(*arguments):
    return [sys.executable, "-m", "adjoint", *arguments]


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT)}


def run(script, *arguments, typed="", name="debug"):
    return subprocess.run(
        command(name, "train.py", *arguments), input=typed, cwd=script.parent, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_commands_from_a_pipe(script):
    done = run(script, "--break", "nan", "--lr=3", typed="saved\nback\nstep\nset self = g.nan_to_num(0.0)\ncontinue\n")
    assert done.returncode == 0 and done.stderr == ""
    start, *answers = done.stdout.split("(debug) ")
    assert start.startswith("step 0\nstep 1\nbackward() number 3 at train.py:15   loss.backward()\n")
    assert "stopped by 1, nan\n[3/12] MulBackward0 has run   train.py:13   error = error * 0\n" in start
    assert answers[0] == "saved\n  other  0\n"
    assert answers[3].startswith("set self = g.nan_to_num(0.0)\n")
    last = answers[-1].splitlines()
    assert last[:2] == ["continue", "step 2"] and last[-1].endswith("['--lr=3']") and "nan" not in last[-1]


def test_stepping_through_a_whole_program_changes_nothing(script):
    plain = run(script, name="run").stdout
    stepped = run(script, "--break", "node:MeanBackward0", "--break", "param:2.weight", typed="next\nstep\nback\nback\ncontinue\n" * 6)
    assert stepped.returncode == 0 and stepped.stderr == ""
    assert stepped.stdout.splitlines()[-1] == plain.splitlines()[-1]
    assert stepped.stdout.count("stopped by") >= 6


def test_without_breakpoints_it_stops_in_the_first_pass(script):
    done = run(script, typed="continue\n")
    assert done.stdout.count("(debug) ") == 1 and "[1/11] MeanBackward0" in done.stdout and "step 2" in done.stdout


def test_breakpoints_that_are_added_hold_for_later_passes(script):
    done = run(script, "--command", "break param:0.bias", "--command=c", "--command", "c", "--command", "delete 1", "--command", "c")
    assert done.returncode == 0 and done.stdout.count("stopped by 1, param:0.bias") == 2 and "backward() number 2" in done.stdout


def test_lines_are_those_of_the_script(script):
    done = run(script, "--break", "line:14", "--command", "delete 1", "--command", "continue")
    assert "stopped by 1, line:14\n[1/11] MeanBackward0   train.py:14" in done.stdout


def test_breakpoints_that_nothing_came_to_are_told(script):
    done = run(script, "--break", "node:SinBackward0", "--break", "param:3.*", "--break", "nan", typed="c\n")
    assert "nothing in 3 backward passes matched the breakpoint node:SinBackward0\n" in done.stdout
    assert "matched the breakpoint param:3.*" in done.stdout and "breakpoint nan" not in done.stdout


def test_quit_and_the_end_of_the_input_end_the_program(script):
    for typed in ("next\nq\n", "next\n"):
        done = run(script, typed=typed)
        assert done.returncode == 0 and done.stderr == "" and "step 0" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--break", "mean"], "this is no breakpoint: 'mean'"),
        (["--break"], "what shall follow --break?"),
        (["--command"], "what shall follow --command?"),
    ],
)
def test_wrong_arguments(script, arguments, said):
    done = run(script, *arguments)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr


def test_errors_of_the_program_are_its_own(script):
    script.write_text(TRAINING.replace("loss.backward()", "loss.backward(); raise KeyError(step)"), encoding="utf-8")
    done = run(script, typed="continue\n")
    assert done.returncode == 1 and done.stderr.startswith('Traceback (most recent call last):\n  File "train.py", line 15')


class Screen:
    """A program in a terminal of its own."""

    def __init__(self, folder, *arguments):
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, command("debug", *arguments), environment())
        self.text = ""

    def until(self, words, seconds=60):
        """Read until the words are there, and return what came since the last time."""
        end = time.monotonic() + seconds
        while words not in self.text:
            assert select.select([self.fd], [], [], max(0, end - time.monotonic()))[0], self.text
            self.text += os.read(self.fd, 4096).decode()
        found, self.text = self.text, ""
        return found.replace("\r\n", "\n")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def interrupt(self):
        """Ctrl-C, again if nothing comes of it: Python misses a signal between a prompt and the first look at what is typed."""
        for _ in range(30):
            self.type("\x03")
            try:
                return self.until("\n", seconds=2)
            except AssertionError:
                continue
        raise AssertionError(self.text)

    def code(self):
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_in_a_terminal(script):
    screen = Screen(script.parent, "train.py", "--break", "param:2.bias")
    assert "leaf model.2.bias, float32 [1]" in screen.until("(debug) ")
    screen.type("back\n")
    answer = screen.until("(debug) ")
    assert answer.count("back") == 1 and "leaf model.2.weight" in answer  # what is typed is shown once
    screen.interrupt()
    assert screen.code() == 128 + signal.SIGINT


def test_ctrl_c_while_the_program_runs(script):
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    screen = Screen(script.parent, "train.py")
    assert "begun" in screen.until("begun")
    screen.type("\x03")
    assert screen.code() == 128 + signal.SIGINT


# ---- in this process ---------------------------------------------------------------------------------------------------------------------


def test_results_that_grad_asks_for_come_back(capsys):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    passes = Passes(["node:MulBackward0"], ["set g * 10", "c"])
    before = engine.run
    with every_pass(passes.run):
        (found,) = ad.autograd.grad((x * x).sum(), x)
    assert found.tolist() == [20.0, 40.0] and x.grad is None and engine.run is before


class Inner(ad.autograd.Function):
    """A function whose backward makes a pass of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with ad.enable_grad():
            inner = x.detach().requires_grad_()
            (found,) = ad.autograd.grad(inner * inner, inner, g)
        return found


def test_passes_inside_passes_are_part_of_the_rule(capsys):
    x = ad.tensor(3.0, requires_grad=True)
    passes = Passes(["node:MulBackward0"], [])
    with every_pass(passes.run):
        Inner.apply(x).backward()
    assert x.grad.item() == 6.0 and "stopped" not in capsys.readouterr().out


def test_passes_that_transforms_make_are_stepped_through_too(capsys):
    passes = Passes(["node:MulBackward0"], ["n", "b", "c"])
    with every_pass(passes.run):
        found = ad.func.grad(lambda t: t * t)(ad.tensor(2.0))
        batch = ad.func.vmap(ad.func.grad(lambda t: t * t))(ad.tensor([1.0, 2.0]))
    assert found.item() == 4.0 and batch.tolist() == [2.0, 4.0] and capsys.readouterr().out.count("stopped") == 1


def test_a_pass_that_is_too_large_is_not_kept(monkeypatch, capsys):
    monkeypatch.setattr(programs, "MOST_KEPT", 10)
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    passes = Passes(["param:x"], ["back", "c"])
    with every_pass(passes.run):
        (x * 2).sum().backward()
    told = capsys.readouterr().out
    assert "there is no way back: to keep the gradients would take 56 bytes" in told
    assert "keeps no gradients that it could go back to" in told
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_program_after_its_breakpoints_are_gone_runs_at_full_speed(capsys):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    passes = Passes([], ["c"])
    with every_pass(passes.run):
        x.sum().backward()
        x.sum().backward()
    assert passes.count == 1 and x.grad.tolist() == [2.0, 2.0]
