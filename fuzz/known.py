"""Differences from PyTorch that are decided, or that are PyTorch's own, each with its reason. All others are reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

Known = Callable[[Any, Any, Any], bool]  # of the difference, and what each library gave

NO_DTYPE = r"not implemented for '|Got unsupported ScalarType"
NO_DERIVATIVE = r"derivative for .* is not implemented|does not support automatic differentiation"
LIMITS = r"modified by an inplace operation|Batching rule not implemented|ZeroTensors are immutable|Dimension out of range"
PARTLY_CONSTANT = r"(?i)conv|pool|norm|pad|nll_?loss|cross_?entropy|(scatter|segment)_reduce|grid_sample|rnn|cumm(ax|in)|stft"
PARTLY_CONSTANT += r"|relu6|l(eaky|r)_?relu|hard(tanh|sigmoid|shrink)|softshrink|\.abs\("
RESHAPES = r"\.(t|transpose|swapdims|swapaxes|squeeze|unsqueeze|as_strided)_\("  # in place
KNOWN: list[tuple[str, Known]] = []


def known(reason: str) -> Callable[[Known], Known]:
    def add(test: Known) -> Known:
        KNOWN.append((reason, test))
        return test

    return add


def excused(difference: Any, theirs: Any, ours: Any) -> str:
    """The reason why a difference is none, or nothing."""
    return next((reason for reason, test in KNOWN if test(difference, theirs, ours)), "")


@known("PyTorch has no kernel for this dtype; adjoint computes the result")
def other_dtypes(difference: Any, theirs: Any, ours: Any) -> bool:
    text = getattr(theirs, "text", "")
    return difference.what == "PyTorch raises" and bool(re.search(NO_DTYPE, text))


@known("PyTorch leaves a gradient undefined that is zero; adjoint gives zeros")
def zeros_for_none(difference: Any, theirs: Any, ours: Any) -> bool:
    return theirs is None and getattr(ours, "values", None) is not None and not ours.values.any()


@known("PyTorch fails an assertion of its own, or divides by zero")
def internal_assertions(difference: Any, theirs: Any, ours: Any) -> bool:
    return "INTERNAL ASSERT FAILED" in getattr(theirs, "text", "") or getattr(theirs, "kind", "") == "ZeroDivisionError"


@known("PyTorch has no derivative there; adjoint has one")
def more_derivatives(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and bool(re.search(NO_DERIVATIVE, theirs.text))


@known("eigenvectors and singular vectors are unique up to a factor of modulus 1")
def phases(difference: Any, theirs: Any, ours: Any) -> bool:
    decomposed = re.search(r"linalg\.(eig|eigh|svd)\(|torch\.(svd|pca_lowrank|svd_lowrank)\(", difference.statement)
    if not decomposed or "differ" not in difference.what:
        return False
    return bool(np.allclose(np.abs(theirs.values), np.abs(ours.values), 1e-3, 1e-4))


@known("PyTorch's vectorised gelu is NaN at infinity, and infinite before")
def gelu(difference: Any, theirs: Any, ours: Any) -> bool:
    return "gelu(" in difference.statement and "values differ" in difference.what and not np.isfinite(theirs.values).all()


@known("PyTorch's antialiased interpolation is wrong for images of width 1")
def antialias(difference: Any, theirs: Any, ours: Any) -> bool:
    return "antialias=True" in difference.statement and 1 in theirs.shape[-2:]


@known("PyTorch reads beyond the memory of an expanded tensor")
def nanmedian(difference: Any, theirs: Any, ours: Any) -> bool:
    return "nanmedian(" in difference.statement and "values differ" in difference.what


@known("PyTorch does not look at indices where nothing is read, and its check can overflow; adjoint refuses all that are out of range")
def unread_indices(difference: Any, theirs: Any, ours: Any) -> bool:
    if difference.what != "adjoint raises" or not re.search(r"out of (bounds|range)", ours.text):
        return False
    nothing = 0 in getattr(theirs, "shape", ()) or (theirs is None and re.match(r"v\d+\[.*\] \S?= ", difference.statement))
    return bool(nothing or re.search(r"4611686018427387904|9223372036854775808", difference.program))


@known("PyTorch's take_along_dim reads whatever stands at an index that is out of range, where all sizes are 1")
def taken_beyond(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "adjoint raises" and ".take_along_dim(" in difference.statement and "out of bounds" in ours.text


@known("a custom function may give a gradient to an input that asks for none; the hooks of PyTorch's node see it, those of adjoint None")
def unwanted_gradients(difference: Any, theirs: Any, ours: Any) -> bool:
    hooked = "autograd.Function" in difference.program and "grad_fn.register_hook(" in difference.program
    return hooked and difference.place.startswith("log") and theirs is False and ours is True


@known("there is no complex32 here: complex64 takes its place")
def half_complex(difference: Any, theirs: Any, ours: Any) -> bool:
    return "complex32" in f"{difference.what} {theirs}"


@known("after `x.data = y`, views of the old memory are no views of x any more; writes to them leave its history alone")
def views_of_replaced_data(difference: Any, theirs: Any, ours: Any) -> bool:
    replaced = re.search(r"(v\d+)\.data = ", difference.program)
    return bool(replaced) and "grad" in difference.place


@known("PyTorch wraps indices that are too large for unravel_index")
def unravelled(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "adjoint raises" and "unravel_index(" in difference.statement


@known("derivatives of these by what they are linear in, or constant between kinks of, are not recorded, so they do not require grad")
def constant_derivatives(difference: Any, theirs: Any, ours: Any) -> bool:
    differentiated = difference.what.startswith("requires_grad: PyTorch True") and re.search(r"autograd\.|func\.", difference.statement)
    written = re.search(r"jacfwd|jvp|hessian", difference.statement) and re.search(r"\.(mul|add)_\(|outer\(| \* ", difference.program)
    return bool(differentiated) and bool(written or re.search(PARTLY_CONSTANT, difference.program))


@known("in PyTorch what a transform returns is never a leaf, even if it is what was given")
def leaves(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what.startswith("leaf: PyTorch False") and "torch.func." in difference.statement


@known("the second result of a deprecated function")
def coefficients(difference: Any, theirs: Any, ours: Any) -> bool:
    return "triangular_solve(" in difference.statement and difference.what.startswith("requires_grad")


@known("the state of LBFGS has no room for what is computed anew in each step, its learning rate and the last step are floats")
def lbfgs(difference: Any, theirs: Any, ours: Any) -> bool:
    return "LBFGS" in difference.program and (theirs == 1 or "['state']" in difference.place)


@known("PyTorch makes new nodes for views after an unrecorded write, or a new shape of another view; the hooks of the old ones are lost")
def renewed_views(difference: Any, theirs: Any, ours: Any) -> bool:
    hooked = re.search(r"(v\d+)\.(grad_fn\.)?(register_\w*hook|retain_grad)\(", difference.program)
    written = max([at.start() for at in re.finditer(r"torch\.no_grad\(\)|" + RESHAPES, difference.program)], default=-1)
    seen = difference.place.startswith("log") or "grad" in difference.place or re.search(r"autograd\.grad|backward", difference.statement)
    return bool(hooked and seen) and written > hooked.start()  # type: ignore[union-attr]


@known("a mask of bytes may be used to write one number; PyTorch takes them for all but that")
def byte_masks(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and "masked_fill_ only supports boolean masks" in theirs.text


@known("an undefined gradient is None for the hooks of PyTorch, and zeros for those of adjoint")
def hooks_of_the_undefined(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and "'NoneType' object has no attribute" in theirs.text


@known("what linearize returns can be differentiated; PyTorch's cannot")
def differentiable_linearize(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what.startswith("requires_grad: PyTorch False") and "linearize(" in difference.statement


@known("in PyTorch the tangent of a number may be promoted to float64 inside transforms")
def promoted_tangents(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "dtype: PyTorch float64, adjoint float32" and "torch.func." in difference.statement


@known("the nodes of these need nothing of what PyTorch saves and frees, so they can be used again")
def nothing_to_free(difference: Any, theirs: Any, ours: Any) -> bool:
    again = difference.what == "PyTorch raises" and "backward through the graph a second time" in theirs.text
    return again and bool(re.search(r"fft\.|torch\.complex\(|rounding_mode|[pP]ad(ding)?[123]?d?\(", difference.program))


@known("PyTorch's own derivatives write to what they have saved, lack a rule for batches, or have one that fails for numbers")
def limits_of_transforms(difference: Any, theirs: Any, ours: Any) -> bool:
    transformed = "torch.func." in difference.statement or "is_grads_batched" in difference.statement
    return difference.what == "PyTorch raises" and transformed and bool(re.search(LIMITS, theirs.text))


@known("PyTorch adds 1e-12 to a denominator in the second derivative")
def binary_cross_entropy(difference: Any, theirs: Any, ours: Any) -> bool:
    second = "BCELoss" in difference.program and "create_graph=True" in difference.program
    return second and "values differ" in difference.what and np.allclose(theirs.values, ours.values, 1e-5)


@known("linearize refuses a function that writes to its arguments or to what its derivative needs; PyTorch runs it twice, and writes twice")
def linearized(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "adjoint raises" and "linearize(" in difference.statement and bool(re.search("in-?place", ours.text))


@known("linearize runs a function twice in PyTorch, which then writes twice to what it was given; here it refuses to write there at all")
def written_twice(difference: Any, theirs: Any, ours: Any) -> bool:
    given = re.search(r"linearize\(v\d+, ([v\d, ]+)\)", difference.program)
    names = given[1].split(", ") if given else []
    return any(difference.place == f"{name} at the end" for name in names) and "values differ" in difference.what


@known("PyTorch's convolution over time takes no tensors whose dimensions are permuted")
def permuted_time(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and "conv_tbc(" in difference.statement and "view size is not" in theirs.text


@known("PyTorch's steps over several tensors at once leave Nesterov's term in the gradients")
def nesterov(difference: Any, theirs: Any, ours: Any) -> bool:
    together = "nesterov=True" in difference.program and "foreach=True" in difference.program and "SGD(" in difference.program
    return together and difference.place.endswith("grad") and "values differ" in difference.what


@known("a function that was run again has written to what it shares with the first run; PyTorch does not notice inside transforms")
def written_again(difference: Any, theirs: Any, ours: Any) -> bool:
    raises = difference.what == "adjoint raises" and "modified by an inplace operation" in ours.text
    return raises and difference.statement.count("torch.func.vjp(") == 2 and ".detach()" in difference.program


@known("a node that gets no gradient looks at what it has saved in PyTorch; here it does nothing")
def nothing_to_do(difference: Any, theirs: Any, ours: Any) -> bool:
    changed = difference.what == "PyTorch raises" and "modified by an inplace operation" in theirs.text
    return changed and "def backward(ctx, g): return g * 2, None" in difference.program


@known("PyTorch multiplies what is added to complex numbers by 1+0j, which makes NaN of infinity")
def complex_sums(difference: Any, theirs: Any, ours: Any) -> bool:
    sums = re.search(r" [-+] |\.(add|r?sub)_?\(", difference.statement) and "values differ" in difference.what
    if not sums or not theirs.dtype.startswith("complex"):
        return False
    wrong = ~((theirs.values == ours.values) | (np.isnan(theirs.values) & np.isnan(ours.values)))
    return bool((np.isnan(theirs.values) & np.isinf(ours.values))[wrong].all())


@known("PyTorch's derivative of as_strided leaves out what the view that it was called on does not show")
def beyond_the_view(difference: Any, theirs: Any, ours: Any) -> bool:
    gradient = "as_strided(" in difference.program and difference.place.endswith("grad") and "values differ" in difference.what
    return gradient and bool((np.abs(theirs.values) <= np.abs(ours.values)).all())


@known("PyTorch's derivative of a loss over images takes no permuted input")
def permuted_images(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and "grad_input must be contiguous" in theirs.text and "NLLLoss" in difference.program


@known("which one of equal elements is the kth is not said")
def ties(difference: Any, theirs: Any, ours: Any) -> bool:
    return "kthvalue(" in difference.statement and difference.place.endswith("[1]") and "values differ" in difference.what


@known("after set_ PyTorch counts a write to the memory that a tensor has left as one to what it looks at now")
def left_memory(difference: Any, theirs: Any, ours: Any) -> bool:
    refused = difference.what == "PyTorch raises" and "modified inplace" in theirs.text
    return (refused or "._version" in difference.statement) and ".set_(" in difference.program


@known("PyTorch has written what stands before an index that is out of range when it refuses that")
def written_in_part(difference: Any, theirs: Any, ours: Any) -> bool:
    last = difference.place.endswith("at the end") and "values differ" in difference.what
    return last and bool(re.search(r"index \S+ is out of bounds", difference.errors) and re.search(r"\] = |_\(", difference.program))


@known("PyTorch does not look whether elements share memory that threshold_ writes to")
def threshold_of_expanded(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "adjoint raises" and "single memory location" in ours.text and "hreshold(" in difference.program


@known("the softmax of one number is constant, which PyTorch does not record inside transforms")
def softmax_of_a_number(difference: Any, theirs: Any, ours: Any) -> bool:
    recorded = difference.what.startswith("requires_grad: PyTorch False") and "torch.func." in difference.statement
    return recorded and "softmax(" in difference.program and not ours.values.any()


@known("PyTorch computes parts of these in single precision")
def single_precision(difference: Any, theirs: Any, ours: Any) -> bool:
    inexact = re.search(r"(?i)hardsigmoid|celu|ASGD", difference.program)
    return bool(inexact) and "values differ" in difference.what and np.allclose(theirs.values, ours.values, 1e-6)


@known("PyTorch does not look at the dimension if there is nothing to go through")
def unused_dimensions(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "adjoint raises" and bool(re.search(r"torch\.cum(max|min)\(", difference.statement))


@known("the second derivative of norm at zero is zero here, and NaN there")
def norms_at_zero(difference: Any, theirs: Any, ours: Any) -> bool:
    twice = re.search(r"norm\(", difference.program) and re.search(r"create_graph=True|func\.|functional\.", difference.program)
    return bool(twice) and "values differ" in difference.what and bool(np.isfinite(ours.values[np.isnan(theirs.values)]).all())


@known("PyTorch's tangent of x.mul_(x) is wrong")
def squared_in_place(difference: Any, theirs: Any, ours: Any) -> bool:
    forward = re.search(r"jacfwd|jvp|hessian", difference.statement) and re.search(r"\.mul_\(v", difference.program)
    return bool(forward) and "values differ" in difference.what


@known("adjoint saves less for the derivatives of these, so that their input may be changed")
def less_is_saved(difference: Any, theirs: Any, ours: Any) -> bool:
    changed = difference.what == "PyTorch raises" and "modified by an inplace operation" in theirs.text
    return changed and bool(re.search(r"\.(take|masked_select)\(", difference.program))


@known("what is multiplied by itself in place can be differentiated here")
def squared(difference: Any, theirs: Any, ours: Any) -> bool:
    changed = difference.what == "PyTorch raises" and "modified by an inplace operation" in theirs.text
    first: dict[str, str] = {}  # of several names for one tensor
    for made, of, operand in re.findall(r"(v\d+) = (v\d+)\.\w+_\((v\d+)?", difference.program):
        first[made] = first.get(of, of)
        if changed and first.get(operand, operand) == first[made]:
            return True
    return False


@known("PyTorch's linearize takes what a function has computed from a leaf for a leaf, which cannot be written to")
def linearized_leaves(difference: Any, theirs: Any, ours: Any) -> bool:
    raises = difference.what == "PyTorch raises" and "a leaf Variable that requires grad" in theirs.text
    return raises and "linearize(" in difference.statement
