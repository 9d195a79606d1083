"""Train a character-level GPT on the text of Python's own manual: forward, backward and step compiled.

The text is what ``help()`` tells of the language, more than 400,000 characters of English prose that every Python carries
(``pydoc_data.topics``). The model is the decoder of Radford et al., "Language models are unsupervised multitask learners"
(2019), small. The loss and the optimizer's update are compiled with ``strict_native=True``, so nothing falls back to
interpretation. At the end the script reports the loss on text it never trained on, what was compiled, how many
characters a second it trains on, eager against compiled, and a sample of what the model writes.

    scripts/char_gpt          # or: python examples/char_gpt.py [--eager] [--steps 1000]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

import tensorplay as tp
from tensorplay import nn
from tensorplay.nn import functional as F  # noqa: N812 - its name everywhere

RATE = 2e-3


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the model is; ``context`` is the number of characters it sees at once."""

    vocabulary: int
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 4


class Attention(nn.Module):
    """Each position looks at itself and those before it, through several heads."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width)
        self.out = nn.Linear(sizes.width, sizes.width)

    def forward(self, x: tp.Tensor) -> tp.Tensor:
        """Map (N, T, C) to (N, T, C)."""
        n, t, c = x.shape
        split = self.qkv(x).reshape((n, t, 3, self.heads, c // self.heads))
        q, k, v = split.permute((2, 0, 3, 1, 4)).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape((n, t, c)))


class Block(nn.Module):
    """Attention and a two-layer network, each on normalized input and added to what came in."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(sizes.width)
        self.attention = Attention(sizes)
        self.norm2 = nn.LayerNorm(sizes.width)
        self.mlp = nn.Sequential(
            nn.Linear(sizes.width, 4 * sizes.width),
            nn.GELU(),
            nn.Linear(4 * sizes.width, sizes.width),
        )

    def forward(self, x: tp.Tensor) -> tp.Tensor:
        """Map (N, T, C) to (N, T, C)."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Characters (N, T) to the logits of the character after each, (N, T, vocabulary)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.tokens = nn.Embedding(sizes.vocabulary, sizes.width)
        self.places = nn.Embedding(sizes.context, sizes.width)
        self.blocks = nn.Sequential(*(Block(sizes) for _ in range(sizes.layers)))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, 0.0, 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, characters: tp.Tensor) -> tp.Tensor:
        """Return logits."""
        x = self.tokens(characters) + self.places.weight[: characters.shape[1]]
        return self.head(self.norm(self.blocks(x)))

    def loss(self, characters: tp.Tensor, after: tp.Tensor) -> tp.Tensor:
        """Return the mean cross entropy of the characters that come ``after``, in nats."""
        logits = self(characters)
        return F.cross_entropy(logits.reshape((-1, self.sizes.vocabulary)), after.reshape((-1,)))


class Text:
    """A text as numbers of its characters; the last tenth is for testing."""

    def __init__(self, text: str) -> None:
        self.alphabet = sorted(set(text))
        numbers = {character: number for number, character in enumerate(self.alphabet)}
        self.numbers = np.array([numbers[character] for character in text], np.int64)
        self.train, self.test = np.split(self.numbers, [len(text) * 9 // 10])

    def write(self, numbers: list[int]) -> str:
        """Turn numbers back into text."""
        return "".join(self.alphabet[number] for number in numbers)


def manual() -> str:
    """Return Python's manual of the language, as ``help()`` shows it."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def batch_of(
    numbers: np.ndarray, count: int, context: int, chance: np.random.Generator
) -> tuple[tp.Tensor, tp.Tensor]:
    """Return ``count`` pieces of a text, and the characters that come after each of theirs."""
    starts = chance.integers(0, len(numbers) - context, count)
    pieces = numbers[starts[:, None] + np.arange(context + 1)]
    return tp.from_numpy(pieces[:, :-1].copy()), tp.from_numpy(pieces[:, 1:].copy())


class Trainer:
    """A model, its optimizer, and the functions that are compiled."""

    def __init__(self, sizes: Sizes, *, eager: bool, seed: int) -> None:
        tp.manual_seed(seed)
        self.model = GPT(sizes)
        self.optimizer = tp.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=0.01)
        self.loss = self.model.loss
        self.logits = self.model
        if not eager:
            self.loss = tp.compile(self.model.loss, strict_native=True)
            self.logits = tp.compile(self.model, strict_native=True)
            self.optimizer.compile(strict_native=True)

    def step(self, characters: tp.Tensor, after: tp.Tensor) -> float:
        """Train on one batch; return its loss before the step."""
        self.optimizer.zero_grad()
        loss = self.loss(characters, after)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def test(self, numbers: np.ndarray, batch: int) -> float:
        """Return the mean loss over a text, in pieces that follow one another."""
        context = self.model.sizes.context
        pieces = len(numbers) // (context + 1) // batch * batch
        rows = numbers[: pieces * (context + 1)].reshape(-1, batch, context + 1)
        with tp.no_grad():
            losses = [
                self.model.loss(tp.from_numpy(x[:, :-1].copy()), tp.from_numpy(x[:, 1:].copy()))
                for x in rows
            ]
        return sum(loss.item() for loss in losses) / len(losses)

    def write(self, start: list[int], count: int, chance: np.random.Generator) -> list[int]:
        """Continue a text: each character drawn from what the model says of it.

        The input always has the full context, so one compiled function serves; what stands after the end of the text is
        not seen by what stands before it.
        """
        context = self.model.sizes.context
        numbers = list(start)
        for _ in range(count):
            seen = numbers[-context:]
            padded = np.array([seen + [0] * (context - len(seen))])
            with tp.no_grad():
                logits = self.logits(tp.from_numpy(padded))[0, len(seen) - 1]
            odds = logits.softmax(0).numpy().astype(np.float64)
            numbers.append(int(chance.choice(len(odds), p=odds / odds.sum())))
        return numbers


def seconds_of(trainer: Trainer, batches: list[tuple[tp.Tensor, tp.Tensor]]) -> float:
    """Time one pass over some batches."""
    start = time.perf_counter()
    for characters, after in batches:
        trainer.step(characters, after)
    return time.perf_counter() - start


def compare(trainer: Trainer, batches: list[tuple[tp.Tensor, tp.Tensor]], seed: int) -> str:
    """Time a fresh eager trainer and the compiled one in turns; tell the fastest of each."""
    eager = Trainer(trainer.model.sizes, eager=True, seed=seed)
    pairs = [(seconds_of(eager, batches), seconds_of(trainer, batches)) for _ in range(3)]
    characters = sum(after.numel() for _, after in batches)
    slow, fast = (characters / min(times) for times in zip(*pairs, strict=True))
    return (
        f"characters a second: eager {slow:,.0f}, compiled {fast:,.0f} "
        f"({fast / slow:.1f} times as fast)"
    )


def main() -> None:
    """Train, test, report, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eager", action="store_true", help="compile nothing")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--letters", type=int, default=400, help="the length of the sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    options = parser.parse_args()

    text = Text(manual())
    sizes = Sizes(len(text.alphabet), layers=options.layers, width=options.width)
    trainer = Trainer(sizes, eager=options.eager, seed=options.seed)
    chance = np.random.default_rng(options.seed)
    count = sum(parameter.numel() for parameter in trainer.model.parameters())
    print(
        f"{len(text.train):,} characters to train on, {len(text.alphabet)} different ones; "
        f"{count:,} parameters"
    )
    bar = tqdm(range(options.steps), desc="training", unit="step")
    start = time.perf_counter()
    for step in bar:
        loss = trainer.step(*batch_of(text.train, options.batch, sizes.context, chance))
        if step == 0:
            first = time.perf_counter() - start
        bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
    print(f"test loss: {trainer.test(text.test, options.batch):.4f} nats a character")
    print(f"first step: {first:.2f} s")
    if not options.eager:
        print(f"compiled: {tp.compiler.stats()}")
        batches = [batch_of(text.train, options.batch, sizes.context, chance) for _ in range(10)]
        print(compare(trainer, batches, options.seed))
    numbers = trainer.write(list(text.test[: sizes.context]), options.letters, chance)
    print(f"--- sample, after {sizes.context} characters of the manual ---")
    print(text.write(numbers[sizes.context :]))


if __name__ == "__main__":
    main()
