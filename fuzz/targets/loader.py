"""Damaged and hostile files: `load` reads them or says what is wrong with them; it never crashes, hangs or takes all memory."""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import traceback
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

CLEAN = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, OSError, AssertionError)  # the last: a missing storage
BROKEN = (RecursionError, NotImplementedError)  # RuntimeErrors that nobody meant


def content(rng: random.Random) -> Any:
    """Something that is saved."""
    import adjoint as ad

    dtype = rng.choice(["float32", "float64", "int64", "uint8", "bool", "complex64"])
    tensor = ad.from_numpy(np.arange(rng.randrange(1, 40)).astype(dtype))
    kinds: list[Callable[[], Any]] = [
        lambda: tensor,
        lambda: {"weight": tensor, "steps": 3, "names": ["a", "b"], "more": (1.5, None, True)},
        lambda: [tensor, tensor[1:], tensor.reshape(1, -1).t()],
        lambda: ad.nn.Linear(2, 3).state_dict(),
        lambda: ad.optim.Adam([ad.nn.Parameter(ad.ones(2))]).state_dict(),
        lambda: ad.nn.Parameter(ad.ones(2, 2)),
        lambda: {"a": 2**70, "b": "text" * 20, "c": b"bytes", "d": {1, 2}, "e": complex(1, 2)},
    ]
    return rng.choice(kinds)()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes that are a little different."""
    new = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(new) + 1)
        kind = rng.randrange(7)
        if kind == 0 and place < len(new):
            new[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and place < len(new):
            new[place] = rng.randrange(256)
        elif kind == 2:
            del new[place:]
        elif kind == 3:
            del new[place : place + rng.randrange(1, 9)]
        elif kind == 4:
            new[place:place] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif kind == 5:
            new[place : place + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, (2**31).to_bytes(8, "little"), (2**63 - 1).to_bytes(8, "little")])
        else:
            other = rng.randrange(len(new) + 1)
            new[place:place] = new[other : other + rng.randrange(1, 64)]
        if not new:
            new = bytearray(b"\0")
    return bytes(new)


OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]


def other_pickle(rng: random.Random, data: bytes) -> bytes:
    """A pickle with other instructions in it."""
    new = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(new))
        new[place : place + rng.choice([0, 1])] = rng.choice(OPCODES)
    return bytes(new)


def rewritten(rng: random.Random, data: bytes) -> bytes:
    """An archive with one of its records changed, missing, doubled, compressed or of another name."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w") as new:
        names = old.namelist()
        target = rng.choice([*names, *(name for name in names if name.endswith(".pkl"))])
        how = rng.randrange(7)
        for name in names:
            record = old.read(name)
            if name == target:
                if how == 0:
                    continue
                if how < 4:
                    record = other_pickle(rng, record) if name.endswith(".pkl") and rng.random() < 0.6 and record else damaged(rng, record)
                elif how == 4:
                    name = rng.choice([name + "x", "../" + name, "/" + name, name.replace("/", "\\"), "archive/" + "d" * 300])
            new.writestr(name, record, zipfile.ZIP_DEFLATED if how == 5 and name == target else zipfile.ZIP_STORED)
    return written.getvalue()


def check(rng: random.Random) -> str:
    """Save, damage, load; what is wrong, or nothing."""
    import adjoint as ad

    file = io.BytesIO()
    ad.save(content(rng), file, _use_new_zipfile_serialization=rng.random() < 0.7)
    data = file.getvalue()
    is_archive = data[:2] == b"PK"
    data = rewritten(rng, data) if is_archive and rng.random() < 0.7 else damaged(rng, data)
    try:
        ad.load(io.BytesIO(data), weights_only=True)
    except CLEAN as error:
        if not isinstance(error, BROKEN):
            return ""
        return f"{traceback.format_exc()}\nof the file {data!r}"
    except Exception:
        return f"{traceback.format_exc()}\nof the file {data!r}"
    return ""
