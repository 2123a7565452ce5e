"""Shapes, dtypes and indices. See wrong_calls.py."""

from __future__ import annotations

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1 (the shapes are [2, 3] and [2, 4])",
)
def sum_of_different_shapes(torch):
    torch.ones(2, 3) + torch.ones(2, 4)


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)\n  self has 3 columns and mat2 has 2 rows\n  fix: self @ mat2.T",
)
def matmul_of_different_sizes(torch):
    torch.ones(2, 3) @ torch.ones(2, 3)


@wrong(
    RuntimeError,
    "expected m1 and m2 to have the same dtype, but got: float != double\n"
    "  self is torch.float32 and mat2 is torch.float64\n"
    "  fix: self.double()",
)
def matmul_of_different_dtypes(torch):
    torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)


@wrong(
    RuntimeError,
    "both arguments to matmul need to be at least 1D, but they are 2D and 0D\n  fix: a * b multiplies by a number",
)
def matmul_of_a_scalar(torch):
    torch.ones(2, 2) @ torch.tensor(1.0)


@wrong(
    RuntimeError,
    "mat2 must be a matrix, got 1-D tensor\n  fix: torch.matmul takes vectors and batches too",
)
def mm_of_a_vector(torch):
    torch.mm(torch.ones(2, 2), torch.ones(2))


@wrong(
    RuntimeError,
    "size mismatch, got input (2), mat (2x3), vec (2): the matrix has 3 columns and the vector 2 elements",
)
def mv_of_different_sizes(torch):
    torch.mv(torch.ones(2, 3), torch.ones(2))


@wrong(
    RuntimeError,
    "inconsistent tensor size, expected tensor [3] and src [2] to have the same number of elements, but got 3 and 2 elements respectively",
)
def dot_of_different_sizes(torch):
    torch.dot(torch.ones(3), torch.ones(2))


@wrong(
    RuntimeError,
    "batch1 must be a 3D tensor, got 2-D\n  fix: torch.matmul takes any number of dimensions",
)
def bmm_of_matrices(torch):
    torch.bmm(torch.ones(2, 2), torch.ones(2, 2))


@wrong(
    RuntimeError,
    "The size of tensor a (2) must match the size of tensor b (5) at non-singleton dimension 0: the batch dimensions are [2] and [5]",
)
def batched_matmul_of_different_batches(torch):
    torch.ones(2, 3, 4) @ torch.ones(5, 4, 3)


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)\n"
    "  the last dimension of the input [2, 3] is 3, but the layer takes 5 features\n"
    "  fix: Linear(in_features=3, out_features=4)",
)
def linear_of_the_wrong_width(torch):
    torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 5))


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (112x28 and 784x10)\n"
    "  the last dimension of the input [4, 1, 28, 28] is 28, but the layer takes 784 features\n"
    "  fix: input.flatten(1), which has 784 features in each row",
)
def layer_of_images_that_are_not_flat(torch):
    torch.nn.Linear(784, 10)(torch.ones(4, 1, 28, 28))


@wrong(
    RuntimeError,
    "mat1 and mat2 must have the same dtype, but got Double and Float\n"
    "  input is torch.float64 and weight is torch.float32\n"
    "  fix: input.float()",
)
def layer_of_doubles(torch):
    torch.nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.float64))


@wrong(
    RuntimeError,
    "mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)\n"
    "  the last dimension of the input [2, 5] is 5, but the layer takes 3 features\n"
    "  fix: Linear(in_features=5, out_features=4)",
)
def layer_of_the_wrong_width(torch):
    torch.nn.Linear(3, 4)(torch.ones(2, 5))


@wrong(
    RuntimeError,
    "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.\n"
    "  fix: torch.cat(tensors, dim=1)",
)
def cat_of_different_sizes(torch):
    torch.cat([torch.ones(2, 3), torch.ones(2, 4)])


@wrong(
    RuntimeError,
    "Tensors must have same number of dimensions: got 2 and 1",
)
def cat_of_different_numbers_of_dimensions(torch):
    torch.cat([torch.ones(2, 3), torch.ones(2)])


@wrong(
    ValueError,
    "torch.cat(): expected a non-empty list of Tensors",
)
def cat_of_nothing(torch):
    torch.cat([])


@wrong(
    TypeError,
    "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
)
def cat_of_one_tensor(torch):
    torch.cat(torch.ones(2))


@wrong(
    TypeError,
    "expected Tensor as element 0 in argument 0, but got float",
)
def cat_of_numbers(torch):
    torch.cat([1.0, 2.0])


@wrong(
    RuntimeError,
    "zero-dimensional tensor (at position 0) cannot be concatenated\n  fix: torch.stack(...) joins along a new dimension",
)
def cat_of_scalars(torch):
    torch.cat([torch.tensor(1.0), torch.tensor(2.0)])


@wrong(
    RuntimeError,
    "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1\n"
    "  fix: torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True) makes them of one length",
)
def stack_of_different_sizes(torch):
    torch.stack([torch.ones(2), torch.ones(3)])


@wrong(
    RuntimeError,
    "stack expects a non-empty TensorList",
)
def stack_of_nothing(torch):
    torch.stack([])


@wrong(
    RuntimeError,
    "shape '[4]' is invalid for input of size 6",
)
def view_of_the_wrong_size(torch):
    torch.ones(2, 3).view(4)


@wrong(
    RuntimeError,
    "only one dimension can be inferred: write -1 once and give the other sizes",
)
def view_with_two_unknowns(torch):
    torch.ones(2, 3).view(-1, -1)


@wrong(
    RuntimeError,
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
    "subspaces). Use .reshape(...) instead.\n"
    "  fix: x.reshape(6) copies where it has to",
)
def view_of_a_transpose(torch):
    torch.ones(2, 3).t().view(6)


@wrong(
    RuntimeError,
    "shape '[5]' is invalid for input of size 6",
)
def reshape_of_the_wrong_size(torch):
    torch.ones(2, 3).reshape(5)


@wrong(
    RuntimeError,
    "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension 1.  Target sizes: [2, "
    "4].  Tensor sizes: [2, 3]",
)
def expand_of_the_wrong_size(torch):
    torch.ones(2, 3).expand(2, 4)


@wrong(
    RuntimeError,
    "expand(torch.FloatTensor{{[2, 3]}}, size=[3]): the number of sizes provided (1) must be greater or equal to the number"
    " of dimensions in the tensor (2)",
)
def expand_to_fewer_dimensions(torch):
    torch.ones(2, 3).expand(3)


@wrong(
    IndexError,
    "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
)
def transpose_of_a_missing_dimension(torch):
    torch.ones(2, 3).transpose(0, 2)


@wrong(
    RuntimeError,
    "t() expects a tensor with <= 2 dimensions, but self is 3D\n  fix: x.transpose(-2, -1), or x.mT",
)
def t_of_three_dimensions(torch):
    torch.ones(2, 3, 4).t()


@wrong(
    RuntimeError,
    "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
    "dimensions i.e. input.dim() = 2 is not equal to len(dims) = 1",
)
def permute_of_too_few_dimensions(torch):
    torch.ones(2, 3).permute(0)


@wrong(
    RuntimeError,
    "permute(): duplicate dims are not allowed.",
)
def permute_with_a_repeated_dimension(torch):
    torch.ones(2, 3).permute(0, 0)


@wrong(
    IndexError,
    "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
)
def sum_over_a_missing_dimension(torch):
    torch.ones(2, 3).sum(2)


@wrong(
    RuntimeError,
    "dim 0 appears multiple times in the list of dims",
)
def sum_over_a_repeated_dimension(torch):
    torch.ones(2, 3).sum((0, 0))


@wrong(
    RuntimeError,
    "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long\n"
    "  fix: x.float().mean(), or x.mean(dtype=torch.float32)",
)
def mean_of_integers(torch):
    torch.ones(3, dtype=torch.int64).mean()


@wrong(
    RuntimeError,
    "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
)
def max_of_nothing(torch):
    torch.ones(0).max()


@wrong(
    IndexError,
    "argmax(): Expected reduction dim to be specified for input.numel() == 0.",
)
def argmax_of_nothing(torch):
    torch.ones(0).argmax()


@wrong(
    NotImplementedError,
    "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'\n  fix: x.softmax(0, dtype=torch.float32)",
)
def softmax_of_integers(torch):
    torch.softmax(torch.ones(3, dtype=torch.int64), 0)


@wrong(
    RuntimeError,
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead.",
)
def negative_of_a_bool(torch):
    -torch.ones(3, dtype=torch.bool)


@wrong(
    RuntimeError,
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
)
def difference_of_bools(torch):
    torch.ones(3, dtype=torch.bool) - torch.ones(3, dtype=torch.bool)


@wrong(
    IndexError,
    "index 5 is out of bounds for dimension 0 with size 3",
)
def index_out_of_range(torch):
    torch.ones(3)[5]


@wrong(
    IndexError,
    "index 5 is out of bounds for dimension 0 with size 3",
)
def index_tensor_out_of_range(torch):
    torch.ones(3)[torch.tensor([0, 5])]


@wrong(
    IndexError,
    "too many indices for tensor of dimension 1",
)
def too_many_indices(torch):
    torch.ones(3)[0, 0]


@wrong(
    IndexError,
    "tensors used as indices must be long, int, byte or bool tensors\n  fix: x[index.long()], or x[mask] with a mask such as y > 0",
)
def index_by_floats(torch):
    torch.ones(3)[torch.tensor([0.0])]


@wrong(
    IndexError,
    "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index 0",
)
def mask_of_the_wrong_shape(torch):
    torch.ones(3)[torch.tensor([True, False])]


@wrong(
    ValueError,
    "step must be greater than zero\n  fix: x.flip(dim) reverses a dimension",
)
def negative_step(torch):
    torch.ones(3)[::-1]


@wrong(
    RuntimeError,
    "gather(): Expected dtype int32/int64 for index\n  fix: index.long()",
)
def gather_with_floats(torch):
    torch.gather(torch.ones(3), 0, torch.ones(3))


@wrong(
    RuntimeError,
    "index 5 is out of bounds for dimension 0 with size 3",
)
def gather_out_of_range(torch):
    torch.gather(torch.ones(3), 0, torch.tensor([5]))


@wrong(
    IndexError,
    "index out of range in self (dimension 0 has size 3)",
)
def index_select_out_of_range(torch):
    torch.index_select(torch.ones(3), 0, torch.tensor([5]))


@wrong(
    RuntimeError,
    "where expected condition to be a boolean tensor, but got a tensor with dtype Float\n  fix: torch.where(x != 0, ...), or x.bool()",
)
def where_without_a_condition(torch):
    torch.where(torch.ones(3), torch.ones(3), torch.zeros(3))


@wrong(
    RuntimeError,
    "split expects split_size be non-negative, but got split_size=-1",
)
def split_into_negative_pieces(torch):
    torch.ones(3).split(-1)


@wrong(
    RuntimeError,
    "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 0), but got split_sizes=[1, 1]",
)
def split_of_the_wrong_sizes(torch):
    torch.ones(3).split([1, 1])


@wrong(
    RuntimeError,
    "upper bound and lower bound inconsistent with step sign",
)
def range_in_the_wrong_direction(torch):
    torch.arange(0, 3, -1)


@wrong(
    RuntimeError,
    "step must be nonzero",
)
def step_of_zero(torch):
    torch.arange(0, 3, 0)


@wrong(
    TypeError,
    "exp(): argument 'input' (position 1) must be Tensor, not list\n  fix: torch.exp(torch.tensor(...))",
)
def method_of_a_list(torch):
    torch.exp([1.0, 2.0])


@wrong(
    TypeError,
    "unsupported operand type(s) for +: 'Tensor' and 'str'",
)
def sum_with_a_string(torch):
    torch.ones(3) + "a"


@wrong(
    AttributeError,
    "'Tensor' object has no attribute 'no_such_method'",
)
def missing_method(torch):
    torch.ones(3).no_such_method()


@wrong(
    AttributeError,
    "module 'adjoint' has no attribute 'no_such_function'",
    words=1,
)
def missing_function(torch):
    return torch.no_such_function
