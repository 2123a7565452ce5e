"""Normalizing flows: real NVP and neural splines, by likelihood and by the reverse divergence."""

from typing import Any

import normflows as nf
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    target = nf.distributions.TwoMoons()
    x = target.sample(64)
    results: dict[str, Any] = {"target": x, "target density": target.log_prob(x)}
    affine = []
    for _ in range(2):
        network = nf.nets.MLP([1, 8, 8, 2], init_zeros=True)
        affine += [nf.flows.AffineCouplingBlock(network), nf.flows.Permute(2, mode="swap")]
    splines = [part for _ in range(2) for part in (nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2))]
    for name, parts in (("affine", affine), ("splines", splines)):
        model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), parts, target)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
        losses = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = model.forward_kld(x)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[name] = losses
        results[name + " samples"] = list(model.sample(4))
        if name == "affine":
            results["reverse"] = model.reverse_kld(32)
    return results
