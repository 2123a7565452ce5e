# mypy: disable-error-code="name-defined, misc"
"""Modules, losses and optimizers. See wrong_calls.py."""

from __future__ import annotations

from tests.errors.wrong_calls import wrong


@wrong(TypeError, "'Linear' object is not iterable\n  fix: SGD(model.parameters(), ...)")
def optimizer_of_a_module(torch):
    torch.optim.SGD(torch.nn.Linear(2, 2), lr=0.1)


@wrong(TypeError, "'int' object is not iterable\n  fix: give a list of tensors, or model.parameters()")
def optimizer_of_a_number(torch):
    torch.optim.SGD(3, lr=0.1)


@wrong(
    ValueError,
    "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])\n"
    "  fix: DataLoader(..., drop_last=True) leaves out a last batch of one sample; model.eval() if this is no training",
)
def batch_norm_of_one_sample(torch):
    torch.nn.BatchNorm1d(3)(torch.ones(1, 3))


@wrong(
    ValueError,
    "optimizer got an empty parameter list\n"
    "  fix: a generator such as model.parameters() can be read only once; call it again, and check that the model's layers "
    "are attributes (a plain list of layers has no parameters: use ModuleList)",
)
def optimizer_of_nothing(torch):
    torch.optim.SGD([], lr=0.1)


@wrong(
    ValueError,
    "can't optimize a non-leaf Tensor\n"
    "  made  {made}\n"
    "  fix: parameter 0 of group 0, of shape [3], is the result of a computation: give the optimizer the tensor it was "
    "computed from, or cut it off: w = w.detach().requires_grad_()",
)
def optimizer_of_a_result(torch):
    w = torch.ones(3, requires_grad=True) * 2  # made
    torch.optim.SGD([w], lr=0.1)


@wrong(
    TypeError,
    "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor\n"
    "  fix: put it into a list, SGD([tensor], ...)",
)
def optimizer_of_one_tensor(torch):
    torch.optim.SGD(torch.ones(3, requires_grad=True), lr=0.1)


@wrong(
    TypeError,
    "optimizer can only optimize Tensors, but one of the params is float",
)
def optimizer_of_numbers(torch):
    torch.optim.SGD([1.0], lr=0.1)


@wrong(
    ValueError,
    "Invalid learning rate: -1",
)
def negative_learning_rate(torch):
    torch.optim.SGD([torch.ones(3, requires_grad=True)], lr=-1)


@wrong(
    ValueError,
    "Nesterov momentum requires a momentum and zero dampening",
)
def nesterov_without_momentum(torch):
    torch.optim.SGD([torch.ones(3, requires_grad=True)], lr=0.1, nesterov=True)


@wrong(
    ValueError,
    "Invalid beta parameter at index 0: 1.0",
)
def adam_with_wrong_betas(torch):
    torch.optim.Adam([torch.ones(3, requires_grad=True)], betas=(1.0, 0.9))


@wrong(
    ValueError,
    "some parameters appear in more than one parameter group",
)
def parameter_in_two_groups(torch):
    x = torch.ones(3, requires_grad=True)
    torch.optim.SGD([{"params": [x]}, {"params": [x]}], lr=0.1)


@wrong(
    TypeError,
    "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)\n"
    "  fix: module.weight = torch.nn.Parameter(value), or, to keep the parameter that optimizers know, with "
    "torch.no_grad(): module.weight.copy_(value)",
)
def parameter_assigned_a_tensor(torch):
    layer = torch.nn.Linear(2, 2)
    layer.weight = torch.ones(2, 2)


@wrong(
    RuntimeError,
    "only Tensors of floating point and complex dtype can require gradients (this one is torch.int64)\n"
    "  fix: make it floating point first, for example x.float().requires_grad_()",
)
def parameter_of_integers(torch):
    torch.nn.Parameter(torch.ones(3, dtype=torch.int64))


@wrong(
    AttributeError,
    "cannot assign module before Module.__init__() call\n  fix: call super().__init__() first in Model.__init__",
)
def module_without_super(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            self.layer = torch.nn.Linear(2, 2)

    Model()


@wrong(
    NotImplementedError,
    'Module [Model] is missing the required "forward" function\n  fix: define forward(self, ...) in class Model, at the level of __init__',
)
def module_without_forward(torch):
    class Model(torch.nn.Module):
        pass

    Model()(torch.ones(2))


@wrong(
    AttributeError,
    "'Linear' object has no attribute 'wieght'",
)
def missing_attribute_of_a_module(torch):
    return torch.nn.Linear(2, 2).wieght


@wrong(
    RuntimeError,
    'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in state_dict: "extra". ',
)
def state_dict_with_other_keys(torch):
    torch.nn.Linear(2, 2).load_state_dict({"weight": torch.ones(2, 2), "extra": torch.ones(1)})


@wrong(
    RuntimeError,
    "Error(s) in loading state_dict for Linear:\n"
    "\tsize mismatch for weight: copying a param with shape torch.Size([2, 3]) from checkpoint, the shape in current model "
    "is torch.Size([2, 2]).",
)
def state_dict_of_another_shape(torch):
    torch.nn.Linear(2, 2).load_state_dict(torch.nn.Linear(3, 2).state_dict())


@wrong(
    IndexError,
    "Target 5 is out of bounds.\n"
    "  the input has 3 classes, so targets are 0 to 2 (or ignore_index=-100)\n"
    "  fix: give the last layer 6 outputs",
)
def cross_entropy_of_a_missing_class(torch):
    torch.nn.functional.cross_entropy(torch.ones(1, 3), torch.tensor([5]))


@wrong(
    ValueError,
    "Expected input batch_size (2) to match target batch_size (3).",
)
def cross_entropy_of_different_batches(torch):
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([1, 2, 0]))


@wrong(
    RuntimeError,
    "expected target dtype to be Long or Byte, but got Float\n  fix: target.long()",
)
def cross_entropy_with_float_classes(torch):
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([1.0, 2.0]))


@wrong(
    RuntimeError,
    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1 (the shapes are [2, 3] and [2, 4])",
)
def mse_of_different_shapes(torch):
    torch.nn.functional.mse_loss(torch.ones(2, 3), torch.ones(2, 4))


@wrong(
    ValueError,
    "product is not a valid value for reduction; use 'mean', 'sum' or 'none'",
)
def unknown_reduction(torch):
    torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), reduction="product")


@wrong(
    ValueError,
    "dropout probability has to be between 0 and 1, but got 1.5",
)
def dropout_of_more_than_all(torch):
    torch.nn.Dropout(1.5)
