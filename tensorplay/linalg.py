"""Linear algebra under PyTorch's names, `tensorplay.linalg`.

Matrices are the last two dimensions, float32, float64, complex64 or complex128; leading dimensions are a
batch, which may be empty. What is not discrete has derivatives of all orders, in both modes. Several
results are named tuples with PyTorch's fields. A matrix without the factorization asked for raises
`LinAlgError`.

>>> import tensorplay as tp
>>> A = tp.tensor([[2.0, 1.0], [1.0, 2.0]])
>>> tp.linalg.eigvalsh(A)
tensor([1., 3.])
>>> tp.linalg.inv(A) @ A
tensor([[1., 0.],
        [0., 1.]])
"""

from __future__ import annotations

from tensorplay.core.errors import LinAlgError
from tensorplay.publishing import function_named

cholesky = function_named("linalg_cholesky")
cholesky_ex = function_named("linalg_cholesky_ex")
cond = function_named("linalg_cond")
cross = function_named("linalg_cross")
det = function_named("det")
diagonal = function_named("linalg_diagonal")
eig = function_named("linalg_eig")
eigh = function_named("linalg_eigh")
eigvals = function_named("linalg_eigvals")
eigvalsh = function_named("linalg_eigvalsh")
householder_product = function_named("linalg_householder_product")
inv = function_named("linalg_inv")
inv_ex = function_named("linalg_inv_ex")
ldl_factor = function_named("linalg_ldl_factor")
ldl_factor_ex = function_named("linalg_ldl_factor_ex")
ldl_solve = function_named("linalg_ldl_solve")
lstsq = function_named("linalg_lstsq")
lu = function_named("linalg_lu")
lu_factor = function_named("linalg_lu_factor")
lu_factor_ex = function_named("linalg_lu_factor_ex")
lu_solve = function_named("linalg_lu_solve")
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
solve_ex = function_named("linalg_solve_ex")
solve_triangular = function_named("linalg_solve_triangular")
svd = function_named("linalg_svd")
svdvals = function_named("linalg_svdvals")
tensorinv = function_named("linalg_tensorinv")
tensorsolve = function_named("linalg_tensorsolve")
vander = function_named("linalg_vander")
vecdot = function_named("linalg_vecdot")
vector_norm = function_named("linalg_vector_norm")

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
