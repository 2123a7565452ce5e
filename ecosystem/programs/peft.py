"""peft: adapters on a small Llama: trained, merged, saved and loaded."""

import tempfile
from typing import Any

import torch
from peft import (
    AdaLoraConfig,
    IA3Config,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
)
from transformers import LlamaConfig, LlamaForCausalLM

CONFIGURATIONS = {
    "lora": LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]),
    "dora": LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, use_dora=True, target_modules=["q_proj", "down_proj"]),
    "ia3": IA3Config(task_type=TaskType.CAUSAL_LM, target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]),
    "loha": LoHaConfig(task_type=TaskType.CAUSAL_LM, r=4, alpha=4, target_modules=["q_proj", "v_proj"]),
    "lokr": LoKrConfig(task_type=TaskType.CAUSAL_LM, r=4, alpha=4, target_modules=["q_proj", "v_proj"]),
    "adalora": AdaLoraConfig(task_type=TaskType.CAUSAL_LM, init_r=4, target_r=2, total_step=10, target_modules=["q_proj", "v_proj"]),
    "prefix": PrefixTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4),
    "prompt": PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4),
}


def base_model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=67,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        )
    )


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    results: dict[str, Any] = {}
    for name, configuration in CONFIGURATIONS.items():
        model = get_peft_model(base_model(), configuration)
        tokens = torch.randint(3, 67, (2, 10))
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
        losses = []
        for _ in range(3):
            loss = model(input_ids=tokens, labels=tokens).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        results[f"{name} parameters"] = model.get_nb_trainable_parameters()
        results[f"{name} losses"] = losses
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model.save_pretrained(folder)
            again = PeftModel.from_pretrained(base_model(), folder).eval()
            results[f"{name} logits"] = again(input_ids=tokens).logits
            if hasattr(again.base_model, "merge_and_unload"):
                results[f"{name} merged"] = again.merge_and_unload()(input_ids=tokens).logits
    return results
