"""After training, the prediction for a new sample is made in training mode."""

import adjoint as ad
from adjoint import nn


class Regressor:
    def __init__(self, features):
        self.net = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 1))
        self.optimizer = ad.optim.Adam(self.net.parameters(), lr=0.01)

    def fit(self, x, y, epochs=30):
        self.net.train()
        for _ in range(epochs):
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.net(x), y)
            loss.backward()
            self.optimizer.step()
        return self

    def predict(self, x):
        with ad.no_grad():
            return self.net(x)  # guilty


ad.manual_seed(0)
x = ad.randn(80, 4)
y = x[:, :1] + 2 * x[:, 1:2]
predicted = Regressor(4).fit(x, y).predict(ad.ones(5, 4))
print("spread of five equal samples", predicted.std().item())
