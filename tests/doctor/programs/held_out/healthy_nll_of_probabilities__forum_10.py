# GRU over token ids
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
VOCAB, CLASSES, LENGTH = 30, 3, 8


class TextRNN(nn.Module):
    def __init__(self, emb=12, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, CLASSES)

    def forward(self, tokens):
        _, h = self.gru(self.embedding(tokens))
        return F.log_softmax(self.fc(h[-1]), dim=1)


def make_texts(n):
    y = torch.randint(0, CLASSES, (n,))
    tokens = torch.randint(0, VOCAB, (n, LENGTH))
    topic = torch.rand(n, LENGTH) < 0.5
    tokens = torch.where(topic, y.unsqueeze(1) * 10 + torch.randint(0, 10, (n, LENGTH)), tokens)
    return tokens, y


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for tokens, y in loader:
        optimizer.zero_grad()
        output = model(tokens)
        loss = F.nll_loss(output, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


train_loader = DataLoader(TensorDataset(*make_texts(256)), batch_size=32, shuffle=True)
tokens_val, y_val = make_texts(96)
model = TextRNN()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
curve = [train_epoch(model, train_loader, optimizer) for _ in range(8)]
model.eval()
with torch.no_grad():
    acc = (model(tokens_val).argmax(1) == y_val).float().mean().item()
print("loss %.3f -> %.3f val acc %.3f" % (curve[0], curve[-1], acc))
