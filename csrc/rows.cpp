// The functions of whole rows: map_rows(name, *arrays) -> array. See row_loops.h.
#include "common.h"
#include "elementwise.h"

#include <algorithm>
#include <cstring>

namespace tp {

namespace {

constexpr int kMaxArity = 2;
// Fewer elements than this go to one thread: a second one gains less than its wake costs.
constexpr int64_t kGrain = 4096;

struct Call {
  RowLoop loop;
  const char* operands[kMaxArity];
  char* out;
  int arity;
  int64_t size, bytes;  // of a row
};

int64_t run_rows(void* context, int64_t begin, int64_t end) {
  auto& c = *static_cast<const Call*>(context);
  const void* operands[kMaxArity];
  for (int k = 0; k < c.arity; ++k) operands[k] = c.operands[k] + begin * c.bytes;
  c.loop(operands, c.out + begin * c.bytes, end - begin, c.size);
  return 0;
}

const RowFunction* find(PyObject* name) {
  const ElementwiseSet& set = elementwise_chosen();
  for (int i = 0; PyUnicode_Check(name) && i < set.row_count; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, set.rows[i].name) == 0) return &set.rows[i];
  }
  PyErr_Format(PyExc_ValueError, "map_rows: no function of rows is called %R", name);
  return nullptr;
}

}  // namespace

PyObject* map_rows(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  const RowFunction* function = nargs ? find(args[0]) : nullptr;
  if (!function) {
    if (!nargs) PyErr_SetString(PyExc_TypeError, "map_rows(name, *arrays)");
    return nullptr;
  }
  bool fits = nargs == 1 + function->arity;
  Aligned operands[kMaxArity];
  for (int k = 0; fits && k < function->arity; ++k) {
    operands[k] = Aligned(args[k + 1]);
    if (!operands[k].get()) return nullptr;
  }
  fits = fits && PyArray_Check(operands[0].get());
  PyArrayObject* first = fits ? as_array(operands[0].get()) : nullptr;
  const int type = fits ? PyArray_TYPE(first) : -1, ndim = fits ? PyArray_NDIM(first) : 0;
  fits = (type == NPY_FLOAT || type == NPY_DOUBLE) && ndim >= 1;
  for (int k = 0; fits && k < function->arity; ++k) {
    PyObject* object = operands[k].get();
    PyArrayObject* array = PyArray_Check(object) ? as_array(object) : nullptr;
    fits = array && PyArray_TYPE(array) == type && PyArray_NDIM(array) == ndim &&
           PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(first), ndim) &&
           PyArray_ISCARRAY_RO(array);
  }
  if (!fits) {
    PyErr_Format(PyExc_TypeError,
                 "map_rows: %s takes %d contiguous arrays of one shape, of float32 or float64",
                 function->name, function->arity);
    return nullptr;
  }
  PyObject* out = empty_array(dtype_from_type_num(type), ndim, PyArray_DIMS(first));
  if (!out || PyArray_SIZE(first) == 0) return out;
  Call call = {type == NPY_FLOAT ? function->f32 : function->f64, {}, PyArray_BYTES(as_array(out)),
               function->arity, PyArray_DIM(first, ndim - 1), 0};
  call.bytes = call.size * PyArray_ITEMSIZE(first);
  for (int k = 0; k < call.arity; ++k) call.operands[k] = PyArray_BYTES(as_array(operands[k].get()));
  const int64_t rows = PyArray_SIZE(first) / call.size;
  const int64_t grain = std::max<int64_t>(1, kGrain / call.size);
  PyThreadState* state = rows > grain ? PyEval_SaveThread() : nullptr;
  parallel_for(rows, grain, run_rows, &call);
  if (state) PyEval_RestoreThread(state);
  return out;
}

}  // namespace tp
