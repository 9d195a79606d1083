"""Tables of vectors as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplay.autograd import no_grad
from tensorplay.core.errors import ArgumentValueError
from tensorplay.functions import empty
from tensorplay.nn import functional, init
from tensorplay.nn.module import Module
from tensorplay.nn.parameter import Parameter

if TYPE_CHECKING:
    from tensorplay.core.dtypes import DType
    from tensorplay.tensor import Tensor


class Embedding(Module):
    """Rows of a table: integers ``(*)`` → ``(*, embedding_dim)``.

    ``weight`` is ``(num_embeddings, embedding_dim)``, drawn from ``N(0, 1)``; the row
    ``padding_idx`` starts as zeros and receives no gradient.
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentValueError(
                f"padding_idx={padding_idx} is no row of a table of {num_embeddings}"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty((num_embeddings, embedding_dim), dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0.0)

    def forward(self, indices: Tensor) -> Tensor:
        """Look the rows up."""
        return functional.embedding(indices, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The table's sizes."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
