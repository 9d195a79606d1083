"""Linear algebra against NumPy and SciPy: values, batches, what is refused, gradients where something is singular."""

import numpy as np
import pytest
import scipy.linalg

import tensorplay as tp
from tensorplay import linalg
from tensorplay.core.errors import ArgumentValueError, ShapeError

RNG = np.random.default_rng(7)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BATCHES = pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
SHAPES = pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (0, 3), (3, 0)])


def matrices(*shape, dtype=np.float64):
    return RNG.standard_normal(shape).astype(dtype)


def positive(*shape, dtype=np.float64):
    A = matrices(*shape, dtype=dtype)
    return A @ A.swapaxes(-2, -1) + 2 * np.eye(shape[-1], dtype=dtype)


def close(found, expected, dtype=np.float64):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    tolerance = 2e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found.detach().numpy(), expected, tolerance, tolerance)


@DTYPES
@BATCHES
def test_square_matrices(dtype, batch):
    A = matrices(*batch, 3, 3, dtype=dtype) + 3 * np.eye(3, dtype=dtype)
    x, B = tp.from_numpy(A), matrices(*batch, 3, 2, dtype=dtype)
    close(linalg.inv(x), np.linalg.inv(A), dtype)
    close(tp.inverse(x), np.linalg.inv(A), dtype)
    close(linalg.det(x), np.linalg.det(A), dtype)
    for found, expected in zip(linalg.slogdet(x), np.linalg.slogdet(A), strict=True):
        close(found, expected, dtype)
    close(tp.logdet(x @ x), np.log(np.linalg.det(A @ A)), dtype)
    close(linalg.solve(x, tp.from_numpy(B)), np.linalg.solve(A, B), dtype)
    right = linalg.solve(x, tp.from_numpy(B.swapaxes(-2, -1).copy()), left=False)
    close(right @ x, B.swapaxes(-2, -1), dtype)
    close(linalg.matrix_power(x, 5), np.linalg.matrix_power(A, 5) if A.size else A, dtype)
    close(linalg.matrix_power(x, -2), np.linalg.matrix_power(A, -2), dtype)
    close(linalg.matrix_exp(x), scipy.linalg.expm(A) if A.size else A, dtype)
    assert linalg.inv(x).dtype is x.dtype


@DTYPES
@BATCHES
def test_symmetric_matrices(dtype, batch):
    A = positive(*batch, 4, 4, dtype=dtype)
    x = tp.from_numpy(A)
    close(linalg.cholesky(x), np.linalg.cholesky(A), dtype)
    close(linalg.cholesky(x, upper=True), np.linalg.cholesky(A).swapaxes(-2, -1), dtype)
    L, V = linalg.eigh(x)
    close(L, np.linalg.eigvalsh(A), dtype)
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(A), dtype)
    close((V * L.unsqueeze(-2)) @ V.transpose(-2, -1), A, dtype)


@DTYPES
@BATCHES
@SHAPES
def test_any_matrices(dtype, batch, shape):
    A = matrices(*batch, *shape, dtype=dtype)
    x = tp.from_numpy(A)
    rank = min(shape)
    for mode in ("reduced", "complete"):
        Q, R = linalg.qr(x, mode)
        close(Q @ R, A, dtype)
        close(
            Q.transpose(-2, -1) @ Q,
            np.broadcast_to(np.eye(Q.shape[-1]), R.shape[:-1] + Q.shape[-1:]),
            dtype,
        )
        close(R, np.triu(R.numpy()), dtype)
    empty, R = linalg.qr(x, "r")
    assert empty.shape == (0,)
    assert R.shape == (*batch, rank, shape[1])
    for full in (True, False):
        U, S, Vh = linalg.svd(x, full_matrices=full)
        assert U.shape == (*batch, shape[0], shape[0] if full else rank)
        assert Vh.shape == (*batch, shape[1] if full else rank, shape[1])
        close((U.narrow(-1, 0, rank) * S.unsqueeze(-2)) @ Vh.narrow(-2, 0, rank), A, dtype)
        close(
            U.transpose(-2, -1) @ U,
            np.broadcast_to(np.eye(U.shape[-1]), (*batch, U.shape[-1], U.shape[-1])),
            dtype,
        )
    close(linalg.svdvals(x), S.numpy(), dtype)
    close(linalg.pinv(x), np.linalg.pinv(A), dtype)
    assert linalg.matrix_rank(x).tolist() == np.full(batch, rank).tolist()


def test_singular_values_and_ranks():
    A = matrices(5, 2) @ matrices(2, 4)
    x, B = tp.from_numpy(A), matrices(5, 3)
    assert int(linalg.matrix_rank(x)) == 2
    assert int(linalg.matrix_rank(x, atol=1e9)) == 0
    close(linalg.pinv(x), np.linalg.pinv(A, rcond=1e-12))
    close(linalg.lstsq(x, tp.from_numpy(B)).solution, np.linalg.lstsq(A, B, rcond=1e-12)[0])
    close(
        linalg.lstsq(x, tp.from_numpy(B[:, 0].copy())).solution,
        np.linalg.lstsq(A, B[:, 0], rcond=1e-12)[0],
    )


@DTYPES
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(dtype, upper, unit):
    A = positive(4, 4, dtype=dtype)
    B = matrices(4, 2, dtype=dtype)
    x, b = tp.from_numpy(A), tp.from_numpy(B)
    expected = scipy.linalg.solve_triangular(A, B, lower=not upper, unit_diagonal=unit)
    close(linalg.solve_triangular(x, b, upper=upper, unitriangular=unit), expected, dtype)
    found = linalg.solve_triangular(x.t(), b.t(), upper=not upper, left=False, unitriangular=unit)
    close(found, expected.T, dtype)
    batched = linalg.solve_triangular(x, tp.stack([b, 2 * b]), upper=upper, unitriangular=unit)
    close(batched, np.stack([expected, 2 * expected]), dtype)


def test_what_has_no_solution_is_refused():
    singular = tp.tensor([[1.0, 2.0], [2.0, 4.0]])
    for function in (
        linalg.inv,
        lambda A: linalg.solve(A, tp.ones(2)),
        lambda A: linalg.matrix_power(A, -1),
    ):
        with pytest.raises(ArgumentValueError, match="singular"):
            function(singular)
    with pytest.raises(ArgumentValueError, match="solve_triangular: singular"):
        linalg.solve_triangular(tp.zeros(2, 2), tp.ones(2, 1), upper=True)
    with pytest.raises(ArgumentValueError, match=r"cholesky: .*positive definite"):
        linalg.cholesky(tp.tensor([[1.0, 0.0], [0.0, -1.0]]))
    with pytest.raises(ArgumentValueError, match=r"svd: .*converge"):
        linalg.svd(tp.full((2, 2), float("nan")))


def test_singular_matrices_have_determinants_and_gradients():
    x = tp.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=tp.float64, requires_grad=True)
    sign, logabsdet = linalg.slogdet(x)
    assert (float(sign), float(logabsdet)) == (0.0, -np.inf)
    linalg.det(x).backward()
    close(x.grad, [[4.0, -2.0], [-2.0, 1.0]])
    zero = tp.zeros(3, 3, dtype=tp.float64).requires_grad_()
    linalg.det(zero).backward()
    close(zero.grad, np.zeros((3, 3)))


def test_values_of_repeated_ones_have_gradients():
    """Only the vectors' derivatives divide by differences of values."""
    for function in (linalg.eigvalsh, linalg.svdvals):
        x = tp.eye(3, dtype=tp.float64).requires_grad_()
        function(x).sum().backward()
        close(x.grad, np.eye(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda A: linalg.svd(A, full_matrices=False)[1],
        lambda A: linalg.qr(A)[1],
        linalg.pinv,
        lambda A: linalg.matrix_norm(A, "nuc"),
        lambda A: linalg.solve(A @ A.transpose(-2, -1) + tp.eye(2, dtype=A.dtype), A),
        lambda A: linalg.cholesky(A @ A.transpose(-2, -1)),
    ],
)
def test_gradcheck_of_batches(function):
    x = tp.from_numpy(matrices(2, 2, 3)).requires_grad_()
    assert tp.autograd.gradcheck(function, (x,))
    assert tp.autograd.gradgradcheck(function, (x,))


# ---- norms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ord", [2, 1, 0, 3, 0.5, -1, np.inf, -np.inf])
def test_vector_norms(ord):
    x = matrices(3, 4)
    close(linalg.vector_norm(tp.from_numpy(x), ord, 1), np.linalg.norm(x, ord, 1))
    close(linalg.vector_norm(tp.from_numpy(x), ord), np.linalg.norm(x.reshape(-1), ord))
    close(
        linalg.norm(tp.from_numpy(x), ord, 0, keepdim=True),
        np.linalg.norm(x, ord, 0, keepdims=True),
    )
    close(tp.from_numpy(x).norm(ord, 1), np.linalg.norm(x, ord, 1))


@pytest.mark.parametrize("ord", ["fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf])
def test_matrix_norms(ord):
    x = matrices(3, 4, 2)
    y = tp.from_numpy(x)
    close(linalg.matrix_norm(y, ord), np.linalg.norm(x, ord, (-2, -1)))
    close(
        linalg.matrix_norm(y, ord, (2, 0), keepdim=True),
        np.linalg.norm(x, ord, (2, 0), keepdims=True),
    )
    close(linalg.norm(y[0], ord), np.linalg.norm(x[0], ord))


def test_a_norm_of_zero_has_gradient_zero():
    x = tp.zeros(3, requires_grad=True)
    tp.norm(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(float(linalg.vector_norm(tp.tensor([float("nan"), 0.0]))))


# ---- products ----------------------------------------------------------------------------------------

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ji,kj", (3, 2), (4, 3)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)), ("i,i", (3,), (3,)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("...ij,...jk->...ik", (4, 1, 2, 3), (5, 3, 2)), ("...i->i...", (2, 3, 4)), ("b...,b...->...", (2, 3), (2, 3)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 2), (2, 2)), ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 3)),
    ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("ij,kl->", (2, 3), (3, 2)), ("i , i -> i", (3,), (3,)),
    (",ij->ij", (), (2, 3)), ("...,...", (2, 3), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("equation, shapes", [(each[0], each[1:]) for each in EQUATIONS])
def test_einsum(equation, shapes):
    arrays = [matrices(*each) for each in shapes]
    found = tp.einsum(equation, *map(tp.from_numpy, arrays))
    close(found, np.einsum(equation, *arrays))
    close(tp.einsum(equation, [*map(tp.from_numpy, arrays)]), found.numpy())


def test_einsum_compiles():
    a, b = tp.from_numpy(matrices(2, 3)), tp.from_numpy(matrices(3, 4))
    compiled = tp.compile(lambda a, b: tp.einsum("ij,jk->ki", a, b).exp(), strict_native=True)
    close(compiled(a, b), np.exp(a.numpy() @ b.numpy()).T)


def test_products():
    a, b = matrices(2, 3), matrices(4, 3)
    x, y = tp.from_numpy(a), tp.from_numpy(b)
    close(tp.inner(x, y), np.inner(a, b))
    close(tp.kron(x, y), np.kron(a, b))
    close(tp.tensordot(x, y, ((1,), (1,))), np.tensordot(a, b, ((1,), (1,))))
    close(tp.vdot(x[0], y[0]), np.vdot(a[0], b[0]))
    close(tp.cross(x, x.flip(0)), np.cross(a, a[::-1]))
    close(linalg.cross(x.t(), y.t()[:, :2], dim=0), np.cross(a, b[:2]).T)
    close(linalg.multi_dot([x, y.t(), y]), a @ b.T @ b)
    close(linalg.multi_dot([x[0], y.t(), y, x[1]]), a[0] @ b.T @ b @ a[1])
    close(tp.addmm(x, x, y.t()[:, :3], beta=2, alpha=0.5), 2 * a + 0.5 * a @ b.T[:, :3])
    close(tp.addmv(y[:2, 0], x, y[0]), b[:2, 0] + a @ b[0])
    c, d = matrices(2, 2, 3), matrices(2, 3, 4)
    close(tp.baddbmm(tp.ones(4, dtype=tp.float64), tp.from_numpy(c), tp.from_numpy(d)), 1 + c @ d)
    nan = tp.full((2, 4), float("nan"), dtype=tp.float64)
    close(tp.addmm(nan, x, y.t(), beta=0), a @ b.T)


def test_diagonals_and_powers():
    a = matrices(3, 4)
    x = tp.from_numpy(a)
    close(tp.trace(x), np.trace(a))
    close(tp.diag(x, 1), np.diag(a, 1))
    close(tp.diag(x[0], -2), np.diag(a[0], -2))
    close(tp.diag_embed(x, 1)[2], np.diag(a[2], 1))
    close(tp.vander(x[0]), np.vander(a[0]))
    close(tp.vander(x[0], 2, increasing=True), np.vander(a[0], 2, increasing=True))
    close(linalg.vander(x, N=3)[1], np.vander(a[1], 3, increasing=True))
    assert tp.trace(tp.ones(2, 2, dtype=tp.int32)).dtype is tp.int64
    copy = tp.diag(x)
    copy[0] = 9.0
    assert float(x[0, 0]) == a[0, 0]


def test_the_namespace_is_complete_and_documented():
    for name in linalg.__all__:
        assert getattr(tp.linalg, name).__doc__
    with pytest.raises(ShapeError, match="inv: expected square"):
        linalg.inv(tp.ones(2, 3))


@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_solves_indefinite_systems(hermitian):
    A = matrices(2, 3, 3)
    A[0, [0, 1, 2], [0, 1, 2]] = 0  # a block of order 2
    A = A + A.swapaxes(-2, -1)
    if hermitian:
        A = A + 1j * np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0]])
    B = matrices(3, 2).astype(A.dtype)
    LD, pivots = linalg.ldl_factor(tp.from_numpy(A), hermitian=hermitian)
    found = linalg.ldl_solve(LD, pivots, tp.from_numpy(B), hermitian=hermitian)
    close(found, np.linalg.solve(A, np.broadcast_to(B, (2, 3, 2))))
    with pytest.raises(tp.linalg.LinAlgError, match="singular"):
        linalg.ldl_factor(tp.zeros(2, 2))


@pytest.mark.parametrize("pivots", [[0, 1], [1, 3], [1, -2], [-2, 1]])
def test_pivots_that_lead_out_of_the_matrix_are_refused(pivots):
    found = tp.tensor(pivots, dtype=tp.int32)
    with pytest.raises(ArgumentValueError, match="expected pivots of ldl_factor"):
        linalg.ldl_solve(tp.eye(2), found, tp.ones(2, 1))


def test_low_rank_parts_are_exact_where_the_rank_is_low():
    A = matrices(2, 6, 2) @ matrices(2, 2, 4)
    for x in (tp.from_numpy(A), tp.from_numpy(A).mT):
        U, S, V = tp.svd_lowrank(x, q=2)
        close((U * S.unsqueeze(-2)) @ V.mT, x.numpy())
        close(S, linalg.svdvals(x).numpy()[..., :2])
    _, S, _ = tp.pca_lowrank(tp.from_numpy(A), q=2)
    close(S, np.linalg.svd(A - A.mean(-2, keepdims=True), compute_uv=False)[..., :2])


def test_tolerances_may_differ_from_matrix_to_matrix():
    A = np.stack([np.diag([3.0, 2.0, 1.0])] * 2)
    x, tolerance = tp.from_numpy(A), tp.tensor([0.1, 1.5], dtype=tp.float64)
    assert linalg.matrix_rank(x, atol=tolerance).tolist() == [3, 2]
    assert linalg.matrix_rank(x[0], rtol=tolerance / 3).tolist() == [3, 2]
    inverse = linalg.pinv(x, atol=tolerance)
    close(inverse.diagonal(0, -2, -1), [[1 / 3, 1 / 2, 1], [1 / 3, 1 / 2, 0]])


def test_norms_of_negative_orders_have_slope_zero_at_zero():
    for values in ([0.0, 0.0], [0.0, 2.0]):
        x = tp.tensor(values, requires_grad=True)
        y = linalg.vector_norm(x, -2)
        y.backward()
        assert y.item() == 0.0
        assert x.grad.tolist() == [0.0, 0.0]


def test_matrix_exponentials_of_half_types_round_once():
    x = tp.from_numpy(matrices(3, 3, dtype=np.float32)).to(tp.bfloat16)
    assert (linalg.matrix_exp(x) == linalg.matrix_exp(x.float()).to(tp.bfloat16)).all()
