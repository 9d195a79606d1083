// tensorplay._C: the module's method table and its initialization.
#define TP_IMPORT_ARRAY
#include "common.h"

namespace {

#define TP_FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef methods[] = {
    {"register_dtype", TP_FAST(tp::register_dtype), METH_FASTCALL,
     "register_dtype(numpy_dtype, dtype, code): tell _C of a dtype."},
    {"register_tensor_class", tp::register_tensor_class, METH_O,
     "register_tensor_class(cls): the subclass of TensorBase that wrap makes."},
    {"wrap", tp::wrap, METH_O, "wrap(array) -> Tensor; arrays of one owner share a Storage."},
    {"wrap_view", TP_FAST(tp::wrap_view), METH_FASTCALL,
     "wrap_view(array, base) -> Tensor with the storage of base."},
    {"set_inference_mode", tp::set_inference_mode, METH_O,
     "set_inference_mode(mode) -> the mode before: whether this thread's new storages are inference storages."},
    {"is_inference_mode_enabled", tp::is_inference_mode_enabled, METH_NOARGS,
     "Whether this thread makes inference storages."},
    {"empty", TP_FAST(tp::empty), METH_FASTCALL, "empty(shape, dtype) -> ndarray"},
    {"empty_strided", TP_FAST(tp::empty_strided), METH_FASTCALL,
     "empty_strided(shape, strides, dtype) -> ndarray; strides in elements"},
    {"view", TP_FAST(tp::view), METH_FASTCALL, "view(array, shape, strides, offset) -> ndarray"},
    {"reach", tp::reach, METH_O, "reach(array) -> (first, last) element of its memory"},
    {"pool_stats", tp::pool_stats, METH_NOARGS, "Counters of the memory pool."},
    {"pool_trim", tp::pool_trim, METH_NOARGS, "Give all idle blocks back to the system."},
    {"pool_set_limit", tp::pool_set_limit, METH_O, "Bound the bytes of idle blocks."},
    {"set_num_threads", tp::set_num_threads, METH_O, "Set the number of threads of the pool."},
    {"get_num_threads", tp::get_num_threads, METH_NOARGS, "The number of threads of the pool."},
    {"matmul", TP_FAST(tp::matmul), METH_FASTCALL, "matmul(a, b, out=None) -> ndarray"},
    {"merge", TP_FAST(tp::merge), METH_FASTCALL, "merge(name, source, out, independent) -> out"},
    {"merge_numbers", TP_FAST(tp::merge_numbers), METH_FASTCALL,
     "merge_numbers(source, numbers, out, out_numbers, independent) -> out"},
    {"merge_at", TP_FAST(tp::merge_at), METH_FASTCALL,
     "merge_at(source, places, out, limit, independent) -> out"},
    {"register_context", TP_FAST(tp::register_context), METH_FASTCALL,
     "register_context(grad_mode, modes, no_modes): the context variables of dispatch."},
    {"register_same_value", TP_FAST(tp::register_same_value), METH_FASTCALL,
     "register_same_value(function, any_tensor): how guards compare uncommon values."},
    {"unary", TP_FAST(tp::unary), METH_FASTCALL, "unary(name, array, out=None) -> ndarray"},
    {"binary", TP_FAST(tp::binary), METH_FASTCALL, "binary(name, a, b, out=None) -> ndarray"},
    {"convolve", TP_FAST(tp::convolve), METH_FASTCALL, "convolve(images, kernels, out, ...) -> bool"},
    {"map_rows", TP_FAST(tp::map_rows), METH_FASTCALL, "map_rows(name, *arrays) -> ndarray"},
    {"philox", TP_FAST(tp::philox_bits), METH_FASTCALL, "philox(seed, offset, index) -> ndarray"},
    {"add_rows", TP_FAST(tp::add_rows), METH_FASTCALL,
     "add_rows(target, rows, values): target[rows[i]] += values[i]"},
    {"elementwise_isa", TP_FAST(tp::elementwise_isa), METH_FASTCALL,
     "elementwise_isa(name=None) -> the instruction set of elementary functions"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "tensorplay._C",
                          "The native part of TensorPlay.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__C() {
  import_array();
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  if (tp::memory_init(module) < 0 || tp::tensor_init(module) < 0 || tp::threads_init(module) < 0 ||
      tp::kernel_init(module) < 0 || tp::program_init(module) < 0 || tp::entry_init(module) < 0 ||
      tp::dispatcher_init(module) < 0 || tp::matmul_init(module) < 0 ||
      tp::elementwise_init(module) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  if (PyModule_AddStringConstant(module, "HEADERS_DIGEST", TP_HEADERS_DIGEST) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
