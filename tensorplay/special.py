"""Special functions under PyTorch's names, `tensorplay.special`.

Each is pointwise: operands broadcast, integers become floats, and compiled code computes the same bits. Those
that `tensorplay` has too are the same functions.

>>> import tensorplay as tp
>>> tp.special.expit is tp.sigmoid
True
>>> tp.special.erfcx(tp.tensor([0.0, 100.0]))
tensor([1.0000, 0.0056])
"""

from __future__ import annotations

from tensorplay.publishing import function_named

airy_ai = function_named("special_airy_ai")
bessel_j0 = function_named("special_bessel_j0")
bessel_j1 = function_named("special_bessel_j1")
bessel_y0 = function_named("special_bessel_y0")
bessel_y1 = function_named("special_bessel_y1")
chebyshev_polynomial_t = function_named("special_chebyshev_polynomial_t")
chebyshev_polynomial_u = function_named("special_chebyshev_polynomial_u")
chebyshev_polynomial_v = function_named("special_chebyshev_polynomial_v")
chebyshev_polynomial_w = function_named("special_chebyshev_polynomial_w")
digamma = function_named("digamma")
entr = function_named("special_entr")
erf = function_named("erf")
erfc = function_named("erfc")
erfcx = function_named("special_erfcx")
erfinv = function_named("erfinv")
exp2 = function_named("exp2")
expit = function_named("sigmoid")
expm1 = function_named("expm1")
gammainc = function_named("igamma")
gammaincc = function_named("igammac")
gammaln = function_named("lgamma")
hermite_polynomial_h = function_named("special_hermite_polynomial_h")
hermite_polynomial_he = function_named("special_hermite_polynomial_he")
i0 = function_named("i0")
i0e = function_named("special_i0e")
i1 = function_named("special_i1")
i1e = function_named("special_i1e")
laguerre_polynomial_l = function_named("special_laguerre_polynomial_l")
legendre_polynomial_p = function_named("special_legendre_polynomial_p")
log1p = function_named("log1p")
log_ndtr = function_named("special_log_ndtr")
log_softmax = function_named("log_softmax")
logit = function_named("logit")
logsumexp = function_named("logsumexp")
modified_bessel_i0 = function_named("i0")
modified_bessel_i1 = function_named("special_i1")
modified_bessel_k0 = function_named("special_modified_bessel_k0")
modified_bessel_k1 = function_named("special_modified_bessel_k1")
multigammaln = function_named("mvlgamma")
ndtr = function_named("special_ndtr")
ndtri = function_named("special_ndtri")
polygamma = function_named("polygamma")
psi = function_named("digamma")
round = function_named("round")
scaled_modified_bessel_k0 = function_named("special_scaled_modified_bessel_k0")
scaled_modified_bessel_k1 = function_named("special_scaled_modified_bessel_k1")
shifted_chebyshev_polynomial_t = function_named("special_shifted_chebyshev_polynomial_t")
shifted_chebyshev_polynomial_u = function_named("special_shifted_chebyshev_polynomial_u")
shifted_chebyshev_polynomial_v = function_named("special_shifted_chebyshev_polynomial_v")
shifted_chebyshev_polynomial_w = function_named("special_shifted_chebyshev_polynomial_w")
sinc = function_named("sinc")
softmax = function_named("softmax")
spherical_bessel_j0 = function_named("special_spherical_bessel_j0")
xlog1py = function_named("xlog1py")
xlogy = function_named("xlogy")
zeta = function_named("special_zeta")

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py",
    "xlogy", "zeta"
]  # fmt: skip
