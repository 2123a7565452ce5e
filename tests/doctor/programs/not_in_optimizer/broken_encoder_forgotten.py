"""The optimizer is given the decoder's parameters only, and the encoder is trained by nobody."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Seq2Vec:
    def __init__(self):
        self.embedding = nn.Embedding(12, 6)
        self.encoder = nn.LSTM(6, 10, batch_first=True)
        self.decoder = nn.Linear(10, 12)
        self.optimizer = ad.optim.Adam(self.decoder.parameters(), lr=1e-2)  # guilty

    def fit(self, tokens, targets, epochs):
        for _ in range(epochs):
            self.optimizer.zero_grad()
            states, _ = self.encoder(self.embedding(tokens))  # guilty
            loss = nn.functional.cross_entropy(self.decoder(states[:, -1]), targets)
            loss.backward()
            self.optimizer.step()
        return loss.item()


tokens = ad.randint(0, 12, (32, 6))
print(f"{Seq2Vec().fit(tokens, tokens[:, 0], 15):.4f}")
