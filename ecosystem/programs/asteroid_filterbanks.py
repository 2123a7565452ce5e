"""asteroid-filterbanks: learned and fixed filterbanks as encoder and decoder."""

from typing import Any

import torch
from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB, make_enc_dec
from asteroid_filterbanks.transforms import angle, mag


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    wave = torch.randn(2, 1, 800, requires_grad=True)
    encoder, decoder = Encoder(FreeFB(n_filters=32, kernel_size=16, stride=8)), Decoder(FreeFB(n_filters=32, kernel_size=16, stride=8))
    back = decoder(encoder(wave))
    back.square().mean().backward()
    stft, istft = Encoder(STFTFB(n_filters=64, kernel_size=64, stride=32)), Decoder(STFTFB(n_filters=64, kernel_size=64, stride=32))
    spectrum = stft(wave)
    sinc, _ = make_enc_dec("param_sinc", n_filters=32, kernel_size=17, stride=8)
    analytic, _ = make_enc_dec("analytic_free", n_filters=32, kernel_size=16, stride=8, who_is_pinv="dec")
    return {
        "back": back,
        "gradient": wave.grad,
        "spectrum": spectrum,
        "magnitude": mag(spectrum),
        "angle": angle(spectrum).cos(),
        "istft": istft(spectrum),
        "sinc": sinc(wave),
        "analytic": analytic(wave),
    }
