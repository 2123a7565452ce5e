"""Keras on its PyTorch backend: a model by layers, trained by `fit`, and its gradients by autograd."""

from typing import Any

import keras
import numpy as np
import torch
from keras import layers


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x, y = random.standard_normal((64, 8, 8, 1)).astype("float32"), random.integers(0, 3, 64)
    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(16, activation="gelu"), layers.Dense(3, activation="softmax"),
    ])  # fmt: skip
    for weight in model.weights:
        weight.assign(random.standard_normal(weight.shape).astype("float32") * 0.2)
    before = model.predict(x, verbose=0)
    model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)
    loss = keras.losses.SparseCategoricalCrossentropy()(torch.as_tensor(y), model(torch.as_tensor(x)))
    loss.backward()
    gradient = model.trainable_weights[0].value.grad
    return {"before": before, "loss": history.history["loss"], "after": model.predict(x, verbose=0), "gradient": gradient}
