"""Functions written in Python say which argument is no tensor, as PyTorch's do (`_argument_errors.py`)."""

from __future__ import annotations

import sys
import traceback

import pytest

import adjoint as ad
from adjoint._argument_errors import blaming, entries, written

F = ad.nn.functional
CALLS = {
    "flatten(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.flatten("abc"),
    "var(): argument 'input' (position 1) must be Tensor, not list": lambda: ad.var([1.0, 2.0]),
    "cdist(): argument 'x2' (position 2) must be Tensor, not NoneType": lambda: ad.cdist(ad.ones(2, 2), None),
    "linalg_eigvals(): argument 'A' (position 1) must be Tensor, not str": lambda: ad.linalg.eigvals("abc"),
    "linalg_pinv(): argument 'A' (position 1) must be Tensor, not int": lambda: ad.linalg.pinv(3),
    "fft_rfft(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.fft.rfft("abc"),
    "max_pool2d(): argument 'input' (position 1) must be Tensor, not NoneType": lambda: F.max_pool2d(None, 2),
    "cross_entropy(): argument 'target' (position 2) must be Tensor, not list": lambda: F.cross_entropy(ad.ones(2, 2), [1, 0]),
    "expected Tensor as element 1 in argument 0, but got str": lambda: ad.broadcast_tensors(ad.ones(2), "abc"),
    "dropout(): argument 'p' (position 2) must be Number, not Tensor": lambda: ad.dropout(ad.ones(2), ad.ones(2), True),
    "adaptive_max_pool1d(): argument 'input' (position 1) must be Tensor, not str": lambda: ad.adaptive_max_pool1d("abc", 2),
}


@pytest.mark.parametrize("text", CALLS)
def test_the_argument_is_named(text):
    with pytest.raises(TypeError) as info:
        CALLS[text]()
    assert str(info.value).splitlines()[0] == text


def test_methods_say_so_too():
    with pytest.raises(TypeError, match=r"cross\(\): argument 'other' \(position 2\) must be Tensor, not str"):
        ad.ones(3).cross("abc")


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="Input must be >= 2-d"):
        ad.fliplr(ad.ones(2))
    with pytest.raises(IndexError, match="Dimension out of range"):
        ad.flatten(ad.ones(2, 2), 5)


def test_a_missing_attribute_of_something_else_stays_one():
    def function(input: ad.Tensor) -> None:
        ad.missing  # noqa: B018

    with pytest.raises(AttributeError, match="missing"):
        blaming(function)(ad.ones(2))


def test_wherever_no_other_handler_serves():
    def function(input, steps=3):
        for step in range(steps):
            try:
                with ad.no_grad():
                    if step == 1:
                        return input.shape
            except KeyError:
                raise
            finally:
                steps -= 1
        return input.ndim

    blaming(function)
    assert function(ad.ones(2)) == (2,)
    for steps in (3, 0):
        with pytest.raises(TypeError, match="argument 'input'"):
            function("abc", steps)
    assert sys.exc_info() == (None, None, None)
    assert ad.is_grad_enabled()


def test_tracebacks_show_each_line_once():
    def inner(x: ad.Tensor) -> int:
        return int("abc")

    blaming(inner)
    with pytest.raises(ValueError, match="invalid literal") as info:
        inner(ad.ones(2))
    assert [frame.name for frame in traceback.extract_tb(info.tb)][1:] == ["inner"]


def test_generators_and_guarded_functions_are_left_alone():
    def generator(x):
        yield x.shape

    code = generator.__code__
    assert blaming(generator).__code__ is code
    code = ad.flatten.__code__
    assert blaming(ad.flatten).__code__ is code


@pytest.mark.parametrize("entry", [(0, 3, 5, 1), (63, 64, 4095, 9), (1_000_000, 2, 70, 3)])
def test_entries_are_read_as_they_were_written(entry):
    assert list(entries(bytes(written(*entry) + written(*entry)))) == [entry, entry]
