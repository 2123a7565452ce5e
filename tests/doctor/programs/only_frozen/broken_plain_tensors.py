"""The curve's coefficients are plain tensors without requires_grad, beside a learned noise level of its own."""

import torch

torch.manual_seed(0)
t = torch.linspace(0, 1, 50)
observed = 3 * t**2 - t + 0.5 + 0.02 * torch.randn(50)

coefficients = torch.zeros(3)
log_sigma = torch.zeros((), requires_grad=True)
fit_optimizer = torch.optim.Adam([coefficients], lr=0.05)  # guilty
noise_optimizer = torch.optim.Adam([log_sigma], lr=0.05)

for step in range(60):
    predicted = coefficients[0] + coefficients[1] * t + coefficients[2] * t**2
    nll = (0.5 * ((observed - predicted) / log_sigma.exp()) ** 2 + log_sigma).mean()
    fit_optimizer.zero_grad()
    noise_optimizer.zero_grad()
    nll.backward()
    fit_optimizer.step()
    noise_optimizer.step()
print(f"nll {nll.item():.4f}")
