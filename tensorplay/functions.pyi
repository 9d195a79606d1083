"""The public functions (written by scripts/write_stubs.py from the registry)."""

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from tensorplay.call_forms import index_put as index_put
from tensorplay.call_forms import nonzero as nonzero
from tensorplay.call_forms import scatter as scatter
from tensorplay.call_forms import std as std
from tensorplay.call_forms import std_mean as std_mean
from tensorplay.call_forms import var as var
from tensorplay.call_forms import var_mean as var_mean
from tensorplay.core.device import Device
from tensorplay.core.dtypes import DType
from tensorplay.core.random import Generator
from tensorplay.queries import allclose as allclose
from tensorplay.queries import broadcast_shapes as broadcast_shapes
from tensorplay.queries import broadcast_tensors as broadcast_tensors
from tensorplay.queries import can_cast as can_cast
from tensorplay.queries import einsum as einsum
from tensorplay.queries import equal as equal
from tensorplay.queries import is_complex as is_complex
from tensorplay.queries import is_floating_point as is_floating_point
from tensorplay.queries import is_nonzero as is_nonzero
from tensorplay.queries import is_same_size as is_same_size
from tensorplay.queries import is_signed as is_signed
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
_Number: TypeAlias = bool | int | float | builtins.complex
_Operand: TypeAlias = Tensor | bool | int | float | builtins.complex

def abs(input: Tensor) -> Tensor: ...
def acos(input: Tensor) -> Tensor: ...
def acosh(input: Tensor) -> Tensor: ...
def adaptive_avg_pool1d(input: Tensor, output_size: object) -> Tensor: ...
def adaptive_avg_pool2d(input: Tensor, output_size: object) -> Tensor: ...
def adaptive_avg_pool3d(input: Tensor, output_size: object) -> Tensor: ...
def adaptive_max_pool1d(input: Tensor, output_size: object, return_indices: _bool = ...) -> Any: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: object
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d(input: Tensor, output_size: object, return_indices: _bool = ...) -> Any: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: object
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d(input: Tensor, output_size: object, return_indices: _bool = ...) -> Any: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: object
) -> tuple[Tensor, Tensor]: ...
def add(input: _Operand, other: _Operand, *, alpha: _Number = ...) -> Tensor: ...
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...
) -> Tensor: ...
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor: ...
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor: ...
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...
) -> Tensor: ...
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...
) -> Tensor: ...
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ...
) -> Tensor: ...
def adjoint(input: Tensor) -> Tensor: ...
def affine_grid(
    theta: Tensor, size: _int | Sequence[_int], align_corners: _bool | None = ...
) -> Tensor: ...
def alias_copy(input: Tensor) -> Tensor: ...
def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...) -> Tensor: ...
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def amax(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...
) -> Tensor: ...
def amin(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ...
) -> Tensor: ...
def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ...) -> Any: ...
def angle(input: Tensor) -> Tensor: ...
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
def argsort(
    input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ...
) -> Tensor: ...
def argwhere(input: Tensor) -> Tensor: ...
def as_strided(
    input: Tensor,
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
    storage_offset: _int | None = ...,
) -> Tensor: ...
def as_strided_copy(
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
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any: ...
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any: ...
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    count_include_pad: _bool = ...,
) -> Tensor: ...
def avg_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    count_include_pad: _bool = ...,
    divisor_override: _int | None = ...,
) -> Tensor: ...
def avg_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    count_include_pad: _bool = ...,
    divisor_override: _int | None = ...,
) -> Tensor: ...
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...
) -> Tensor: ...
def bartlett_window(
    window_length: _int,
    periodic: _bool = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
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
def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...
) -> Tensor: ...
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
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor: ...
def bitwise_and(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_left_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_not(input: Tensor) -> Tensor: ...
def bitwise_or(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_right_shift(input: _Operand, other: _Operand) -> Tensor: ...
def bitwise_xor(input: _Operand, other: _Operand) -> Tensor: ...
def blackman_window(
    window_length: _int,
    periodic: _bool = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor: ...
def bmm(input: Tensor, other: Tensor) -> Tensor: ...
def broadcast_to(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def bucketize(
    input: _Operand, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...
) -> Tensor: ...
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: _int = ...) -> Tensor: ...
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: str = ...) -> Tensor: ...
def ceil(input: Tensor) -> Tensor: ...
def celu(input: Tensor, alpha: _Number = ...) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def cholesky(input: Tensor, upper: _bool = ...) -> Tensor: ...
def cholesky_inverse(input: Tensor, upper: _bool = ...) -> Tensor: ...
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ...) -> Tensor: ...
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> Any: ...
def clamp(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ...) -> Tensor: ...
def clamp_max(input: Tensor, max: _Operand) -> Tensor: ...
def clamp_min(input: Tensor, min: _Operand) -> Tensor: ...
def clone(input: Tensor) -> Tensor: ...
def col2im(
    input: Tensor,
    output_size: _int | Sequence[_int],
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = ...,
    stride: _int | Sequence[_int] = ...,
) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor]) -> Tensor: ...
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor: ...
def complex(real: Tensor, imag: Tensor) -> Tensor: ...
def conj(input: Tensor) -> Tensor: ...
def conj_physical(input: Tensor) -> Tensor: ...
def contiguous(input: Tensor, *, memory_format: object = ...) -> Tensor: ...
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: object = ...,
    dilation: _int | Sequence[_int] = ...,
    groups: _int = ...,
) -> Tensor: ...
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: object = ...,
    dilation: _int | Sequence[_int] = ...,
    groups: _int = ...,
) -> Tensor: ...
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: object = ...,
    dilation: _int | Sequence[_int] = ...,
    groups: _int = ...,
) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = ...,
    output_padding: _int | Sequence[_int] = ...,
    groups: _int = ...,
    dilation: _int | Sequence[_int] = ...,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = ...,
    output_padding: _int | Sequence[_int] = ...,
    groups: _int = ...,
    dilation: _int | Sequence[_int] = ...,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = ...,
    output_padding: _int | Sequence[_int] = ...,
    groups: _int = ...,
    dilation: _int | Sequence[_int] = ...,
) -> Tensor: ...
def copysign(input: Tensor, other: _Operand) -> Tensor: ...
def corrcoef(input: Tensor) -> Tensor: ...
def cos(input: Tensor) -> Tensor: ...
def cosh(input: Tensor) -> Tensor: ...
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: str = ...
) -> Tensor: ...
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ...) -> Tensor: ...
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def cov(
    input: Tensor,
    *,
    correction: _int = ...,
    fweights: Tensor | None = ...,
    aweights: Tensor | None = ...,
) -> Tensor: ...
def cross(input: Tensor, other: Tensor, dim: _int | None = ...) -> Tensor: ...
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = ...,
    ignore_index: _int = ...,
    reduction: str = ...,
    label_smoothing: _float = ...,
) -> Tensor: ...
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: object,
    target_lengths: object,
    blank: _int = ...,
    reduction: str = ...,
    zero_infinity: _bool = ...,
) -> Tensor: ...
def cummax(input: Tensor, dim: _int) -> Any: ...
def cummin(input: Tensor, dim: _int) -> Any: ...
def cumprod(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def cumsum(input: Tensor, dim: _int, dtype: DType | type | None = ...) -> Tensor: ...
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = ..., *, dx: _Number = ..., dim: _int = ...
) -> Tensor: ...
def deg2rad(input: Tensor) -> Tensor: ...
def det(input: Tensor) -> Tensor: ...
def detach(input: Tensor) -> Tensor: ...
def diag(input: Tensor, diagonal: _int = ...) -> Tensor: ...
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...
def diagflat(input: Tensor, offset: _int = ...) -> Tensor: ...
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: ...
def diagonal_copy(
    input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...
) -> Tensor: ...
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...
) -> Tensor: ...
def diff(
    input: Tensor,
    n: _int = ...,
    dim: _int = ...,
    prepend: Tensor | None = ...,
    append: Tensor | None = ...,
) -> Tensor: ...
def dist(input: Tensor, other: Tensor, p: _Number = ...) -> Tensor: ...
def div(input: _Operand, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor: ...
def dot(input: Tensor, other: Tensor) -> Tensor: ...
def dropout(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def dropout1d(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def dropout2d(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def dropout3d(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def dsplit(input: Tensor, indices_or_sections: object) -> Any: ...
def dstack(tensors: Sequence[Tensor]) -> Tensor: ...
def elu(input: Tensor, alpha: _Number = ...) -> Tensor: ...
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: _int | None = ...,
    max_norm: _float | None = ...,
    norm_type: _float = ...,
    scale_grad_by_freq: _bool = ...,
    sparse: _bool = ...,
) -> Tensor: ...
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = ...,
    max_norm: _float | None = ...,
    norm_type: _float = ...,
    scale_grad_by_freq: _bool = ...,
    mode: str = ...,
    sparse: _bool = ...,
    per_sample_weights: Tensor | None = ...,
    include_last_offset: _bool = ...,
    padding_idx: _int | None = ...,
) -> Tensor: ...
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
def empty_permuted(
    size: _int | Sequence[_int],
    physical_layout: _int | Sequence[_int],
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def empty_strided(
    size: _int | Sequence[_int],
    stride: _int | Sequence[_int],
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
def expand_copy(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def expm1(input: Tensor) -> Tensor: ...
def eye(
    n: _int,
    m: _int | None = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ...) -> Tensor: ...
def fill(input: Tensor, value: _Operand) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor: ...
def flip(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def fliplr(input: Tensor) -> Tensor: ...
def flipud(input: Tensor) -> Tensor: ...
def float_power(input: _Operand, exponent: _Operand) -> Tensor: ...
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
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: _Operand,
    full: _bool = ...,
    eps: _float = ...,
    reduction: str = ...,
) -> Tensor: ...
def gcd(input: Tensor, other: Tensor) -> Tensor: ...
def ge(input: _Operand, other: _Operand) -> Tensor: ...
def gelu(input: Tensor, approximate: str = ...) -> Tensor: ...
def geqrf(input: Tensor) -> Any: ...
def ger(input: Tensor, vec2: Tensor) -> Tensor: ...
def glu(input: Tensor, dim: _int = ...) -> Tensor: ...
def gradient(
    input: Tensor,
    *,
    spacing: object = ...,
    dim: _int | Sequence[_int] | None = ...,
    edge_order: _int = ...,
) -> Any: ...
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = ...,
    padding_mode: str = ...,
    align_corners: _bool | None = ...,
) -> Tensor: ...
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    eps: _float = ...,
) -> Tensor: ...
def gt(input: _Operand, other: _Operand) -> Tensor: ...
def gumbel_softmax(
    logits: Tensor, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...
) -> Tensor: ...
def hamming_window(
    window_length: _int,
    periodic: _bool = ...,
    alpha: _float = ...,
    beta: _float = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def hann_window(
    window_length: _int,
    periodic: _bool = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _Number = ...) -> Tensor: ...
def hardsigmoid(input: Tensor) -> Tensor: ...
def hardswish(input: Tensor) -> Tensor: ...
def hardtanh(input: Tensor, min_val: _float = ..., max_val: _float = ...) -> Tensor: ...
def heaviside(input: Tensor, values: Tensor) -> Tensor: ...
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: _float = ..., reduction: str = ...
) -> Tensor: ...
def histc(input: Tensor, bins: _int = ..., min: _Number = ..., max: _Number = ...) -> Tensor: ...
def histogram(
    input: Tensor,
    bins: object,
    *,
    range: object = ...,
    weight: Tensor | None = ...,
    density: _bool = ...,
) -> Any: ...
def histogramdd(
    input: Tensor,
    bins: object,
    *,
    range: object = ...,
    weight: Tensor | None = ...,
    density: _bool = ...,
) -> Any: ...
def hsplit(input: Tensor, indices_or_sections: object) -> Any: ...
def hstack(tensors: Sequence[Tensor]) -> Tensor: ...
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = ...,
    delta: _float = ...,
    weight: Tensor | None = ...,
) -> Tensor: ...
def hypot(input: Tensor, other: Tensor) -> Tensor: ...
def im2col(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    dilation: _int | Sequence[_int] = ...,
    padding: _int | Sequence[_int] = ...,
    stride: _int | Sequence[_int] = ...,
) -> Tensor: ...
def imag(input: Tensor) -> Tensor: ...
def index_add(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...
) -> Tensor: ...
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor: ...
def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Operand) -> Tensor: ...
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = ...,
) -> Tensor: ...
def index_select(input: Tensor, dim: _int, index: Tensor) -> Tensor: ...
def inner(input: Tensor, other: Tensor) -> Tensor: ...
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = ...,
    running_var: Tensor | None = ...,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    use_input_stats: _bool = ...,
    momentum: _float = ...,
    eps: _float = ...,
) -> Tensor: ...
def interpolate(
    input: Tensor,
    size: object = ...,
    scale_factor: object = ...,
    mode: str = ...,
    align_corners: _bool | None = ...,
    recompute_scale_factor: _bool | None = ...,
    antialias: _bool = ...,
) -> Tensor: ...
def inverse(input: Tensor) -> Tensor: ...
def isclose(
    input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...
) -> Tensor: ...
def isfinite(input: Tensor) -> Tensor: ...
def isin(
    elements: Tensor, test_elements: Tensor, *, assume_unique: _bool = ..., invert: _bool = ...
) -> Tensor: ...
def isinf(input: Tensor) -> Tensor: ...
def isnan(input: Tensor) -> Tensor: ...
def isneginf(input: Tensor) -> Tensor: ...
def isposinf(input: Tensor) -> Tensor: ...
def isreal(input: Tensor) -> Tensor: ...
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = ...,
    win_length: _int | None = ...,
    window: Tensor | None = ...,
    center: _bool = ...,
    normalized: _bool = ...,
    onesided: _bool | None = ...,
    length: _int | None = ...,
    return_complex: _bool = ...,
) -> Tensor: ...
def kl_div(
    input: Tensor, target: Tensor, reduction: str = ..., log_target: _bool = ...
) -> Tensor: ...
def kron(input: Tensor, other: Tensor) -> Tensor: ...
def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ...) -> Any: ...
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = ..., weight: Tensor | None = ...
) -> Tensor: ...
def layer_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    eps: _float = ...,
) -> Tensor: ...
def lcm(input: Tensor, other: Tensor) -> Tensor: ...
def ldexp(input: Tensor, other: _Operand) -> Tensor: ...
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
def local_response_norm(
    input: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...
) -> Tensor: ...
def log(input: Tensor) -> Tensor: ...
def log10(input: Tensor) -> Tensor: ...
def log1p(input: Tensor) -> Tensor: ...
def log2(input: Tensor) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def logaddexp(input: Tensor, other: Tensor) -> Tensor: ...
def logaddexp2(input: Tensor, other: Tensor) -> Tensor: ...
def logcumsumexp(input: Tensor, dim: _int) -> Tensor: ...
def logdet(input: Tensor) -> Tensor: ...
def logical_and(input: Tensor, other: Tensor) -> Tensor: ...
def logical_not(input: Tensor) -> Tensor: ...
def logical_or(input: Tensor, other: Tensor) -> Tensor: ...
def logical_xor(input: Tensor, other: Tensor) -> Tensor: ...
def logsigmoid(input: Tensor) -> Tensor: ...
def logspace(
    start: _Number,
    end: _Number,
    steps: _int,
    base: _float = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ...) -> Tensor: ...
def lp_pool1d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    ceil_mode: _bool = ...,
) -> Tensor: ...
def lp_pool2d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    ceil_mode: _bool = ...,
) -> Tensor: ...
def lp_pool3d(
    input: Tensor,
    norm_type: _float,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    ceil_mode: _bool = ...,
) -> Tensor: ...
def lt(input: _Operand, other: _Operand) -> Tensor: ...
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: ...
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ...
) -> Any: ...
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: str = ...
) -> Tensor: ...
def masked_fill(input: Tensor, mask: Tensor, value: _Operand) -> Tensor: ...
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
def masked_select(input: Tensor, mask: Tensor) -> Tensor: ...
def matmul(input: Tensor, other: Tensor) -> Tensor: ...
def matrix_exp(input: Tensor) -> Tensor: ...
def matrix_power(input: Tensor, n: _int) -> Tensor: ...
def max(input: Tensor, dim: object = ..., keepdim: _bool = ...) -> Any: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    return_indices: _bool = ...,
) -> Any: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
) -> tuple[Tensor, Tensor]: ...
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
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
    return_indices: _bool = ...,
) -> Any: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    dilation: _int | Sequence[_int] = ...,
    ceil_mode: _bool = ...,
) -> tuple[Tensor, Tensor]: ...
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    output_size: object = ...,
) -> Tensor: ...
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    output_size: object = ...,
) -> Tensor: ...
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = ...,
    padding: _int | Sequence[_int] = ...,
    output_size: object = ...,
) -> Tensor: ...
def maximum(input: Tensor, other: Tensor) -> Tensor: ...
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def median(input: Tensor, dim: _int | None = ..., keepdim: _bool = ...) -> Any: ...
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = ...) -> Any: ...
def min(input: Tensor, dim: object = ..., keepdim: _bool = ...) -> Any: ...
def minimum(input: Tensor, other: Tensor) -> Tensor: ...
def mish(input: Tensor) -> Tensor: ...
def mm(input: Tensor, other: Tensor) -> Tensor: ...
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ...) -> Any: ...
def movedim(
    input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]
) -> Tensor: ...
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = ..., weight: Tensor | None = ...
) -> Tensor: ...
def msort(input: Tensor) -> Tensor: ...
def mul(input: _Operand, other: _Operand) -> Tensor: ...
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: _int = ...,
    margin: _float = ...,
    weight: Tensor | None = ...,
    reduction: str = ...,
) -> Tensor: ...
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = ...) -> Tensor: ...
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = ..., reduction: str = ...
) -> Tensor: ...
def mv(input: Tensor, other: Tensor) -> Tensor: ...
def nan_to_num(
    input: Tensor, nan: _float = ..., posinf: _float | None = ..., neginf: _float | None = ...
) -> Tensor: ...
def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def nanmedian(input: Tensor, dim: _int | None = ..., keepdim: _bool = ...) -> Any: ...
def nanquantile(
    input: Tensor,
    q: _Operand,
    dim: _int | None = ...,
    keepdim: _bool = ...,
    *,
    interpolation: str = ...,
) -> Tensor: ...
def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...
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
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ...) -> Tensor: ...
def norm(
    input: Tensor,
    p: object = ...,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def normalize(
    input: Tensor, p: _float = ..., dim: _int | Sequence[_int] | None = ..., eps: _float = ...
) -> Tensor: ...
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor: ...
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
def orgqr(input: Tensor, input2: Tensor) -> Tensor: ...
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ...
) -> Tensor: ...
def outer(input: Tensor, other: Tensor) -> Tensor: ...
def pad(
    input: Tensor, pad: _int | Sequence[_int], mode: str = ..., value: _Number | None = ...
) -> Tensor: ...
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...
) -> Tensor: ...
def pdist(input: Tensor, p: _float = ...) -> Tensor: ...
def permute(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def permute_copy(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def pinverse(input: Tensor, rcond: _float = ...) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool = ...,
    full: _bool = ...,
    eps: _float = ...,
    reduction: str = ...,
) -> Tensor: ...
def polar(abs: Tensor, angle: Tensor) -> Tensor: ...
def positive(input: Tensor) -> Tensor: ...
def pow(input: _Operand, exponent: _Operand) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
def prod(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: ...
def qr(input: Tensor, some: _bool = ...) -> Any: ...
def quantile(
    input: Tensor,
    q: _Operand,
    dim: _int | None = ...,
    keepdim: _bool = ...,
    *,
    interpolation: str = ...,
) -> Tensor: ...
def rad2deg(input: Tensor) -> Tensor: ...
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
def ravel(input: Tensor) -> Tensor: ...
def real(input: Tensor) -> Tensor: ...
def reciprocal(input: Tensor) -> Tensor: ...
def relu(input: Tensor) -> Tensor: ...
def relu6(input: Tensor) -> Tensor: ...
def remainder(input: _Operand, other: _Operand) -> Tensor: ...
def renorm(input: Tensor, p: _Number, dim: _int, maxnorm: _Number) -> Tensor: ...
def repeat(input: Tensor, *repeats: _int | Sequence[_int]) -> Tensor: ...
def repeat_interleave(
    input: Tensor, repeats: _Operand, dim: _int | None = ..., *, output_size: _int | None = ...
) -> Tensor: ...
def reshape(input: Tensor, *shape: _int | Sequence[_int]) -> Tensor: ...
def reshape_as(input: Tensor, other: Tensor) -> Tensor: ...
def resolve_conj(input: Tensor) -> Tensor: ...
def resolve_neg(input: Tensor) -> Tensor: ...
def rms_norm(
    input: Tensor,
    normalized_shape: _int | Sequence[_int],
    weight: Tensor | None = ...,
    eps: _float | None = ...,
) -> Tensor: ...
def roll(
    input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...
) -> Tensor: ...
def rot90(input: Tensor, k: _int = ..., dims: _int | Sequence[_int] = ...) -> Tensor: ...
def round(input: Tensor, *, decimals: _int = ...) -> Tensor: ...
def rrelu(
    input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ...
) -> Tensor: ...
def rsqrt(input: Tensor) -> Tensor: ...
def rsub(input: Tensor, other: _Operand, *, alpha: _Number = ...) -> Tensor: ...
def scalar_tensor(
    s: _Number,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
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
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor: ...
def scatter_reduce(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...
) -> Tensor: ...
def searchsorted(
    sorted_sequence: Tensor,
    input: _Operand,
    *,
    out_int32: _bool = ...,
    right: _bool = ...,
    side: str | None = ...,
    sorter: Tensor | None = ...,
) -> Tensor: ...
def select(input: Tensor, dim: _int, index: _int) -> Tensor: ...
def select_copy(input: Tensor, dim: _int, index: _int) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor: ...
def selu(input: Tensor) -> Tensor: ...
def sgn(input: Tensor) -> Tensor: ...
def sigmoid(input: Tensor) -> Tensor: ...
def sign(input: Tensor) -> Tensor: ...
def signbit(input: Tensor) -> Tensor: ...
def silu(input: Tensor) -> Tensor: ...
def sin(input: Tensor) -> Tensor: ...
def sinc(input: Tensor) -> Tensor: ...
def sinh(input: Tensor) -> Tensor: ...
def slice_copy(
    input: Tensor,
    dim: _int = ...,
    start: _int | None = ...,
    end: _int | None = ...,
    step: _int = ...,
) -> Tensor: ...
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = ...,
    start: _int | None = ...,
    end: _int | None = ...,
    step: _int = ...,
) -> Tensor: ...
def slogdet(input: Tensor) -> Any: ...
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = ..., beta: _float = ...
) -> Tensor: ...
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = ...) -> Tensor: ...
def softmax(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def softmin(input: Tensor, dim: _int, *, dtype: DType | type | None = ...) -> Tensor: ...
def softplus(input: Tensor, beta: _Number = ..., threshold: _Number = ...) -> Tensor: ...
def softshrink(input: Tensor, lambd: _float = ...) -> Tensor: ...
def softsign(input: Tensor) -> Tensor: ...
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ...) -> Any: ...
def split(input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = ...) -> Any: ...
def split_with_sizes(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = ...) -> Any: ...
def split_with_sizes_copy(
    input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = ...
) -> Any: ...
def sqrt(input: Tensor) -> Tensor: ...
def square(input: Tensor) -> Tensor: ...
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def squeeze_copy(input: Tensor, dim: _int | Sequence[_int] | None = ...) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: _int = ...) -> Tensor: ...
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = ...,
    win_length: _int | None = ...,
    window: Tensor | None = ...,
    center: _bool = ...,
    pad_mode: str = ...,
    normalized: _bool = ...,
    onesided: _bool | None = ...,
    return_complex: _bool | None = ...,
) -> Tensor: ...
def sub(input: _Operand, other: _Operand, *, alpha: _Number = ...) -> Tensor: ...
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = ...,
    *,
    dtype: DType | type | None = ...,
) -> Tensor: ...
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ...) -> Any: ...
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor: ...
def t(input: Tensor) -> Tensor: ...
def t_copy(input: Tensor) -> Tensor: ...
def take(input: Tensor, index: Tensor) -> Tensor: ...
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ...) -> Tensor: ...
def tan(input: Tensor) -> Tensor: ...
def tanh(input: Tensor) -> Tensor: ...
def tanhshrink(input: Tensor) -> Tensor: ...
def tensor_split(input: Tensor, indices_or_sections: object, dim: _int = ...) -> Any: ...
def tensordot(a: Tensor, b: Tensor, dims: object = ...) -> Tensor: ...
def threshold(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
def tile(input: Tensor, *dims: _int | Sequence[_int]) -> Tensor: ...
def topk(
    input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...
) -> Any: ...
def trace(input: Tensor) -> Tensor: ...
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def transpose_copy(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def trapezoid(
    y: Tensor, x: Tensor | None = ..., *, dx: _Number = ..., dim: _int = ...
) -> Tensor: ...
def triangular_solve(
    input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...
) -> Any: ...
def tril(input: Tensor, diagonal: _int = ...) -> Tensor: ...
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = ...,
    p: _float = ...,
    eps: _float = ...,
    swap: _bool = ...,
    reduction: str = ...,
) -> Tensor: ...
def triu(input: Tensor, diagonal: _int = ...) -> Tensor: ...
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = ...,
    *,
    dtype: DType | type | None = ...,
    device: Device | str | None = ...,
    requires_grad: _bool = ...,
) -> Tensor: ...
def trunc(input: Tensor) -> Tensor: ...
def unbind(input: Tensor, dim: _int = ...) -> Any: ...
def unbind_copy(input: Tensor, dim: _int = ...) -> Any: ...
def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int]) -> Tensor: ...
def unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor: ...
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor: ...
def unique(
    input: Tensor,
    sorted: _bool = ...,
    return_inverse: _bool = ...,
    return_counts: _bool = ...,
    dim: _int | None = ...,
) -> Any: ...
def unique_consecutive(
    input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...
) -> Any: ...
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> Any: ...
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ...) -> Any: ...
def unsafe_split(
    input: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = ...
) -> Any: ...
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = ...
) -> Any: ...
def unsqueeze(input: Tensor, dim: _int) -> Tensor: ...
def unsqueeze_copy(input: Tensor, dim: _int) -> Tensor: ...
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor: ...
def vdot(input: Tensor, other: Tensor) -> Tensor: ...
def view(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def view_as(input: Tensor, other: Tensor) -> Tensor: ...
def view_as_complex(input: Tensor) -> Any: ...
def view_as_real(input: Tensor) -> Any: ...
def view_copy(input: Tensor, *size: _int | Sequence[_int]) -> Tensor: ...
def vsplit(input: Tensor, indices_or_sections: object) -> Any: ...
def vstack(tensors: Sequence[Tensor]) -> Tensor: ...
def where(condition: Tensor, input: _Operand, other: _Operand) -> Tensor: ...
def xlog1py(input: _Operand, other: _Operand) -> Tensor: ...
def xlogy(input: _Operand, other: _Operand) -> Tensor: ...
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
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "adjoint",
    "affine_grid",
    "alias_copy",
    "all",
    "allclose",
    "alpha_dropout",
    "amax",
    "amin",
    "aminmax",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "baddbmm",
    "bartlett_window",
    "batch_norm",
    "bernoulli",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "bincount",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "ceil",
    "celu",
    "channel_shuffle",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clone",
    "col2im",
    "column_stack",
    "combinations",
    "complex",
    "conj",
    "conj_physical",
    "contiguous",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cosh",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "cross_entropy",
    "ctc_loss",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "deg2rad",
    "det",
    "detach",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "dist",
    "div",
    "dot",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "dsplit",
    "dstack",
    "einsum",
    "elu",
    "embedding",
    "embedding_bag",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand",
    "expand_as",
    "expand_copy",
    "expm1",
    "eye",
    "feature_alpha_dropout",
    "fill",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
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
    "gaussian_nll_loss",
    "gcd",
    "ge",
    "gelu",
    "geqrf",
    "ger",
    "glu",
    "gradient",
    "grid_sample",
    "group_norm",
    "gt",
    "gumbel_softmax",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "huber_loss",
    "hypot",
    "im2col",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "inner",
    "instance_norm",
    "interpolate",
    "inverse",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "kl_div",
    "kron",
    "kthvalue",
    "l1_loss",
    "layer_norm",
    "lcm",
    "ldexp",
    "le",
    "leaky_relu",
    "lerp",
    "linear",
    "linspace",
    "local_response_norm",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsigmoid",
    "logspace",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lt",
    "lu_solve",
    "lu_unpack",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mish",
    "mm",
    "mode",
    "movedim",
    "mse_loss",
    "msort",
    "mul",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "mv",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "narrow_copy",
    "ne",
    "neg",
    "nextafter",
    "nll_loss",
    "nonzero",
    "nonzero_static",
    "norm",
    "normalize",
    "numel",
    "one_hot",
    "ones",
    "ones_like",
    "orgqr",
    "ormqr",
    "outer",
    "pad",
    "pairwise_distance",
    "pdist",
    "permute",
    "permute_copy",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "polar",
    "positive",
    "pow",
    "prelu",
    "prod",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "renorm",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "rrelu",
    "rsqrt",
    "rsub",
    "scalar_tensor",
    "scaled_dot_product_attention",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "slice_copy",
    "slice_scatter",
    "slogdet",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "sort",
    "split",
    "split_with_sizes",
    "split_with_sizes_copy",
    "sqrt",
    "square",
    "squeeze",
    "squeeze_copy",
    "stack",
    "std",
    "std_mean",
    "stft",
    "sub",
    "sum",
    "svd",
    "swapaxes",
    "t",
    "t_copy",
    "take",
    "take_along_dim",
    "tan",
    "tanh",
    "tanhshrink",
    "tensor",
    "tensor_split",
    "tensordot",
    "threshold",
    "tile",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "trunc",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold",
    "unfold_copy",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "view_copy",
    "vsplit",
    "vstack",
    "where",
    "xlog1py",
    "xlogy",
    "zeros",
    "zeros_like",
]
