"""The debugger's commands."""

import builtins

import pytest

import adjoint as ad
from adjoint.debugging.terminal import COMMANDS, Quit
from tests.debugging.test_differences import Square


def answers(capsys, loss, *commands, breakpoints=()):
    """What is printed after each command, the beginning first."""
    ad.debug(loss, breakpoints=breakpoints, commands=commands)
    return [part.split("\n", 1)[-1] if place else part for place, part in enumerate(capsys.readouterr().out.split("(debug) "))]


def test_a_session(capsys):
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    y = x.sqrt()
    told = answers(capsys, (y * 3).sum(), "n", "n", "s", "b", "l 1", "w", "saved", "grad", "p g + 2", "check", "c")
    assert "3 nodes and 1 leaf; to go back, about 72 bytes are kept" in told[0] and "[1/4] SumBackward0" in told[0]
    assert "[2/4] MulBackward0" in told[1] and "given  [1, 1]" in told[1]
    assert "[3/4] SqrtBackward0" in told[2] and "y = x.sqrt()" in told[2] and "^^^^^^^^\n" in told[2]
    assert "SqrtBackward0 has run" in told[3] and "gives self  [0.75, 0.5]" in told[3]
    assert told[4] == told[2]
    assert [line[:3] for line in told[5].splitlines()] == ["   ", "-> ", "   "] and "leaf x, float32 [2]" in told[5]
    assert "->" in told[6] and "y = x.sqrt()" in told[6]
    assert told[7] == "  result  [2, 3]\n"
    assert told[8] == "given: tensor([3., 3.])\n"
    assert told[9] == "tensor([5., 5.])\n"
    assert told[10].startswith("  self  agrees on 2 elements; most apart at ")
    assert told[11] == "" and x.grad.tolist() == [0.75, 0.5]


def test_other_gradients(capsys):
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    told = answers(
        capsys, (x * w).sum(), "n", "set g * 10", "s", "set other = 0", "set 0 = g + 1", "set g", "set ad.ones(3)", "set self = ad.ones(3)",
        "c",
    )  # fmt: skip
    assert told[2] == "  given  [10, 10], edited\n"
    assert told[4] == "  given        [10, 10]\n  gives self   [30, 40]\n  gives other  [0, 0], edited\n"
    assert "gives self   [31, 41]" in told[5]
    assert "which of 2 gradients shall be replaced?" in told[6] and "name one of self, other" in told[6]
    assert "which of 2" in told[7] and "has changed the size of value" in told[8]
    assert x.grad.tolist() == [31.0, 41.0] and w.grad.tolist() == [0.0, 0.0]


def test_a_gradient_before_this_one(capsys):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    told = answers(capsys, (x * 3).sum(), "n", "n", "b 2", "set 5", "c")
    assert "  given  5, edited\n  (the pass was made again up to here" in told[4] and x.grad.tolist() == [15.0, 15.0]


def test_breakpoints(capsys):
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    told = answers(
        capsys, (x.exp() * 2).sum(), "break", "break node:SinBackward0", "break nonsense", "delete 1", "delete many", "delete 1", "break",
        "c", breakpoints=["param:x", "node:ExpBackward0"],
    )  # fmt: skip
    assert "stopped by 2, node:ExpBackward0\n[3/4] ExpBackward0" in told[0]
    assert told[1] == "  1  param:x\n  2  node:ExpBackward0\n"
    assert told[2].startswith("  3  node:SinBackward0\n  (nothing in this pass matches it")
    assert "this is no breakpoint: 'nonsense'" in told[3]
    assert told[4] == "  deleted 1, param:x\n" and "which number" in told[5] and "there is no breakpoint 1" in told[6]
    assert told[7] == "  2  node:ExpBackward0\n  3  node:SinBackward0\n" and told[8] == ""


def test_a_nan_comes_with_advice(capsys):
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    told = answers(capsys, (x.sqrt() * 0).sum(), "set self = g.nan_to_num(0.0)", "c", breakpoints=["nan"])
    assert "stopped by 1, nan\n" in told[0] and "fix: the derivative of sqrt at 0 is infinite" in told[0]
    assert x.grad.tolist() == [0.0, 0.0]


def test_the_end_and_the_beginning(capsys):
    x = ad.tensor(2.0, requires_grad=True)
    told = answers(capsys, x * 3, "b", "b", "n", "n", "n", "b", "c")
    assert told[1] == told[2] == "This is the beginning: nothing has happened yet.\n"
    assert "MulBackward0" in told[3] and "leaf x" in told[4] and "receives  3" in told[4] and ".grad     None" in told[4]
    assert told[5].startswith("This is the end of the pass") and told[6] == told[4] and x.grad.item() == 3.0


def test_at_the_end_next_leaves(capsys):
    x = ad.tensor(2.0, requires_grad=True)
    assert len(answers(capsys, x * 3, "n 5", "n", "never read")) == 3


def test_an_empty_line_goes_the_same_way_again(capsys):
    x = ad.tensor(2.0, requires_grad=True)
    told = answers(capsys, x * 3 * 4, "n", "", "l", "", "c")
    assert "[2/3]" in told[1] and "[3/3]" in told[2] and told[4] == ""


def test_what_cannot_be_done_is_said(capsys):
    x = ad.tensor(2.0, requires_grad=True)
    told = answers(capsys, Square.apply(x), "fly", "n many", "p undefined", "check", "n", "saved", "check", "where", "set", "help", "c")
    assert told[1] == "there is no command 'fly'; `help` lists them\n" and told[2] == "  'many' is no number\n"
    assert told[3].startswith("  NameError: name 'undefined' is not defined") and "gradcheck(Square.apply" in told[4]
    assert all("stands at a leaf" in told[place] for place in (6, 7, 8)) and "set needs a gradient" in told[9]
    assert all(f"  {name}" in told[10] for name in COMMANDS) and x.grad.item() == 4.0


def test_quit_undoes_the_pass_and_interrupts(capsys):
    x, w = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    loss = x * (w * 2)
    with pytest.raises(KeyboardInterrupt) as caught:
        ad.debug(loss, commands=["n 3", "p x.grad", "q"])
    assert isinstance(caught.value, Quit) and not caught.value.interrupted
    assert "tensor(6.)" in capsys.readouterr().out and x.grad is None and w.grad is None
    loss.backward()
    assert x.grad.item() == 6.0 and w.grad.item() == 4.0


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_the_end_of_the_input_and_ctrl_c_quit(monkeypatch, capsys, end):
    def nobody(prompt):
        raise end

    monkeypatch.setattr(builtins, "input", nobody)
    x = ad.tensor(2.0, requires_grad=True)
    with pytest.raises(Quit) as caught:
        ad.debug(x * 3)
    assert caught.value.interrupted is (end is KeyboardInterrupt) and x.grad is None


def test_commands_are_read_by_input_as_in_a_notebook(monkeypatch, capsys):
    typed = iter(["n", "p g", "c"])
    monkeypatch.setattr(builtins, "input", lambda prompt: next(typed))
    x = ad.tensor(2.0, requires_grad=True)
    ad.debug(x * 3)
    assert "tensor(3.)" in capsys.readouterr().out and x.grad.item() == 3.0


class Fails(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ValueError("not today")


def test_errors_of_rules_are_those_of_backward(capsys):
    x = ad.tensor(2.0, requires_grad=True)
    with pytest.raises(ValueError, match="not today"):
        ad.debug(Fails.apply(x), commands=["n", "n"])


def test_arguments_are_those_of_backward():
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    ad.debug(y, ad.tensor([1.0, 10.0]), True, inputs=[x], commands=["c"])
    assert x.grad.tolist() == [3.0, 40.0] and w.grad is None
    y.sum().backward()
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        ad.debug(y)
