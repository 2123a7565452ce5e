"""open_clip: a small CLIP from a configuration, its contrastive loss, and labels for images by their texts."""

from typing import Any

import torch
from open_clip import CLIP, ClipLoss, CLIPTextCfg, CLIPVisionCfg, tokenize


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    vision = CLIPVisionCfg(layers=2, width=64, head_width=16, patch_size=8, image_size=32)
    model = CLIP(32, vision, CLIPTextCfg(context_length=77, vocab_size=49408, width=32, heads=4, layers=2))
    images, texts = torch.randn(3, 3, 32, 32), tokenize(["a diagram", "a dog", "a cat"])
    criterion, optimizer = ClipLoss(), torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = criterion(*model(images, texts))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        image, text = model.encode_image(images, normalize=True), model.encode_text(texts, normalize=True)
    return {"losses": losses, "tokens": texts, "probabilities": (100.0 * image @ text.T).softmax(dim=-1)}
