"""Two optimizers are stepped, and the zero_grad() of the modules clears the gradients of both."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
data = ad.randn(64, 3) @ ad.randn(3, 12)

encoder = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
decoder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12))
enc_opt = ad.optim.Adam(encoder.parameters(), lr=0.01)
dec_opt = ad.optim.Adam(decoder.parameters(), lr=0.01)

for step in range(80):
    batch = data[ad.randperm(64)[:16]]
    for part in (encoder, decoder):
        part.zero_grad()
    reconstruction = decoder(encoder(batch))
    loss = nn.functional.mse_loss(reconstruction, batch)
    loss.backward()
    enc_opt.step()
    dec_opt.step()

print("loss", round(loss.item(), 4))
