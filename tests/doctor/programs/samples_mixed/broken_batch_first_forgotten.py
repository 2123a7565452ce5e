"""An LSTM without batch_first gets batches first: it runs over the samples as if they were time."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SentimentLSTM(nn.Module):
    def __init__(self, vocab, dim, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden)  # guilty
        self.fc = nn.Linear(hidden, 2)

    def forward(self, tokens):
        out, _ = self.lstm(self.embedding(tokens))  # guilty
        return self.fc(out[:, -1])


torch.manual_seed(1)
tokens = torch.randint(0, 20, (64, 6))
labels = (tokens[:, 0] > 9).long()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=16, shuffle=True)
model = SentimentLSTM(20, 8, 16)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for tb, yb in loader:
        loss = nn.functional.cross_entropy(model(tb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
