from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..._site import Site
from ..._tensor import wrap
from ...autograd.grad_mode import no_grad
from ..events import ModuleCall, OpCall, array_of
from ..reading import undisturbed
from ..rule import Rule

RESHAPING = ("view", "reshape", "flatten", "permute", "transpose", "unflatten")


class SamplesMixed(Rule):
    """The output for one sample depends on the other samples of the batch, by a wrong reshape or a layer that takes time steps first.

    A copy of the model is asked twice, in evaluation mode: the second time with the other samples in another order.
    Models of graphs and sets mix on purpose: those with several inputs, or with weights or buffers of the size of the batch.
    """

    name = "samples-mixed"

    def start(self) -> None:
        self.asked: set[int] = set()
        self.reshapes: list[Site] = []
        self.layers: list[tuple[Site, Site | None]] = []  # calls of layers that take time steps first

    def op(self, call: OpCall) -> None:
        if call.modules and call.name in RESHAPING and call.site not in self.reshapes:
            self.reshapes.append(call.site)

    def entered(self, call: ModuleCall) -> None:
        if call.modules and getattr(call.module, "batch_first", True) is False:
            self.layers.append((call.site, self.doctor.made(call.module)))

    def left(self, call: ModuleCall) -> None:
        model = call.module
        if call.modules or not self.doctor.recording or not model.training or id(model) in self.asked or len(call.args) != 1:
            return
        x, y = call.args[0], call.result
        data, result = array_of(x), array_of(y)
        if data is None or result is None or data.ndim < 2 or len(data) < 3 or result.ndim > 2 or len(result) != len(data):
            return
        self.asked.add(id(model))
        own = [
            one
            for part in model.modules()
            if not type(part).__module__.startswith(("adjoint.", "torch."))
            for one in (*part._parameters.values(), *part._buffers.values())
        ]
        if any(one is not None and len(data) in one.shape for one in own):
            return
        if mixes(model, data):
            where: dict[str, Site | None] = {f"reshape {place + 1}": site for place, site in enumerate(self.reshapes[:3])}
            if self.layers:
                where |= {"takes time steps first": self.layers[-1][0], "made": self.layers[-1][1]}
            self.report(
                f"{type(model).__name__} mixes the samples of a batch: the output for one depends on the others",
                "batch_first=True"
                if self.layers
                else "keep the batch first and whole in every reshape: x.flatten(1); to make dimensions change places, x.transpose(0, 1)",
                {**where, "call": call.site},
                id(model),
                batch=len(data),
            )


def mixes(model: Any, data: np.ndarray[Any, Any]) -> bool:
    """Whether the first result, or the last, changes when the other samples change their places."""
    try:
        with undisturbed(), no_grad():
            twin = copy.deepcopy(model).eval()
            for part in twin.modules():
                part._forward_hooks.clear()
                part._forward_pre_hooks.clear()
            orders = data, data, np.concatenate([data[:1], data[:0:-1]]), np.concatenate([data[-2::-1], data[-1:]])
            first, again, of_first, of_last = (np.asarray(array_of(twin(wrap(values.copy())))) for values in orders)
    except Exception:  # a model that cannot be copied, or be asked twice, is left alone
        return False
    if not np.array_equal(first, again):  # random in evaluation too
        return False
    near = 1e-5 * float(np.abs(first).max())
    return not (np.allclose(first[0], of_first[0], 1e-3, near) and np.allclose(first[-1], of_last[-1], 1e-3, near))
