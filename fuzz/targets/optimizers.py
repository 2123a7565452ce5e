"""Optimizers with all their options over several steps: schedulers, groups, states that are loaded again, missing gradients."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, EndError
from ..program import Leaf, Ref, Text
from .layers import some

COMMON = {"maximize": [True], "foreach": [True, False], "weight_decay": [0.01, 0.3]}
BETAS = [(0.9, 0.999), (0.5, 0.7), (0.0, 0.9)]
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": [0.9, 0.5], "dampening": [0.0, 0.3], "nesterov": [True], **COMMON},
    "Adam": {"betas": BETAS, "eps": [1e-8, 0.1], "amsgrad": [True], "decoupled_weight_decay": [True], "capturable": [False], **COMMON},
    "AdamW": {"betas": BETAS, "eps": [1e-8, 0.1], "amsgrad": [True], **COMMON},
    "Adagrad": {"lr_decay": [0.1], "initial_accumulator_value": [0.5], "eps": [0.1], **COMMON},
    "Adadelta": {"rho": [0.5], "eps": [1e-3], **COMMON},
    "Adamax": {"betas": BETAS, "eps": [0.1], **COMMON},
    "NAdam": {"betas": BETAS, "eps": [0.1], "momentum_decay": [0.1], "decoupled_weight_decay": [True], **COMMON},
    "RAdam": {"betas": BETAS, "eps": [0.1], "decoupled_weight_decay": [True], **COMMON},
    "RMSprop": {"alpha": [0.5], "eps": [0.1], "momentum": [0.9], "centered": [True], **COMMON},
    "Rprop": {"etas": [(0.3, 1.5)], "step_sizes": [(1e-3, 0.2)], "maximize": [True], "foreach": [True, False]},
    "ASGD": {"lambd": [0.1], "alpha": [0.5], "t0": [1.0, 2.0], **COMMON},
    "Adafactor": {"beta2_decay": [-0.5], "eps": [(None, 1e-3), (1e-3, 1e-2)], "d": [0.5], "weight_decay": [0.1], "maximize": [True]},
    "LBFGS": { "history_size": [2], "line_search_fn": ["strong_wolfe"], "tolerance_grad": [1e-3]},
    "Muon": {"momentum": [0.5], "nesterov": [False], "weight_decay": [0.0, 0.5], "ns_steps": [2], "adjust_lr_fn": ["match_rms_adamw"]},
}
SCHEDULERS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "StepLR": ((2,), {"gamma": [0.5]}),
    "MultiStepLR": (([1, 3],), {"gamma": [0.5]}),
    "ConstantLR": ((), {"factor": [0.5], "total_iters": [2]}),
    "LinearLR": ((), {"start_factor": [0.2], "end_factor": [0.7], "total_iters": [3]}),
    "ExponentialLR": ((0.7,), {}),
    "CosineAnnealingLR": ((3,), {"eta_min": [0.01]}),
    "CosineAnnealingWarmRestarts": ((2,), {"T_mult": [2], "eta_min": [0.01]}),
    "PolynomialLR": ((), {"total_iters": [3], "power": [2.0]}),
    "LambdaLR": ((Text("lambda n: 0.9 ** n"),), {}),
    "MultiplicativeLR": ((Text("lambda n: 0.9"),), {}),
    "CyclicLR": ((0.01, 0.1), {"step_size_up": [2], "mode": ["triangular2", "exp_range"], "gamma": [0.9], "cycle_momentum": [False]}),
    "OneCycleLR": ((0.5,), {"total_steps": [20], "pct_start": [0.5], "anneal_strategy": ["linear"], "three_phase": [True]}),
    "ReduceLROnPlateau": ((), {"mode": ["max"], "factor": [0.5], "patience": [0, 1], "cooldown": [1], "min_lr": [0.01]}),
}


def parameters(b: Builder, name: str, kind: str) -> list[Ref]:
    layout = b.pick(["", "", "transposed"]) if name != "LBFGS" else ""
    shapes = [(2, 3), (3, 2)] if name == "Muon" else [b.shape(0, 3) for _ in range(b.random.randint(1, 4))]
    return [b.leaf(Leaf(shape, kind, b.random.randrange(999), layout=layout, grad=True)) for shape in shapes]


def program(b: Builder) -> None:
    name = b.pick(list(OPTIMIZERS))
    kind = b.pick(["float32", "float32", "float64"]) if name != "LBFGS" else "float64"
    given = parameters(b, name, kind)
    kwargs = some(b, lr=[0.1, 0.01, 1.0], **OPTIMIZERS[name])
    if name == "LBFGS":
        kwargs["max_iter"] = b.pick([1, 2])  # it amplifies rounding as it goes
    groups: list[Any] = list(given)
    if len(given) > 1 and b.chance(0.3) and name not in ("LBFGS", "Muon"):
        groups = [{"params": given[:1]}, {"params": given[1:], "lr": 0.05}]
        if "weight_decay" in OPTIMIZERS[name]:
            groups[1] |= some(b, weight_decay=[0.1])
    optimizer = b.add(f"torch.optim.{name}", groups, **kwargs, keep=1.0)
    if optimizer is None:
        return
    scheduler = None
    which = b.pick(list(SCHEDULERS))
    if b.chance(0.5):
        args, options = SCHEDULERS[which]
        more = some(b, last_epoch=[-1]) if which != "ReduceLROnPlateau" else {}
        scheduler = b.add(f"torch.optim.lr_scheduler.{which}", optimizer, *args, **some(b, **options), **more, keep=0.5)
    try:
        for turn in range(b.random.randint(1, 5)):
            step(b, name, optimizer, given, kind, turn)
            if scheduler is not None:
                b.add(".step", scheduler, *([b.pick([1.0, 0.5])] if which == "ReduceLROnPlateau" else []))
                b.add("[group['lr'] for group in {}.param_groups]", optimizer)
            if b.chance(0.15):
                # A state that was given is copied here; PyTorch goes on writing to it. So nobody keeps it.
                b.add("{0}.load_state_dict({0}.state_dict())", optimizer)
            if b.chance(0.1):
                b.add("{}.param_groups[0]['lr'] = {}", optimizer, 0.02)
        if scheduler is not None and which not in ("LambdaLR", "MultiplicativeLR"):
            b.add("{}.get_last_lr()", scheduler)
    except EndError:
        pass


def step(b: Builder, name: str, optimizer: Ref, given: list[Ref], kind: str, turn: int) -> None:
    """Gradients, by a loss or as given, and a step."""
    loss = " + ".join("({}.sin() * {}).sum()".format("{}", number + turn + 0.5) for number, _ in enumerate(given))
    if name == "LBFGS":
        names = ", ".join(f"v{ref.number}" for ref in given)
        filled = loss.format(*(f"v{ref.number}" for ref in given))
        closure = f"lambda: ([v.grad is None or v.grad.zero_() for v in ({names},)], (l := {filled}), l.backward(), l)[3]"
        b.add("{}.step({})", optimizer, Text(closure))
        return
    if b.chance(0.7):
        b.add("{}.zero_grad({})", optimizer, Text(b.pick(["", "set_to_none=False"])))
    used = [ref for ref in given if not b.chance(0.1)]
    if used:
        b.add(f"({' + '.join('({}.sin() * ' + str(number + turn + 0.5) + ').sum()' for number, _ in enumerate(used))}).backward()", *used)
    b.add("{}.step()", optimizer)
