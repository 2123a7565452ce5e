"""A custom Function

Its forward is one node of the graph, and its backward is the rule of that node.
"""

import adjoint as ad


class Cube(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x ** 2


x = ad.tensor(2.0, requires_grad=True)
y = Cube.apply(x)
z = y / 4
z.backward()
