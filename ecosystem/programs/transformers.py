"""transformers: small models of many kinds from their configurations, trained, generating, saved and loaded again."""

import tempfile
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    CLIPConfig,
    CLIPModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTForImageClassification,
    get_linear_schedule_with_warmup,
)

SMALL = {"vocab_size": 67, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}


def train(model: Any, steps: int = 3, **inputs: Any) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=steps)
    losses = []
    for _ in range(steps):
        loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def reloaded(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder).eval()


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    torch.manual_seed(0)
    tokens = torch.randint(3, 67, (2, 12))
    mask = torch.ones_like(tokens)
    mask[1, 8:] = 0

    decoders = {
        "gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=67, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1)),
        "llama": LlamaForCausalLM(LlamaConfig(**GROUPED)),
        "mistral": MistralForCausalLM(MistralConfig(**GROUPED, sliding_window=8)),
        "qwen2": Qwen2ForCausalLM(Qwen2Config(**GROUPED)),
    }
    for name, model in decoders.items():
        model.train()
        results[f"{name} losses"] = train(model, input_ids=tokens, attention_mask=mask, labels=tokens)
        model = reloaded(model)
        with torch.no_grad():
            results[f"{name} logits"] = model(tokens).logits
        prompt = {"input_ids": tokens[:1, :5], "attention_mask": mask[:1, :5], "max_new_tokens": 6, "pad_token_id": 2}
        results[f"{name} greedy"] = model.generate(**prompt, do_sample=False)
        results[f"{name} beams"] = model.generate(**prompt, do_sample=False, num_beams=3)
        torch.manual_seed(1)
        results[f"{name} sampled"] = model.generate(**prompt, do_sample=True, top_k=20, top_p=0.9, temperature=0.8)

    bert = BertForSequenceClassification(BertConfig(**SMALL, max_position_embeddings=64, num_labels=3))
    results["bert losses"] = train(bert, input_ids=tokens, attention_mask=mask, labels=torch.tensor([0, 2]))
    results["bert logits"] = reloaded(bert)(tokens, attention_mask=mask).logits

    distilbert = DistilBertForMaskedLM(
        DistilBertConfig(vocab_size=67, max_position_embeddings=64, dim=32, hidden_dim=48, n_layers=2, n_heads=4)
    )
    results["distilbert losses"] = train(distilbert, input_ids=tokens, labels=tokens)
    results["distilbert logits"] = reloaded(distilbert)(tokens).logits

    t5 = T5ForConditionalGeneration(
        T5Config(
            vocab_size=67, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1
        )
    )
    results["t5 losses"] = train(t5, input_ids=tokens, labels=tokens[:, :6].contiguous())
    t5 = reloaded(t5)
    results["t5 logits"] = t5(input_ids=tokens, labels=tokens[:, :6].contiguous()).logits
    results["t5 greedy"] = t5.generate(tokens, max_new_tokens=6, do_sample=False)

    images = torch.randn(2, 3, 32, 32)
    vision = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    vit = ViTForImageClassification(ViTConfig(**vision, num_labels=5))
    results["vit losses"] = train(vit, pixel_values=images, labels=torch.tensor([1, 4]))
    results["vit logits"] = reloaded(vit)(images).logits

    text = {**SMALL, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 66, "pad_token_id": 2}
    clip = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    results["clip losses"] = train(clip, input_ids=tokens, attention_mask=mask, pixel_values=images, return_loss=True)
    results["clip logits"] = reloaded(clip)(input_ids=tokens, attention_mask=mask, pixel_values=images).logits_per_image
    return results
