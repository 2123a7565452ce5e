"""trl: a small language model tuned on examples, and the pieces that preference tuning is made of."""

import tempfile
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from trl import DPOConfig, GRPOConfig, SFTConfig, SFTTrainer
from trl.trainer.utils import entropy_from_logits, selective_log_softmax


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=32, n_positions=32, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = GPT2LMHeadModel(config)
    logits, chosen = torch.randn(2, 5, 32), torch.randint(0, 32, (2, 5))
    with tempfile.TemporaryDirectory() as folder:
        configurations = [
            DPOConfig(folder, beta=0.2, use_cpu=True, report_to=[], bf16=False),
            GRPOConfig(folder, beta=0.3, use_cpu=True, report_to=[], bf16=False),
        ]
        betas = [found.beta for found in configurations]
    return {
        "betas": betas,
        "probabilities": selective_log_softmax(logits, chosen),
        "entropy": entropy_from_logits(logits),
        "logits": model(chosen).logits,
        "trainer": [SFTTrainer.__name__, SFTConfig.__name__],
    }
