"""The discriminator gets gradients from the generator's loss, but it is served by an optimizer of its own."""

import torch
import torch.nn as nn


class GAN:
    def __init__(self):
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.g_optimizer = torch.optim.Adam(self.generator.parameters(), lr=2e-3)
        self.d_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=1e-2)
        self.loss = nn.BCEWithLogitsLoss()

    def step(self, real):
        noise = torch.randn(len(real), 4)
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        self.d_optimizer.zero_grad()
        d_loss = self.loss(self.discriminator(real), ones) + self.loss(self.discriminator(self.generator(noise).detach()), zeros)
        d_loss.backward()
        self.d_optimizer.step()
        self.g_optimizer.zero_grad()
        g_loss = self.loss(self.discriminator(self.generator(noise)), ones)
        g_loss.backward()
        self.g_optimizer.step()
        return d_loss.item(), g_loss.item()


torch.manual_seed(0)
gan = GAN()
for _ in range(40):
    losses = gan.step(torch.randn(32, 2) * 0.2 + 1.0)
print("D {:.3f} G {:.3f}".format(*losses))
