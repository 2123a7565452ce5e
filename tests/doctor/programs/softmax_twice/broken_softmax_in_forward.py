"""forward() returns probabilities, which are flattened and given to cross_entropy as if they were logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, vocabulary=20, tags=4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(24, tags)

    def forward(self, sentence):
        states, _ = self.lstm(self.embedding(sentence))
        return F.softmax(self.hidden2tag(states), dim=-1)  # guilty


def main():
    torch.manual_seed(0)
    sentences = torch.randint(0, 20, (24, 6))
    tags = sentences % 4
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(15):
        scores = model(sentences)
        loss = F.cross_entropy(scores.view(-1, 4), tags.view(-1))  # guilty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
