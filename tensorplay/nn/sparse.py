"""Tables of vectors as modules.

>>> import tensorplay as tp
>>> bag = tp.nn.EmbeddingBag.from_pretrained(tp.tensor([[1.0], [2.0], [4.0]]), mode="sum")
>>> bag(tp.tensor([[0, 2], [1, 1]]))
tensor([[5.],
        [4.]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError, ShapeError
from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.device import Device
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class _Table(Module):
    """``weight`` of shape ``(num_embeddings, embedding_dim)``, and how its rows are looked up."""

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        frozen: bool,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentValueError(
                f"padding_idx={padding_idx} is no row of a table of {num_embeddings}"
            )
        if sparse:
            raise ArgumentValueError(
                f"{type(self).__name__}: there are no sparse tensors here; with sparse=False the "
                "gradient is dense"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            table = empty(shape, dtype=dtype, device=device)
            self.weight = Parameter(table, requires_grad=not frozen)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise ShapeError(
                f"{type(self).__name__}: the table has shape {tuple(weight.shape)}, expected {shape}"
            )
        else:
            self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0.0)

    def extra_repr(self) -> str:
        """Show the table's sizes, and what differs from the defaults."""
        return f"{self.num_embeddings}, {self.embedding_dim}" + "".join(
            f", {name}={value!r}" for name, value, default in self._shown() if value != default
        )

    def _shown(self) -> list[tuple[str, object, object]]:
        """Return the settings with their defaults, in PyTorch's order."""
        return [
            ("padding_idx", self.padding_idx, None),
            ("max_norm", self.max_norm, None),
            ("norm_type", self.norm_type, 2.0),
            ("scale_grad_by_freq", self.scale_grad_by_freq, False),
        ]


def _sizes(name: str, embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise ShapeError(f"{name}: expected a table (V, D), got shape {tuple(embeddings.shape)}")
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(_Table):
    """Rows of a table: integers ``(*)`` → ``(*, embedding_dim)``.

    ``weight`` is ``(num_embeddings, embedding_dim)``, drawn from ``N(0, 1)``; the row
    ``padding_idx`` starts as zeros and receives no gradient. The other settings are those of
    `tensorplay.embedding`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, _weight, _freeze, device, dtype,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Make the module over a table that exists, which is not trained if ``freeze``."""
        return cls(
            *_sizes(cls.__name__, embeddings), padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, embeddings, freeze,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Look the rows up."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a table: bags of integers ``(B, N)`` → ``(B, embedding_dim)``.

    ``weight`` is ``(num_embeddings, embedding_dim)``, drawn from ``N(0, 1)``. The settings are those of
    `tensorplay.embedding_bag`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: Literal["sum", "mean", "max"] = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, _weight, False, device, dtype,
        )  # fmt: skip
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: Literal["sum", "mean", "max"] = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Make the module over a table that exists, which is not trained if ``freeze``."""
        bag = cls(
            *_sizes(cls.__name__, embeddings), max_norm, norm_type, scale_grad_by_freq, mode, sparse,
            embeddings, include_last_offset, padding_idx,
        )  # fmt: skip
        bag.weight.requires_grad_(not freeze)
        return bag

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Look the rows up and reduce each bag."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            False,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def _shown(self) -> list[tuple[str, object, object]]:
        padding, *others = super()._shown()
        return [*others, ("mode", self.mode, None), padding]
