"""The sentence vectors are stacked with their history; .data is read for a printed norm only."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SentenceEncoder(nn.Module):
    def __init__(self, vocab_size, emb_dim, hidden_dim):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, emb_dim)
        self.rnn = nn.GRU(emb_dim, hidden_dim)

    def forward(self, sentence):
        _, h = self.rnn(self.word_embeddings(sentence).unsqueeze(1))
        return h.view(-1)


class DocumentClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, emb_dim=8, hidden_dim=12):
        super().__init__()
        self.encoder = SentenceEncoder(vocab_size, emb_dim, hidden_dim)
        self.attention = nn.Linear(hidden_dim, 1)
        self.fc = nn.Linear(hidden_dim, n_classes)

    def forward(self, document):
        vectors = []
        for sentence in document:
            v = self.encoder(sentence)
            vectors.append(v)
        self.last_norm = vectors[-1].data.norm()
        vectors = torch.stack(vectors)
        weights = F.softmax(self.attention(vectors), dim=0)
        return self.fc((weights * vectors).sum(0, keepdim=True))


def make_document():
    sentences = [torch.randint(0, 30, (int(n),)) for n in torch.randint(2, 6, (3,))]
    label = torch.tensor([int(torch.cat(sentences).float().mean() > 15)])
    return sentences, label


torch.manual_seed(7)
documents = [make_document() for _ in range(10)]
model = DocumentClassifier(30, 2)
n_params = sum(p.numel() for p in model.parameters())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)
for epoch in range(8):
    total, correct = 0.0, 0
    for document, label in documents:
        model.zero_grad()
        logits = model(document)
        loss = F.cross_entropy(logits, label)
        loss.backward()
        optimizer.step()
        total += loss.item()
        correct += int(logits.argmax() == label)
    scheduler.step()
print(f"{n_params} parameters, loss {total / len(documents):.3f}, accuracy {correct / len(documents):.2f}")
