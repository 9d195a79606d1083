"""Complex linear algebra, and what has no unique answer: identities, and gradients of functions that do not see the choice."""

import numpy as np
import pytest

import tensorplay as tp
from tensorplay import linalg

RNG = np.random.default_rng(3)


def numbers(*shape):
    return tp.from_numpy(RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape))


def real(*shape):
    return tp.from_numpy(RNG.standard_normal(shape))


def close(a, b):
    assert np.allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-10)


def rebuilt(U, S, Vh):
    return U * S @ Vh


FUNCTIONS = {
    "cholesky": lambda A: linalg.cholesky(A @ A.mH + 2 * tp.eye(3, dtype=A.dtype)),
    "cholesky upper": lambda A: linalg.cholesky(
        A @ A.mH + 2 * tp.eye(3, dtype=A.dtype), upper=True
    ),
    "cholesky_solve": lambda A: tp.cholesky_solve(A, A.tril() + 3 * tp.eye(3, dtype=A.dtype)),
    "eigh values": lambda A: linalg.eigh(A + A.mH).eigenvalues,
    "eigh vectors": lambda A: linalg.eigh(A + A.mH, UPLO="U").eigenvectors.abs(),
    "svd": lambda A: linalg.svd(A[:, :2], full_matrices=False).U.abs(),
    "svd wide": lambda A: linalg.svd(A[:2], full_matrices=False).Vh.abs(),
    "svd product": lambda A: rebuilt(*linalg.svd(A)),
    "svd turned": lambda A: rebuilt(linalg.svd(A).U, 1, linalg.svd(A).Vh),
    "qr": linalg.qr,
    "qr tall": lambda A: linalg.qr(A[:, :2]),
    "qr wide": lambda A: linalg.qr(A[:2]),
    "eig values": lambda A: linalg.eig(A).eigenvalues,
    "eig vectors": lambda A: linalg.eig(A).eigenvectors.abs(),
    "lu": lambda A: linalg.lu(A)[1:],
    "lu tall": lambda A: linalg.lu_factor(A[:, :2]).LU,
    "lu wide": lambda A: linalg.lu_factor(A[:2]).LU,
    "lu_solve": lambda A: linalg.lu_solve(*linalg.lu_factor(A), A.mT, adjoint=True),
    "slogdet": lambda A: tuple(linalg.slogdet(A)),
    "pinv": lambda A: linalg.pinv(A[:, :2]),
    "pinv hermitian": lambda A: linalg.pinv(A + A.mH, hermitian=True),
    "lstsq": lambda A: linalg.lstsq(A[:, :2], A, driver="gelsd")[:2],
    "matrix_exp": linalg.matrix_exp,
    "nuclear norm": lambda A: linalg.matrix_norm(A, "nuc"),
    "cond": lambda A: linalg.cond(A, 1),
    "householder": lambda A: linalg.householder_product(A[:, :2], A[2, :2]),
    "ormqr": lambda A: tp.ormqr(A[:, :2], A[2, :2], A, False, True),
    "inv_ex": lambda A: linalg.inv_ex(A).inverse,
}


@pytest.mark.parametrize("make", [real, numbers])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, make):
    A = make(3, 3).requires_grad_()
    assert tp.autograd.gradcheck(FUNCTIONS[name], (A,))
    assert tp.autograd.gradgradcheck(FUNCTIONS[name], (A,))


@pytest.mark.parametrize("make", [real, numbers])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents(name, make):
    A, T = make(3, 3), make(3, 3)
    first = lambda y: y[0] if isinstance(y, tuple) else y  # noqa: E731  # a formula in a line
    with tp.autograd.forward_ad.dual_level():
        dual = tp.autograd.forward_ad.make_dual(A, T)
        found = tp.autograd.forward_ad.unpack_dual(first(FUNCTIONS[name](dual))).tangent
    step = 1e-6
    above, below = first(FUNCTIONS[name](A + T * step)), first(FUNCTIONS[name](A - T * step))
    assert np.allclose(found.numpy(), ((above - below) / (2 * step)).numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("make", [real, numbers])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (70, 70), (0, 3)])
def test_factors_give_the_matrix_back(make, shape):
    A = make(*shape)
    P, L, U = linalg.lu(A)
    close(P @ L @ U, A)
    close(tp.lu_unpack(*linalg.lu_factor(A)).L, L)
    Q, R = linalg.qr(A, "complete")
    close(Q @ R, A)
    U, S, Vh = linalg.svd(A, full_matrices=False)
    close(U * S.unsqueeze(-2) @ Vh, A)
    assert not S.dtype.is_complex
    if shape[-1] == shape[-2]:
        values, vectors = linalg.eig(A)
        close(A.to(tp.complex128) @ vectors, vectors * values.unsqueeze(-2))
        values, vectors = linalg.eigh(A + A.mH)
        close((A + A.mH) @ vectors, vectors * values.unsqueeze(-2))


def test_one_triangle_is_read():
    A = numbers(3, 3)
    hermitian = A.tril(-1) + A.tril(-1).mH + 5 * tp.eye(3, dtype=A.dtype)
    close(linalg.eigvalsh(hermitian.tril()), linalg.eigvalsh(hermitian))
    close(linalg.eigvalsh(hermitian.triu(), "U"), linalg.eigvalsh(hermitian))
    close(linalg.cholesky(hermitian.tril()), linalg.cholesky(hermitian))
    close(linalg.cholesky(hermitian.triu(), upper=True), linalg.cholesky(hermitian).mH)


def test_singular_matrices():
    A = tp.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.inv(A)
    inverse, info = linalg.inv_ex(tp.stack([A, tp.eye(2)]))
    assert info.tolist() == [2, 0]
    assert inverse[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert np.isnan(inverse[0].numpy()).all()
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.solve_ex(A, A, check_errors=True)
    assert linalg.lu_factor_ex(A).info.tolist() == 2
    assert linalg.cholesky_ex(-tp.eye(3)).info.tolist() == 1
    assert linalg.cholesky_ex(tp.tensor([[1.0, 2.0], [2.0, 1.0]])).info.tolist() == 2
    assert linalg.cond(A, 1).tolist() == float("inf")


def test_named_results():
    A = real(3, 3)
    for result, fields in (
        (linalg.qr(A), ("Q", "R")),
        (linalg.svd(A), ("U", "S", "Vh")),
        (tp.svd(A), ("U", "S", "V")),
        (linalg.eig(A), ("eigenvalues", "eigenvectors")),
        (linalg.slogdet(A), ("sign", "logabsdet")),
        (linalg.lstsq(A, A), ("solution", "residuals", "rank", "singular_values")),
        (linalg.lu(A), ("P", "L", "U")),
        (linalg.lu_factor(A), ("LU", "pivots")),
        (linalg.lu_factor_ex(A), ("LU", "pivots", "info")),
        (linalg.inv_ex(A), ("inverse", "info")),
        (tp.geqrf(A), ("a", "tau")),
        (A.max(0), ("values", "indices")),
        (A.sort(), ("values", "indices")),
        (A.cummin(0), ("values", "indices")),
        (tp.aminmax(A), ("min", "max")),
    ):
        assert result._fields == fields


def test_compiled_functions_return_named_results():
    A = real(3, 3)
    found = tp.compile(linalg.qr)(A)
    close(found.Q, linalg.qr(A).Q)
    factors = tp.compile(lambda A: linalg.lu(A * 2), strict_native=True)(A)
    close(factors.P @ factors.L @ factors.U, A * 2)
