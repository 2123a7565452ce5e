"""sentence-transformers: a sentence encoder from modules with random weights: embeddings, similarity, a loss, saved and loaded."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer, losses, util
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

SENTENCES = ["the cat sat on the mat", "a dog ran in the park", "the cat ran"]


def encoder(folder: Path) -> SentenceTransformer:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for sentence in SENTENCES for word in sentence.split()})]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32
    )
    BertModel(config).save_pretrained(folder)
    words_to_vectors = Transformer(str(folder), max_seq_length=16)
    return SentenceTransformer(modules=[words_to_vectors, Pooling(32, "mean"), Dense(32, 16), Normalize()], device="cpu")


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        model = encoder(Path(folder))
        before = model.encode(SENTENCES, convert_to_tensor=True)
        features = [model.tokenize(SENTENCES), model.tokenize(SENTENCES[::-1])]
        criterion = losses.MultipleNegativesRankingLoss(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        found = []
        model.eval()
        for _ in range(3):
            loss = criterion(features, None)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        model.save(f"{folder}/saved")
        again = SentenceTransformer(f"{folder}/saved", device="cpu").encode(SENTENCES, convert_to_tensor=True)
    return {
        "before": before,
        "losses": found,
        "after": model.encode(SENTENCES, convert_to_tensor=True),
        "again": again,
        "similar": model.similarity(before, again),
        "nearest": [hit[0]["corpus_id"] for hit in util.semantic_search(before, again, top_k=1)],
    }
