"""The tutorial "Gradient access (.grad)": what its examples print and raise.

One test per example, run with `import adjoint as torch`. What the tutorial prints is printed here too, and compared as text.
"""

from __future__ import annotations

import pytest

import adjoint as torch


def test_grad_access_requires_grad_switches_tracking_on():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    assert x.requires_grad
    assert x.is_leaf
    assert (x * 2).grad_fn is not None
    assert (torch.tensor([2.0, 3.0]) * 2).grad_fn is None


def test_grad_access_backward_of_a_sum_of_squares():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.pow(2).sum()
    assert y.item() == 13.0
    y.backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_grad_access_grad_is_none_before_backward(capsys):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.pow(2).sum()
    print(x.grad)
    y.backward()
    print(x.grad)
    assert capsys.readouterr().out == "None\ntensor([4., 6.])\n"


def test_grad_access_zero_clears_what_would_accumulate():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    x.pow(2).sum().backward()
    x.pow(2).sum().backward()
    assert x.grad.tolist() == [8.0, 12.0]
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]
    x.pow(2).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_grad_access_vector_output_takes_a_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.backward(torch.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 2.0]


def test_grad_access_retain_grad_keeps_an_intermediate_gradient(capsys):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * 3
    y.retain_grad()
    z.backward()
    print(y.grad)
    assert capsys.readouterr().out == "tensor(3.)\n"
    assert x.grad.item() == 12.0


def test_grad_access_intermediate_gradient_is_none_without_it():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    (y * 3).backward()
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_grad_access_inplace_change_of_a_leaf_is_refused():
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x += 1
    assert x.item() == 2.0  # refused before anything was written
    y = x * x
    y.backward()
    assert x.grad.item() == 4.0


def test_grad_access_pitfall_reading_grad_too_early(capsys):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    print(x.grad)
    x.sum().backward()
    print(x.grad)
    assert capsys.readouterr().out == "None\ntensor([1., 1.])\n"


def test_grad_access_pitfall_forgotten_zero_grad():
    w = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.0)
    seen = []
    for clear in (False, False, True):
        if clear:
            optimizer.zero_grad()
        (w * 5).sum().backward()
        optimizer.step()
        seen.append(w.grad.item())
    assert seen == [5.0, 10.0, 5.0]


def test_grad_access_pitfall_backward_of_a_vector():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    assert x.grad is None
    y.backward(torch.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 2.0]
