// The table of dtypes, filled from Python by `register_dtype` (bfloat16's type number is dynamic).
#include "common.h"

namespace tp {

constexpr int kMaxDTypes = 64;
static DTypeEntry table[kMaxDTypes];
static int table_size = 0;
static const DTypeEntry* by_builtin_num[NPY_NTYPES_LEGACY + 8];
static const DTypeEntry* by_code[kMaxDTypes];
constexpr int kBuiltin = int(sizeof(by_builtin_num) / sizeof(by_builtin_num[0]));

const DTypeEntry* dtype_from_type_num(int type_num) {
  if (TP_LIKELY(type_num >= 0 && type_num < kBuiltin)) return by_builtin_num[type_num];
  for (int i = 0; i < table_size; ++i) {
    if (table[i].type_num == type_num) return &table[i];
  }
  return nullptr;
}

const DTypeEntry* dtype_from_code(int code) {
  return code >= 0 && code < kMaxDTypes ? by_code[code] : nullptr;
}

const DTypeEntry* dtype_from_object(PyObject* object) {
  for (int i = 0; i < table_size; ++i) {
    if (table[i].dtype == object) return &table[i];
  }
  const DTypeEntry* entry = nullptr;
  if (PyLong_CheckExact(object)) {
    entry = dtype_from_code(int(PyLong_AsLong(object)));
    if (PyErr_Occurred()) return nullptr;
  } else if (PyArray_DescrCheck(object)) {
    entry = dtype_from_type_num(reinterpret_cast<PyArray_Descr*>(object)->type_num);
  }
  if (!entry) {
    PyErr_Format(PyExc_TypeError,
                 "expected a TensorPlay dtype (or its code, or its NumPy dtype), got %R", object);
  }
  return entry;
}

// register_dtype(numpy_dtype, dtype, code)
PyObject* register_dtype(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3 || !PyArray_DescrCheck(args[0])) {
    PyErr_SetString(PyExc_TypeError, "register_dtype(numpy_dtype, dtype, code)");
    return nullptr;
  }
  auto* descr = reinterpret_cast<PyArray_Descr*>(args[0]);
  long code = PyLong_AsLong(args[2]);
  if (code == -1 && PyErr_Occurred()) return nullptr;
  if (code < 0 || code >= kMaxDTypes) {
    PyErr_Format(PyExc_ValueError, "a dtype code must be in [0, %d), got %ld", kMaxDTypes, code);
    return nullptr;
  }
  const DTypeEntry* same = dtype_from_code(int(code));
  if (same && same->type_num != descr->type_num) {
    PyErr_Format(PyExc_ValueError, "dtype code %ld already belongs to %R", code, same->dtype);
    return nullptr;
  }
  DTypeEntry* entry = const_cast<DTypeEntry*>(same);
  if (!entry) {
    const DTypeEntry* other = dtype_from_type_num(descr->type_num);
    if (other) {
      PyErr_Format(PyExc_ValueError, "%R is already registered with code %d", other->dtype,
                   other->code);
      return nullptr;
    }
    entry = &table[table_size++];
  }
  // Old objects are kept alive on purpose: tensors may hold them.
  Py_INCREF(args[1]);
  Py_INCREF(descr);
  *entry = {args[1], descr, descr->type_num, int(code), PyDataType_ELSIZE(descr)};
  by_code[code] = entry;
  if (descr->type_num < kBuiltin) by_builtin_num[descr->type_num] = entry;
  // C's two names of one 64-bit integer are one dtype here.
  auto also = [&](int num, int twin) {
    if (descr->type_num == num) by_builtin_num[twin] = entry;
  };
  if (sizeof(long) == sizeof(long long)) {
    also(NPY_LONG, NPY_LONGLONG);
    also(NPY_ULONG, NPY_ULONGLONG);
  } else {
    also(NPY_LONGLONG, NPY_LONGLONG);
    also(NPY_INT, NPY_LONG);
    also(NPY_UINT, NPY_ULONG);
  }
  Py_RETURN_NONE;
}

}  // namespace tp
