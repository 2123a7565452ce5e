"""x² + 3x

One input, two paths: the gradients of both meet again at x. At 2 the slope is 7.
"""

import adjoint as ad

x = ad.tensor(2.0, requires_grad=True)
y = x ** 2 + 3 * x
y.backward()
print(x.grad)
