"""Linear algebra under PyTorch's names, `tensorplay.linalg`.

Matrices are the last two dimensions, float32 or float64; leading dimensions are a batch, which may
be empty. Everything has derivatives of all orders, in both modes, save `matrix_rank`.

>>> import tensorplay as tp
>>> A = tp.tensor([[2.0, 1.0], [1.0, 2.0]])
>>> tp.linalg.eigvalsh(A)
tensor([1., 3.])
>>> tp.linalg.inv(A) @ A
tensor([[1., 0.],
        [0., 1.]])
"""

from __future__ import annotations

from tensorplay.publishing import function_named

cholesky = function_named("cholesky")
cross = function_named("linalg_cross")
det = function_named("det")
eigh = function_named("linalg_eigh")
eigvalsh = function_named("linalg_eigvalsh")
inv = function_named("linalg_inv")
lstsq = function_named("linalg_lstsq")
matmul = function_named("matmul")
matrix_exp = function_named("matrix_exp")
matrix_norm = function_named("linalg_matrix_norm")
matrix_power = function_named("matrix_power")
matrix_rank = function_named("linalg_matrix_rank")
multi_dot = function_named("linalg_multi_dot")
norm = function_named("linalg_norm")
pinv = function_named("linalg_pinv")
qr = function_named("linalg_qr")
slogdet = function_named("slogdet")
solve = function_named("linalg_solve")
solve_triangular = function_named("linalg_solve_triangular")
svd = function_named("linalg_svd")
svdvals = function_named("linalg_svdvals")
vander = function_named("linalg_vander")
vector_norm = function_named("linalg_vector_norm")

__all__ = [
    "cholesky", "cross", "det", "eigh", "eigvalsh", "inv", "lstsq", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_triangular", "svd", "svdvals", "vander", "vector_norm",
]  # fmt: skip
