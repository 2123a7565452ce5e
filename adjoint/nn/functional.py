"""`torch.nn.functional`: what layers compute, as functions."""

from __future__ import annotations

from ._attention import scaled_dot_product_attention as scaled_dot_product_attention
from ._dropout import alpha_dropout as alpha_dropout
