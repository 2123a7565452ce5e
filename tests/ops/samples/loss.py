"""Samples of the losses. Those that take class weights as constants have their gradients tested in tests/ops/test_losses.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

REDUCTIONS = ("mean", "sum", "none")
Generator = Callable[[Make], Iterator[Sample]]


def loss(*names: str) -> Callable[[Generator], Generator]:
    """Samples for losses, which both libraries keep in `nn.functional`."""

    def register(generator: Generator) -> Generator:
        for name in names:
            samples(name, ours=f"nn.functional.{name}", torch=f"nn.functional.{name}")(generator)
        return generator

    return register


def probabilities(make: Make, *shape: int) -> np.ndarray:
    return make(*shape, low=0.05, high=0.95)


# ---- classification -----------------------------------------------------------------------------------------------------------------


@loss("nll_loss", "cross_entropy")
def classes(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), reduction=reduction)
        yield Sample(make(4, 3), np.array([0, -100, 1, 0]), reduction=reduction)
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), ignore_index=2, reduction=reduction)
        yield Sample(make(2, 3, 4), make.indices(2, 4, size=3), reduction=reduction)
        yield Sample(make(2, 3, 4, 2), make.indices(2, 4, 2, size=3), reduction=reduction)
        yield Sample(make(3), np.array(1), reduction=reduction)
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), make(3, low=0.1), reduction=reduction).no_gradient()
    yield Sample(make(4, 3), np.array([0, 2, 1, 0], "uint8"))
    yield Sample(make(4, 3), np.full(4, -100)).only_values()
    yield Sample(make(0, 3), make.indices(0, size=3)).only_values()
    yield Sample(make(4, 3, dtype="float16"), np.array([0, 2, 1, 0])).only_values()


@loss("cross_entropy")
def smoothed_classes(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), reduction=reduction, label_smoothing=0.2)
        yield Sample(make(4, 3), np.array([0, -100, 1, 0]), reduction=reduction, label_smoothing=0.2)
        yield Sample(make(2, 3, 4), make.indices(2, 4, size=3), make(3, low=0.1), reduction=reduction, label_smoothing=0.2).no_gradient()
        yield Sample(make(4, 3), probabilities(make, 4, 3), reduction=reduction)
        yield Sample(make(4, 3), probabilities(make, 4, 3), make(3, low=0.1), reduction=reduction, label_smoothing=0.2)
        yield Sample(make(2, 3, 4), probabilities(make, 2, 3, 4), reduction=reduction)
        yield Sample(make(3), probabilities(make, 3), reduction=reduction)
    yield Sample(np.array([[1000.0, 0.0], [0.0, -1000.0]]), np.array([0, 0])).only_values()


@error_samples("nll_loss", "cross_entropy")
def bad_classes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "Target 3 is out of bounds", make(2, 3), np.array([0, 3]))
    yield ErrorSample(IndexError, "Target -1 is out of bounds", make(2, 3), np.array([0, -1]))
    yield ErrorSample(RuntimeError, "expected target dtype to be Long or Byte, but got Int", make(2, 3), np.array([0, 1], "int32"))
    yield ErrorSample(ValueError, r"Expected input batch_size \(2\) to match target batch_size \(3\)", make(2, 3), np.array([0, 1, 2]))
    yield ErrorSample(RuntimeError, "0D or 1D target tensor expected, multi-target not supported", make(2, 3), np.array([[0], [1]]))
    yield ErrorSample(ValueError, "For 1D input, 1D target must have size 1, but got target size: 2", make(3), np.array([0, 1]))
    yield ErrorSample(RuntimeError, "weight tensor should be defined either for all 3 classes", make(2, 3), np.array([0, 1]), make(2))
    yield ErrorSample(ValueError, "total is not a valid value for reduction", make(2, 3), np.array([0, 1]), reduction="total")


@error_samples("cross_entropy")
def bad_cross_entropy(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(
        RuntimeError, "label_smoothing must be between 0.0 and 1.0. Got: 1.5", make(2, 3), np.array([0, 1]), label_smoothing=1.5
    )
    yield ErrorSample(RuntimeError, "ignore_index is not supported for floating point target", make(2, 3), make(2, 3), ignore_index=0)
    yield ErrorSample(RuntimeError, "Expected floating point type for target with class probabilities, got Long", make(), np.array(1))


@loss("multi_margin_loss")
def margins_of_classes(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), reduction=reduction)
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), 2, 0.7, reduction=reduction)
        yield Sample(make(4, 3), np.array([0, 2, 1, 0]), weight=make(3, low=0.1), reduction=reduction).no_gradient()
        yield Sample(make(3), np.array([1]), reduction=reduction)
    yield Sample(np.array([[0.0, 1.0, 0.0]]), np.array([1])).only_values()  # just at the margin


@error_samples("multi_margin_loss")
def bad_margins_of_classes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "target out of range", make(2, 3), np.array([0, 3]))
    yield ErrorSample(ValueError, "only p == 1 and p == 2 supported", make(2, 3), np.array([0, 1]), 3)
    yield ErrorSample(RuntimeError, "target tensor should be 1-D with size equal to the number of input samples", make(2, 3), np.array([0]))
    yield ErrorSample(RuntimeError, "inconsistent weight size, expected 3 but got", make(2, 3), np.array([0, 1]), weight=make(2))
    yield ErrorSample(RuntimeError, "expected scalar type Long but found Int", make(2, 3), np.array([0, 1], "int32"))


@error_samples("multi_margin_loss", "multilabel_margin_loss")
def no_classes(make: Make) -> Iterator[ErrorSample]:
    target = np.zeros((2, 0), "int64")
    yield ErrorSample(RuntimeError, "Expected non-empty vector or matrix with optional 0-dim batch size", make(2, 0), target)


@loss("multilabel_margin_loss")
def margins_of_labels(make: Make) -> Iterator[Sample]:
    labels = np.array([[0, 1, -1], [2, -1, 0], [-1, 0, 0], [2, 1, 0]])
    for reduction in REDUCTIONS:
        yield Sample(make(4, 3), labels, reduction=reduction)
    yield Sample(make(3), labels[0])


@error_samples("multilabel_margin_loss")
def bad_margins_of_labels(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "argument #2 'target' is out of range", make(1, 3), np.array([[0, 3, -1]]))
    yield ErrorSample(RuntimeError, "argument #2 'target' is out of range", make(1, 3), np.array([[0, -1, -2]]))
    yield ErrorSample(RuntimeError, "expected scalar type Long but found Int", make(1, 3), np.array([[0, 1, -1]], "int32"))


# ---- regression ---------------------------------------------------------------------------------------------------------------------


@loss("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def errors(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), make(3, 4), reduction=reduction)
        yield Sample(make(3, 4).T, make(4, 3), reduction=reduction)
        yield Sample(np.array([0.0, 1.0, -1.0, 0.5]), np.zeros(4), reduction=reduction).only_values()
    yield Sample(make(), make())
    yield Sample(make(0), make(0)).only_values()
    yield Sample(make(3, dtype="float16"), make(3, dtype="float16")).only_values()


@loss("mse_loss", "l1_loss", "smooth_l1_loss")
def errors_of_two_types(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, dtype="float32"), make(3)).only_values()
    yield Sample(make(3), make(3, dtype="int64")).only_values()


@loss("mse_loss", "l1_loss", "huber_loss")
def weighted_errors(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), make(3, 4), reduction=reduction, weight=make(3, 4, low=0.1))


@loss("smooth_l1_loss")
def smooth_errors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), beta=0.5)
    yield Sample(make(3, 4), make(3, 4), beta=0)


@loss("huber_loss")
def huber_errors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), delta=0.5)


@error_samples("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def bad_reduction(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "total is not a valid value for reduction", make(3), make(3), reduction="total")


@error_samples("mse_loss")
def bad_mse(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"mse_cpu\" not implemented for 'Long'", make(3, dtype="int64"), make(3, dtype="int64"))
    yield ErrorSample(ValueError, "Weights and input must have the same size", make(3), make(3), weight=make(2))


@error_samples("smooth_l1_loss")
def bad_beta(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "smooth_l1_loss does not support negative values for beta", make(3), make(3), beta=-1.0)


@error_samples("huber_loss")
def bad_delta(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "huber_loss does not support non-positive values for delta", make(3), make(3), delta=0.0)


@loss("poisson_nll_loss")
def counts(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), make(3, 4, low=0, high=5), reduction=reduction)
    yield Sample(make(3, 4), make(3, 4, low=1.5, high=5), full=True)
    yield Sample(make(3, 4, low=0.1), make(3, 4, low=0, high=5), log_input=False)


@loss("gaussian_nll_loss")
def normal(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), make(3, 4), make(3, 4, low=0.1), reduction=reduction)
    yield Sample(make(3, 4), make(3, 4), make(3, low=0.1), full=True)
    yield Sample(make(3, 4), make(3, 4), make(3, 1, low=0.1))
    yield Sample(make(3, 4), make(3, 4), 2.0)
    yield Sample(make(3, 4), make(3, 4), make(3, 4, low=0.1), eps=0.5).only_values()


@error_samples("gaussian_nll_loss")
def bad_normal(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "var has negative entry/entries", make(3), make(3), -np.ones(3))
    yield ErrorSample(ValueError, "var is of incorrect size", make(3, 4), make(3, 4), np.ones(5))
    yield ErrorSample(ValueError, "median is not valid", make(3), make(3), np.ones(3), reduction="median")


# ---- probabilities ------------------------------------------------------------------------------------------------------------------


@loss("binary_cross_entropy")
def binary(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(probabilities(make, 3, 4), probabilities(make, 3, 4), reduction=reduction)
        yield Sample(probabilities(make, 3, 4), probabilities(make, 3, 4), make(4, low=0.1), reduction=reduction).no_gradient()
    yield Sample(np.array([0.0, 1.0, 0.3, 1e-20]), np.array([0.5, 0.5, 0.2, 1.0])).only_values().tolerance(1e-8)


@loss("binary_cross_entropy_with_logits")
def binary_logits(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), probabilities(make, 3, 4), reduction=reduction)
        weights = {"weight": make(4, low=0.1), "pos_weight": make(4, low=0.1)}
        yield Sample(make(3, 4), probabilities(make, 3, 4), reduction=reduction, **weights).no_gradient()
    yield Sample(np.zeros(3), np.array([0.0, 0.5, 1.0]))
    yield Sample(np.array([0.0, 1000.0, -1000.0]), np.array([1.0, 0.5, 0.2])).only_values()


@error_samples("binary_cross_entropy")
def bad_binary(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "all elements of input should be between 0 and 1", np.array([1.5]), np.array([1.0]))
    yield ErrorSample(
        ValueError, r"Using a target size \(torch.Size\(\[3\]\)\) that is different to the input size", probabilities(make, 2, 3), make(3)
    )
    yield ErrorSample(RuntimeError, "Found dtype Long but expected Double", probabilities(make, 3), np.array([0, 1, 1]))


@error_samples("binary_cross_entropy_with_logits")
def bad_binary_logits(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, r"Target size \(torch.Size\(\[3\]\)\) must be the same as input size", make(2, 3), make(3))
    yield ErrorSample(RuntimeError, "result type Double can't be cast to the desired output type Long", make(3), np.array([0, 1, 1]))


@loss("kl_div")
def divergences(make: Make) -> Iterator[Sample]:
    for reduction in ("sum", "none", "batchmean"):
        yield Sample(make(3, 4), probabilities(make, 3, 4), reduction=reduction)
        yield Sample(make(3, 4), make(3, 4), reduction=reduction, log_target=True)
    yield Sample(make(3), np.array([0.0, 0.5, 0.5]), reduction="sum").only_values()


@loss("soft_margin_loss", "hinge_embedding_loss")
def signs(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4, avoid=(1.0,)), np.array([1, -1, -1, 1]), reduction=reduction)


@loss("margin_ranking_loss")
def rankings(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4), make(4), np.array([1, -1, -1, 1]), 0.1, reduction=reduction)


@error_samples("margin_ranking_loss")
def bad_rankings(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(
        RuntimeError, "margin_ranking_loss : All input tensors should have same dimension", make(2, 3), make(2, 3), np.array([1, -1])
    )


@loss("multilabel_soft_margin_loss")
def soft_margins(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), probabilities(make, 3, 4), reduction=reduction)
    yield Sample(make(3, 4), probabilities(make, 3, 4), make(4, low=0.1))


@loss("triplet_margin_loss", "triplet_margin_with_distance_loss")
def triplets(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(3, 4), make(3, 4), make(3, 4), reduction=reduction)
    yield Sample(make(3, 4), make(3, 4), make(3, 4), margin=2.0, swap=True)


@loss("triplet_margin_loss")
def city_triplets(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4), p=1)


@error_samples("triplet_margin_loss")
def bad_triplets(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "margin must be greater than 0, got -1", make(2, 3), make(2, 3), make(2, 3), -1)
    yield ErrorSample(RuntimeError, "expected to have the same number of dimensions, but got: anchor 2D", make(2, 3), make(2, 3), make(3))


@loss("cosine_embedding_loss")
def embeddings(make: Make) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample(make(4, 3), make(4, 3), np.array([1, -1, -1, 1]), 0.1, reduction=reduction)
    yield Sample(make(3), make(3), np.array(1))


@samples("ctc_loss", ours="nn.functional.ctc_loss", torch="nn.functional.ctc_loss")
def alignments(make: Make) -> Iterator[Sample]:
    def log_probabilities() -> np.ndarray:
        logits = make(6, 2, 4)
        return np.asarray(logits - np.log(np.sum(np.exp(logits), axis=2, keepdims=True)))

    # The gradient, as PyTorch's, is that by the values before a log_softmax: differences of the loss itself are others.
    for reduction in REDUCTIONS:
        options = {"reduction": reduction}
        yield Sample(log_probabilities(), np.array([[1, 2], [3, 0]]), (6, 5), (2, 1), **options).only_values()
        yield Sample(log_probabilities(), np.array([1, 2, 3]), (6, 5), (2, 1), **options).only_values()
        yield Sample(log_probabilities(), np.array([[2, 2], [3, 3]]), (6, 5), (2, 2), 1, **options).only_values()
        yield Sample(log_probabilities()[:, 0], np.array([1, 2]), np.array(6), np.array(2), **options).only_values()
    yield Sample(log_probabilities(), np.array([[1, 2], [3, 0]]), (6, 5), (0, 0)).only_values()
    yield Sample(log_probabilities()[:1], np.array([1, 2, 3]), (1, 1), (2, 1), zero_infinity=True).only_values()
    yield Sample(log_probabilities()[:1], np.array([1, 2, 3]), (1, 1), (2, 1), reduction="none").no_gradient()


@error_samples("ctc_loss")
def bad_alignments(make: Make) -> Iterator[ErrorSample]:
    targets = np.array([1, 2, 3])
    yield ErrorSample(
        RuntimeError, "Expected input_lengths to have value at most 6, but got value 7", make(6, 2, 4), targets, (6, 7), (2, 1)
    )
    yield ErrorSample(RuntimeError, "input_lengths must be of size batch_size", make(6, 2, 4), targets, (6,), (2, 1))
    yield ErrorSample(RuntimeError, "blank must be in label range", make(6, 2, 4), targets, (6, 5), (2, 1), 9)
    yield ErrorSample(RuntimeError, "Expected tensor to have size 4 at dimension 0, but got size 3", make(6, 2, 4), targets, (6, 5), (2, 2))
    yield ErrorSample(
        NotImplementedError, "\"ctc_loss_cpu\" not implemented for 'Long'", make(6, 2, 4, dtype="int64"), targets, (6, 5), (2, 1)
    )
