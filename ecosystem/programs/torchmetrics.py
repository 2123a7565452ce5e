"""torchmetrics: metrics as functions, as modules that accumulate, and in collections."""

from typing import Any

import torch
import torchmetrics
import torchmetrics.functional as F
from torchmetrics import MeanMetric, MetricCollection, MetricTracker
from torchmetrics.classification import (
    BinaryAUROC,
    BinaryPrecisionRecallCurve,
    MulticlassAccuracy,
    MulticlassCalibrationError,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassJaccardIndex,
    MultilabelAveragePrecision,
)
from torchmetrics.functional.clustering import normalized_mutual_info_score
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure, TotalVariation
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, R2Score, SpearmanCorrCoef
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    probabilities, labels = torch.rand(40, 5).softmax(-1), torch.randint(0, 5, (40,))
    scores, truths = torch.rand(40), torch.randint(0, 2, (40,))
    values, targets = torch.randn(40), torch.randn(40)
    images, others = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)

    metrics = MetricCollection(
        {
            "accuracy": MulticlassAccuracy(5),
            "f1": MulticlassF1Score(5, average="macro"),
            "confusion": MulticlassConfusionMatrix(5),
            "jaccard": MulticlassJaccardIndex(5),
            "calibration": MulticlassCalibrationError(5),
        }
    )
    for part in range(4):
        metrics.update(probabilities[part * 10 : part * 10 + 10], labels[part * 10 : part * 10 + 10])
    results: dict[str, Any] = dict(metrics.compute())

    modules = {
        "auroc": (BinaryAUROC(), scores, truths),
        "binned auroc": (BinaryAUROC(thresholds=11), scores, truths),
        "average precision": (MultilabelAveragePrecision(5), probabilities, torch.randint(0, 2, (40, 5))),
        "mse": (MeanSquaredError(squared=False), values, targets),
        "pearson": (PearsonCorrCoef(), values, targets),
        "spearman": (SpearmanCorrCoef(), values, targets),
        "r2": (R2Score(), values, targets),
        "psnr": (PeakSignalNoiseRatio(data_range=1.0), images, others),
        "ssim": (StructuralSimilarityIndexMeasure(data_range=1.0), images, others),
    }
    for name, (metric, *arguments) in modules.items():
        metric.update(*arguments)
        results[name] = metric.compute()
    precision, recall, _ = BinaryPrecisionRecallCurve(thresholds=5)(scores, truths)
    results["curve"] = [precision, recall]
    results["variation"] = TotalVariation()(images)

    queries = torch.arange(40) // 8
    results["map"] = RetrievalMAP()(scores, truths, indexes=queries)
    results["ndcg"] = RetrievalNormalizedDCG()(scores, truths, indexes=queries)

    weights = values.clone().requires_grad_()
    F.mean_squared_error(weights, targets).backward()
    results["gradient"] = weights.grad
    results["functions"] = [
        F.accuracy(probabilities, labels, task="multiclass", num_classes=5, top_k=2),
        F.cohen_kappa(probabilities, labels, task="multiclass", num_classes=5),
        F.matthews_corrcoef(probabilities, labels, task="multiclass", num_classes=5),
        F.hinge_loss(scores, truths, task="binary"),
        F.kl_divergence(probabilities[:8], probabilities[8:16]),
        F.explained_variance(values, targets),
        F.kendall_rank_corrcoef(values, targets),
        F.signal_noise_ratio(values, targets),
        F.scale_invariant_signal_distortion_ratio(values, targets),
        F.image.multiscale_structural_similarity_index_measure(
            images.repeat(1, 1, 4, 4), others.repeat(1, 1, 4, 4), data_range=1.0, kernel_size=5
        ),
        F.text.perplexity(probabilities[None].log(), labels[None]),
        F.char_error_rate(["a cat sat"], ["the cat sat"]),
        normalized_mutual_info_score(labels, labels.roll(1)),
    ]

    results["similarities"] = F.pairwise_cosine_similarity(probabilities[:3], probabilities[3:6])

    tracker = MetricTracker(torchmetrics.Accuracy(task="multiclass", num_classes=5))
    for _ in range(2):
        tracker.increment()
        tracker.update(torch.rand(10, 5), torch.randint(0, 5, (10,)))
    results["tracked"] = tracker.compute_all()
    mean = MeanMetric()
    mean.persistent(True)
    mean.update(values, torch.rand(40))
    again = MeanMetric()
    again.load_state_dict(mean.state_dict(), strict=False)
    results["mean"] = [mean.compute(), len(mean.state_dict())]
    return results
