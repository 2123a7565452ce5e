"""The scores of the classes are sigmoids, which nll_loss takes for log-probabilities and makes as large as it can."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
tokens = ad.randint(0, 15, (50, 4))
labels = (tokens[:, 0] > 7).long()
embedding = nn.Embedding(15, 6)
classifier = nn.Linear(24, 2)
optimizer = ad.optim.Adam([*embedding.parameters(), *classifier.parameters()], lr=0.02)

for _ in range(25):
    optimizer.zero_grad()
    scores = ad.sigmoid(classifier(embedding(tokens).flatten(1)))
    loss = nn.functional.nll_loss(scores, labels)  # guilty
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
