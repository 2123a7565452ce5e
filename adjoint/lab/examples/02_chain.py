"""(x + y)²

The chain rule: what arrives, times the local derivative.
"""

import adjoint as ad

x = ad.tensor(2.0, requires_grad=True)
y = ad.tensor(3.0, requires_grad=True)
s = x + y
z = s ** 2
z.backward()
