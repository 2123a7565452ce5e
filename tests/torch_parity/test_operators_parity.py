"""Python's operators against PyTorch: values, dtypes, the names of the recorded nodes, and who refuses what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

ARRAYS = {
    "x": np.array([1.5, -2.0, 0.5]),
    "y": np.array([2.0, 3.0, -1.5]),
    "f": np.array([0.5, 1.5, -2.0], dtype="float32"),
    "s": np.array(3.0),
    "i": np.array([7, -3, 2]),
    "j": np.array([2, 4, 5]),
    "u": np.array([1, 200, 3], dtype="uint8"),
    "b": np.array([True, False, True]),
    "c": np.array([1 + 2j, -1j, 3.0]),
}


def environment(library: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, array in ARRAYS.items():
        names[name] = library.from_numpy(array.copy())
        if array.dtype.kind in "fc":
            names[name].requires_grad_()
    return names | {"torch": library, "np": np}


def graph_of(tensor: Any) -> Any:
    """The names of the last nodes: the one that made the tensor, and those behind it."""
    if not tensor.requires_grad:
        return None
    node = tensor.grad_fn
    return node and (type(node).__name__, tuple(type(edge).__name__ for edge, _ in node.next_functions))


def outcome(library: Any, code: str, *, statement: bool) -> Any:
    """What a piece of code gives: value, dtype, graph; or the type of its error."""
    names = environment(library)
    try:
        if statement:
            exec(code, names)
            value = names["z"]
        else:
            value = eval(code, names)
    except Exception as error:
        kind = next(k for k in (NotImplementedError, ZeroDivisionError, TypeError, RuntimeError) if isinstance(error, k))
        return kind.__name__
    if not isinstance(value, ad.Tensor | torch.Tensor):
        return value
    array = value.detach().resolve_conj().numpy()
    return str(np.round(array.astype(complex), 5) + 0), str(value.dtype), graph_of(value)


EXPRESSIONS = """
x + y; x + 1; 1 + x; x + 1.5; x + True; x + 1j; x + f; x + s; f + s; i + 1.5; i + f; b + b; b + 1; i + i; u + 300
x + np.float64(2); x + i; x - y; x - 1; 1 - x; 1.5 - i; b - 1; 1 - b; b - b; x - b; x - True; u - 2; 5 - u; s - x
x * y; x * 2; 2 * x; 2j * x; x * c; c * c; b * b; b * 2; i * 2.5; u * 2; x / y; x / 2; 2 / x; i / j; i / 2; 1 / i
b / b; c / c; 1 / c; x / s; x // 2; i // j; i // 2; 7 // j; 7.5 // j; i // 2.5; b // b; u // 3; x % y; x % 2; i % j
i % 2; i % 0; i // 0; 7 % j; x ** 2; x ** 3.5; abs(x) ** y; 2 ** x; 2.0 ** i; i ** 2; i ** -1; x ** s; i ** j; b ** 2
c ** 2; 2 ** i; x ** 2 ** 2; pow(x, 2); (-2) ** i; -x; -i; -b; +x; +b; abs(x); abs(c); abs(b); ~i; ~b; ~x; ~u; i & j
i | j; i ^ j; b & b; b | True; True ^ b; i & 3; 3 | i; x & 1; i & b; u ^ 255; i << 2; i >> 1; 1 << j; 100 >> j; x << 1
b << 1; x < y; x <= 1; 1 < x; x > y; x >= s; x == y; x != y; i == 2; i == 2.5; b == True; x == None; x != None
x == "a"; c == c; c < c; x + None; x + "a"; x * [1, 2, 3]; None - x; "a" * x; x @ 2; x ** "a"; x // None; x < None
x & None; 1.5 & i; i << 1.5; x.add(y, alpha=2); torch.add(x, 2, alpha=3); x.sub(y, alpha=2); torch.rsub(x, y)
torch.rsub(x, 2); x.mul(2); x.div(y); x.true_divide(2); torch.div(x, y, rounding_mode="floor"); x.floor_divide(2)
x.fmod(2); torch.fmod(x, y); x.remainder(y); torch.float_power(x, 2); torch.square(x); x.neg(); torch.positive(x)
x.pow(2); torch.pow(2, x); x.clamp(0, 1); x.clip(min=0); x.clamp(y, s); x.clamp_min(0); x.clamp_max(y)
torch.maximum(x, y); x.fmin(y); torch.lerp(x, y, 0.3); torch.lerp(x, y, s); torch.addcmul(x, x, y, value=2)
torch.addcdiv(x, x, y); torch.xlogy(x, y); torch.xlogy(x, 2.0); torch.xlogy(2.0, x); x.copysign(-1); x.copysign(y)
x.round(); x.round(decimals=1); x.sign(); x.trunc(); x.fix(); x.exp(); x.arctan(); x.sigmoid(); x.relu(); x.absolute()
c.real; c.imag; c.conj(); c.angle(); torch.view_as_real(c); x.conj(); x.real; torch.polygamma(1, y); x.logical_not()
x.logical_and(y); x.isnan(); i.bitwise_and(3); x.eq(y); x.greater(0); x.not_equal(y); i.gcd(j); torch.equal(x, x)
torch.allclose(x, y); x.nan_to_num(); torch.frexp(x)[0]; x.ldexp(j); x.lgamma(); x.digamma(); x.mvlgamma(1)
"""
STATEMENTS = """
z = x.clone(); z += y ;; z = x.clone(); z += 1 ;; z = x.clone(); z -= y ;; z = x.clone(); z *= y
z = x.clone(); z /= 2 ;; z = x.clone(); z **= 2 ;; z = i.clone(); z += 1.5 ;; z = i.clone(); z /= 2
z = i.clone(); z //= 2 ;; z = i.clone(); z %= 3 ;; z = i.clone(); z **= 2 ;; z = i.clone(); z += j
z = i.clone(); z &= j ;; z = i.clone(); z |= 3 ;; z = i.clone(); z ^= j ;; z = i.clone(); z <<= 1
z = i.clone(); z >>= 1 ;; z = b.clone(); z &= b ;; z = x.clone(); z //= 2 ;; z = x.clone(); z %= 2
z = f.clone(); z += x ;; z = x.clone(); z += f ;; z = x.clone(); z += c ;; z = b.clone(); z += 1
z = x.clone(); z += torch.ones(2, 3) ;; z = x.clone(); z += None ;; x += 1 ;; z = x.clone(); z.add_(y, alpha=2)
z = x.clone(); z.sub_(y, alpha=2) ;; z = x.clone(); z.div_(y, rounding_mode="floor") ;; z = x.clone(); z.clamp_(0, 1)
z = x.clone(); z.lerp_(y, 0.2) ;; z = x.clone(); z.addcmul_(x, y) ;; z = x.clone(); z.exp_()
z = x.clone(); z.relu_() ;; z = x.clone(); z.square_() ;; z = x.clone(); z.round_(decimals=1)
z = x.clone(); z.neg_() ;; z = i.clone(); z.logical_not_() ;; z = f.clone(); z.float_power_(2)
z = x.clone(); z.float_power_(2) ;; z = i.clone(); z.clamp_(0.5) ;; z = x.clone(); z.pow_(y)
z = i.clone(); z.exp_()
"""


def pieces(text: str, separator: str) -> list[str]:
    return [piece.strip() for line in text.strip().splitlines() for piece in line.split(separator)]




# Where a number comes first, PyTorch leaves it out of the edges and we show an edge to nothing.
@pytest.mark.parametrize("code", pieces(EXPRESSIONS, ";"))
def test_expression(code: str) -> None:
    assert outcome(ad, code, statement=False) == outcome(torch, code, statement=False)


@pytest.mark.parametrize("code", pieces(STATEMENTS, ";;"))
def test_statement(code: str) -> None:
    assert outcome(ad, code, statement=True) == outcome(torch, code, statement=True)
