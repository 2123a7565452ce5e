"""Attributions of a network's output to its inputs, layers and neurons."""

from typing import Any

import numpy as np
import torch
from captum.attr import (
    DeepLift,
    DeepLiftShap,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    LayerConductance,
    LayerGradCam,
    LayerIntegratedGradients,
    NeuronConductance,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (GradientShap draws from it)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.Tanh()).eval()
    x, baseline = torch.rand(2, 3), torch.zeros(2, 3)
    results: dict[str, Any] = {}
    attributions, delta = IntegratedGradients(model).attribute(x, baseline, target=0, return_convergence_delta=True)
    results["IntegratedGradients"], results["delta"] = attributions, delta
    results["DeepLift"], results["DeepLift delta"] = DeepLift(model).attribute(x, baseline, target=1, return_convergence_delta=True)
    results["DeepLiftShap"] = DeepLiftShap(model).attribute(x, torch.rand(4, 3), target=0)
    for method in (Saliency, InputXGradient, GuidedBackprop):
        results[method.__name__] = method(model).attribute(x.clone().requires_grad_(), target=0)
    results["GradientShap"] = GradientShap(model).attribute(x, torch.rand(4, 3), target=0, n_samples=5, stdevs=0.1)
    results["NoiseTunnel"] = NoiseTunnel(IntegratedGradients(model)).attribute(x, nt_type="smoothgrad", nt_samples=4, stdevs=0.1, target=1)
    results["FeatureAblation"] = FeatureAblation(model).attribute(x, target=0)
    results["ShapleyValueSampling"] = ShapleyValueSampling(model).attribute(x, target=0, n_samples=5)
    results["KernelShap"] = KernelShap(model).attribute(x[:1], target=0, n_samples=30)
    results["LayerConductance"] = LayerConductance(model, model[0]).attribute(x, baseline, target=0)
    results["LayerIntegratedGradients"] = LayerIntegratedGradients(model, model[2]).attribute(x, baseline, target=0)
    results["NeuronConductance"] = NeuronConductance(model, model[0]).attribute(x, 1, target=0)
    image = torch.rand(2, 1, 8, 8)
    network = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4)).eval()
    results["LayerGradCam"] = LayerGradCam(network, network[0]).attribute(image, target=2)
    results["Occlusion"] = Occlusion(network).attribute(image, sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2), target=2)
    return results
