"""The output embedding is 'tied' by loading the input embedding's state, which copies the values once."""
import adjoint as ad
from adjoint import nn


class Seq2Bag(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.source = nn.Embedding(vocab, dim)
        self.target = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.tie_weights()

    def tie_weights(self):
        self.target.load_state_dict(self.source.state_dict())  # guilty

    def forward(self, tokens):
        h = ad.tanh(self.mix(self.source(tokens).mean(1)))
        return h @ self.target.weight.t()


ad.manual_seed(3)
tokens = ad.randint(0, 15, (40, 5))
model = Seq2Bag(15, 10)
opt = ad.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(30):
    loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), ad.equal(model.source.weight, model.target.weight))
