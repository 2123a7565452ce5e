# mypy: disable-error-code="name-defined, misc, no-untyped-def"
"""Programs of the kind that users ask about: shapes and dtypes that layers and losses do not take. See wrong_calls.py."""

from __future__ import annotations

import numpy as np

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (448x28 and 784x128)\n"
    "  the last dimension of the input [16, 1, 28, 28] is 28, but model.0 takes 784 features\n"
    "  fix: images.flatten(1), which has 784 features in each row",
)
def images_into_a_perceptron(torch):
    model = torch.nn.Sequential(torch.nn.Linear(28 * 28, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    images = torch.ones(16, 1, 28, 28)
    model(images)


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (416x26 and 5408x10)\n"
    "  the last dimension of the input [2, 8, 26, 26] is 26, but net.fc takes 5408 features\n"
    "  fix: x.flatten(1), which has 5408 features in each row",
)
def convolution_into_a_linear_layer(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 8, 3)
            self.fc = torch.nn.Linear(8 * 26 * 26, 10)

        def forward(self, x):
            x = self.conv(x)
            return self.fc(x)

    net = Net()
    net(torch.ones(2, 1, 28, 28))


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (2x5408 and 6272x10)\n"
    "  the last dimension of the input [2, 5408] is 5408, but net.3 takes 6272 features\n"
    "  fix: Linear(in_features=5408, out_features=10)",
)
def flattened_size_that_was_guessed(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 28 * 28, 10))
    net(torch.ones(2, 3, 28, 28))


@wrong(
    RuntimeError,
    "Given groups=1, weight of size [8, 3, 3, 3], expected input[4, 32, 32, 3] to have 3 channels, but got 32 channels "
    "instead\n"
    "  fix: input.permute(0, 3, 1, 2): its channels come last, and belong before height and width",
)
def channels_that_come_last(torch):
    conv = torch.nn.Conv2d(3, 8, 3)
    conv(torch.ones(4, 32, 32, 3))


@wrong(
    RuntimeError,
    "Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 32, 32, 3] to have 3 channels, but got 32 channels "
    "instead\n"
    "  fix: input.movedim(-1, -3): its channels come last, and belong before height and width",
)
def one_image_with_channels_last(torch):
    conv = torch.nn.Conv2d(3, 8, 3)
    conv(torch.ones(32, 32, 3))


@wrong(
    RuntimeError,
    "Given groups=1, weight of size [8, 3, 3, 3], expected input[4, 1, 32, 32] to have 3 channels, but got 1 channels instead\n"
    "  fix: input.expand(-1, 3, -1, -1) repeats the one channel, or make the layer with in_channels=1",
)
def grey_images(torch):
    conv = torch.nn.Conv2d(3, 8, 3)
    conv(torch.ones(4, 1, 32, 32))


@wrong(
    RuntimeError,
    "Given groups=1, weight of size [8, 1, 3, 3], expected input[1, 16, 28, 28] to have 1 channels, but got 16 channels "
    "instead\n"
    "  fix: input.unsqueeze(1), if these are images without a dimension for their one channel",
)
def images_without_channels(torch):
    conv = torch.nn.Conv2d(1, 8, 3)
    conv(torch.ones(16, 28, 28))


@wrong(
    RuntimeError,
    "Given groups=1, weight of size [4, 8, 3, 3], expected input[2, 16, 6, 6] to have 8 channels, but got 16 channels instead\n"
    "  fix: make net.1 with in_channels=16, or the one before it with out_channels=8",
)
def convolutions_that_do_not_follow_each_other(torch):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.Conv2d(8, 4, 3))
    net(torch.ones(2, 3, 8, 8))


@wrong(
    RuntimeError,
    "mat1 and mat2 must have the same dtype, but got Double and Float\n"
    "  input is torch.float64 and weight is torch.float32\n"
    "  fix: features.float()",
)
def doubles_of_numpy(torch):
    features = torch.from_numpy(np.ones((10, 3)))
    torch.nn.Linear(3, 1)(features)


@wrong(
    RuntimeError,
    "Input type (double) and bias type (float) should be the same\n  fix: images.float()",
)
def doubles_into_a_convolution(torch):
    images = torch.from_numpy(np.ones((2, 3, 8, 8)))
    torch.nn.Conv2d(3, 4, 3)(images)


@wrong(
    RuntimeError,
    "Input type (unsigned char) and bias type (float) should be the same\n  fix: image.float() / 255",
)
def bytes_of_an_image(torch):
    image = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    torch.nn.Conv2d(3, 4, 3)(image)


@wrong(
    RuntimeError,
    "mat1 and mat2 must have the same dtype, but got Long and Float\n"
    "  input is torch.int64 and weight is torch.float32\n"
    "  fix: ids.float()",
)
def integers_into_a_linear_layer(torch):
    ids = torch.tensor([[1, 2, 3]])
    torch.nn.Linear(3, 2)(ids)


@wrong(
    RuntimeError,
    "expected target dtype to be Long or Byte, but got Float\n  fix: labels.long()",
)
def class_numbers_as_floats(torch):
    labels = torch.tensor([0.0, 1.0, 2.0, 0.0])
    torch.nn.CrossEntropyLoss()(torch.ones(4, 3), labels)


@wrong(
    RuntimeError,
    "0D or 1D target tensor expected, multi-target not supported\n  fix: labels.squeeze(1), or class probabilities as floats",
)
def class_numbers_in_a_column(torch):
    labels = torch.tensor([[0], [1], [2], [0]])
    torch.nn.CrossEntropyLoss()(torch.ones(4, 3), labels)


@wrong(
    IndexError,
    "Target 3 is out of bounds.\n"
    "  the input has 3 classes, so targets are 0 to 2 (or ignore_index=-100)\n"
    "  fix: target - 1, for classes are counted from 0",
)
def classes_counted_from_one(torch):
    torch.nn.CrossEntropyLoss()(torch.ones(4, 3), torch.tensor([1, 2, 3, 1]))


@wrong(
    IndexError,
    "Target -1 is out of bounds.\n"
    "  the input has 3 classes, so targets are 0 to 2 (or ignore_index=-100)\n"
    "  fix: ignore_index=-1 leaves out what has no class",
)
def padding_as_a_class(torch):
    torch.nn.CrossEntropyLoss()(torch.ones(4, 3), torch.tensor([1, 2, -1, 1]))


@wrong(
    RuntimeError,
    "Expected target size [2, 5], got [2, 7]\n  fix: input.movedim(-1, 1): the classes are dimension 1 of the input, here [2, 7, 5]",
)
def classes_of_a_sequence_come_last(torch):
    torch.nn.CrossEntropyLoss()(torch.ones(2, 7, 5), torch.ones(2, 7, dtype=torch.int64))


@wrong(
    ValueError,
    "Target size (torch.Size([4])) must be the same as input size (torch.Size([4, 1]))\n"
    "  fix: target.reshape(input.shape), or target.expand_as(input)",
)
def logits_in_a_column(torch):
    torch.nn.BCEWithLogitsLoss()(torch.ones(4, 1), torch.ones(4))


@wrong(
    RuntimeError,
    "all elements of input should be between 0 and 1\n"
    "  fix: binary_cross_entropy_with_logits takes any numbers, or apply torch.sigmoid first",
)
def logits_as_probabilities(torch):
    torch.nn.BCELoss()(torch.tensor([3.0, -2.0]), torch.tensor([1.0, 0.0]))


@wrong(
    RuntimeError,
    "result type Float can't be cast to the desired output type Long\n  fix: target.float()",
)
def truth_values_as_integers(torch):
    torch.nn.BCEWithLogitsLoss()(torch.ones(4, 1), torch.ones(4, 1, dtype=torch.int64))


@wrong(
    RuntimeError,
    "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor "
    "instead (while checking arguments for embedding)\n"
    "  fix: indices.long()",
)
def embedding_of_floats(torch):
    torch.nn.Embedding(10, 3)(torch.tensor([1.0, 2.0]))


@wrong(
    IndexError,
    "index out of range in self: there is an index 10, but the table has 10 rows\n"
    "  fix: nn.Embedding(11, ...) has a row for it, and one for each below",
)
def token_that_is_not_in_the_table(torch):
    torch.nn.Embedding(10, 3)(torch.tensor([1, 10]))


@wrong(
    ValueError,
    "Expected more than 1 value per channel when training, got input size torch.Size([1, 8]) (in net.1)\n"
    "  fix: DataLoader(..., drop_last=True) leaves out a last batch of one sample; model.eval() if this is no training",
)
def last_batch_of_one_sample(torch):
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))
    net(torch.ones(1, 4))


@wrong(
    RuntimeError,
    "running_mean should contain 8 elements not 4\n  fix: the input [3, 8] has 8 channels: make net.1 with num_features=8",
)
def batch_norm_of_another_width(torch):
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(4))
    net(torch.ones(3, 4))


@wrong(
    TypeError,
    "linear(): argument 'input' (position 1) must be Tensor, not tuple\n"
    "  fix: take the first of these: output, state = layer(x) for a recurrent layer, and give output on",
)
def lstm_in_a_sequential(torch):
    net = torch.nn.Sequential(torch.nn.LSTM(3, 4, batch_first=True), torch.nn.Linear(4, 1))
    net(torch.ones(2, 5, 3))


@wrong(
    RuntimeError,
    "input.size(-1) must be equal to input_size. Expected 3, got 6\n  fix: LSTM(input_size=6, hidden_size=4)",
)
def lstm_of_another_width(torch):
    torch.nn.LSTM(3, 4)(torch.ones(5, 2, 6))


@wrong(
    RuntimeError,
    "The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 1 (the shapes are [2, 4, 5, 5] "
    "and [2, 5, 5])\n"
    "  fix: b.unsqueeze(1)",
)
def mask_without_a_dimension_for_queries(torch):
    scores, mask = torch.ones(2, 4, 5, 5), torch.ones(2, 5, 5)
    scores + mask


@wrong(
    RuntimeError,
    "stack expects each tensor to be equal size, but got [3] at entry 0 and [5] at entry 1\n"
    "  fix: torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True) makes them of one length",
)
def samples_of_different_length(torch):
    torch.utils.data.default_collate([torch.ones(3), torch.ones(5)])


@wrong(
    RuntimeError,
    "Sizes of tensors must match except in dimension 0. Expected size 2 but got size 4 for tensor number 1 in the list.\n"
    "  fix: torch.cat(tensors, dim=1)",
)
def results_joined_along_the_wrong_dimension(torch):
    torch.cat([torch.ones(3, 2), torch.ones(3, 4)])


@wrong(
    RuntimeError,
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
    "subspaces). Use .reshape(...) instead.\n"
    "  fix: x.reshape(2, -1) copies where it has to",
)
def view_after_transpose(torch):
    torch.ones(2, 3, 4).transpose(1, 2).view(2, -1)


@wrong(
    RuntimeError,
    "Boolean value of Tensor with more than one value is ambiguous\n"
    "  fix: write condition.any() or condition.all(), or torch.where(condition, a, b) to choose for each element",
)
def condition_on_a_batch(torch):
    x = torch.ones(3)
    return "yes" if x > 0 else "no"


@wrong(
    RuntimeError,
    "a Tensor with 3 elements cannot be converted to Scalar\n"
    "  fix: reduce it first, for example losses.mean().item(), or use losses.tolist()",
)
def item_of_several_losses(torch):
    losses = torch.ones(3)
    losses.item()
