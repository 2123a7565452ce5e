"""Devices and conversions. See wrong_calls.py."""

from __future__ import annotations

import numpy as np

from tests.errors.wrong_calls import wrong


@wrong(
    RuntimeError,
    "Expected all tensors to be on the same device, but found at least two devices, meta and cpu! The one on the CPU has "
    "shape [3]; move it with x.to('meta')",
    words=0,
)
def sum_of_two_devices(torch):
    torch.ones(3) + torch.ones(3, device="meta")


@wrong(
    RuntimeError,
    "Expected all tensors to be on the same device, but found at least two devices, cpu and meta! (in cat; move one of them: x.to('meta'))",
    words=0,
)
def cat_of_two_devices(torch):
    torch.cat([torch.ones(2), torch.ones(2, device="meta")])


@wrong(
    AssertionError,
    "Torch not compiled with CUDA enabled: cannot use device 'cuda'. adjoint computes on the CPU: use device='cpu', or leave device out",
)
def tensor_on_cuda(torch):
    torch.ones(3, device="cuda")


@wrong(
    AssertionError,
    "Torch not compiled with CUDA enabled: cannot use device 'cuda'. adjoint computes on the CPU: use device='cpu', or leave device out",
)
def tensor_moved_to_cuda(torch):
    torch.ones(3).cuda()


@wrong(
    AssertionError,
    "Torch not compiled with CUDA enabled: cannot use device 'cuda'. adjoint computes on the CPU: use device='cpu', or leave device out",
)
def tensor_moved_to_cuda_by_to(torch):
    torch.ones(3).to("cuda")


@wrong(
    RuntimeError,
    "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta,"
    " hpu, mtia, privateuseone device type at start of device string: gpu",
)
def unknown_device(torch):
    torch.ones(3, device="gpu")


@wrong(
    RuntimeError,
    "Tensor.item() cannot be called on meta tensors: they have a shape and a dtype, but no values\n"
    "  fix: compute on the CPU, for example with x = torch.zeros(x.shape)",
)
def item_of_meta(torch):
    torch.ones(1, device="meta").item()


@wrong(
    TypeError,
    "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first. A meta "
    "tensor has no elements: make one with adjoint.empty_like(x, device='cpu')",
)
def numpy_of_meta(torch):
    torch.ones(1, device="meta").numpy()


@wrong(
    NotImplementedError,
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
    "moving module from meta to a different device.",
)
def meta_to_cpu(torch):
    torch.ones(1, device="meta").to("cpu")


@wrong(
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n"
    "  here  {here}\n"
    "  fix: torch.ones(3, requires_grad=True).detach().numpy()",
)
def numpy_of_a_leaf(torch):
    torch.ones(3, requires_grad=True).numpy()  # here


@wrong(
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n  here  {here}\n  fix: y.detach().numpy()",
)
def numpy_of_a_result(torch):
    y = torch.ones(3, requires_grad=True) * 2
    y.numpy()  # here


@wrong(
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.\n  here  {here}\n  fix: t.detach().numpy()",
)
def asarray_of_a_tensor_with_grad(torch):
    np.asarray(torch.ones(3, requires_grad=True))  # here


@wrong(
    RuntimeError,
    "Boolean value of Tensor with more than one value is ambiguous\n"
    "  fix: write condition.any() or condition.all(), or torch.where(condition, a, b) to choose for each element",
)
def bool_of_many(torch):
    bool(torch.ones(3))


@wrong(
    RuntimeError,
    "Boolean value of Tensor with more than one value is ambiguous\n"
    "  fix: write condition.any() or condition.all(), or torch.where(condition, a, b) to choose for each element",
)
def if_on_a_comparison_of_many(torch):
    x = torch.ones(3)
    if x > 0:
        pass


@wrong(
    RuntimeError,
    "Boolean value of Tensor with no values is ambiguous\n"
    "  fix: write condition.any() or condition.all(), or torch.where(condition, a, b) to choose for each element",
)
def bool_of_none(torch):
    bool(torch.ones(0))


@wrong(
    RuntimeError,
    "a Tensor with 3 elements cannot be converted to Scalar\n  fix: reduce it first, for example x.mean().item(), or use x.tolist()",
)
def item_of_many(torch):
    torch.ones(3).item()


@wrong(
    ValueError,
    "only one element tensors can be converted to Python scalars (this one has 3 elements)\n"
    "  fix: reduce it first, for example float(x.sum()), or use x.tolist()",
)
def float_of_many(torch):
    float(torch.ones(3))


@wrong(
    TypeError,
    "len() of a 0-d tensor",
)
def len_of_a_scalar(torch):
    len(torch.tensor(1.0))


@wrong(
    TypeError,
    "iteration over a 0-d tensor",
)
def iteration_over_a_scalar(torch):
    list(torch.tensor(1.0))


@wrong(
    IndexError,
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
)
def index_of_a_scalar(torch):
    torch.tensor(1.0)[0]


@wrong(
    TypeError,
    "only integer tensors of a single element can be converted to an index",
)
def fraction_as_an_index(torch):
    [1, 2, 3][torch.tensor(1.5)]


@wrong(
    RuntimeError,
    "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class 'str'>.",
)
def membership_of_a_string(torch):
    return "a" in torch.ones(3)


@wrong(
    ValueError,
    "expected sequence of length 2 at dim 1 (got 1)",
)
def ragged_list(torch):
    torch.tensor([[1.0, 2.0], [3.0]])


@wrong(
    ValueError,
    "too many dimensions 'str': strings are not numbers; encode them first",
)
def list_of_strings(torch):
    torch.tensor(["a", "b"])


@wrong(
    RuntimeError,
    "Could not infer dtype of NoneType; pass a bool, int, float, complex or NumPy scalar",
)
def none_as_data(torch):
    torch.tensor(None)


@wrong(
    TypeError,
    "expected np.ndarray (got list); use adjoint.as_tensor(...) for anything else",
)
def from_numpy_of_a_list(torch):
    torch.from_numpy([1.0])


@wrong(
    TypeError,
    "can't convert np.ndarray of type numpy.str_. The only supported types are: float64, float32, float16, complex64, "
    "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool (and ml_dtypes.bfloat16). Convert first"
    " with array.astype(...)",
)
def from_numpy_of_strings(torch):
    torch.from_numpy(np.array(["a"]))
