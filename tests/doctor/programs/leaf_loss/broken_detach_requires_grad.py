"""The mean over the steps of a sequence is detached and marked again, after an error about a second backward pass."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(2, 8)
        self.out = nn.Linear(8, 2)

    def loss(self, sequence):
        h = c = ad.zeros(sequence.shape[1], 8)
        losses = []
        for t in range(len(sequence) - 1):
            h, c = self.lstm(sequence[t], (h, c))
            losses.append(nn.functional.mse_loss(self.out(h), sequence[t + 1]))
        return ad.stack(losses).mean().detach().requires_grad_()  # guilty


model = Seq()
optimizer = ad.optim.Adagrad(model.parameters(), lr=0.05)
data = ad.sin(ad.arange(9).float().view(9, 1, 1) + ad.randn(1, 10, 2))
for _ in range(12):
    optimizer.zero_grad()
    loss = model.loss(data)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
