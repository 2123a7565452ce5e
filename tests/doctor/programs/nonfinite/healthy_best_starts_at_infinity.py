"""Early stopping compares with infinity at first; no tensor of the training is infinite."""
import adjoint as ad
from adjoint import nn


class Trainer:
    def __init__(self, model, patience=5):
        self.model, self.patience = model, patience
        self.opt = ad.optim.Adam(model.parameters(), lr=2e-2)
        self.best = ad.tensor(float("inf"))

    def fit(self, x, y, x_val, y_val, epochs=40):
        waited = 0
        for _ in range(epochs):
            self.opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(self.model(x), y)
            loss.backward()
            self.opt.step()
            with ad.no_grad():
                val = nn.functional.smooth_l1_loss(self.model(x_val), y_val)
            if val < self.best:
                self.best, waited = val, 0
            else:
                waited += 1
                if waited > self.patience:
                    break
        return self.best.item()


ad.manual_seed(7)
x = ad.randn(150, 4)
y = ad.sin(x).sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
print(Trainer(net).fit(x[:100], y[:100], x[100:], y[100:]))
