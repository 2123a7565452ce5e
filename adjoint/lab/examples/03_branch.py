"""A branch

Only what ran is in the graph. Set use_relu to False and another graph is recorded.
"""

import adjoint as ad

use_relu = True
x = ad.tensor(-1.5, requires_grad=True)
if use_relu:
    y = ad.relu(x)
else:
    y = x ** 2
z = 3 * y
z.backward()
