"""A shared node

s is used twice, so it waits for two gradients before its own rule runs.
"""

import adjoint as ad

x = ad.tensor(2.0, requires_grad=True)
s = x ** 2
a = 3 * s
b = s ** 2
z = a + b
z.backward()
