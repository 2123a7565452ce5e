"""Dtypes of 8 bits: every number is converted to the same bits as in PyTorch, and files go both ways."""

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "float64"])
def test_conversions(name, source):
    bits = np.arange(65536, dtype=np.uint32)
    numbers = np.concatenate([bits << 16, bits << 16 | 0x8000, bits << 16 | 1, bits << 16 | 0xFFFF]).view(np.float32)
    ours = ad.from_numpy(numbers).to(getattr(ad, source)).to(getattr(ad, name)).view(ad.uint8).numpy()
    theirs = torch.from_numpy(numbers).to(getattr(torch, source)).to(getattr(torch, name)).view(torch.uint8).numpy()
    number = ~np.isnan(numbers)
    np.testing.assert_array_equal(ours[number], theirs[number])
    codes = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(
        ad.from_numpy(codes).view(getattr(ad, name)).float().numpy(), torch.from_numpy(codes).view(getattr(torch, name)).float().numpy()
    )


@pytest.mark.parametrize("name", FLOAT8)
def test_facts(name):
    assert repr(ad.finfo(getattr(ad, name))) == repr(torch.finfo(getattr(torch, name)))
    for fact in ("itemsize", "is_floating_point", "is_signed", "is_complex"):
        assert getattr(getattr(ad, name), fact) == getattr(getattr(torch, name), fact)


def test_all_names_are_there():
    names = [name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]
    assert [name for name in names if str(getattr(ad, name)) != str(getattr(torch, name))] == []


def test_files(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": torch.tensor([1.0, -2.0]).to(torch.float8_e4m3fn), "kind": torch.float8_e5m2}, path)
    assert ad.load(path)["x"].tolist() == [1.0, -2.0] and ad.load(path)["kind"] is ad.float8_e5m2
    ad.save({"x": ad.tensor([1.0, -2.0]).to(ad.float8_e4m3fn)}, path)
    assert torch.load(path)["x"].tolist() == [1.0, -2.0]
