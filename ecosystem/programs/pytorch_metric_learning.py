"""pytorch-metric-learning: losses of embeddings, miners, regularizers, samplers and accuracies."""

from typing import Any

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers, samplers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    labels = torch.arange(24) % 4
    embedding = torch.nn.Linear(6, 8)
    x = torch.randn(24, 6)
    criteria = {
        "triplet": losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0)),
        "contrastive": losses.ContrastiveLoss(),
        "ntxent": losses.NTXentLoss(temperature=0.2),
        "supcon": losses.SupConLoss(),
        "multi": losses.MultiSimilarityLoss(),
        "circle": losses.CircleLoss(),
        "lifted": losses.LiftedStructureLoss(),
        "angular": losses.AngularLoss(),
        "npairs": losses.NPairsLoss(),
        "fastap": losses.FastAPLoss(),
        "arcface": losses.ArcFaceLoss(4, 8),
        "cosface": losses.CosFaceLoss(4, 8),
        "proxy": losses.ProxyAnchorLoss(4, 8),
        "softtriple": losses.SoftTripleLoss(4, 8, centers_per_class=2),
        "regularized": losses.TripletMarginLoss(embedding_regularizer=regularizers.LpRegularizer()),
        "memory": losses.CrossBatchMemory(losses.ContrastiveLoss(), 8, memory_size=48),
    }
    results: dict[str, Any] = {}
    for name, criterion in criteria.items():
        loss = criterion(embedding(x), labels)
        embedding.zero_grad()
        loss.backward()
        results |= {name: loss, f"{name} gradient": embedding.weight.grad.clone()}
    found = embedding(x).detach()
    for name, miner in {
        "multi": miners.MultiSimilarityMiner(0.1),
        "triplets": miners.TripletMarginMiner(0.2),
        "hard": miners.BatchHardMiner(),
    }.items():
        results[f"mined {name}"] = [len(indices) for indices in miner(found, labels)]
    scores = AccuracyCalculator(
        include=("precision_at_1", "r_precision", "mean_average_precision_at_r"), k=5, knn_func=nearest
    ).get_accuracy(found, labels)
    results["scores"] = [scores[name] for name in sorted(scores)]
    results["sampled"] = len(list(samplers.MPerClassSampler(labels, m=2, batch_size=8, length_before_new_iter=24)))
    return results


def nearest(query: torch.Tensor, k: int, reference: torch.Tensor, same: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The k nearest neighbours, in place of a library for large sets."""
    found = torch.cdist(query, reference).topk(k + same, largest=False)
    return found.values[:, int(same) :], found.indices[:, int(same) :]
