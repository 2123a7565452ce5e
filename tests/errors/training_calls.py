# mypy: disable-error-code="name-defined, misc, no-untyped-def"
"""Programs of the kind that users ask about: graphs, writes in place, optimizers and custom functions in training. See wrong_calls.py."""

from __future__ import annotations

from importlib import import_module

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1, "
    "8]] is at version 2; expected version 1 instead. AddmmBackward0 needs critic.2.weight as one of its inputs.\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: critic.2.weight was changed by the optimizer on line {changed.line} after line {used.line} had used it: compute "
    "that again after the step, or call backward() before it",
)
def gan_that_steps_the_critic_first(torch):
    nn = torch.nn
    generator, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(critic.parameters())
    fake = generator(torch.ones(5, 4))
    generator_loss = -critic(fake).mean()  # used
    critic(fake.detach()).mean().backward()
    optimizer.step()  # changed
    generator_loss.backward()


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time. (at MulBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {now}\n"
    "  now       {now}\n"
    "  fix: cut off the state that line {recorded.line} carries over: h = h.detach()",
)
def recurrent_state_of_the_step_before(torch):
    cell = torch.nn.GRUCell(3, 4)
    h = torch.zeros(2, 4)
    for _ in range(2):
        h = cell(torch.ones(2, 3), h)  # recorded
        h.pow(2).mean().backward()  # now


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [4, "
    "4]] is at version 3; expected version 2 instead. AddmmBackward0 needs cell.weight_hh as one of its inputs.\n"
    "  used     {used}\n"
    "  changed  {changed}\n"
    "  fix: cell.weight_hh was changed by the optimizer on line {changed.line} after line {used.line} had used it: compute "
    "that again after the step, or call backward() before it; cut off the state that line {used.line} carries over: h = "
    "h.detach()",
)
def retained_graph_over_steps(torch):
    cell = torch.nn.RNNCell(3, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(3):
        h = cell(torch.ones(2, 3), h)  # used
        h.pow(2).mean().backward(retain_graph=True)
        optimizer.step()  # changed


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time. (at RecurrentLayerBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {now}\n"
    "  now       {now}\n"
    "  fix: cut off the state that line {recorded.line} carries over: h, c = h.detach(), c.detach()",
)
def states_of_an_lstm_in_a_tuple(torch):
    lstm = torch.nn.LSTM(3, 4)
    h, c = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    for _ in range(2):
        out, (h, c) = lstm(torch.ones(5, 2, 3), (h, c))  # recorded
        out.sum().backward()  # now


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2, "
    "4]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead. SigmoidBackward0 needs h as its own "
    "result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: line {changed.line} calls a layer that writes into its input (net.act): nn.ReLU(inplace=True) -> "
    "nn.ReLU(inplace=False)",
)
def relu_layer_that_writes_into_its_input(torch):
    class Gate(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.act = torch.nn.ReLU(inplace=True)

        def forward(self, x):
            h = torch.sigmoid(self.linear(x))  # made
            return h * self.act(h)  # changed

    net = Gate()
    net(torch.ones(2, 4)).sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [4]], "
    "which is output 0 of Exp, is at version 1; expected version 0 instead. ExpBackward0 needs h as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: leave inplace=True out on line {changed.line}: torch.nn.functional.relu(h)",
)
def relu_with_inplace_after_exp(torch):
    x = torch.ones(4, requires_grad=True)
    h = torch.exp(x)  # made
    y = torch.nn.functional.relu(h, inplace=True)  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1, "
    "3]], which is output 0 of Unsqueeze, is at version 4; expected version 3 instead. MmBackward0 needs it as one of its "
    "inputs.\n"
    "  made     {changed}\n"
    "  used     {changed}\n"
    "  changed  {changed}\n"
    "  fix: collect the parts in a list, parts.append(...) in place of line {changed.line}, and join them after the loop: "
    "hidden = torch.stack(parts)",
)
def rows_of_a_buffer(torch):
    w = torch.eye(3, requires_grad=True)
    hidden = torch.zeros(5, 3)
    for t in range(1, 5):
        hidden[t] = torch.tanh(hidden[t - 1] @ w)  # changed
    hidden.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Select, is at version 3; expected version 2 instead. PowBackward0 needs it as one of its inputs.\n"
    "  made     {changed}\n"
    "  used     {changed}\n"
    "  changed  {changed}\n"
    "  fix: collect the parts in a list, parts.append(...) in place of line {changed.line}, and join them after the loop: out "
    "= torch.stack(parts, 1)",
)
def columns_of_a_buffer(torch):
    w = torch.ones(3, requires_grad=True)
    out = torch.zeros(3, 4)
    for t in range(1, 4):
        out[:, t] = w * out[:, t - 1] ** 2  # changed
    out.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], "
    "which is output 0 of Exp, is at version 1; expected version 0 instead. ExpBackward0 needs y as its own result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as y = y / y.sum()",
)
def normalized_in_place(torch):
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).exp()  # made
    y /= y.sum()  # changed
    y.sum().backward()


@wrong(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3, "
    "3]], which is output 0 of Softmax, is at version 1; expected version 0 instead. SoftmaxBackward0 needs p as its own "
    "result.\n"
    "  made     {made}\n"
    "  used     {made}\n"
    "  changed  {changed}\n"
    "  fix: write line {changed.line} as p = p.masked_fill(torch.eye(3).bool(), 0.0)",
)
def masked_in_place(torch):
    scores = torch.ones(3, 3, requires_grad=True)
    p = scores.softmax(-1)  # made
    p.masked_fill_(torch.eye(3).bool(), 0.0)  # changed
    p.sum().backward()


@wrong(
    RuntimeError,
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): w -= 0.1 * w.grad, to change w itself; to compute with other values, write to a copy: w = "
    "w.clone()",
)
def update_without_no_grad(torch):
    w = torch.ones(3, requires_grad=True)
    (w**2).sum().backward()
    w -= 0.1 * w.grad


@wrong(
    RuntimeError,
    "a leaf Variable that requires grad is being used in an in-place operation.\n"
    "  fix: with torch.no_grad(): layer.weight.fill_(0.5), to change layer.weight itself; to compute with other values, write "
    "to a copy: weight = layer.weight.clone()",
)
def weights_set_by_hand(torch):
    layer = torch.nn.Linear(3, 2)
    layer.weight.fill_(0.5)


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time. (at TanhBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {freed}\n"
    "  now       {now}\n"
    "  fix: sum the losses and call backward() once, or pass retain_graph=True to the first backward on line {freed.line}",
)
def two_losses_of_one_encoder(torch):
    encoder, a, b = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    h = torch.tanh(encoder(torch.ones(3, 2)))  # recorded
    first, second = a(h).mean(), b(h).mean()
    first.backward()  # freed
    second.backward()  # now


@wrong(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
    "if you need to backward through the graph a second time. (at PowBackward0)\n"
    "  recorded  {recorded}\n"
    "  freed     {now}\n"
    "  now       {now}\n"
    "  fix: line {recorded.line} runs once, before the loop: compute it again inside the loop",
)
def loss_computed_before_the_loop(torch):
    net = torch.nn.Linear(2, 1)
    loss = (net(torch.ones(3, 2)) ** 2).mean()  # recorded
    for _ in range(2):
        loss.backward()  # now


@wrong(
    RuntimeError,
    "grad can be implicitly created only for scalar outputs (this one has shape [4, 1])\n"
    "  made  {made}\n"
    "  fix: reduce it: loss.sum().backward() or loss.mean().backward(), or weight its elements: "
    "loss.backward(gradient=torch.ones_like(loss))",
)
def loss_of_each_sample(torch):
    net = torch.nn.Linear(2, 1)
    loss = torch.nn.MSELoss(reduction="none")(net(torch.ones(4, 2)), torch.zeros(4, 1))  # made
    loss.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: ne() on line {cut.line} has no derivative: use something smooth in its place, such as softmax for argmax, sigmoid "
    "for a comparison, or give the values themselves to the loss",
)
def accuracy_as_a_loss(torch):
    net = torch.nn.Linear(2, 3)
    predicted = net(torch.ones(4, 2)).argmax(1)
    loss = (predicted != torch.zeros(4)).float().mean()  # cut
    loss.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  fix: no parameter of net requires grad: net.requires_grad_() before the computation",
)
def frozen_model(torch):
    net = torch.nn.Linear(2, 3)
    for parameter in net.parameters():
        parameter.requires_grad = False
    net(torch.ones(4, 2)).mean().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: compute it outside no_grad(), and where grad mode was turned off with set_grad_enabled(False), turn it on again",
)
def evaluation_that_is_trained_on(torch):
    net = torch.nn.Linear(2, 1)

    @torch.no_grad()  # cut
    def loss_of(x):
        return net(x).mean()

    loss_of(torch.ones(4, 2)).backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: compute with the tensor itself; .item(), .tolist() and .numpy() give plain numbers, which have no history",
)
def losses_collected_as_numbers(torch):
    net = torch.nn.Linear(2, 1)
    losses = [net(torch.ones(4, 2)).mean().item() for _ in range(3)]  # cut
    torch.tensor(losses).mean().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: torch.tensor(...) on line {cut.line} cut the graph: use the tensor itself, and torch.stack(tensors) to join several",
)
def loss_wrapped_again(torch):
    net = torch.nn.Linear(2, 1)
    loss = torch.tensor(net(torch.ones(4, 2)).mean())  # cut
    loss.backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: autograd.grad() on line {cut.line} was not recorded: pass create_graph=True to it where its result is to be "
    "differentiated",
)
def penalty_without_create_graph(torch):
    net = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2, requires_grad=True)
    (g,) = torch.autograd.grad(net(x).sum(), x)  # cut
    penalty = (g.norm(dim=1) - 1).pow(2).mean()
    penalty.backward()


@wrong(
    RuntimeError,
    "One of the differentiated Tensors does not require grad (input 0, shape [3, 2])\n"
    "  fix: call x.requires_grad_() before the computation",
)
def gradient_of_data(torch):
    net = torch.nn.Linear(2, 1)
    x = torch.ones(3, 2)
    torch.autograd.grad(net(x).sum(), x)


@wrong(
    RuntimeError,
    "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior. It has shape [1, 2].\n"
    "  fix: other.weight has no part in the output: pass the very tensor that the output was computed from, not a copy, a view "
    "or an earlier value of it",
)
def gradient_of_another_model(torch):
    net, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    torch.autograd.grad(net(torch.ones(3, 2)).mean(), [net.weight, other.weight])


@wrong(
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n"
    "  here  {here}\n"
    "  fix: return pred.detach().numpy()",
)
def prediction_to_numpy(torch):
    net = torch.nn.Linear(2, 1)
    pred = net(torch.ones(4, 2))
    return pred.numpy()  # here


@wrong(
    TypeError,
    "optimizer can only optimize Tensors, but one of the params is Sequential\n"
    "  fix: *model.parameters() puts those of a module into a list",
)
def optimizer_of_a_network(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.optim.SGD(iter([net]), lr=0.1)


@wrong(
    TypeError,
    "'Linear' object is not iterable\n  fix: Adam(net.parameters(), ...)",
)
def optimizer_of_the_model_itself(torch):
    net = torch.nn.Linear(2, 2)
    torch.optim.Adam(net, lr=0.1)


@wrong(
    TypeError,
    "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor\n"
    "  fix: put it into a list, Adam([w], ...)",
)
def optimizer_of_a_single_weight(torch):
    w = torch.ones(3, requires_grad=True)
    torch.optim.Adam(w, lr=0.1)


@wrong(
    ValueError,
    "can't optimize a non-leaf Tensor\n"
    "  made  {made}\n"
    "  fix: parameter 0 of group 0, of shape [3], is the result of a computation: give the optimizer the tensor it was "
    "computed from, or cut it off: w = w.detach().requires_grad_()",
)
def optimizer_of_a_converted_weight(torch):
    w = torch.ones(3, requires_grad=True).double()  # made
    torch.optim.Adam([w], lr=0.1)


@wrong(
    ValueError,
    "optimizer got an empty parameter list\n"
    "  fix: a generator such as model.parameters() can be read only once; call it again, and check that the model's layers are "
    "attributes (a plain list of layers has no parameters: use ModuleList)",
)
def layers_in_a_plain_list(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]

    torch.optim.SGD(Net().parameters(), lr=0.1)


@wrong(
    TypeError,
    "Linear is not an Optimizer\n  fix: give it the optimizer, whose learning rate it changes",
)
def scheduler_of_a_model(torch):
    net = torch.nn.Linear(2, 2)
    torch.optim.lr_scheduler.StepLR(net, 10)


@wrong(
    RuntimeError,
    "function ScaledBackward returned an incorrect number of gradients (expected 2, got 1)\n"
    "  applied  {applied}\n"
    "  fix: return one gradient for each argument of Scaled.forward, None where there is none",
)
def function_with_a_gradient_too_few(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k

    y = Scaled.apply(torch.ones(3, requires_grad=True), 2.0)  # applied
    y.sum().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: ctx.doubled on line {cut.line} keeps an intermediate result: ctx.save_for_backward the inputs and compute it again "
    "in backward, or return it from forward as one more output and save that",
)
def function_that_keeps_an_intermediate_result(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.doubled = x * 2  # cut
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.doubled

    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


@wrong(
    RuntimeError,
    "hook 'clip' has changed the size of value: it was given torch.Size([2, 3]) and returned torch.Size([3])\n"
    "  registered  {registered}\n"
    "  fix: return a gradient of the shape that came in, [2, 3]",
)
def hook_that_averages(torch):
    net = torch.nn.Linear(3, 2)

    def clip(grad):
        return grad.clamp(-1, 1).mean(0)

    net.weight.register_hook(clip)  # registered
    net(torch.ones(4, 3)).sum().backward()


@wrong(
    RuntimeError,
    "element 0 of tensors does not require grad and does not have a grad_fn\n"
    "  cut  {cut}\n"
    "  fix: checkpoint(use_reentrant=True) on line {cut.line} records nothing if no input requires grad, even if parameters "
    "do: pass use_reentrant=False",
)
def checkpoint_of_an_input_without_grad(torch):
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    net = torch.nn.Linear(3, 4)
    out = checkpoint(net, torch.ones(2, 3), use_reentrant=True)  # cut
    out.sum().backward()
