// matmul(a, b, out): float32 and float64 products through NumPy's own OpenBLAS, on our threads.
//
// The library that NumPy loaded is found in the process and called through its symbols, so there is
// one BLAS and one pool of threads: OpenBLAS runs single-threaded calls, and the product is cut
// into pieces over our pool. Its own threads would spin for 26 ms after each call beside ours.
// Measured on the reference machine (2 cores, float32, us: np.matmul with 2 OpenBLAS threads,
// this):
//   8^3: 1.0, 0.2   64^3: 5.6, 4.7   128^3: 30, 26   256^3: 317, 175   512^3: 1330, 1320
//   1024^3: 10750, 10840   64 times 64^3: 299, 150   1024 x 1024 by a vector: 28, 26
// The cut depends on the sizes and the number of threads only, so the bits do not change from call
// to call. Other dtypes, and a NumPy without OpenBLAS, take np.matmul.
#include "blas.h"
#include "common.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif
#include <pthread.h>

namespace tp {

namespace {

// ---- the library ----------------------------------------------------------------------------

using Int = int64_t;  // the ILP64 interface
enum Order { kRowMajor = 101 };
enum Transpose { kPlain = 111, kTransposed = 112 };

template <typename T>
struct Blas {
  using Gemm = void (*)(int order, int ta, int tb, Int m, Int n, Int k, T alpha, const T* a,
                        Int lda, const T* b, Int ldb, T beta, T* c, Int ldc);
  using Gemv = void (*)(int order, int ta, Int m, Int n, T alpha, const T* a, Int lda, const T* x,
                        Int incx, T beta, T* y, Int incy);
  static Gemm gemm;
  static Gemv gemv;
};
template <>
Blas<float>::Gemm Blas<float>::gemm = nullptr;
template <>
Blas<float>::Gemv Blas<float>::gemv = nullptr;
template <>
Blas<double>::Gemm Blas<double>::gemm = nullptr;
template <>
Blas<double>::Gemv Blas<double>::gemv = nullptr;

int (*get_blas_threads)() = nullptr;
void (*set_blas_threads)(int) = nullptr;
PyObject* numpy_matmul = nullptr;

template <typename F>
bool find_symbol(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

#ifdef __linux__
int visit_library(dl_phdr_info* info, size_t, void* found) {
  if (!info->dlpi_name || !strstr(info->dlpi_name, "openblas64")) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
  if (!library) return 0;
  bool ok = find_symbol(library, "scipy_cblas_sgemm64_", &Blas<float>::gemm) &&
            find_symbol(library, "scipy_cblas_dgemm64_", &Blas<double>::gemm) &&
            find_symbol(library, "scipy_cblas_sgemv64_", &Blas<float>::gemv) &&
            find_symbol(library, "scipy_cblas_dgemv64_", &Blas<double>::gemv) &&
            find_symbol(library, "scipy_openblas_get_num_threads64_", &get_blas_threads) &&
            find_symbol(library, "scipy_openblas_set_num_threads64_", &set_blas_threads);
  if (!ok) {
    dlclose(library);
    return 0;
  }
  *static_cast<bool*>(found) = true;
  return 1;  // the library stays open
}
#endif

// While products run, OpenBLAS has one thread; afterwards what it had before.
struct BlasThreads {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int running = 0;
  int before = 0;
};
BlasThreads blas_threads;

}  // namespace

void blas_enter() {
  pthread_mutex_lock(&blas_threads.lock);
  if (blas_threads.running++ == 0) {
    if (!blas_threads.before) blas_threads.before = get_blas_threads();
    if (blas_threads.before != 1) set_blas_threads(1);
  }
  pthread_mutex_unlock(&blas_threads.lock);
}

void blas_leave() {
  pthread_mutex_lock(&blas_threads.lock);
  if (--blas_threads.running == 0) {
    if (blas_threads.before != 1) set_blas_threads(blas_threads.before);
    blas_threads.before = 0;
  }
  pthread_mutex_unlock(&blas_threads.lock);
}

bool blas_is_found() { return Blas<float>::gemm != nullptr; }

void blas_gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c,
               int64_t c_step) {
  Blas<float>::gemm(kRowMajor, kPlain, kPlain, m, n, k, 1.0f, a, k, b, n, 0.0f, c, c_step);
}

void blas_gemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c,
               int64_t c_step) {
  Blas<double>::gemm(kRowMajor, kPlain, kPlain, m, n, k, 1.0, a, k, b, n, 0.0, c, c_step);
}

namespace {

// Products of other threads do not exist in the child; `before` keeps what they would restore.
void blas_after_fork() {
  blas_threads.lock = PTHREAD_MUTEX_INITIALIZER;
  blas_threads.running = 0;
}

// ---- one product, cut into pieces -----------------------------------------------------------

// A matrix operand: element strides of rows and columns.
struct Matrix {
  char* data;
  npy_intp rows, cols, row_stride, col_stride;
};

// How BLAS reads it as row-major: plain or transposed, with a leading dimension. False: copy it.
bool blas_form(const Matrix& m, int* transpose, Int* leading) {
  npy_intp rs = m.rows > 1 ? m.row_stride : std::max<npy_intp>(m.cols, 1);
  npy_intp cs = m.cols > 1 ? m.col_stride : 1;
  if (cs == 1 && rs >= std::max<npy_intp>(m.cols, 1)) {
    *transpose = kPlain;
    *leading = rs;
    return true;
  }
  if (m.rows == 1) rs = 1;
  if (m.cols == 1) cs = std::max<npy_intp>(m.rows, 1);
  *transpose = kTransposed;
  *leading = cs;
  return rs == 1 && cs >= std::max<npy_intp>(m.rows, 1);
}

constexpr int kMaxBatchDims = NPY_MAXDIMS;

struct Product {
  npy_intp m, n, k;
  int ta, tb;
  Int lda, ldb, ldc;
  npy_intp row_piece, col_piece, row_pieces, col_pieces;
  const char *a, *b;
  char* c;
  int batch_dims;
  npy_intp batch;
  const npy_intp* batch_shape;
  npy_intp a_batch[kMaxBatchDims], b_batch[kMaxBatchDims], c_batch[kMaxBatchDims];  // bytes
};

// A vector's elements: for k x 1 and 1 x k operands whose stride BLAS takes as an increment.
template <typename T>
void multiply_block(const Product& p, const T* a, const T* b, T* c, npy_intp m, npy_intp n) {
  if (n == 1 && p.n == 1) {
    // a (m x k) times a column; its increment is ldb when plain, 1 when transposed.
    Int incx = p.tb == kPlain ? p.ldb : 1;
    if (p.ta == kPlain) {
      Blas<T>::gemv(kRowMajor, kPlain, m, p.k, T(1), a, p.lda, b, incx, T(0), c, p.ldc);
    } else {
      Blas<T>::gemv(kRowMajor, kTransposed, p.k, m, T(1), a, p.lda, b, incx, T(0), c, p.ldc);
    }
  } else if (m == 1 && p.m == 1) {
    Int incx = p.ta == kPlain ? 1 : p.lda;
    if (p.tb == kPlain) {
      Blas<T>::gemv(kRowMajor, kTransposed, p.k, n, T(1), b, p.ldb, a, incx, T(0), c, 1);
    } else {
      Blas<T>::gemv(kRowMajor, kPlain, n, p.k, T(1), b, p.ldb, a, incx, T(0), c, 1);
    }
  } else {
    Blas<T>::gemm(kRowMajor, p.ta, p.tb, m, n, p.k, T(1), a, p.lda, b, p.ldb, T(0), c, p.ldc);
  }
}

template <typename T>
int64_t run_pieces(void* context, int64_t begin, int64_t end) {
  const Product& p = *static_cast<const Product*>(context);
  for (int64_t piece = begin; piece < end; ++piece) {
    int64_t rest = piece;
    npy_intp col = rest % p.col_pieces * p.col_piece;
    rest /= p.col_pieces;
    npy_intp row = rest % p.row_pieces * p.row_piece;
    rest /= p.row_pieces;
    const char *a = p.a, *b = p.b;
    char* c = p.c;
    for (int d = p.batch_dims - 1; d >= 0; --d) {
      npy_intp i = rest % p.batch_shape[d];
      rest /= p.batch_shape[d];
      a += i * p.a_batch[d];
      b += i * p.b_batch[d];
      c += i * p.c_batch[d];
    }
    auto* at = reinterpret_cast<const T*>(a) + row * (p.ta == kPlain ? p.lda : 1);
    auto* bt = reinterpret_cast<const T*>(b) + col * (p.tb == kPlain ? 1 : p.ldb);
    auto* ct = reinterpret_cast<T*>(c) + row * p.ldc + col;
    npy_intp m = std::min(p.row_piece, p.m - row), n = std::min(p.col_piece, p.n - col);
    if (m > 0 && n > 0) multiply_block<T>(p, at, bt, ct, m, n);
  }
  return 0;
}

// Fewer multiplications than this run on one thread: a second one gains less than its wake costs.
constexpr double kSerialWork = 64.0 * 64 * 64;
constexpr npy_intp kTile = 16;

npy_intp round_up(npy_intp value, npy_intp unit) { return (value + unit - 1) / unit * unit; }

// Cuts one matrix of the batch so that all threads have work and little is packed twice.
void cut(Product* p, int threads) {
  p->row_pieces = p->col_pieces = 1;
  double work = double(p->m) * double(p->n) * double(p->k);
  if (p->m == 1 || p->n == 1) work *= 8;  // bound by memory
  npy_intp wanted = 1;
  if (threads > 1 && work * double(p->batch) > kSerialWork && p->batch < 4 * threads) {
    wanted = (2 * threads + p->batch - 1) / p->batch;
    while (wanted > threads && double(p->m) * double(p->n) / double(wanted) < 256.0 * 256) --wanted;
    while (wanted > 1 && work / double(wanted) < kSerialWork / 2) --wanted;
  }
  double best = -1;
  for (npy_intp rows = 1; rows <= wanted; ++rows) {
    if (wanted % rows) continue;
    npy_intp cols = wanted / rows;
    if (rows > 1 && p->m < rows * kTile && p->n > 1) continue;
    if (cols > 1 && p->n < cols * kTile && p->m > 1) continue;
    if ((rows > 1 && p->m < rows) || (cols > 1 && p->n < cols)) continue;
    double packed = double(p->m) * double(cols) + double(p->n) * double(rows);
    if (best < 0 || packed < best) {
      best = packed;
      p->row_pieces = rows;
      p->col_pieces = cols;
    }
  }
  p->row_piece = round_up((p->m + p->row_pieces - 1) / p->row_pieces, kTile);
  p->col_piece = round_up((p->n + p->col_pieces - 1) / p->col_pieces, kTile);
}

template <typename T>
void run_product(Product* p) {
  int threads = thread_count();
  cut(p, threads);
  int64_t pieces = p->batch * p->row_pieces * p->col_pieces;
  double work = double(p->m) * double(p->n) * double(p->k);
  int64_t grain = 1;
  if (work * double(p->batch) <= kSerialWork) {
    grain = pieces;
  } else if (work < kSerialWork / 4) {
    grain = int64_t(kSerialWork / 4 / std::max(work, 1.0)) + 1;
  }
  bool is_long = work * double(p->batch) > 20000;
  PyThreadState* state = is_long ? PyEval_SaveThread() : nullptr;
  blas_enter();
  parallel_for(pieces, grain, run_pieces<T>, p);
  blas_leave();
  if (state) PyEval_RestoreThread(state);
}

// ---- arrays ---------------------------------------------------------------------------------

Matrix matrix_of(PyArrayObject* array) {
  int n = PyArray_NDIM(array);
  npy_intp unit = PyArray_ITEMSIZE(array);
  return {PyArray_BYTES(array), PyArray_DIM(array, n - 2), PyArray_DIM(array, n - 1),
          PyArray_STRIDE(array, n - 2) / unit, PyArray_STRIDE(array, n - 1) / unit};
}

// The array itself, or a contiguous copy of it that BLAS can read. A new reference.
PyArrayObject* readable(PyArrayObject* array) {
  int transpose;
  Int leading;
  if (PyArray_ISALIGNED(array) && blas_form(matrix_of(array), &transpose, &leading)) {
    Py_INCREF(array);
    return array;
  }
  return as_array(PyArray_NewCopy(array, NPY_CORDER));
}

// Byte strides of the batch dimensions, 0 where the operand is broadcast.
void batch_strides(PyArrayObject* array, int batch_dims, npy_intp* strides) {
  int own = PyArray_NDIM(array) - 2;
  for (int d = 0; d < batch_dims; ++d) {
    int at = d - (batch_dims - own);
    bool fixed = at < 0 || PyArray_DIM(array, at) == 1;
    strides[d] = fixed ? 0 : PyArray_STRIDE(array, at);
  }
}

// Folds trailing batch dimensions into the rows, when b is the same for all of them: [8, 128, k] @
// [k, n] is one product of 1024 rows.
void fold_batch(Product* p, npy_intp* batch_shape, npy_intp itemsize) {
  while (p->batch_dims > 0 && p->ta == kPlain && p->k > 0) {
    int d = p->batch_dims - 1;
    if (batch_shape[d] != 1) {
      bool joined = p->b_batch[d] == 0 && p->a_batch[d] == p->m * p->lda * itemsize &&
                    p->c_batch[d] == p->m * p->ldc * itemsize;
      if (!joined) return;
      p->m *= batch_shape[d];
      p->batch /= batch_shape[d];
    }
    p->batch_dims -= 1;
  }
}

template <typename T>
void multiply(PyArrayObject* a, PyArrayObject* b, PyArrayObject* out) {
  npy_intp batch_shape[kMaxBatchDims];
  Product p;
  Matrix ma = matrix_of(a), mb = matrix_of(b), mc = matrix_of(out);
  int tc;
  p.m = mc.rows;
  p.n = mc.cols;
  p.k = ma.cols;
  p.a = ma.data;
  p.b = mb.data;
  p.c = mc.data;
  p.batch_dims = PyArray_NDIM(out) - 2;
  p.batch = 1;
  for (int d = 0; d < p.batch_dims; ++d) p.batch *= batch_shape[d] = PyArray_DIM(out, d);
  p.batch_shape = batch_shape;
  batch_strides(a, p.batch_dims, p.a_batch);
  batch_strides(b, p.batch_dims, p.b_batch);
  batch_strides(out, p.batch_dims, p.c_batch);
  blas_form(ma, &p.ta, &p.lda);
  blas_form(mb, &p.tb, &p.ldb);
  blas_form(mc, &tc, &p.ldc);
  if (tc == kTransposed) {
    // A column-major result: its transpose is b's transpose times a's.
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    std::swap(p.lda, p.ldb);
    std::swap(p.ta, p.tb);
    std::swap(p.a_batch, p.b_batch);
    p.ta = p.ta == kPlain ? kTransposed : kPlain;
    p.tb = p.tb == kPlain ? kTransposed : kPlain;
  }
  fold_batch(&p, batch_shape, PyArray_ITEMSIZE(out));
  run_product<T>(&p);
}

// The result's shape: broadcast batch dimensions, then rows and columns. -1 with an error.
int result_shape(PyArrayObject* a, PyArrayObject* b, npy_intp* shape) {
  int na = PyArray_NDIM(a), nb = PyArray_NDIM(b);
  if (na < 2 || nb < 2) {
    PyErr_Format(PyExc_ValueError, "matmul takes arrays of 2 or more dimensions, got %d and %d", na,
                 nb);
    return -1;
  }
  int n = std::max(na, nb);
  bool ok = PyArray_DIM(a, na - 1) == PyArray_DIM(b, nb - 2);
  for (int d = 0; d < n - 2; ++d) {
    int ia = d - (n - na), ib = d - (n - nb);
    npy_intp sa = ia < 0 ? 1 : PyArray_DIM(a, ia), sb = ib < 0 ? 1 : PyArray_DIM(b, ib);
    ok = ok && (sa == sb || sa == 1 || sb == 1);
    shape[d] = sa == 1 ? sb : sa;
  }
  shape[n - 2] = PyArray_DIM(a, na - 2);
  shape[n - 1] = PyArray_DIM(b, nb - 1);
  if (ok) return n;
  PyObject* sa = PyArray_IntTupleFromIntp(na, PyArray_DIMS(a));
  PyObject* sb = PyArray_IntTupleFromIntp(nb, PyArray_DIMS(b));
  if (sa && sb) {
    PyErr_Format(PyExc_ValueError,
                 "matmul: shapes %R and %R do not fit: a's last size must be b's second to last, "
                 "and the sizes before must be equal or 1",
                 sa, sb);
  }
  Py_XDECREF(sa);
  Py_XDECREF(sb);
  return -1;
}

// Multiplies into `out`, whose shape is right; a copy stands in for what BLAS cannot take.
bool multiply_into(PyArrayObject* a, PyArrayObject* b, PyArrayObject* out) {
  if (PyArray_SIZE(out) == 0) return true;
  if (PyArray_DIM(a, PyArray_NDIM(a) - 1) == 0) {
    return PyArray_FILLWBYTE(out, 0), true;
  }
  int transpose;
  Int leading;
  bool direct = PyArray_ISALIGNED(out) && blas_form(matrix_of(out), &transpose, &leading) &&
                !extent_of(out).overlaps(extent_of(a)) && !extent_of(out).overlaps(extent_of(b));
  for (int d = 0; direct && d < PyArray_NDIM(out) - 2; ++d) {
    direct = PyArray_DIM(out, d) == 1 || PyArray_STRIDE(out, d) != 0;
  }
  PyArrayObject* target = out;
  PyArrayObject *ra = readable(a), *rb = readable(b);
  bool ok = ra && rb;
  if (ok && !direct) {
    target = as_array(
        empty_array(dtype_from_type_num(PyArray_TYPE(out)), PyArray_NDIM(out), PyArray_DIMS(out)));
    ok = target != nullptr;
  }
  if (ok) {
    if (PyArray_TYPE(out) == NPY_FLOAT) {
      multiply<float>(ra, rb, target);
    } else {
      multiply<double>(ra, rb, target);
    }
    if (!direct) ok = PyArray_CopyInto(out, target) == 0;
  }
  if (!direct) Py_XDECREF(target);
  Py_XDECREF(ra);
  Py_XDECREF(rb);
  return ok;
}

}  // namespace

// matmul(a, b, out=None)
PyObject* matmul(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 2 || nargs > 3 || !PyArray_Check(args[0]) || !PyArray_Check(args[1]) ||
      (nargs == 3 && args[2] != Py_None && !PyArray_Check(args[2]))) {
    PyErr_SetString(PyExc_TypeError, "matmul(a, b, out=None) takes NumPy arrays");
    return nullptr;
  }
  PyArrayObject *a = as_array(args[0]), *b = as_array(args[1]);
  PyObject* given = nargs == 3 && args[2] != Py_None ? args[2] : nullptr;
  npy_intp shape[NPY_MAXDIMS];
  int ndim = result_shape(a, b, shape);
  if (ndim < 0) return nullptr;
  if (given) {
    PyArrayObject* out = as_array(given);
    if (PyArray_NDIM(out) != ndim || !PyArray_CompareLists(PyArray_DIMS(out), shape, ndim) ||
        !PyArray_ISWRITEABLE(out)) {
      PyErr_SetString(PyExc_ValueError, "matmul: out must be writable and have the result's shape");
      return nullptr;
    }
  }
  int type = PyArray_TYPE(a);
  bool by_blas = Blas<float>::gemm && (type == NPY_FLOAT || type == NPY_DOUBLE) &&
                 PyArray_TYPE(b) == type && (!given || PyArray_TYPE(as_array(given)) == type) &&
                 PyArray_ISNOTSWAPPED(a) && PyArray_ISNOTSWAPPED(b) && dtype_from_type_num(type);
  if (!by_blas) {
    PyObject* operands[3] = {args[0], args[1], given};
    PyObject* made = PyObject_Vectorcall(numpy_matmul, operands, given ? 3 : 2, nullptr);
    return made;
  }
  PyObject* out = given ? Py_NewRef(given) : empty_array(dtype_from_type_num(type), ndim, shape);
  if (out && !multiply_into(a, b, as_array(out))) Py_CLEAR(out);
  return out;
}

int matmul_init(PyObject*) {
  PyObject* numpy = PyImport_ImportModule("numpy");
  if (!numpy) return -1;
  numpy_matmul = PyObject_GetAttrString(numpy, "matmul");
  Py_DECREF(numpy);
  if (!numpy_matmul) return -1;
  bool found = false;
#ifdef __linux__
  dl_iterate_phdr(visit_library, &found);
#endif
  if (found) {
    pthread_atfork(nullptr, nullptr, blas_after_fork);
  } else {
    Blas<float>::gemm = nullptr;
  }
  return 0;
}

}  // namespace tp
