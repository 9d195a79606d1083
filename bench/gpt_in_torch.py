"""The character-level GPT of examples/char_gpt.py in PyTorch: started by gpt_against_torch.py in PyTorch's interpreter.

    python bench/gpt_in_torch.py FOLDER {float32,float64} {eager,compile}

FOLDER holds sizes.json, weights.safetensors (loaded by name) and batches.npy (steps, 2, N, T). Prints JSON: the loss of every
step, before it, and its seconds.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its name everywhere


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.heads = sizes["heads"]
        self.qkv = nn.Linear(sizes["width"], 3 * sizes["width"])
        self.out = nn.Linear(sizes["width"], sizes["width"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (N, T, C) to (N, T, C)."""
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    """Attention and a two-layer network."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width = sizes["width"]
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(sizes)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (N, T, C) to (N, T, C)."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Characters (N, T) to logits (N, T, vocabulary)."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(sizes["vocabulary"], sizes["width"])
        self.places = nn.Embedding(sizes["context"], sizes["width"])
        self.blocks = nn.Sequential(*(Block(sizes) for _ in range(sizes["layers"])))
        self.norm = nn.LayerNorm(sizes["width"])
        self.head = nn.Linear(sizes["width"], sizes["vocabulary"], bias=False)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        x = self.tokens(characters) + self.places.weight[: characters.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def main() -> None:
    """Train, print."""
    folder, dtype, how = Path(sys.argv[1]), getattr(torch, sys.argv[2]), sys.argv[3]
    sizes: dict[str, Any] = json.loads((folder / "sizes.json").read_text())
    torch.set_num_threads(sizes["threads"])
    model = GPT(sizes)
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    model.to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=sizes["rate"], weight_decay=0.01)

    def loss_of(characters: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(characters).flatten(0, 1), after.flatten())

    step = optimizer.step
    if how == "compile":
        loss_of, step = torch.compile(loss_of), torch.compile(step)
    losses, seconds = [], []
    for characters, after in torch.from_numpy(np.load(folder / "batches.npy")):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(characters, after)
        loss.backward()
        step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"losses": losses, "seconds": seconds, "version": torch.__version__}))


if __name__ == "__main__":
    main()
