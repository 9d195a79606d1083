// Storage and TensorBase: the C part of a tensor, and how NumPy arrays become tensors.
#include "common.h"

namespace tp {

namespace {

// ---- one storage for one owner of memory ----------------------------------------------------

// Open addressing with backward-shift deletion; keys are owners, which live storages keep alive,
// so that an address cannot be used again while it is here. The GIL protects it.
struct StorageTable {
  StorageObject** slots = nullptr;
  size_t mask = 0;
  size_t count = 0;

  static size_t hash(const void* owner) {
    return (reinterpret_cast<uintptr_t>(owner) >> 4) * 0x9E3779B97F4A7C15ull >> 17;
  }

  StorageObject* find(PyObject* owner) const {
    if (!slots) return nullptr;
    for (size_t i = hash(owner) & mask;; i = (i + 1) & mask) {
      if (!slots[i] || slots[i]->owner == owner) return slots[i];
    }
  }

  void place(StorageObject* storage) {
    size_t i = hash(storage->owner) & mask;
    while (slots[i]) i = (i + 1) & mask;
    slots[i] = storage;
  }

  bool insert(StorageObject* storage) {
    if (2 * (count + 1) > mask + (slots ? 1 : 0)) {
      size_t size = slots ? 2 * (mask + 1) : 256;
      auto** fresh = static_cast<StorageObject**>(PyMem_Calloc(size, sizeof(StorageObject*)));
      if (!fresh) return false;
      StorageObject** old = slots;
      size_t old_size = slots ? mask + 1 : 0;
      slots = fresh;
      mask = size - 1;
      for (size_t i = 0; i < old_size; ++i) {
        if (old[i]) place(old[i]);
      }
      PyMem_Free(old);
    }
    place(storage);
    count += 1;
    return true;
  }

  void remove(const StorageObject* storage) {
    size_t i = hash(storage->owner) & mask;
    while (slots[i] != storage) i = (i + 1) & mask;
    count -= 1;
    for (size_t j = i;;) {
      j = (j + 1) & mask;
      if (!slots[j]) break;
      size_t home = hash(slots[j]->owner) & mask;
      if (((j - home) & mask) >= ((j - i) & mask)) {
        slots[i] = slots[j];
        i = j;
      }
    }
    slots[i] = nullptr;
  }
};
StorageTable storages;
thread_local bool in_inference_mode = false;

StorageObject* storage_new(PyObject* owner) {
  auto* storage = PyObject_New(StorageObject, &StorageType);
  if (!storage) return nullptr;
  storage->owner = nullptr;
  storage->version = 0;
  storage->is_inference = in_inference_mode;
  storage->mark = {0, 0};
  storage->weakrefs = nullptr;
  if (owner) {
    storage->owner = owner;
    if (!storages.insert(storage)) {
      storage->owner = nullptr;
      Py_DECREF(storage);
      PyErr_NoMemory();
      return nullptr;
    }
    Py_INCREF(owner);
  }
  return storage;
}

void storage_dealloc(PyObject* self) {
  auto* storage = reinterpret_cast<StorageObject*>(self);
  if (storage->weakrefs) PyObject_ClearWeakRefs(self);
  if (storage->owner) {
    storages.remove(storage);
    Py_CLEAR(storage->owner);
  }
  PyObject_Free(self);
}

PyObject* storage_make(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs))) {
    PyErr_SetString(PyExc_TypeError,
                    "Storage() takes no arguments: wrap(array) finds the storage "
                    "of an array");
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(storage_new(nullptr));
}

PyObject* storage_bump(PyObject* self, PyObject*) {
  reinterpret_cast<StorageObject*>(self)->version += 1;
  Py_RETURN_NONE;
}

PyObject* storage_repr(PyObject* self) {
  auto* storage = reinterpret_cast<StorageObject*>(self);
  return PyUnicode_FromFormat("<Storage at %p, version %zd>", self, storage->version);
}

PyMemberDef storage_members[] = {
    {"version", T_PYSSIZET, offsetof(StorageObject, version), 0,
     "counts the in-place writes to this memory"},
    {"is_inference", T_BOOL, offsetof(StorageObject, is_inference), READONLY,
     "whether it was made in inference mode"},
    {"owner", T_OBJECT, offsetof(StorageObject, owner), READONLY,
     "the object that owns the memory, or None for a storage without data"},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef storage_methods[] = {{"bump", storage_bump, METH_NOARGS, "version += 1"},
                                 {nullptr, nullptr, 0, nullptr}};

// The object that owns an array's memory: the end of its chain of bases.
PyObject* owner_of(PyObject* array) {
  PyObject* owner = array;
  for (;;) {
    PyObject* base = nullptr;
    if (PyArray_Check(owner)) {
      base = PyArray_BASE(as_array(owner));
    } else if (PyMemoryView_Check(owner)) {
      base = PyMemoryView_GET_BASE(owner);
    }
    if (!base) return owner;
    owner = base;
  }
}

// ---- TensorBase -----------------------------------------------------------------------------

PyTypeObject* tensor_class = &TensorBaseType;

TensorObject* as_tensor(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

uint64_t last_stamp = 0;

PyObject* tensor_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) as_tensor(self)->stamp = ++last_stamp;
  return self;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  TensorObject* t = as_tensor(self);
  Py_VISIT(t->array);
  Py_VISIT(t->dtype);
  Py_VISIT(t->grad_fn);
  Py_VISIT(t->grad);
  Py_VISIT(t->view);
  Py_VISIT(t->meta);
  return 0;
}

int tensor_clear(PyObject* self) {
  TensorObject* t = as_tensor(self);
  Py_CLEAR(t->grad_fn);
  Py_CLEAR(t->grad);
  Py_CLEAR(t->view);
  Py_CLEAR(t->meta);
  Py_CLEAR(t->array);
  Py_CLEAR(t->storage);
  Py_CLEAR(t->dtype);
  return 0;
}

void tensor_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (as_tensor(self)->weakrefs) PyObject_ClearWeakRefs(self);
  tensor_clear(self);
  Py_TYPE(self)->tp_free(self);
}

// Members that hold an object or None; the closure is the member's offset.
PyObject** member_at(PyObject* self, void* offset) {
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) +
                                      reinterpret_cast<uintptr_t>(offset));
}

PyObject* get_object(PyObject* self, void* offset) {
  PyObject* value = *member_at(self, offset);
  return Py_NewRef(value ? value : Py_None);
}

int set_object(PyObject* self, PyObject* value, void* offset) {
  PyObject** member = member_at(self, offset);
  PyObject* old = *member;
  *member = value == Py_None ? nullptr : Py_XNewRef(value);
  Py_XDECREF(old);
  return 0;
}

// The same for members that dispatch depends on.
int set_stamped(PyObject* self, PyObject* value, void* offset) {
  if (*member_at(self, offset) == (value == Py_None ? nullptr : value)) return 0;
  as_tensor(self)->stamp = ++last_stamp;
  return set_object(self, value, offset);
}

int set_array(PyObject* self, PyObject* value, void* offset) {
  if (value && value != Py_None && !PyArray_Check(value)) {
    PyErr_Format(PyExc_TypeError, "array must be a NumPy array or None, got %.100s",
                 Py_TYPE(value)->tp_name);
    return -1;
  }
  return set_stamped(self, value, offset);
}

int set_storage(PyObject* self, PyObject* value, void* offset) {
  if (value && value != Py_None && !Py_IS_TYPE(value, &StorageType)) {
    PyErr_Format(PyExc_TypeError, "storage must be a Storage or None, got %.100s",
                 Py_TYPE(value)->tp_name);
    return -1;
  }
  return set_stamped(self, value, offset);
}

PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(as_tensor(self)->requires_grad);
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  int truth = value ? PyObject_IsTrue(value) : 0;
  if (truth < 0) return -1;
  if (truth != as_tensor(self)->requires_grad) as_tensor(self)->stamp = ++last_stamp;
  as_tensor(self)->requires_grad = char(truth);
  return 0;
}

PyObject* tuple_of(int n, const npy_intp* values, npy_intp divisor) {
  PyObject* tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; ++i) {
    PyObject* item = PyLong_FromSsize_t(values[i] / divisor);
    if (!item) {
      Py_CLEAR(tuple);
      break;
    }
    PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

// A fact of the array when there is one, else of the TensorMeta.
PyObject* from_meta(PyObject* self, const char* name) {
  PyObject* meta = as_tensor(self)->meta;
  if (meta) return PyObject_GetAttrString(meta, name);
  PyErr_Format(PyExc_AttributeError, "this tensor has neither an array nor a meta, so no %s", name);
  return nullptr;
}

PyObject* get_shape(PyObject* self, void*) {
  auto* array = as_array(as_tensor(self)->array);
  if (!array) return from_meta(self, "shape");
  return tuple_of(PyArray_NDIM(array), PyArray_DIMS(array), 1);
}

PyObject* get_strides(PyObject* self, void*) {
  auto* array = as_array(as_tensor(self)->array);
  if (!array) return from_meta(self, "strides");
  return tuple_of(PyArray_NDIM(array), PyArray_STRIDES(array), PyArray_ITEMSIZE(array));
}

PyObject* get_ndim(PyObject* self, void*) {
  auto* array = as_array(as_tensor(self)->array);
  if (array) return PyLong_FromLong(PyArray_NDIM(array));
  PyObject* shape = from_meta(self, "shape");
  if (!shape) return nullptr;
  Py_ssize_t n = PyObject_Size(shape);
  Py_DECREF(shape);
  return n < 0 ? nullptr : PyLong_FromSsize_t(n);
}

#define TP_OFFSET(member) reinterpret_cast<void*>(offsetof(TensorObject, member))
PyGetSetDef tensor_getset[] = {
    {"array", get_object, set_array, "the NumPy array, or None", TP_OFFSET(array)},
    {"storage", get_object, set_storage, "the identity of the memory", TP_OFFSET(storage)},
    {"dtype", get_object, set_stamped, "the DType", TP_OFFSET(dtype)},
    {"grad_fn", get_object, set_stamped, "the backward node that made it", TP_OFFSET(grad_fn)},
    {"grad", get_object, set_object, "the accumulated gradient", TP_OFFSET(grad)},
    {"view", get_object, set_object, "how it was made from its base", TP_OFFSET(view)},
    {"meta", get_object, set_object, "TensorMeta of a tensor without data", TP_OFFSET(meta)},
    {"requires_grad", get_requires_grad, set_requires_grad, "whether gradients flow to it",
     nullptr},
    {"shape", get_shape, nullptr, "sizes", nullptr},
    {"strides", get_strides, nullptr, "strides in elements", nullptr},
    {"ndim", get_ndim, nullptr, "number of dimensions", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef tensor_members[] = {{"output_nr", T_PYSSIZET, offsetof(TensorObject, output_nr), 0,
                                 "which output of grad_fn it is"},
                                {nullptr, 0, 0, 0, nullptr}};

// Steals `storage`.
PyObject* make_tensor(PyObject* array, StorageObject* storage, const DTypeEntry* dtype) {
  auto* t = as_tensor(tensor_class->tp_alloc(tensor_class, 0));
  if (!t) {
    Py_DECREF(storage);
    return nullptr;
  }
  t->stamp = ++last_stamp;
  t->array = Py_NewRef(array);
  t->storage = storage;
  t->dtype = Py_NewRef(dtype->dtype);
  return reinterpret_cast<PyObject*>(t);
}

// Checks that an array can be a tensor's memory.
const DTypeEntry* check_array(PyObject* object) {
  if (!PyArray_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a NumPy array, got %.100s", Py_TYPE(object)->tp_name);
    return nullptr;
  }
  auto* array = as_array(object);
  const DTypeEntry* dtype = dtype_from_type_num(PyArray_TYPE(array));
  if (!dtype) {
    PyErr_Format(PyExc_TypeError, "tensors cannot hold NumPy dtype %R; convert with .astype first",
                 PyArray_DESCR(array));
    return nullptr;
  }
  if (PyArray_ISBYTESWAPPED(array)) {
    PyErr_Format(PyExc_TypeError,
                 "the array has byte order %R; convert it with .astype(dtype.newbyteorder('='))",
                 PyArray_DESCR(array));
    return nullptr;
  }
  npy_intp itemsize = PyArray_ITEMSIZE(array);
  for (int d = 0; d < PyArray_NDIM(array); ++d) {
    if (PyArray_STRIDE(array, d) % itemsize != 0 && PyArray_DIM(array, d) > 1) {
      PyErr_Format(PyExc_ValueError,
                   "stride %zd of dimension %d is no multiple of the item size %zd; copy the array",
                   PyArray_STRIDE(array, d), d, itemsize);
      return nullptr;
    }
  }
  return dtype;
}

}  // namespace

PyTypeObject StorageType = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject TensorBaseType = {PyVarObject_HEAD_INIT(nullptr, 0)};

uint64_t next_stamp() { return ++last_stamp; }

PyObject* wrap_fresh(PyObject* array, const DTypeEntry* dtype) {
  PyObject* base = PyArray_BASE(as_array(array));
  StorageObject* storage = storage_new(base ? base : array);
  return storage ? make_tensor(array, storage, dtype) : nullptr;
}

PyObject* wrap_array(PyObject* array) {
  const DTypeEntry* dtype = check_array(array);
  if (!dtype) return nullptr;
  PyObject* owner = owner_of(array);
  StorageObject* storage = storages.find(owner);
  if (storage) {
    Py_INCREF(storage);
  } else {
    storage = storage_new(owner);
    if (!storage) return nullptr;
  }
  return make_tensor(array, storage, dtype);
}

PyObject* wrap(PyObject*, PyObject* array) { return wrap_array(array); }

PyObject* set_inference_mode(PyObject*, PyObject* mode) {
  int wanted = PyObject_IsTrue(mode);
  if (wanted < 0) return nullptr;
  bool before = in_inference_mode;
  in_inference_mode = wanted;
  return PyBool_FromLong(before);
}

PyObject* is_inference_mode_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(in_inference_mode);
}

// wrap_view(array, base)
PyObject* wrap_view(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !is_tensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "wrap_view(array, base_tensor)");
    return nullptr;
  }
  StorageObject* storage = as_tensor(args[1])->storage;
  if (!storage) {
    PyErr_SetString(PyExc_ValueError, "wrap_view: the base tensor has no storage");
    return nullptr;
  }
  const DTypeEntry* dtype = check_array(args[0]);
  if (!dtype) return nullptr;
  Py_INCREF(storage);
  return make_tensor(args[0], storage, dtype);
}

PyObject* register_tensor_class(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &TensorBaseType)) {
    PyErr_Format(PyExc_TypeError, "expected a subclass of TensorBase, got %R", cls);
    return nullptr;
  }
  Py_INCREF(cls);  // the previous class stays alive: tensors of it may exist
  tensor_class = reinterpret_cast<PyTypeObject*>(cls);
  Py_RETURN_NONE;
}

int tensor_init(PyObject* module) {
  StorageType.tp_name = "tensorplay._C.Storage";
  StorageType.tp_basicsize = sizeof(StorageObject);
  StorageType.tp_dealloc = storage_dealloc;
  StorageType.tp_new = storage_make;
  StorageType.tp_repr = storage_repr;
  StorageType.tp_flags = Py_TPFLAGS_DEFAULT;
  StorageType.tp_weaklistoffset = offsetof(StorageObject, weakrefs);
  StorageType.tp_members = storage_members;
  StorageType.tp_methods = storage_methods;
  StorageType.tp_doc = "The identity and the version of a block of memory.";

  TensorBaseType.tp_name = "tensorplay._C.TensorBase";
  TensorBaseType.tp_basicsize = sizeof(TensorObject);
  TensorBaseType.tp_dealloc = tensor_dealloc;
  TensorBaseType.tp_traverse = tensor_traverse;
  TensorBaseType.tp_clear = tensor_clear;
  TensorBaseType.tp_new = tensor_new;
  TensorBaseType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  TensorBaseType.tp_weaklistoffset = offsetof(TensorObject, weakrefs);
  TensorBaseType.tp_getset = tensor_getset;
  TensorBaseType.tp_members = tensor_members;
  TensorBaseType.tp_doc = "The C part of a tensor; Tensor derives from it.";
  if (PyType_Ready(&StorageType) < 0 || PyType_Ready(&TensorBaseType) < 0) return -1;
  if (PyModule_AddObjectRef(module, "Storage", reinterpret_cast<PyObject*>(&StorageType)) < 0) {
    return -1;
  }
  return PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(&TensorBaseType));
}

}  // namespace tp
