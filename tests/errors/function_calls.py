# mypy: disable-error-code="name-defined, misc"
"""Custom functions, forward mode and anomaly mode. See wrong_calls.py."""

from __future__ import annotations

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "function AddBackward returned an incorrect number of gradients (expected 2, got 1)\n"
    "  applied  {applied}\n"
    "  fix: return one gradient for each argument of Add.forward, None where there is none",
)
def function_with_too_few_gradients(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(3, requires_grad=True)
    Add.apply(x, x).sum().backward()  # applied


@wrong(
    RuntimeError,
    "function AddBackward returned an incorrect number of gradients (expected 1, got 2)\n"
    "  applied  {applied}\n"
    "  fix: return one gradient for each argument of Add.forward, None where there is none",
)
def function_with_too_many_gradients(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g, g

    x = torch.ones(3, requires_grad=True)
    Add.apply(x).sum().backward()  # applied


@wrong(
    RuntimeError,
    "expected Variable or None (got float) as gradient 0 of AddBackward\n"
    "  applied  {applied}\n"
    "  fix: return a tensor: torch.as_tensor(...) where Add.backward computes with other things",
)
def function_with_a_number_for_a_gradient(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return 1.0

    x = torch.ones(3, requires_grad=True)
    Add.apply(x).sum().backward()  # applied


@wrong(
    RuntimeError,
    "Function AddBackward returned an invalid gradient at index 0 - got [2] but expected shape compatible with [3]\n  applied  {applied}",
)
def function_with_a_gradient_of_the_wrong_shape(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g[:2]

    x = torch.ones(3, requires_grad=True)
    Add.apply(x).sum().backward()  # applied


@wrong(
    RuntimeError,
    "function ScaleBackward returned a gradient different from None at position 2, but the corresponding forward input was "
    "not a Variable\n"
    "  applied  {applied}",
)
def function_with_a_gradient_for_a_number(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g, g

    x = torch.ones(3, requires_grad=True)
    Scale.apply(x, 2.0).sum().backward()  # applied


@wrong(
    RuntimeError,
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    "static forward method.\n"
    "  fix: put @staticmethod above forward and backward, and write Add.apply(x) instead of Add()(x)",
)
def function_that_is_instantiated(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

    Add()(torch.ones(3, requires_grad=True))


@wrong(
    NotImplementedError,
    "You must implement the forward function for custom autograd.Function.",
)
def function_without_forward(torch):
    class Nothing(torch.autograd.Function):
        pass

    Nothing.apply(torch.ones(3, requires_grad=True))


@wrong(
    NotImplementedError,
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.",
)
def function_without_backward(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

    Add.apply(torch.ones(3, requires_grad=True)).sum().backward()


@wrong(
    RuntimeError,
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them.",
)
def function_with_backward_and_vjp(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    Add.apply(torch.ones(3, requires_grad=True)).sum().backward()


@wrong(
    TypeError,
    "save_for_backward can only save variables, but argument 0 is of type int; keep other values on ctx itself: ctx.size = size",
)
def function_that_saves_a_number(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x + 1

    Add.apply(torch.ones(3, requires_grad=True))


@wrong(
    RuntimeError,
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function.",
)
def function_that_keeps_its_dirty_input(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1) * 2

    Add.apply(torch.ones(3, requires_grad=True) * 1)


@wrong(
    RuntimeError,
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): Add.apply(torch.ones(3, requires_grad=True)), to change the leaf itself; to compute with "
    "other values, write to a copy: x = x.clone()",
)
def function_that_writes_to_a_leaf(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

    Add.apply(torch.ones(3, requires_grad=True))


@wrong(
    RuntimeError,
    "trying to differentiate twice a function that was marked with @once_differentiable",
)
def function_differentiated_twice(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = torch.ones(1, requires_grad=True)
    (slope,) = torch.autograd.grad(Square.apply(x) ** 2, x, create_graph=True)
    slope.backward()


@wrong(
    RuntimeError,
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
)
def dual_without_a_level(torch):
    torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))


@wrong(
    RuntimeError,
    "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
    "Tensor is of size [2] while the given forward gradient is of size [3].",
)
def dual_of_another_shape(torch):
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(3))


@wrong(
    ValueError,
    "Expected primal to be floating point or complex, but got: torch.int64",
)
def dual_of_integers(torch):
    with torch.autograd.forward_ad.dual_level():
        torch.autograd.forward_ad.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))


@wrong(
    RuntimeError,
    "Nested forward mode AD is not supported at the moment",
)
def level_in_a_level(torch):
    with torch.autograd.forward_ad.dual_level(), torch.autograd.forward_ad.dual_level():
        pass


@wrong(
    NotImplementedError,
    "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
)
def function_without_jvp(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

    with torch.autograd.forward_ad.dual_level():
        Add.apply(torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1)))


@wrong(
    RuntimeError,
    "Function 'SqrtBackward0' returned nan values in its 0th output.\n"
    "  gradient that came in: float32 [1] from 0 to 0, 1 zero\n"
    "  its result: float32 [1] from 0 to 0, 1 zero\n"
    "  gradient that went out: float32 [1] no finite values, 1 nan\n"
    "  recorded  {recorded}\n"
    "                                        ^^^^^^^^\n"
    "  fix: the derivative of sqrt at 0 is infinite: write (x + 1e-12).sqrt() or x.clamp(min=1e-12).sqrt()",
)
def nan_in_anomaly_mode(torch):
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.sqrt()  # recorded
        (y * 0).sum().backward()
