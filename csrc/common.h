// What every translation unit of tensorplay._C shares: the Python and NumPy headers, the object
// layouts, and the functions that cross files. C++17, no exceptions, no RTTI, no static
// destructors.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tensorplay_array_api
#ifndef TP_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tp {

#define TP_LIKELY(x) __builtin_expect(!!(x), 1)
#define TP_UNLIKELY(x) __builtin_expect(!!(x), 0)

inline PyArrayObject* as_array(PyObject* object) {
  return reinterpret_cast<PyArrayObject*>(object);
}

// What a function reads: an array itself, or a copy of it where its elements are not aligned, as memory of others may be.
// Null with an error if there is no memory; objects that are no arrays stay as they are.
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(PyObject* given)
      : object_(!PyArray_Check(given) || PyArray_ISALIGNED(as_array(given))
                    ? Py_NewRef(given)
                    : PyArray_FromArray(as_array(given), nullptr, NPY_ARRAY_ALIGNED)) {}
  Aligned(const Aligned&) = delete;
  Aligned& operator=(Aligned&& other) {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Aligned() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }

 private:
  PyObject* object_ = nullptr;
};

// Zeroed memory for `count` (at least one) objects; null with MemoryError. PyMem_Free frees it.
template <typename T>
T* allocate(Py_ssize_t count) {
  auto* memory = static_cast<T*>(PyMem_Calloc(size_t(count > 0 ? count : 1), sizeof(T)));
  if (!memory) PyErr_NoMemory();
  return memory;
}

// The bytes [low, high) between an array's first and last address; empty for an empty array.
struct Extent {
  char* low;
  char* high;
  bool overlaps(const Extent& other) const { return low < other.high && other.low < high; }
};

inline Extent extent_of(PyArrayObject* array) {
  Extent extent = {PyArray_BYTES(array), PyArray_BYTES(array)};
  if (PyArray_SIZE(array) == 0) return extent;
  for (int d = 0; d < PyArray_NDIM(array); ++d) {
    npy_intp reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  extent.high += PyArray_ITEMSIZE(array);
  return extent;
}

// ---- dtypes (dtypes.cpp) --------------------------------------------------------------------

// One registered dtype: the Python DType object, its small code, and NumPy's descriptor.
struct DTypeEntry {
  PyObject* dtype;       // strong, lives for ever
  PyArray_Descr* descr;  // strong, lives for ever
  int type_num;
  int code;
  npy_intp itemsize;
};

const DTypeEntry* dtype_from_type_num(int type_num);
const DTypeEntry* dtype_from_code(int code);
// Accepts a DType, a code or a NumPy dtype; sets TypeError and returns nullptr otherwise.
const DTypeEntry* dtype_from_object(PyObject* object);
PyObject* register_dtype(PyObject* self, PyObject* const* args, Py_ssize_t nargs);

// ---- memory (memory.cpp) --------------------------------------------------------------------

// Blocks of this size and more are mapped with huge pages advised.
constexpr size_t kLargeBlock = size_t{1} << 20;
// Arrays of this size and more own a pool block (64-byte aligned); smaller ones use NumPy's cache.
constexpr size_t kPooledArray = size_t{1} << 12;

struct BlockObject {
  PyObject_HEAD char* data;
  size_t nbytes;  // the block's capacity
};
extern PyTypeObject BlockType;

BlockObject* block_new(size_t nbytes);  // sets MemoryError on failure
PyObject* empty_array(const DTypeEntry* dtype, int ndim, const npy_intp* shape);
// Strides in bytes. A null pointer means contiguous.
PyObject* empty_strided_array(const DTypeEntry* dtype, int ndim, const npy_intp* shape,
                              const npy_intp* strides);
PyObject* empty(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* empty_strided(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* pool_stats(PyObject* self, PyObject* ignored);
PyObject* pool_trim(PyObject* self, PyObject* ignored);
PyObject* pool_set_limit(PyObject* self, PyObject* limit);
int memory_init(PyObject* module);

// Parses a sequence of integers into `out` (at most NPY_MAXDIMS); returns the length or -1.
int parse_sizes(PyObject* sequence, npy_intp* out, const char* what);

// ---- tensors (tensor.cpp) -------------------------------------------------------------------

// Where an object was met first in one pass over a list of leaves (signature.cpp).
struct Mark {
  uint64_t pass;
  int64_t index;
};

struct StorageObject {
  PyObject_HEAD PyObject*
      owner;  // the object that owns the memory: the ultimate base of its arrays
  Py_ssize_t version;
  char is_inference;  // made in inference mode: autograd may not keep it
  Mark mark;
  const char* first;  // the address of the tensor that set the mark
  PyObject* weakrefs;
};
extern PyTypeObject StorageType;

struct TensorObject {
  PyObject_HEAD
      // Changes whenever the tensor's metadata may have changed, and no two tensors ever share one:
      // a pointer and a stamp identify a tensor in a state without keeping it alive.
          uint64_t stamp;
  Mark mark;
  PyObject* array;  // ndarray, or null for a tensor without data
  StorageObject* storage;
  PyObject* dtype;
  PyObject* grad_fn;
  PyObject* grad;
  PyObject* view;
  PyObject* meta;
  PyObject* weakrefs;
  Py_ssize_t output_nr;
  char requires_grad;
};
extern PyTypeObject TensorBaseType;

uint64_t next_stamp();

inline bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, &TensorBaseType); }

// Steals nothing; returns a new tensor of the registered class.
PyObject* wrap_array(PyObject* array);
// The same for an array that nobody else has seen: skips the checks of foreign arrays.
PyObject* wrap_fresh(PyObject* array, const DTypeEntry* dtype);
PyObject* wrap(PyObject* self, PyObject* array);
PyObject* wrap_view(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* set_inference_mode(PyObject* self, PyObject* mode);
PyObject* is_inference_mode_enabled(PyObject* self, PyObject* unused);
PyObject* register_tensor_class(PyObject* self, PyObject* cls);
int tensor_init(PyObject* module);

// ---- views (views.cpp) ----------------------------------------------------------------------

PyObject* view(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* reach(PyObject* self, PyObject* array);

// ---- threads (threads.cpp) ------------------------------------------------------------------

// Runs iterations [begin, end) with a context; returns 0 or a positive failure number.
using RangeFunction = int64_t (*)(void* context, int64_t begin, int64_t end);

// Splits [0, count) over the pool in multiples of `grain`; serial when nested, when the pool is
// busy, or when count <= grain. Returns the least nonzero result, or 0. Call without the GIL.
int64_t parallel_for(int64_t count, int64_t grain, RangeFunction function, void* context);
int thread_count();
// Memory of this thread, which grows and stays, for one function at a time.
char* thread_scratch(size_t bytes);
PyObject* set_num_threads(PyObject* self, PyObject* count);
PyObject* get_num_threads(PyObject* self, PyObject* ignored);
int threads_init(PyObject* module);

// ---- kernels and programs (kernel.cpp, program.cpp, dispatcher.cpp) -------------------------

int kernel_init(PyObject* module);
int program_init(PyObject* module);
int entry_init(PyObject* module);
int dispatcher_init(PyObject* module);

PyObject* register_context(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* register_same_value(PyObject* self, PyObject* const* args, Py_ssize_t nargs);

// ---- array functions (one file each, or elementwise.cpp) ------------------------------------

PyObject* add_rows(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* matmul(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
int matmul_init(PyObject* module);
PyObject* merge(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* merge_numbers(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* merge_at(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* unary(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* binary(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* philox_bits(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* convolve(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* map_rows(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* elementwise_isa(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
int elementwise_init(PyObject* module);

}  // namespace tp
