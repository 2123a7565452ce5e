"""Backward, gradients, hooks and flags. See wrong_calls.py."""

from __future__ import annotations

import copy

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "grad can be implicitly created only for scalar outputs (this one has shape [3])\n"
    "  made  {made}\n"
    "  fix: reduce it: y.sum().backward() or y.mean().backward(), or weight its elements: "
    "y.backward(gradient=torch.ones_like(y))",
)
def backward_of_a_vector(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2  # made
    y.backward()


@wrong(
    RuntimeError,
    "grad can be implicitly created only for scalar outputs (this one has shape [3])\n"
    "  made  {made}\n"
    "  fix: reduce it: y.sum().backward() or y.mean().backward(), or weight its elements: "
    "y.backward(gradient=torch.ones_like(y))",
)
def grad_of_a_vector(torch):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.grad(x * 2, x)  # made


@wrong(
    RuntimeError,
    "grad can be implicitly created only for real scalar outputs but got torch.complex64",
)
def backward_of_a_complex_scalar(torch):
    x = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    (x * 2).backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  fix: make the inputs with requires_grad=True, and compute the result outside no_grad(), without detach(), .data, "
    ".item(), .numpy() or torch.tensor(...) in between; setting requires_grad on the result itself does not reach the "
    "inputs",
)
def backward_of_a_constant(torch):
    (torch.ones(3) * 2).sum().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: .data on line {cut.line} cut the graph: leave it out where gradients shall flow",
)
def backward_after_data(torch):
    x = torch.ones((), requires_grad=True)
    y = (x * 2).data  # cut
    y.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: the conversion to torch.int64 on line {cut.line} cut the graph: leave it out where gradients shall flow",
)
def backward_after_conversion_to_integers(torch):
    x = torch.ones((), requires_grad=True)
    y = (x * 2).long()  # cut
    y.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: torch.tensor(...) on line {cut.line} cut the graph: use the tensor itself, and torch.stack(tensors) to join several",
)
def backward_after_wrapping_again(torch):
    x = torch.ones((), requires_grad=True)
    y = torch.tensor(x * 2)  # cut
    y.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: detach() on line {cut.line} cut the graph: leave it out where gradients shall flow",
)
def backward_after_detach(torch):
    x = torch.ones(3, requires_grad=True)
    loss = (x * 2).sum().detach()  # cut
    loss.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: compute it outside no_grad(), and where grad mode was turned off with set_grad_enabled(False), turn it on again",
)
def backward_after_no_grad(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():  # cut
        loss = (x * 2).sum()
    loss.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  fix: argmax() has no derivative: use something smooth in its place, such as softmax for argmax, sigmoid for a comparison, "
    "or give the values themselves to the loss",
)
def backward_of_an_integer(torch):
    x = torch.ones(3, requires_grad=True)
    x.argmax().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: compute with the tensor itself; .item(), .tolist() and .numpy() give plain numbers, which have no history",
)
def backward_after_rewrapping(torch):
    x = torch.ones(3, requires_grad=True)
    torch.tensor((x * 2).sum().item()).backward()  # cut


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time. (at MulBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {freed}\n"
    "  now       {now}\n"
    "  fix: sum the losses and call backward() once, or pass retain_graph=True to the first backward on line {freed.line}",
)
def backward_twice(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()  # recorded
    y.backward()  # freed
    y.backward()  # now


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time. (at MulBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {now}\n"
    "  now       {now}\n"
    "  fix: cut off the state that line {recorded.line} carries over: state = state.detach()",
)
def backward_twice_in_a_loop(torch):
    w = torch.ones(1, requires_grad=True)
    state = torch.ones(1)
    for _ in range(2):
        state = state * w  # recorded
        state.sum().backward()  # now


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time. (at ExpBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {freed}\n"
    "  now       {now}\n"
    "  fix: sum the losses and call backward() once, or pass retain_graph=True to the first backward on line {freed.line}",
)
def two_losses_on_one_graph(torch):
    x = torch.ones(3, requires_grad=True)
    shared = x.exp()  # recorded
    first, second = shared.sum(), (shared * 2).sum()
    first.backward()  # freed
    second.backward()  # now


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time. (at PowBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {freed}\n"
    "  now       {now}\n"
    "  fix: sum the losses and call backward() once, or pass retain_graph=True to the first backward on line {freed.line}",
)
def grad_twice(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x**2).sum()  # recorded
    torch.autograd.grad(y, x)  # freed
    torch.autograd.grad(y, x)  # now


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time.\n"
    "  freed  {freed}",
)
def saved_tensors_after_backward(torch):
    x = torch.ones(3, requires_grad=True)
    y = x**2
    y.sum().backward()  # freed
    return y.grad_fn._saved_self


@wrong(
    RuntimeError,
    "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([3]).\n"
    "  fix: pass a gradient of the output's shape, for example torch.ones_like(output)",
)
def gradient_of_the_wrong_shape(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward(torch.ones(2))


@wrong(
    TypeError,
    "gradients can be either Tensors or None, but got float",
)
def gradient_that_is_a_list(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward([1.0, 1.0, 1.0])


@wrong(
    RuntimeError,
    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
    "grad_output[0] has a dtype of torch.complex64 and output[0] has a dtype of torch.float32.",
)
def gradient_of_complex_for_real(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).backward(torch.ones(3, dtype=torch.complex64))


@wrong(
    RuntimeError,
    "`inputs` argument to `backward()` cannot be empty.",
)
def backward_with_empty_inputs(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward(inputs=[])


@wrong(
    RuntimeError,
    "can't retain_grad on Tensor that has requires_grad=False\n  fix: call x.requires_grad_() before the computation",
)
def backward_with_inputs_without_grad(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward(inputs=[torch.ones(1)])


@wrong(
    RuntimeError,
    "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior. It has shape [2].\n"
    "  fix: y has no part in the output: pass the very tensor that the output was computed from, not a copy, a view or an "
    "earlier value of it",
)
def grad_of_an_unused_input(torch):
    x, y = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.grad((x * 2).sum(), [x, y])


@wrong(
    RuntimeError,
    "One of the differentiated Tensors does not require grad (input 1, shape [2])\n  fix: call c.requires_grad_() before the computation",
)
def grad_of_an_input_without_grad(torch):
    x, c = torch.ones(3, requires_grad=True), torch.ones(2)
    torch.autograd.grad((x * 2).sum(), [x, c])


@wrong(
    ValueError,
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
)
def grad_materialized_but_not_unused(torch):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)


@wrong(
    RuntimeError,
    "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior. It has shape [3].\n"
    "  fix: pass the very tensor that the output was computed from, not a copy, a view or an earlier value of it",
)
def grad_with_respect_to_a_copy(torch):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.grad((x * 2).sum(), x.clone())


@wrong(
    RuntimeError,
    "got 2 tensors and 1 gradients",
)
def fewer_gradients_than_outputs(torch):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.backward([x * 2, x * 3], [torch.ones(3)])


@wrong(
    RuntimeError,
    "only Tensors of floating point and complex dtype can require gradients (this one is torch.int64)\n"
    "  fix: make it floating point first, for example x.float().requires_grad_()",
    words=5,
)
def integers_that_require_grad(torch):
    torch.ones(3, dtype=torch.int64).requires_grad_()


@wrong(
    RuntimeError,
    "Only Tensors of floating point and complex dtype can require gradients: this one would be torch.int64; pass dtype=adjoint.float32",
)
def tensor_of_integers_that_requires_grad(torch):
    torch.tensor([1, 2, 3], requires_grad=True)


@wrong(
    RuntimeError,
    "Only Tensors of floating point and complex dtype can require gradients: this one would be torch.int64; pass dtype=adjoint.float32",
)
def zeros_of_integers_that_require_grad(torch):
    torch.zeros(3, dtype=torch.int64, requires_grad=True)


@wrong(
    RuntimeError,
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
    "doesn't require differentiation use var_no_grad = var.detach().",
)
def result_told_not_to_require_grad(torch):
    y = torch.ones(3, requires_grad=True) * 2
    y.requires_grad = False


@wrong(
    RuntimeError,
    "you can only change requires_grad flags of leaf variables.\n"
    "  fix: leave the line out, for this tensor requires grad already, or make it a leaf: x = x.detach().requires_grad_()",
)
def result_told_to_require_grad(torch):
    y = torch.ones(3, requires_grad=True) * 2
    y.requires_grad = True


@wrong(
    RuntimeError,
    "can't retain_grad on Tensor that has requires_grad=False\n  fix: call x.requires_grad_() before the computation",
)
def retain_grad_of_a_constant(torch):
    torch.ones(3).retain_grad()


@wrong(
    RuntimeError,
    "cannot register a hook on a tensor that doesn't require gradient\n  fix: call x.requires_grad_() before the computation",
)
def hook_on_a_constant(torch):
    torch.ones(3).register_hook(print)


@wrong(
    RuntimeError,
    "cannot register a hook on a tensor that doesn't require gradient",
)
def accumulation_hook_on_a_constant(torch):
    torch.ones(3).register_post_accumulate_grad_hook(print)


@wrong(
    RuntimeError,
    "post accumulate grad hooks cannot be registered on non-leaf tensors",
)
def accumulation_hook_on_a_result(torch):
    (torch.ones(3, requires_grad=True) * 2).register_post_accumulate_grad_hook(print)


@wrong(
    TypeError,
    "expected Variable, but hook returned 'float' (hook '<lambda>')\n"
    "  registered  {registered}\n"
    "  fix: return a tensor like the one that came in, or nothing to leave it as it is",
)
def hook_that_returns_a_number(torch):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda grad: 1.0)  # registered
    x.sum().backward()


@wrong(
    RuntimeError,
    "hook '<lambda>' has changed the size of value: it was given torch.Size([3]) and returned torch.Size([])\n"
    "  registered  {registered}\n"
    "  fix: return a gradient of the shape that came in, [3]",
)
def hook_that_changes_the_shape(torch):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad.sum())  # registered
    x.sum().backward()


@wrong(
    RuntimeError,
    "hook '<lambda>' has changed the type of value: it was given torch.float32 and returned torch.float64\n"
    "  registered  {registered}\n"
    "  fix: return a gradient of the dtype that came in, torch.float32",
)
def hook_that_changes_the_dtype(torch):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad.double())  # registered
    x.sum().backward()


@wrong(
    RuntimeError,
    "hook '<lambda>' has returned an incorrect number of values (got 2, but expected 1)\n"
    "  registered  {registered}\n"
    "  fix: return a tuple with a gradient or None for each that came in, or return nothing",
)
def node_hook_with_too_many_gradients(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))  # registered
    y.sum().backward()


@wrong(
    TypeError,
    "expected Variable, but hook returned 'float' (hook '<lambda>')\n"
    "  registered  {registered}\n"
    "  fix: return a tensor like the one that came in, or nothing to leave it as it is",
)
def node_hook_that_returns_a_number(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (1.0,))  # registered
    y.sum().backward()


@wrong(
    ValueError,
    "Expects mode to be one of ('all', 'any') but got some",
)
def multi_grad_hook_of_an_unknown_mode(torch):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook([x], print, mode="some")


@wrong(
    TypeError,
    "assigned grad expected to be a Tensor or None but got grad of type str",
)
def grad_that_is_a_string(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = "zero"


@wrong(
    RuntimeError,
    "attempting to assign a gradient of size '[2]' to a tensor of size '[3]'. Please ensure that the gradient and the "
    "tensor are the same size",
)
def grad_of_another_shape(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(2)


@wrong(
    RuntimeError,
    "attempting to assign a gradient with dtype 'torch.float64' to a tensor with grad_dtype 'torch.float32'\n"
    "  fix: x.grad = g.to(torch.float32), or x.grad_dtype = torch.float64 before",
)
def grad_of_another_dtype(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(3, dtype=torch.float64)


@wrong(
    RuntimeError,
    "attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'. Please ensure that the "
    "gradient and the tensor are on the same device",
)
def grad_on_another_device(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.ones(3, device="meta")


@wrong(
    RuntimeError,
    "can't assign Variable as its own grad",
)
def tensor_as_its_own_grad(torch):
    x = torch.ones(3, requires_grad=True)
    x.grad = x


@wrong(
    TypeError,
    "Variable data has to be a tensor, but got list",
)
def data_that_is_a_list(torch):
    x = torch.ones(3, requires_grad=True)
    x.data = [1.0]


@wrong(
    RuntimeError,
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: this one was "
    "made by MulBackward0, recorded at {made}\n"
    "  fix: copy.deepcopy(x.detach()), or x.clone() to keep the history",
)
def deepcopy_of_a_result(torch):
    y = torch.ones(3, requires_grad=True) * 2  # made
    copy.deepcopy(y)


@wrong(
    RuntimeError,
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
    "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
    "these gradients. To fix this error, please refer to the Optimizer.zero_grad() function.",
)
def detach_of_a_view_in_place(torch):
    y = torch.ones(3, requires_grad=True) * 2
    y[0].detach_()


@wrong(
    RuntimeError,
    "It is not possible to get the gradient edge for a Tensor that does not require gradients",
)
def gradient_edge_of_a_constant(torch):
    torch.autograd.graph.get_gradient_edge(torch.ones(1))
