# mypy: disable-error-code="name-defined, misc"
"""In-place writes: refused at once, or found out by backward. See wrong_calls.py."""

from __future__ import annotations

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): x.add_(1), to change x itself; to compute with other values, write to a copy: x = x.clone()",
)
def write_to_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    x.add_(1)


@wrong(
    RuntimeError,
    "a view of a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): x[0] = 5, to change x itself; to compute with other values, write to a copy: x = x.clone()",
)
def assignment_to_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    x[0] = 5


@wrong(
    RuntimeError,
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): x -= 0.1, to change x itself; to compute with other values, write to a copy: x = x.clone()",
)
def augmented_assignment_to_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    x -= 0.1


@wrong(
    RuntimeError,
    "a view of a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): x[:2].mul_(2), to change x itself; to compute with other values, write to a copy: x = "
    "x.clone()",
)
def write_to_a_view_of_a_leaf(torch):
    x = torch.ones(3, requires_grad=True)
    x[:2].mul_(2)


@wrong(
    RuntimeError,
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation.\n"
    "  fix: x = x.clone() before writing to it (an expanded tensor repeats one element many times)",
)
def write_to_an_expanded_tensor(torch):
    torch.ones(1).expand(3).add_(1)


@wrong(
    RuntimeError,
    "output with shape [3] doesn't match the broadcast shape [2, 3]\n"
    "  fix: an in-place write cannot grow its target; use the out-of-place form, x = torch.add(x, ...)",
)
def write_that_would_grow(torch):
    torch.ones(3).add_(torch.ones(2, 3))


@wrong(
    RuntimeError,
    "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0 (the shapes are [3] and [2])",
)
def write_of_an_incompatible_shape(torch):
    torch.ones(3).add_(torch.ones(2))


@wrong(
    RuntimeError,
    "result type Float can't be cast to the desired output type Long\n"
    "  fix: use the out-of-place form, or convert the target first: x = x.to(torch.float32)",
)
def write_of_fractions_to_integers(torch):
    torch.ones(3, dtype=torch.int64).add_(0.5)


@wrong(
    RuntimeError,
    "result type ComplexFloat can't be cast to the desired output type Float\n"
    "  fix: use the out-of-place form, or convert the target first: x = x.to(torch.complex64)",
)
def write_of_complex_to_real(torch):
    torch.ones(3).mul_(1j)


@wrong(
    RuntimeError,
    "result type Float can't be cast to the desired output type Long\n"
    "  fix: use the out-of-place form, or convert the target first: x = x.to(torch.float32)",
)
def division_of_integers_in_place(torch):
    torch.ones(3, dtype=torch.int64).div_(2)


@wrong(
    RuntimeError,
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
    "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked).",
)
def write_to_a_view_made_without_grad(torch):
    y = torch.ones(3, requires_grad=True) * 2
    with torch.no_grad():
        view = y[0]
    view.mul_(2)


@wrong(
    RuntimeError,
    "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace "
    "operation by an out-of-place one.\n"
    "  fix: take the parts one by one, x[i] or x.narrow(dim, start, length): those may be written to",
)
def write_to_one_of_several_views(torch):
    a, _ = (torch.ones(2, requires_grad=True) * 2).unbind()
    a.mul_(2)


@wrong(
    RuntimeError,
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
    "before doing inplace update.\n"
    "  fix: x = x.clone() first, or compute x under no_grad instead of inference_mode",
)
def write_to_an_inference_tensor(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    x.add_(1)


@wrong(
    RuntimeError,
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it "
    "in autograd.\n"
    "  fix: x = x.clone() outside inference_mode, or compute x under no_grad instead of inference_mode",
)
def inference_tensor_saved_for_backward(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    torch.ones(3, requires_grad=True) * x


@wrong(
    RuntimeError,
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
)
def inference_tensor_that_requires_grad(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    x.requires_grad_()


@wrong(
    RuntimeError,
    "Inference tensors do not track version counter.",
)
def version_of_an_inference_tensor(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    return x._version


@wrong(
    RuntimeError,
    "mul(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
    "grad.\n"
    "  fix: result = torch.mul(...) without out=, or wrap the call in torch.no_grad()",
)
def out_of_a_recorded_call(torch):
    x = torch.ones(3, requires_grad=True)
    torch.mul(x, 2, out=torch.empty(3))


@wrong(
    RuntimeError,
    "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
    "grad.\n"
    "  fix: result = torch.add(...) without out=, or wrap the call in torch.no_grad()",
)
def out_that_requires_grad(torch):
    torch.add(torch.ones(3), 1, out=torch.empty(3, requires_grad=True))


@wrong(
    RuntimeError,
    "result type Float can't be cast to the desired output type Long\n"
    "  fix: use the out-of-place form, or convert the target first: x = x.to(torch.float32)",
)
def out_of_another_dtype(torch):
    torch.add(torch.ones(3), 0.5, out=torch.empty(3, dtype=torch.int64))


@wrong(
    RuntimeError,
    "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0",
)
def copy_of_the_wrong_shape(torch):
    torch.ones(3).copy_(torch.ones(2))


@wrong(
    RuntimeError,
    "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 0.  Target sizes: [2]."
    "  Tensor sizes: [3]",
)
def assignment_of_the_wrong_shape(torch):
    torch.ones(3)[:2] = torch.ones(3)


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Add, is at version 1; expected version 0 instead. MulBackward0 needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = y.add(1)",
)
def inplace_factor(torch):
    x = torch.ones(3, requires_grad=True)
    y = x + 1  # made
    z = y * y  # used
    y.add_(1)  # changed
    z.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Exp, is at version 1; expected version 0 instead. ExpBackward0 needs y as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = y + 1",
)
def inplace_own_result_of_exp(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()  # made
    y += 1  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Sigmoid, is at version 1; expected version 0 instead. SigmoidBackward0 needs y as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = y.mul(2)",
)
def inplace_own_result_of_sigmoid(torch):
    x = torch.ones(3, requires_grad=True)
    y = torch.sigmoid(x)  # made
    y.mul_(2)  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Relu, is at version 1; expected version 0 instead. ReluBackward0 needs y as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write y = y.clone() before line {changed.line}, so that the values before stay there for backward",
)
def inplace_own_result_of_relu(torch):
    x = torch.ones(3, requires_grad=True)
    y = torch.relu(x)  # made
    y[0] = 0  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Softmax, is at version 1; expected version 0 instead. SoftmaxBackward0 needs p as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write p = p.clone() before line {changed.line}, so that the values before stay there for backward",
)
def inplace_masked_softmax(torch):
    x = torch.ones(3, requires_grad=True)
    p = torch.softmax(x, 0)  # made
    p[torch.tensor([True, False, False])] = 0  # changed
    p.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2, "
    "2]] is at version 1; expected version 0 instead. MmBackward0 needs w as one of its inputs.\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: call backward() before line {changed.line} changes w, or compute what line {used.line} computes again after that",
)
def inplace_weight_between_forward_and_backward(torch):
    w = torch.ones(2, 2, requires_grad=True)
    y = w @ w  # used
    with torch.no_grad():
        w -= 0.1  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]] "
    "is at version 1; expected version 0 instead. MulBackward0 needs w as one of its inputs.\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: w was changed by the optimizer on line {changed.line} after line {used.line} had used it: compute that again after "
    "the step, or call backward() before it",
)
def inplace_step_before_a_second_backward(torch):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()  # used
    loss.backward(retain_graph=True)
    optimizer.step()  # changed
    loss.backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Mul, is at version 1; expected version 0 instead. PowBackward0 needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write y = y.clone() before line {changed.line}, so that the values before stay there for backward",
)
def inplace_assignment_to_an_input_of_pow(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2  # made
    z = y**2  # used
    y[0] = 0  # changed
    z.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], "
    "which is output 0 of Slice, is at version 1; expected version 0 instead. SinBackward0 needs v as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = torch.zeros_like(y)",
)
def inplace_base_of_a_saved_view(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    v = y[1:]  # made
    z = v.sin()  # used
    y.zero_()  # changed
    z.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Mul, is at version 1; expected version 0 instead. CosBackward0 needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write y = y.clone() before line {changed.line}, so that the values before stay there for backward",
)
def inplace_view_of_a_saved_tensor(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2  # made
    z = y.cos()  # used
    y[:2].mul_(3)  # changed
    z.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Mul, is at version 1; expected version 0 instead. MulBackward0 needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write y = y.clone() before line {changed.line}, so that the values before stay there for backward",
)
def inplace_through_detach(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2  # made
    z = y * y  # used
    y.detach().zero_()  # changed
    z.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1]], "
    "which is output 0 of Tanh, is at version 1; expected version 0 instead. TanhBackward0 needs h as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as h = h * 2",
)
def inplace_hidden_state_in_a_loop(torch):
    w = torch.ones(1, requires_grad=True)
    h = torch.ones(1)
    for _ in range(2):
        h = torch.tanh(h * w)  # made
        h *= 2  # changed
    h.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor []], "
    "which is output 0 of Sum, is at version 1; expected version 0 instead. DivBackward0 needs norm as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as norm = norm.clamp(min=1)",
)
def inplace_divisor(torch):
    x = torch.ones(3, requires_grad=True)
    norm = x.sum()  # made
    y = x / norm  # used
    norm.clamp_(min=1)  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]] "
    "is at version 1; expected version 0 instead. MulBackward0 needs scale as one of its inputs.\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as scale = scale + 1",
)
def inplace_constant(torch):
    x = torch.ones(3, requires_grad=True)
    scale = torch.ones(3)
    y = x * scale  # used
    scale += 1  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Add, is at version 1; expected version 0 instead. PowBackward0 needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = y.add(1)",
)
def inplace_before_double_backward(torch):
    x = torch.ones(3, requires_grad=True)
    y = x + 1  # made
    (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)  # used
    y.add_(1)  # changed
    g.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Add, is at version 1; expected version 0 instead. SquareBackward needs y as one of its inputs.\n"
    "  made     {made}\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = torch.zeros_like(y)",
)
def inplace_saved_by_a_function(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    y = torch.ones(3, requires_grad=True) + 1  # made
    z = Square.apply(y)  # used
    y.zero_()  # changed
    z.sum().backward()
