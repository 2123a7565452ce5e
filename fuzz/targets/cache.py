"""Damaged and hostile cache directories: a program computes the right numbers, whatever lies there, and removes only what is its own."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import numpy as np
from adjoint._kernels import builtin
from adjoint._kernels.expr import Expr
(x,) = Expr.inputs(1)
kernels = builtin.load([builtin.Formula("cubed", x * x * x, "T"), builtin.Formula("twice", x + x, "T")], [None, None])
print(*(float(kernel(np.array([2.5]))[0]) for kernel in kernels))
"""
EXPECTED = "15.625 5.0"
FOREIGN = "notes.txt"
KINDS = (
    "flip", "cut", "grow", "empty", "swap", "folder", "fifo", "link", "dangling", "loop", "unreadable", "many", "deny", "gone", "text",
    "writable",
)  # fmt: skip
good: list[Path] = []  # a cache as it should be


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ADJOINT_CACHE_DIR": str(folder), "ADJOINT_KERNELS": "now"}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=60, check=False)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size and path.name != FOREIGN)


def spoil(rng: random.Random, folder: Path) -> str:
    """Do something to the directory; what was done."""
    found = entries(folder)
    victim = rng.choice(found)
    kind = rng.choice(KINDS)
    if kind == "flip":
        data = bytearray(victim.read_bytes())
        for _ in range(rng.choice([1, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        victim.write_bytes(data)
    elif kind == "cut":
        victim.write_bytes(victim.read_bytes()[: rng.randrange(victim.stat().st_size)])
    elif kind == "grow":
        victim.write_bytes(victim.read_bytes() + os.urandom(rng.randrange(1, 99)))
    elif kind == "empty":
        victim.write_bytes(b"")
    elif kind == "text":
        victim.write_text("nothing that can be run" * rng.randrange(1, 200))
    elif kind == "swap":
        old = victim.read_bytes()
        a, b = sorted((rng.randrange(len(old)), rng.randrange(len(old))))
        victim.write_bytes(old[b:] + old[a:b] + old[:a])
    elif kind == "writable":
        rng.choice([victim, victim.parent]).chmod(0o777)
    elif kind == "many":
        for number in range(50):
            (victim.parent / f"{number:064x}{victim.suffix}").write_bytes(os.urandom(64))
    elif kind == "deny":
        victim.parent.chmod(0o500)
    elif kind == "gone":
        shutil.rmtree(folder)
    else:
        victim.unlink()
        if kind == "folder":
            (victim / "inner").mkdir(parents=True)
        elif kind == "fifo":
            os.mkfifo(victim)
        elif kind == "link":
            victim.symlink_to("/dev/zero")
        elif kind == "dangling":
            victim.symlink_to(folder / "nowhere")
        elif kind == "loop":
            victim.symlink_to(victim)
        elif kind == "unreadable":
            victim.touch(mode=0)
    return f"{kind} {victim.name[:8]}"


def check(rng: random.Random) -> str:
    """Spoil a copy of a good cache and run a program with it; what is wrong, or nothing."""
    if not good:
        good.append(Path(tempfile.mkdtemp()))
        first = run(good[0])
        if first.stdout.strip() != EXPECTED:
            return f"an empty cache: {first.stdout}{first.stderr}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "cache"
        shutil.copytree(good[0], folder)
        (folder / FOREIGN).write_text("not an entry")
        done = [spoil(rng, folder) for _ in range(rng.choice([1, 1, 2])) if folder.exists() and entries(folder)]
        try:
            result = run(folder)
        except subprocess.TimeoutExpired:
            return f"does not end after {done}"
        finally:
            for path in [folder, *folder.rglob("*")]:
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)
        if result.stdout.strip() != EXPECTED or result.returncode:
            return f"after {done}: {result.returncode} {result.stdout}{result.stderr}"
        if folder.exists() and "gone" not in " ".join(done) and not (folder / FOREIGN).exists():
            return f"removed a file of others after {done}"
    return ""
