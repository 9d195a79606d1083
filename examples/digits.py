"""Train a small convolutional network on handwritten digits: forward, backward and step compiled.

The data are the 1797 images of 8×8 pixels that scikit-learn carries. The loss (through the network) and the optimizer's
update are compiled with ``strict_native=True``, so nothing falls back to interpretation. At the end the script reports
the accuracy on images it never trained on, what was compiled, and the time of an epoch eager against compiled.

    scripts/digits            # or: python examples/digits.py [--eager] [--epochs 15]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn import functional as F  # noqa: N812 - its name everywhere

RATE = 3e-3
"""The learning rate at the start; it falls along half a cosine wave to zero."""


class Net(nn.Module):
    """Two convolutions with batch normalization, a pool, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)
        )

    def forward(self, x: tp.Tensor) -> tp.Tensor:
        """Map images (N, 1, 8, 8) to logits (N, 10)."""
        return self.classifier(self.features(x))


@dataclass(frozen=True, slots=True)
class Data:
    """Images (N, 1, 8, 8) in [0, 1] and their classes."""

    images: tp.Tensor
    classes: tp.Tensor

    def batches(
        self, size: int, order: np.random.Generator
    ) -> Iterator[tuple[tp.Tensor, tp.Tensor]]:
        """Yield full batches in a fresh random order; the few images left over wait for the next epoch."""
        places = order.permutation(len(self.classes))
        for start in range(0, len(places) - size + 1, size):
            chosen = tp.from_numpy(places[start : start + size])
            yield self.images[chosen], self.classes[chosen]


def load(seed: int) -> tuple[Data, Data]:
    """Return 1437 images to train on and 360 to test."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    classes = digits.target.astype(np.int64)
    places = np.random.default_rng(seed).permutation(len(classes))
    train, test = places[360:], places[:360]
    return (
        Data(tp.from_numpy(images[train]), tp.from_numpy(classes[train])),
        Data(tp.from_numpy(images[test]), tp.from_numpy(classes[test])),
    )


class Trainer:
    """A network, its optimizer, and the two functions that are compiled."""

    def __init__(self, *, eager: bool, seed: int) -> None:
        tp.manual_seed(seed)
        self.order = np.random.default_rng(seed)
        self.net = Net()
        self.optimizer = tp.optim.AdamW(self.net.parameters(), lr=RATE)
        self.loss = self._loss
        self.logits = self.net
        if not eager:
            self.loss = tp.compile(self._loss, strict_native=True)
            self.logits = tp.compile(self.net, strict_native=True)
            self.optimizer.compile(strict_native=True)

    def _loss(self, images: tp.Tensor, classes: tp.Tensor) -> tp.Tensor:
        return F.cross_entropy(self.net(images), classes)

    def set_rate(self, rate: float) -> None:
        """Change the learning rate; nothing is compiled anew."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def epoch(self, data: Data, batch: int) -> float:
        """Train on every image once; return the mean loss."""
        self.net.train()
        losses = []
        for images, classes in data.batches(batch, self.order):
            self.optimizer.zero_grad()
            loss = self.loss(images, classes)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def accuracy(self, data: Data) -> float:
        """Return the share of images that the network classifies right."""
        self.net.eval()
        with tp.no_grad():
            right = self.logits(data.images).argmax(1) == data.classes
        return right.float().mean().item()


def seconds_of_epoch(trainer: Trainer, data: Data, batch: int) -> float:
    """Time an epoch on a warm trainer."""
    start = time.perf_counter()
    trainer.epoch(data, batch)
    return time.perf_counter() - start


def compare(data: Data, trainer: Trainer, batch: int, seed: int) -> str:
    """Time epochs of a fresh eager trainer and of the compiled one in turns; tell the fastest of each."""
    eager = Trainer(eager=True, seed=seed)
    pairs = [
        (seconds_of_epoch(eager, data, batch), seconds_of_epoch(trainer, data, batch))
        for _ in range(3)
    ]
    slow, fast = (min(times) for times in zip(*pairs, strict=True))
    return f"epoch: eager {slow:.3f} s, compiled {fast:.3f} s ({slow / fast:.1f} times as fast)"


def main() -> None:
    """Train, test, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eager", action="store_true", help="compile nothing")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    train, test = load(options.seed)
    trainer = Trainer(eager=options.eager, seed=options.seed)
    bar = tqdm(range(options.epochs), desc="training", unit="epoch")
    for epoch in bar:
        trainer.set_rate(RATE * (1 + math.cos(math.pi * epoch / options.epochs)) / 2)
        loss = trainer.epoch(train, options.batch)
        bar.set_postfix(loss=f"{loss:.4f}", accuracy=f"{trainer.accuracy(test):.1%}")
    print(f"test accuracy: {trainer.accuracy(test):.2%} of {len(test.classes)} images")
    if not options.eager:
        print(f"compiled: {tp.compiler.stats()}")
        print(compare(train, trainer, options.batch, options.seed))


if __name__ == "__main__":
    main()
