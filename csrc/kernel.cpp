// Kernel: one function of a shared library, found by dlopen. The library stays loaded while a
// Kernel of it lives, and for ever on systems where dlclose does nothing.
#include "kernel.h"

#include <dlfcn.h>

namespace tp {

namespace {

KernelObject* as_kernel(PyObject* self) { return reinterpret_cast<KernelObject*>(self); }

PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"path", "symbol", nullptr};
  PyObject *path_bytes = nullptr, *symbol = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&U:Kernel", const_cast<char**>(names),
                                   PyUnicode_FSConverter, &path_bytes, &symbol)) {
    return nullptr;
  }
  const char* path = PyBytes_AS_STRING(path_bytes);
  const char* name = PyUnicode_AsUTF8(symbol);
  PyObject* self = nullptr;
  void* library = nullptr;
  if (name) {
    Py_BEGIN_ALLOW_THREADS;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    Py_END_ALLOW_THREADS;
    if (!library) PyErr_Format(PyExc_OSError, "cannot load a kernel library: %s", dlerror());
  }
  if (library) {
    void* address = dlsym(library, name);
    if (!address) {
      PyErr_Format(PyExc_LookupError, "the library %s has no symbol %s", path, name);
      dlclose(library);
    } else if ((self = type->tp_alloc(type, 0))) {
      auto* kernel = as_kernel(self);
      kernel->function = reinterpret_cast<KernelFunction>(address);
      kernel->library = library;
      kernel->path = PyUnicode_DecodeFSDefault(path);
      kernel->symbol = Py_NewRef(symbol);
      if (!kernel->path) Py_CLEAR(self);
    } else {
      dlclose(library);
    }
  }
  Py_DECREF(path_bytes);
  return self;
}

void kernel_dealloc(PyObject* self) {
  auto* kernel = as_kernel(self);
  if (kernel->library) dlclose(kernel->library);
  Py_XDECREF(kernel->path);
  Py_XDECREF(kernel->symbol);
  Py_TYPE(self)->tp_free(self);
}

PyObject* kernel_repr(PyObject* self) {
  return PyUnicode_FromFormat("Kernel(%R, %R)", as_kernel(self)->path, as_kernel(self)->symbol);
}

// kernel(arrays, begin, end) -> int: one serial run, for tests and tuning.
PyObject* kernel_call(PyObject* self, PyObject* args, PyObject*) {
  PyObject* arrays;
  long long begin, end;
  if (!PyArg_ParseTuple(args, "OLL:Kernel.__call__", &arrays, &begin, &end)) return nullptr;
  PyObject* fast = PySequence_Fast(arrays, "a kernel takes a sequence of arrays");
  if (!fast) return nullptr;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
  void** buffers = static_cast<void**>(PyMem_Malloc(sizeof(void*) * size_t(n ? n : 1)));
  int64_t result = 0;
  for (Py_ssize_t i = 0; buffers && i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast, i);
    if (!PyArray_Check(item)) {
      PyErr_Format(PyExc_TypeError, "kernel argument %zd is no array: %R", i, item);
      break;
    }
    buffers[i] = PyArray_DATA(as_array(item));
  }
  if (!buffers) PyErr_NoMemory();
  if (!PyErr_Occurred()) {
    Py_BEGIN_ALLOW_THREADS;
    result = as_kernel(self)->function(buffers, begin, end);
    Py_END_ALLOW_THREADS;
  }
  PyMem_Free(buffers);
  Py_DECREF(fast);
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(result);
}

PyMemberDef kernel_members[] = {
    {"path", T_OBJECT, offsetof(KernelObject, path), READONLY, "the library's file"},
    {"symbol", T_OBJECT, offsetof(KernelObject, symbol), READONLY, "the function's name"},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyTypeObject KernelType = {PyVarObject_HEAD_INIT(nullptr, 0)};

int kernel_init(PyObject* module) {
  KernelType.tp_name = "tensorplay._C.Kernel";
  KernelType.tp_basicsize = sizeof(KernelObject);
  KernelType.tp_dealloc = kernel_dealloc;
  KernelType.tp_new = kernel_new;
  KernelType.tp_repr = kernel_repr;
  KernelType.tp_call = kernel_call;
  KernelType.tp_flags = Py_TPFLAGS_DEFAULT;
  KernelType.tp_members = kernel_members;
  KernelType.tp_doc = "Kernel(path, symbol): a function of a shared library with the kernel ABI.";
  if (PyType_Ready(&KernelType) < 0) return -1;
  return PyModule_AddObjectRef(module, "Kernel", reinterpret_cast<PyObject*>(&KernelType));
}

}  // namespace tp
