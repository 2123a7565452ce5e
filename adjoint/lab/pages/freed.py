"""The numbers of `freed.html`: what a graph saves, how large it is, and the moment at which each piece is given back.

Nothing is guessed: hooks put every saved tensor into a handle that reports when it is dropped.
"""

from __future__ import annotations

import weakref
from typing import Any

import adjoint as ad

from ..programs import execute

FORWARD = (
    ("h", "h = x @ w1"),
    ("a", "a = ad.tanh(h)"),
    ("p", "p = a @ w2"),
    ("e", "e = p - target"),
    ("s", "s = e ** 2"),
    ("loss", "loss = s.mean()"),
)
ENDINGS = {"once": "loss.backward()", "retain": "loss.backward(retain_graph=True)", "never": "del h, a, p, e, s, loss"}


class Handle:
    """What the graph holds in the place of a saved tensor."""

    def __init__(self, tensor: ad.Tensor) -> None:
        self.tensor = tensor.detach()  # a result that its own node saves would hold on to itself


class Watch:
    """The steps of a program, and what was saved and dropped in each."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.saved: list[dict[str, Any]] = []

    def begin(self, says: str, line: int, node: str | None = None) -> None:
        self.steps.append({"says": says, "line": line, "node": node})

    def pack(self, tensor: ad.Tensor) -> Handle:
        handle, index = Handle(tensor), len(self.saved)
        step = len(self.steps) - 1
        self.saved.append({"shape": list(tensor.shape), "bytes": tensor.nbytes, "data": tensor.data_ptr(), "from": step, "until": None})
        weakref.finalize(handle, self.drop, index)
        return handle

    def drop(self, index: int) -> None:
        self.saved[index]["until"] = len(self.steps) - 1


def run(ending: str) -> dict[str, Any]:
    ad.manual_seed(0)
    names: dict[str, Any] = {
        "ad": ad, "x": ad.randn(32, 16), "target": ad.randn(32, 1),
        "w1": ad.randn(16, 64, requires_grad=True), "w2": ad.randn(64, 1, requires_grad=True),
    }  # fmt: skip
    watch = Watch()
    code = [line for _, line in FORWARD] + [ENDINGS[ending]] + (["loss.backward()"] if ending != "never" else [])
    with ad.autograd.graph.saved_tensors_hooks(watch.pack, lambda handle: handle.tensor):
        for number, (name, line) in enumerate(FORWARD, 1):
            watch.begin(f"{line} runs", number, name)
            exec(line, names)
    functions = {name: names[name].grad_fn.name() for name, _ in FORWARD}
    memories: dict[int, int] = {}
    for piece in watch.saved:
        piece["name"] = next(name for name in ("w2", *"xhapes") if names[name].data_ptr() == piece["data"])
        piece["owner"] = watch.steps[piece["from"]]["node"]
        piece["memory"] = memories.setdefault(piece.pop("data"), len(memories))  # two nodes may save the same tensor
    if ending != "never":
        hooks = [names[name].grad_fn.register_prehook(announce(watch, name, len(FORWARD) + 1)) for name, _ in FORWARD]
        exec(ENDINGS[ending], names)
        for hook in hooks:
            hook.remove()
        watch.begin("the pass is over", len(FORWARD) + 1)
    error = None
    if ending != "never":
        watch.begin("loss.backward() once more", len(FORWARD) + 2)
        program = "\n".join(code[:-2]) + f"\n{ENDINGS[ending]}\nloss.backward()"
        error = execute(program, {key: names[key] for key in ("ad", "x", "target", "w1", "w2")})
        if error is None:
            exec("loss.backward()", names)
    else:
        watch.begin("the results go out of use", len(FORWARD) + 1)
        exec(ENDINGS[ending], names)
    return {"code": code, "steps": watch.steps, "saved": watch.saved, "functions": functions, "error": error}


def announce(watch: Watch, name: str, line: int) -> Any:
    return lambda arrived: watch.begin(f"the gradient reaches {name}", line, name)


def record() -> dict[str, Any]:
    return {ending: run(ending) for ending in ENDINGS}
