"""Dtypes of 8 bits and less: stored, converted, moved and saved, and not computed with."""

import io
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


def test_they_are_loaded_when_first_named():
    program = "import sys, adjoint; assert 'adjoint._narrow' not in sys.modules; adjoint.uint4; assert 'ml_dtypes' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_limits():
    assert [(ad.finfo(getattr(ad, name)).max, ad.finfo(getattr(ad, name)).eps) for name in FLOAT8] == [
        (448.0, 0.125), (57344.0, 0.25), (240.0, 0.125), (57344.0, 0.125), (2.0**127, 1.0),
    ]  # fmt: skip
    assert ad.finfo(ad.float8_e8m0fnu).min == ad.finfo(ad.float8_e8m0fnu).tiny == 2.0**-127
    with pytest.raises(TypeError, match=r"torch.finfo\(\) knows no limits of torch.float4_e2m1fn_x2"):
        ad.finfo(ad.float4_e2m1fn_x2)
    with pytest.raises(TypeError, match=r"torch.iinfo\(\) requires an integer input type"):
        ad.iinfo(ad.uint4)


@pytest.mark.parametrize("name", FLOAT8)
def test_conversions_there_and_back(name):
    kind = getattr(ad, name)
    x = ad.tensor([1.0, 2.0, 0.5, 64.0]).to(kind)
    assert (x.dtype, x.itemsize, kind.is_floating_point, str(kind)) == (kind, 1, True, f"torch.{name}")
    assert x.float().tolist() == x.tolist() == [1.0, 2.0, 0.5, 64.0]
    assert x.to(ad.float16).dtype is ad.float16 and x.to(ad.int32).tolist() == [1, 2, 0, 64]
    assert ad.equal(x.view(ad.uint8).view(kind).double(), x.double())
    assert ad.full((2,), 4.0, dtype=kind).tolist() == ad.tensor([4, 4], dtype=kind).tolist() == [4.0, 4.0]


def test_what_is_too_large_for_a_type_without_infinity_is_cut_off():
    big = ad.tensor([500.0, -ad.inf, 1e9, ad.nan])
    assert str(big.to(ad.float8_e4m3fn).tolist()) == "[448.0, -448.0, 448.0, nan]"
    assert str(big.to(ad.float8_e5m2).tolist()) == "[512.0, -inf, inf, nan]"
    transposed = big.view(2, 2).t().to(ad.float8_e4m3fn)
    assert transposed.stride() == (1, 2) and str(transposed.float().tolist()) == "[[448.0, 448.0], [-448.0, nan]]"
    assert ad.zeros(1, dtype=ad.float8_e4m3fn).fill_(500).tolist() == [448.0]
    assert ad.zeros(1, dtype=ad.float8_e4m3fn).copy_(ad.tensor([500.0])).tolist() == [448.0]


def test_powers_of_two_have_neither_sign_nor_zero():
    assert ad.tensor([-3.0, 0.0, 2.5]).to(ad.float8_e8m0fnu).float().tolist() == [4.0, 2.0**-127, 2.0]


def test_they_are_moved_and_not_computed_with():
    x = ad.tensor([1.0, 2.0, 3.0, 4.0]).to(ad.float8_e4m3fn)
    moved = (x[1:], x.view(2, 2).t().contiguous(), ad.cat([x, x]), ad.stack([x, x]), x[ad.tensor([3, 0])], x.clone(), x.repeat(2), x.abs())
    assert all(part.dtype is ad.float8_e4m3fn for part in moved)
    assert moved[4].tolist() == [4.0, 1.0] and (x == x).all() and not x.isnan().any()
    for compute in (lambda: x + x, lambda: x * 2, lambda: x.sum(), lambda: x @ x, lambda: x.exp(), lambda: x.sort(), lambda: x.unique()):
        for _ in range(2):  # also when a fast path could have been made
            with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e4m3fn'"):
                compute()
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e4m3fn'"):
        x.add_(1)
    with pytest.raises(NotImplementedError, match="draw in float32"):
        ad.randn(2, dtype=ad.float8_e4m3fn)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Float"):
        ad.promote_types(ad.float8_e4m3fn, ad.float32)
    with pytest.raises(TypeError, match="couldn't find storage object Float8_e4m3fnStorage"):
        ad.set_default_dtype(ad.float8_e4m3fn)


def test_gradients_pass_through_a_conversion():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    (x.to(ad.float8_e5m2).float() * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_packed_numbers_are_bytes():
    x = ad.tensor([1, 2], dtype=ad.uint8).view(ad.float4_e2m1fn_x2)
    assert x.dtype is ad.float4_e2m1fn_x2 and x.clone().view(ad.uint8).tolist() == [1, 2]
    assert ad.tensor([1, 2], dtype=ad.uint8).view(ad.uint4).shape == (2,)
    assert "dtype=torch.float4_e2m1fn_x2" in repr(x)
    with pytest.raises(NotImplementedError, match=r"\"copy_\" not implemented for 'Float4_e2m1fn_x2'.*view\(torch.uint8\)"):
        x.float()
    with pytest.raises(NotImplementedError, match="'UInt4'"):
        ad.ones(2).to(ad.uint4)


def test_what_cannot_be_made_is_refused():
    assert (ad.qint32.itemsize, ad.chalf, ad.complex32.to_real()) == (4, ad.complex32, ad.float16)
    with pytest.raises(NotImplementedError, match=r"adjoint has no tensors of torch.quint8; keep whole numbers with a scale"):
        ad.empty(2, dtype=ad.quint8)
    with pytest.raises(NotImplementedError, match=r"use torch.complex64"):
        ad.zeros(2, dtype=ad.complex32)


def test_saving(tmp_path):
    x = ad.tensor([1.0, -2.0]).to(ad.float8_e4m3fn)
    packed = ad.tensor([7], dtype=ad.uint8).view(ad.float4_e2m1fn_x2)
    buffer = io.BytesIO()
    ad.save({"x": x, "packed": packed, "kind": ad.float8_e5m2}, buffer)
    buffer.seek(0)
    back = ad.load(buffer)
    assert back["x"].dtype is ad.float8_e4m3fn and back["x"].tolist() == [1.0, -2.0]
    assert back["packed"].view(ad.uint8).tolist() == [7] and back["kind"] is ad.float8_e5m2
    ad.io.save_safetensors({"x": x}, tmp_path / "x.safetensors")
    assert ad.io.load_safetensors(tmp_path / "x.safetensors")["x"].tolist() == [1.0, -2.0]


def test_arrays_of_ml_dtypes_are_taken():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert ad.from_numpy(np.ones(2, ml_dtypes.float8_e5m2)).dtype is ad.float8_e5m2
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type"):
        ad.from_numpy(np.ones(2, ml_dtypes.float8_e3m4))
