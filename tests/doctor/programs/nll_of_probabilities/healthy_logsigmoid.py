"""Two log-sigmoids stacked are log-probabilities of two classes."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
tokens = ad.randint(0, 15, (50, 4))
labels = (tokens[:, 0] > 7).long()
embedding = nn.Embedding(15, 6)
classifier = nn.Linear(24, 1)
optimizer = ad.optim.Adam([*embedding.parameters(), *classifier.parameters()], lr=0.02)

for _ in range(40):
    optimizer.zero_grad()
    logit = classifier(embedding(tokens).flatten(1))
    log_probabilities = nn.functional.logsigmoid(ad.cat([-logit, logit], dim=1))
    loss = nn.functional.nll_loss(log_probabilities, labels)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
