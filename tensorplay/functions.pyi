"""The public functions (written by scripts/write_stubs.py from the registry)."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType
from tensorplay.core.random import Generator
from tensorplay.queries import allclose as allclose
from tensorplay.queries import broadcast_shapes as broadcast_shapes
from tensorplay.queries import broadcast_tensors as broadcast_tensors
from tensorplay.queries import can_cast as can_cast
from tensorplay.queries import equal as equal
from tensorplay.queries import numel as numel
from tensorplay.queries import result_type as result_type
from tensorplay.tensor import Tensor
from tensorplay.tensor import as_tensor as as_tensor
from tensorplay.tensor import from_dlpack as from_dlpack
from tensorplay.tensor import from_numpy as from_numpy
from tensorplay.tensor import is_tensor as is_tensor
from tensorplay.tensor import tensor_from_data as tensor

_bool: TypeAlias = bool
_int: TypeAlias = int
_float: TypeAlias = float
_Number: TypeAlias = bool | int | float | complex
_Operand: TypeAlias = Tensor | bool | int | float | complex

def abs(input: Tensor) -> Tensor: ...
def acos(input: Tensor) -> Tensor: ...
def acosh(input: Tensor) -> Tensor: ...
def adaptive_avg_pool2d(input: Tensor, output_size: object) -> Tensor: ...
def add(input: _Operand, other: _Operand, *, alpha: _Number = ...) -> Tensor: ...
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor: ...
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor: ...
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor: ...
def amax(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...
) -> Tensor: ...
def amin(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...
) -> Tensor: ...
def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor: ...
def arange(
    start: _Number,
    end: _Number | None = ...,
    step: _Number = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor: ...
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor: ...
def as_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = ...,
) -> Tensor: ...
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = ...,
) -> Tensor: ...
def asin(input: Tensor) -> Tensor: ...
def asinh(input: Tensor) -> Tensor: ...
def atan(input: Tensor) -> Tensor: ...
def atan2(input: Tensor, other: Tensor) -> Tensor: ...
def atanh(input: Tensor) -> Tensor: ...
def avg_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    count_include_pad: _bool = ...,
    divisor_override: _int | None = ...,
) -> Tensor: ...
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    training: _bool = ...,
    momentum: object = ...,
    eps: _float = ...,
) -> Tensor: ...
def bernoulli(input: Tensor, *, generator: Generator | None = ...) -> Tensor: ...
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = ..., reduction: str = ...
) -> Tensor: ...
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = ...,
    reduction: str = ...,
    pos_weight: Tensor | None = ...,
) -> Tensor: ...
def bitwise_and(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_left_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_not(input: Tensor) -> Tensor: ...
def bitwise_or(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_right_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_xor(input: _Operand, other: _Operand) -> Tensor: ...
def bmm(input: Tensor, other: Tensor) -> Tensor: ...
def broadcast_to(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: _int = ...) -> Tensor: ...
def ceil(input: Tensor) -> Tensor: ...
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> Any: ...
def clamp(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ...) -> Tensor: ...
def clone(input: Tensor) -> Tensor: ...
def conj(input: Tensor) -> Tensor: ...
def contiguous(input: Tensor) -> Tensor: ...
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: object = ...,
    dilation: _int | Sequence[_int] = ...,
    groups: _int = ...,
) -> Tensor: ...
def convolution(
    input: Tensor,
    weight: Tensor,
    stride: _int | Sequence[_int],
    padding: _int | Sequence[_int],
    dilation: _int | Sequence[_int],
    groups: _int,
) -> Tensor: ...
def copysign(input: Tensor, other: _Operand) -> Tensor: ...
def cos(input: Tensor) -> Tensor: ...
def cosh(input: Tensor) -> Tensor: ...
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = ...,
    ignore_index: _int = ...,
    reduction: str = ...,
    label_smoothing: _float = ...,
) -> Tensor: ...
def cumsum(input: Tensor, dim: _int, dtype: DType | type | None = ...) -> Tensor: ...
def detach(input: Tensor) -> Tensor: ...
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...
) -> Tensor: ...
def div(input: _Operand, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor: ...
def dot(input: Tensor, other: Tensor) -> Tensor: ...
def dropout(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def elu(input: Tensor, alpha: _Number = ...) -> Tensor: ...
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = ...) -> Tensor: ...
def empty(
    *size: _int | Sequence[_int],
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def eq(input: _Operand, other: _Operand) -> Tensor: ...
def erf(input: Tensor) -> Tensor: ...
def erfc(input: Tensor) -> Tensor: ...
def erfinv(input: Tensor) -> Tensor: ...
def exp(input: Tensor) -> Tensor: ...
def exp2(input: Tensor) -> Tensor: ...
def expand(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def expand_as(input: Tensor, other: Tensor) -> Tensor: ...
def expm1(input: Tensor) -> Tensor: ...
def eye(
    n: _int,
    m: _int | None = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor: ...
def flip(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def floor(input: Tensor) -> Tensor: ...
def floor_divide(input: _Operand, other: _Operand) -> Tensor: ...
def fmax(input: Tensor, other: Tensor) -> Tensor: ...
def fmin(input: Tensor, other: Tensor) -> Tensor: ...
def fmod(input: _Operand, other: _Operand) -> Tensor: ...
def frac(input: Tensor) -> Tensor: ...
def full(
    size: _int | Sequence[_int],
    fill_value: _Operand,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def gather(input: Tensor, dim: _int, index: Tensor) -> Tensor: ...
def ge(input: _Operand, other: _Operand) -> Tensor: ...
def gelu(input: Tensor, approximate: str = ...) -> Tensor: ...
def gt(input: _Operand, other: _Operand) -> Tensor: ...
def hardsigmoid(input: Tensor) -> Tensor: ...
def hardswish(input: Tensor) -> Tensor: ...
def hardtanh(input: Tensor, min_val: _Number = ..., max_val: _Number = ...) -> Tensor: ...
def hypot(input: Tensor, other: Tensor) -> Tensor: ...
def imag(input: Tensor) -> Tensor: ...
def index_add(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...
) -> Tensor: ...
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...
) -> Tensor: ...
def index_select(input: Tensor, dim: _int, index: Tensor) -> Tensor: ...
def isclose(
    input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
) -> Tensor: ...
def isfinite(input: Tensor) -> Tensor: ...
def isinf(input: Tensor) -> Tensor: ...
def isnan(input: Tensor) -> Tensor: ...
def l1_loss(input: Tensor, target: Tensor, reduction: str = ...) -> Tensor: ...
def layer_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    eps: _float = ...,
) -> Tensor: ...
def le(input: _Operand, other: _Operand) -> Tensor: ...
def leaky_relu(input: Tensor, negative_slope: _Number = ...) -> Tensor: ...
def lerp(input: Tensor, end: Tensor, weight: _Operand) -> Tensor: ...
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor: ...
def linspace(
    start: _Number,
    end: _Number,
    steps: _int,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def log(input: Tensor) -> Tensor: ...
def log10(input: Tensor) -> Tensor: ...
def log1p(input: Tensor) -> Tensor: ...
def log2(input: Tensor) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def logical_and(input: Tensor, other: Tensor) -> Tensor: ...
def logical_not(input: Tensor) -> Tensor: ...
def logical_or(input: Tensor, other: Tensor) -> Tensor: ...
def logical_xor(input: Tensor, other: Tensor) -> Tensor: ...
def logsigmoid(input: Tensor) -> Tensor: ...
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ...) -> Tensor: ...
def lt(input: _Operand, other: _Operand) -> Tensor: ...
def masked_fill(input: Tensor, mask: Tensor, value: _Operand) -> Tensor: ...
def matmul(input: Tensor, other: Tensor) -> Tensor: ...
def max(input: Tensor, dim: object = ..., keepdim: _bool = ...) -> Any: ...
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    return_indices: _bool = ...,
) -> Any: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
) -> tuple[Tensor, Tensor]: ...
def maximum(input: Tensor, other: Tensor) -> Tensor: ...
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def min(input: Tensor, dim: object = ..., keepdim: _bool = ...) -> Any: ...
def minimum(input: Tensor, other: Tensor) -> Tensor: ...
def mish(input: Tensor) -> Tensor: ...
def mm(input: Tensor, other: Tensor) -> Tensor: ...
def movedim(
    input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]
) -> Tensor: ...
def mse_loss(input: Tensor, target: Tensor, reduction: str = ...) -> Tensor: ...
def mul(input: _Operand, other: _Operand) -> Tensor: ...
def mv(input: Tensor, other: Tensor) -> Tensor: ...
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...
def ne(input: _Operand, other: _Operand) -> Tensor: ...
def neg(input: Tensor) -> Tensor: ...
def nextafter(input: Tensor, other: Tensor) -> Tensor: ...
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = ...,
    ignore_index: _int = ...,
    reduction: str = ...,
) -> Tensor: ...
def nonzero(input: Tensor) -> Tensor: ...
def one_hot(input: Tensor, num_classes: _int) -> Tensor: ...
def ones(
    *size: _int | Sequence[_int],
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def outer(input: Tensor, other: Tensor) -> Tensor: ...
def pad(
    input: Tensor, pad: _int | Sequence[_int], mode: str = ..., value: _Number | None = ...
) -> Tensor: ...
def permute(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def pow(input: _Operand, exponent: _Operand) -> Tensor: ...
def prod(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def rand(
    *size: _int | Sequence[_int],
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def randint(
    low: _int,
    high: object = ...,
    size: object = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def randn(
    *size: _int | Sequence[_int],
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def randperm(
    n: _int,
    *,
    dtype: DType | type | None = ...,
    generator: Generator | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def real(input: Tensor) -> Tensor: ...
def reciprocal(input: Tensor) -> Tensor: ...
def relu(input: Tensor) -> Tensor: ...
def relu6(input: Tensor) -> Tensor: ...
def remainder(input: _Operand, other: _Operand) -> Tensor: ...
def repeat(input: Tensor, *repeats: _int | Sequence[_int]) -> Tensor: ...
def reshape(input: Tensor, *shape: _int | Sequence[_int]) -> Tensor: ...
def reshape_as(input: Tensor, other: Tensor) -> Tensor: ...
def rms_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = ...,
    eps: _float | None = ...,
) -> Tensor: ...
def roll(
    input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...
) -> Tensor: ...
def round(input: Tensor, *, decimals: _int = ...) -> Tensor: ...
def rsqrt(input: Tensor) -> Tensor: ...
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = ...,
    dropout_p: _float = ...,
    is_causal: _bool = ...,
    scale: _float | None = ...,
    enable_gqa: _bool = ...,
) -> Tensor: ...
def scatter(input: Tensor, dim: _int, index: Tensor, src: _Operand) -> Tensor: ...
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
def select(input: Tensor, dim: _int, index: _int) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor: ...
def selu(input: Tensor) -> Tensor: ...
def sigmoid(input: Tensor) -> Tensor: ...
def sign(input: Tensor) -> Tensor: ...
def signbit(input: Tensor) -> Tensor: ...
def silu(input: Tensor) -> Tensor: ...
def sin(input: Tensor) -> Tensor: ...
def sinh(input: Tensor) -> Tensor: ...
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = ...,
    start: _int | None = ...,
    end: _int | None = ...,
    step: _int = ...,
) -> Tensor: ...
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = ..., beta: _float = ...
) -> Tensor: ...
def softmax(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def softplus(input: Tensor, beta: _Number = ..., threshold: _Number = ...) -> Tensor: ...
def softsign(input: Tensor) -> Tensor: ...
def split(input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = ...) -> Any: ...
def sqrt(input: Tensor) -> Tensor: ...
def square(input: Tensor) -> Tensor: ...
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: _int = ...) -> Tensor: ...
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    correction: _Number = ...,
) -> Tensor: ...
def sub(input: _Operand, other: _Operand, *, alpha: _Number = ...) -> Tensor: ...
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor: ...
def t(input: Tensor) -> Tensor: ...
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ...) -> Tensor: ...
def tan(input: Tensor) -> Tensor: ...
def tanh(input: Tensor) -> Tensor: ...
def tile(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def tril(input: Tensor, diagonal: _int = ...) -> Tensor: ...
def triu(input: Tensor, diagonal: _int = ...) -> Tensor: ...
def trunc(input: Tensor) -> Tensor: ...
def unbind(input: Tensor, dim: _int = ...) -> Any: ...
def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor: ...
def unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor: ...
def unsqueeze(input: Tensor, dim: _int) -> Tensor: ...
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    correction: _Number = ...,
) -> Tensor: ...
def view(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def view_as(input: Tensor, other: Tensor) -> Tensor: ...
def where(condition: Tensor, input: _Operand, other: _Operand) -> Tensor: ...
def zeros(
    *size: _int | Sequence[_int],
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...

PUBLIC: set[str]
__all__ = [
    "abs",
    "acos",
    "acosh",
    "adaptive_avg_pool2d",
    "add",
    "addcdiv",
    "addcmul",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "as_strided",
    "as_strided_scatter",
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg_pool2d",
    "batch_norm",
    "bernoulli",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "can_cast",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clone",
    "conj",
    "contiguous",
    "conv2d",
    "convolution",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cross_entropy",
    "cumsum",
    "detach",
    "diagonal",
    "diagonal_scatter",
    "div",
    "dot",
    "dropout",
    "elu",
    "embedding",
    "empty",
    "empty_like",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand",
    "expand_as",
    "expm1",
    "eye",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "gelu",
    "gt",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hypot",
    "imag",
    "index_add",
    "index_put",
    "index_select",
    "is_tensor",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "l1_loss",
    "layer_norm",
    "le",
    "leaky_relu",
    "lerp",
    "linear",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "logsumexp",
    "lt",
    "masked_fill",
    "matmul",
    "max",
    "max_pool2d",
    "max_pool2d_with_indices",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mm",
    "movedim",
    "mse_loss",
    "mul",
    "mv",
    "narrow",
    "ne",
    "neg",
    "nextafter",
    "nll_loss",
    "nonzero",
    "numel",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "permute",
    "pow",
    "prod",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "real",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "repeat",
    "reshape",
    "reshape_as",
    "result_type",
    "rms_norm",
    "roll",
    "round",
    "rsqrt",
    "scaled_dot_product_attention",
    "scatter",
    "scatter_add",
    "select",
    "select_scatter",
    "selu",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "slice_scatter",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "sub",
    "sum",
    "swapaxes",
    "t",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tile",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "var",
    "view",
    "view_as",
    "where",
    "zeros",
    "zeros_like",
]
