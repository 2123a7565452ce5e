"""The matrix of scores has the classes in its first dimension, so dim=0 is the right one."""

import adjoint as ad

ad.manual_seed(0)
x = ad.randn(4, 70)
labels = x[:3].argmax(dim=0)
W = (0.1 * ad.randn(3, 4)).requires_grad_()
b = ad.zeros(3, 1, requires_grad=True)
optimizer = ad.optim.SGD([W, b], lr=1.0)

for _ in range(40):
    probabilities = ad.softmax(W @ x + b, dim=0)
    loss = -ad.log(probabilities[labels, ad.arange(70)]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
