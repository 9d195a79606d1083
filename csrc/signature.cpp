// Packing of leaves. Each leaf is a tag word and, by the tag, more words, so that the signature of
// the first leaves is a prefix of the signature of all.
#include "signature.h"

#include <cstring>

namespace tp {

bool Signature::reserve(size_t extra) {
  if (TP_LIKELY(count_ + extra <= capacity_)) return true;
  size_t capacity = 2 * (count_ + extra);
  auto* words = static_cast<int64_t*>(PyMem_Malloc(capacity * sizeof(int64_t)));
  if (!words) {
    PyErr_NoMemory();
    return false;
  }
  memcpy(words, words_, nbytes());
  if (words_ != local_) PyMem_Free(words_);
  words_ = words;
  capacity_ = capacity;
  return true;
}

namespace {

enum Tag : int64_t {
  kTensor = 1,
  kNone,
  kFalse,
  kTrue,
  kInt,
  kBigInt,
  kFloat,
  kComplex,
  kString,
  kEllipsis
};

int64_t bits_of(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// 1 + the number of the leaf where an object was met first in this pass, 0 if it is new.
int64_t met_before(Mark* mark, uint64_t pass, int64_t index) {
  if (mark->pass == pass) return mark->index + 1;
  *mark = {pass, index};
  return 0;
}

Packed pack_tensor(Signature* signature, TensorObject* tensor, uint64_t pass, int64_t index) {
  if (!tensor->array || !tensor->storage) return Packed::foreign;
  auto* array = as_array(tensor->array);
  int ndim = PyArray_NDIM(array);
  const DTypeEntry* dtype = dtype_from_type_num(PyArray_TYPE(array));
  if (!dtype) return Packed::foreign;
  if (!signature->reserve(size_t(2 * ndim + 5))) return Packed::failed;
  bool requires_grad = tensor->requires_grad, is_leaf = !tensor->grad_fn;
  bool writeable = PyArray_ISWRITEABLE(array);
  signature->push(kTensor | int64_t(dtype->code) << 8 | int64_t(ndim) << 16 |
                  int64_t(requires_grad) << 24 | int64_t(is_leaf) << 25 | int64_t(writeable) << 26);
  signature->push(reinterpret_cast<int64_t>(Py_TYPE(tensor)));
  const npy_intp* shape = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  for (int d = 0; d < ndim; ++d) signature->push(shape[d]);
  for (int d = 0; d < ndim; ++d) signature->push(strides[d]);
  int64_t same_object = met_before(&tensor->mark, pass, index);
  int64_t same_storage = met_before(&tensor->storage->mark, pass, index);
  signature->push(same_storage << 32 | same_object);
  // How far apart two tensors of one storage begin: with shapes and strides, all about overlap.
  if (!same_storage) tensor->storage->first = PyArray_BYTES(array);
  signature->push(PyArray_BYTES(array) - tensor->storage->first);
  return Packed::yes;
}

Packed pack_bytes(Signature* signature, Tag tag, const char* text, Py_ssize_t length) {
  size_t words = size_t(length + 7) / 8;
  if (!signature->reserve(words + 1)) return Packed::failed;
  signature->push(tag | int64_t(length) << 8);
  for (size_t w = 0; w < words; ++w) {
    int64_t word = 0;
    size_t left = size_t(length) - 8 * w;
    memcpy(&word, text + 8 * w, left < 8 ? left : 8);
    signature->push(word);
  }
  return Packed::yes;
}

Packed pack_int(Signature* signature, PyObject* leaf) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(leaf, &overflow);
  if (!overflow) {
    signature->push(kInt);
    signature->push(value);
    return Packed::yes;
  }
  PyObject* text = PyNumber_ToBase(leaf, 16);
  if (!text) return Packed::failed;
  Py_ssize_t length;
  const char* digits = PyUnicode_AsUTF8AndSize(text, &length);
  Packed packed = digits ? pack_bytes(signature, kBigInt, digits, length) : Packed::failed;
  Py_DECREF(text);
  return packed;
}

}  // namespace

uint64_t new_pass() {
  static uint64_t last = 0;
  return ++last;
}

Packed pack_leaf(Signature* signature, PyObject* leaf, uint64_t pass, int64_t index) {
  if (TP_LIKELY(is_tensor(leaf))) {
    return pack_tensor(signature, reinterpret_cast<TensorObject*>(leaf), pass, index);
  }
  if (!signature->reserve(4)) return Packed::failed;
  if (leaf == Py_None || leaf == Py_True || leaf == Py_False || leaf == Py_Ellipsis) {
    signature->push(leaf == Py_None    ? kNone
                    : leaf == Py_True  ? kTrue
                    : leaf == Py_False ? kFalse
                                       : kEllipsis);
    return Packed::yes;
  }
  if (PyLong_CheckExact(leaf)) return pack_int(signature, leaf);
  if (PyFloat_CheckExact(leaf)) {
    double value = PyFloat_AS_DOUBLE(leaf);
    signature->push(kFloat);
    signature->push(value == value ? bits_of(value) : bits_of(__builtin_nan("")));
    return Packed::yes;
  }
  if (PyComplex_CheckExact(leaf)) {
    signature->push(kComplex);
    signature->push(bits_of(PyComplex_RealAsDouble(leaf)));
    signature->push(bits_of(PyComplex_ImagAsDouble(leaf)));
    return Packed::yes;
  }
  if (PyUnicode_CheckExact(leaf)) {
    Py_ssize_t length;
    const char* text = PyUnicode_AsUTF8AndSize(leaf, &length);
    return text ? pack_bytes(signature, kString, text, length) : Packed::failed;
  }
  return Packed::foreign;
}

}  // namespace tp
