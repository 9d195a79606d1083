"""`einsum`: sums of products in index notation, parsed to permute, reshape, matmul and sum.

>>> import tensorplay as tp
>>> tp.einsum("ij,jk->ik", tp.ones(2, 3), tp.ones(3, 4)).shape
(2, 4)
>>> tp.einsum("ii", tp.eye(3))
tensor(3.)

Operands are multiplied two at a time, from left to right. A subscript that no later operand and
not the result needs is summed on the way.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tensorplay.core.errors import ArgumentError, ArgumentValueError, ShapeError
from tensorplay.ops.declare import composite
from tensorplay.ops.library.matmul import matmul
from tensorplay.ops.samples import Arg, Sample, bad, sample

if TYPE_CHECKING:
    from tensorplay.tensor import Tensor

_LETTERS = frozenset(string.ascii_letters)


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor whose dimensions have subscripts, each once."""

    tensor: Tensor
    labels: tuple[str, ...]


def _labels(text: str, equation: str) -> tuple[list[str], int | None]:
    """The letters of one part, and before which of them `...` stands."""
    head, dots, tail = text.partition("...")
    strange = sorted(set(head + tail) - _LETTERS)
    if strange:
        msg = f"einsum: {equation!r}: subscripts are letters and one '...', found {''.join(strange)!r} in {text!r}"
        raise ArgumentValueError(msg)
    return [*head, *tail], len(head) if dots else None


def _operand_labels(text: str, equation: str, place: int, tensor: Tensor) -> list[str]:
    """One label for each dimension; those of `...` are numbered from the right."""
    letters, dots = _labels(text, equation)
    rest = tensor.ndim - len(letters)
    if rest < 0 or (rest and dots is None):
        msg = f"einsum: {equation!r} names {len(letters)} dimensions of operand {place}, which has {tensor.ndim}"
        raise ShapeError(msg)
    if dots is None:
        return letters
    return [*letters[:dots], *(f"...{k}" for k in range(rest, 0, -1)), *letters[dots:]]


def _result_labels(text: str | None, equation: str, operands: list[list[str]]) -> list[str]:
    """The labels of the result; without `->`, `...` and then what occurs once, by the alphabet."""
    counts: dict[str, int] = {}
    for each in operands:
        for label in each:
            counts[label] = counts.get(label, 0) + 1
    hidden = sorted((each for each in counts if each[0] == "."), key=lambda each: -int(each[3:]))
    if text is None:
        return [*hidden, *sorted(each for each, n in counts.items() if n == 1 and each[0] != ".")]
    letters, dots = _labels(text, equation)
    for letter in letters:
        if letter not in counts or letters.count(letter) > 1:
            what = "is no subscript of an operand" if letter not in counts else "stands twice"
            msg = f"einsum: {equation!r}: {letter!r} of the result {what}"
            raise ArgumentValueError(msg)
    return letters if dots is None else [*letters[:dots], *hidden, *letters[dots:]]


def _sizes(equation: str, operands: Sequence[Tensor], labels: list[list[str]]) -> dict[str, int]:
    """The size of each subscript; sizes of 1 stretch."""
    sizes: dict[str, int] = {}
    for tensor, own in zip(operands, labels, strict=True):
        for label, size in zip(own, tensor.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in {1, known}:
                msg = f"einsum: {equation!r}: subscript {label!r} has sizes {known} and {size}, which do not fit"
                raise ShapeError(msg)
    return sizes


def _term(equation: str, tensor: Tensor, labels: list[str], sizes: dict[str, int]) -> _Term:
    """An operand with its repeated subscripts replaced by diagonals."""
    own = list(labels)
    for label in dict.fromkeys(labels):
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                msg = f"einsum: {equation!r}: the diagonal of subscript {label!r} needs equal sizes"
                raise ShapeError(msg)
            tensor = tensor.diagonal(0, first, second)
            own = [each for i, each in enumerate(own) if i not in {first, second}] + [label]
    return _Term(tensor.expand([sizes[each] for each in own]), tuple(own))


def _summed(term: _Term, keep: set[str]) -> _Term:
    """The term without the subscripts that nothing needs."""
    gone = [i for i, each in enumerate(term.labels) if each not in keep]
    if not gone:
        return term
    labels = tuple(each for each in term.labels if each in keep)
    return _Term(term.tensor.sum(gone).to(term.tensor.dtype), labels)


def _arranged(term: _Term, groups: Sequence[Sequence[str]], sizes: dict[str, int]) -> Tensor:
    """The tensor with its subscripts in groups, each group one dimension."""
    order = [term.labels.index(each) for group in groups for each in group]
    shape = []
    for group in groups:
        size = 1
        for each in group:
            size = size * sizes[each]
        shape.append(size)
    return term.tensor.permute(order).reshape(shape)


def _multiplied(left: _Term, right: _Term, keep: set[str], sizes: dict[str, int]) -> _Term:
    """The product of two terms, summed over what both have and nothing needs: one matmul."""
    left = _summed(left, keep | set(right.labels))
    right = _summed(right, keep | set(left.labels))
    shared = [each for each in left.labels if each in right.labels]
    batch = [each for each in shared if each in keep]
    inner = [each for each in shared if each not in keep]
    rows = [each for each in left.labels if each not in shared]
    columns = [each for each in right.labels if each not in shared]
    labels = (*batch, *rows, *columns)
    shape = [sizes[each] for each in labels]
    if batch:
        first = _arranged(left, (batch, rows, inner), sizes)
        second = _arranged(right, (batch, inner, columns), sizes)
    else:
        first = _arranged(left, (rows, inner), sizes)
        second = _arranged(right, (inner, columns), sizes)
    product = matmul(first, second) if inner else first * second
    return _Term(product.reshape(shape), labels)


@composite(public=False)
def einsum(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The sum of products of the operands that `equation` describes, as in "bij,bjk->bik".

    Each operand has one letter for each dimension, `...` for any others, which broadcast. Letters
    after `->` are the dimensions of the result, the rest is summed; without `->`, these are `...`
    and the letters that occur once, by the alphabet. A letter twice in an operand takes its
    diagonal. Operands have one dtype; sizes of 1 stretch.

    Subscripts that do not parse raise `ArgumentValueError`, sizes that do not fit `ShapeError`.

    >>> import tensorplay as tp
    >>> tp.einsum("ij,j->i", tp.tensor([[1, 2], [3, 4]]), tp.tensor([1, 1]))
    tensor([3, 7])
    """
    plain = equation.replace(" ", "")
    source, arrow, target = plain.partition("->")
    parts = source.split(",")
    if len(parts) != len(operands):
        msg = f"einsum: {equation!r} describes {len(parts)} operands, found {len(operands)}"
        raise ArgumentError(msg)
    labels = [
        _operand_labels(text, equation, i, tensor)
        for i, (text, tensor) in enumerate(zip(parts, operands, strict=True))
    ]
    result = _result_labels(target if arrow else None, equation, labels)
    sizes = _sizes(equation, operands, labels)
    needed = [set(result)]  # by the result and the operands from the last to the first
    for each in reversed(labels[1:]):
        needed.append(needed[-1] | set(each))
    found = _term(equation, operands[0], labels[0], sizes)
    for tensor, own in zip(operands[1:], labels[1:], strict=True):
        needed.pop()
        found = _multiplied(found, _term(equation, tensor, own, sizes), needed[-1], sizes)
    found = _summed(found, set(result))
    turned = found.tensor.permute([found.labels.index(each) for each in result])
    return turned.clone() if len(operands) == 1 else turned


@einsum.sample
def _() -> Iterator[Sample]:
    yield sample("ij,jk->ik", (Arg((2, 3)), Arg((3, 4))))
    yield sample("ij,jk", (Arg((2, 3)), Arg((3, 4), layout="transposed")))
    yield sample("bij,bjk->bki", (Arg((2, 2, 3)), Arg((2, 3, 2))))
    yield sample("i,j->ij", (Arg((2,)), Arg((3,))))
    yield sample("ii", (Arg((3, 3)),))
    yield sample("ii->i", (Arg((3, 3)),))
    yield sample("ij->", (Arg((2, 3)),))
    yield sample("ij->ji", (Arg((2, 3)),))
    yield sample("...ij,jk->...ik", (Arg((2, 2, 3)), Arg((3, 2))))
    yield sample("...i,...i", (Arg((2, 1, 3)), Arg((4, 3))))
    yield sample("bn,anm,bm->ba", (Arg((2, 3)), Arg((4, 3, 2)), Arg((2, 2))))
    yield sample("ij,ij,kj->i", (Arg((2, 3)), Arg((2, 3)), Arg((2, 3))))
    yield sample("ij,jk->ik", (Arg((2, 0)), Arg((0, 2))))
    yield bad(ShapeError, "do not fit", "ij,jk->ik", (Arg((2, 3)), Arg((2, 3))))
    yield bad(ShapeError, "names 3 dimensions", "ijk->i", (Arg((2, 3)),))
    yield bad(ArgumentError, "describes 2 operands", "ij,jk", (Arg((2, 3)),))
    yield bad(ArgumentValueError, "subscripts are letters", "i1->i", (Arg((2, 3)),))
    yield bad(ArgumentValueError, "no subscript", "ij->k", (Arg((2, 3)),))
    yield bad(ArgumentValueError, "stands twice", "ij->ii", (Arg((2, 3)),))
