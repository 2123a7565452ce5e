"""The encoder that is to be trained runs under no_grad, left over from an experiment with a frozen one."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(10, 8)
        self.decoder = nn.GRU(4, 8, batch_first=True)
        self.out = nn.Linear(8, 5)

    def forward(self, image, tokens):
        with ad.no_grad():  # guilty
            h0 = ad.tanh(self.encoder(image)).unsqueeze(0)
        states, _ = self.decoder(tokens, h0)
        return self.out(states)


images, tokens = ad.randn(20, 10), ad.randn(20, 6, 4)
targets = images[:, :5].argmax(1).unsqueeze(1).expand(20, 6)
model = Captioner()
optimizer = ad.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(25):
    optimizer.zero_grad()
    scores = model(images, tokens)
    loss = nn.functional.cross_entropy(scores.reshape(-1, 5), targets.reshape(-1))
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
