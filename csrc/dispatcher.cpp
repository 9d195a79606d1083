// Dispatcher and Entry: the two levels of dispatch of a compiled function.
//
// A call's leaves (tensors, scalars, strings, None) find an Entry:
// - level 1: the leaves are those of the last call (same objects in the same state, known by their
//   stamps), the context is the same, and the entry's guards hold;
// - level 2: the packed signature of the leaves is looked up; the first entry of its list whose
//   guards hold, and whose lifted tensors have the signature it was made for, runs.
// Otherwise Python is asked (`call_miss`). Anything that is no plain call with leaves (keywords,
// containers, tensors without data, an active dispatch mode) goes to Python at once (`call_slow`).
// Measured on the reference machine, a compiled x*2+1 on 8 elements: 0.18 us for the same tensor
// (of which the program takes 0.16), 0.25 us for another one.
#include "entry.h"
#include "signature.h"

#include <cstring>

namespace tp {

namespace {

// ---- the context: grad mode is part of the signature, dispatch modes lead to Python -----------

PyObject* grad_mode = nullptr;  // a ContextVar of bool
PyObject* modes = nullptr;      // a ContextVar
PyObject* no_modes = nullptr;   // its value when no mode is active

// A new reference to a context variable's value, or null.
PyObject* context_value(PyObject* variable) {
  PyObject* value = nullptr;
  if (PyContextVar_Get(variable, nullptr, &value) < 0) return nullptr;
  return value;
}

// 0 or 1: grad mode; -1: an exception; 2: a mode is active.
int read_context() {
  if (modes) {
    PyObject* value = context_value(modes);
    if (!value && PyErr_Occurred()) return -1;
    Py_XDECREF(value);  // compared by identity only
    if (value && value != no_modes) return 2;
  }
  if (!grad_mode) return 1;
  PyObject* value = context_value(grad_mode);
  if (!value) return PyErr_Occurred() ? -1 : 1;
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
  Py_DECREF(value);
  return truth;
}

// ---- the dispatcher -------------------------------------------------------------------------

struct Bucket {
  uint64_t hash;
  PyObject* key;      // bytes
  PyObject* entries;  // list of Entry
};

struct DispatcherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Bucket* buckets;
  size_t mask;
  size_t count;
  PyObject* structures;  // dict: structure -> number
  // The last call: level 1. Tensors are not owned, their stamps tell; other leaves are.
  PyObject* last_entry;
  PyObject* last_structure;
  PyObject** last_leaves;
  uint64_t* last_stamps;
  Py_ssize_t* last_versions;
  Py_ssize_t last_count;
  Py_ssize_t last_capacity;
  int last_context;
  Py_ssize_t hits1, hits2, misses;
};
extern PyTypeObject DispatcherType;

PyObject *name_miss, *name_slow;

DispatcherObject* as_dispatcher(PyObject* self) {
  return reinterpret_cast<DispatcherObject*>(self);
}

// A 64-bit mix of the words (multiply and rotate; the final words are spread by the
// multiplication).
uint64_t hash_words(const int64_t* words, size_t count) {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ count;
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ uint64_t(words[i])) * 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
  }
  return hash;
}

Bucket* find_bucket(const DispatcherObject* d, uint64_t hash, const void* key, size_t nbytes) {
  if (!d->buckets) return nullptr;
  for (size_t i = hash & d->mask; d->buckets[i].key; i = (i + 1) & d->mask) {
    Bucket& b = d->buckets[i];
    if (b.hash == hash && size_t(PyBytes_GET_SIZE(b.key)) == nbytes &&
        memcmp(PyBytes_AS_STRING(b.key), key, nbytes) == 0) {
      return &b;
    }
  }
  return nullptr;
}

void place_bucket(DispatcherObject* d, const Bucket& bucket) {
  size_t i = bucket.hash & d->mask;
  while (d->buckets[i].key) i = (i + 1) & d->mask;
  d->buckets[i] = bucket;
}

void forget_last(DispatcherObject* d) {
  PyObject *entry = d->last_entry, *structure = d->last_structure;
  d->last_entry = d->last_structure = nullptr;
  Py_ssize_t count = d->last_count;
  d->last_count = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!d->last_stamps[i]) Py_CLEAR(d->last_leaves[i]);
  }
  Py_XDECREF(entry);
  Py_XDECREF(structure);
}

// The number of a structure (None has 0), -1 with an exception.
int64_t structure_number(DispatcherObject* d, PyObject* structure) {
  if (structure == Py_None) return 0;
  PyObject* number = PyDict_GetItemWithError(d->structures, structure);
  if (number) return PyLong_AsLongLong(number);
  if (PyErr_Occurred()) return -1;
  number = PyLong_FromSsize_t(PyDict_GET_SIZE(d->structures) + 1);
  if (!number) return -1;
  int error = PyDict_SetItem(d->structures, structure, number);
  int64_t value = PyLong_AsLongLong(number);
  Py_DECREF(number);
  return error ? -1 : value;
}

// Packs the head and the leaves.
Packed pack_call(Signature* signature, int context, int64_t structure, PyObject* const* leaves,
                 Py_ssize_t count, uint64_t pass) {
  signature->clear();
  if (!signature->reserve(1)) return Packed::failed;
  signature->push(structure << 1 | context);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Packed packed = pack_leaf(signature, leaves[i], pass, i);
    if (TP_UNLIKELY(packed != Packed::yes)) return packed;
  }
  return Packed::yes;
}

Py_ssize_t version_of(PyObject* tensor) {
  StorageObject* storage = reinterpret_cast<TensorObject*>(tensor)->storage;
  return storage ? storage->version : 0;
}

// Notes the call that an entry was found for.
void remember_call(DispatcherObject* d, EntryObject* e, PyObject* structure,
                   PyObject* const* leaves, Py_ssize_t count, int context) {
  forget_last(d);
  if (count > d->last_capacity) {
    PyMem_Free(d->last_leaves);
    PyMem_Free(d->last_stamps);
    PyMem_Free(d->last_versions);
    d->last_leaves = allocate<PyObject*>(count);
    d->last_stamps = allocate<uint64_t>(count);
    d->last_versions = allocate<Py_ssize_t>(count);
    d->last_capacity = count;
    if (!d->last_leaves || !d->last_stamps || !d->last_versions) {
      d->last_capacity = 0;
      PyErr_Clear();  // level 1 is an optimization
      return;
    }
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* leaf = leaves[i];
    d->last_leaves[i] = leaf;
    if (is_tensor(leaf)) {
      d->last_stamps[i] = reinterpret_cast<TensorObject*>(leaf)->stamp;
      d->last_versions[i] = version_of(leaf);
    } else {
      d->last_stamps[i] = 0;
      Py_INCREF(leaf);
    }
  }
  d->last_count = count;
  d->last_context = context;
  d->last_structure = Py_NewRef(structure);
  d->last_entry = Py_NewRef(reinterpret_cast<PyObject*>(e));
}

// Whether the leaves are those of the last call, and whether their contents are too.
bool same_leaves(const DispatcherObject* d, PyObject* const* leaves, bool* same_versions) {
  *same_versions = true;
  for (Py_ssize_t i = 0; i < d->last_count; ++i) {
    if (leaves[i] != d->last_leaves[i]) return false;
    if (!d->last_stamps[i]) continue;
    if (reinterpret_cast<TensorObject*>(leaves[i])->stamp != d->last_stamps[i]) return false;
    *same_versions &= version_of(leaves[i]) == d->last_versions[i];
  }
  return true;
}

enum class Found { yes, no, failed };

// Level 1. Sets *result when the entry ran (it may be null with an exception), and *refused to the
// entry (borrowed from its bucket) when its data gates said no, so that they are asked once a call.
Found try_last(DispatcherObject* d, PyObject* structure, PyObject* const* leaves, Py_ssize_t count,
               int context, PyObject** result, EntryObject** refused) {
  bool same_versions;
  if (!d->last_entry || count != d->last_count || context != d->last_context ||
      structure != d->last_structure || !same_leaves(d, leaves, &same_versions)) {
    return Found::no;
  }
  EntryObject* e = as_entry(Py_NewRef(d->last_entry));
  Operands operands;
  int holds = prepare_entry(e, leaves, count, &operands);
  if (holds == 1) holds = lifted_unchanged(e, operands);
  // Lifted tensors may have changed in place, so that gates which read them are asked again.
  if (holds == 1 && (!same_versions || e->lifted_count)) {
    holds = ask_check(e, leaves, count);
    if (holds == 0) {
      *refused = e;
      forget_last(d);
    }
  }
  if (holds == 1) {
    d->hits1 += 1;
    *result = run_entry(e, operands);
  }
  Py_DECREF(e);
  return holds == 1 ? Found::yes : holds == 0 ? Found::no : Found::failed;
}

// Level 2: the entries of the signature's bucket in order.
Found try_bucket(DispatcherObject* d, PyObject* structure, PyObject* const* leaves,
                 Py_ssize_t count, int context, Signature* signature, const EntryObject* refused,
                 PyObject** result) {
  Bucket* bucket = find_bucket(d, hash_words(signature->words(), signature->count()),
                               signature->words(), signature->nbytes());
  if (!bucket) return Found::no;
  PyObject* entries = Py_NewRef(bucket->entries);
  Found found = Found::no;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(entries) && found == Found::no; ++k) {
    if (as_entry(PyList_GET_ITEM(entries, k)) == refused) continue;
    EntryObject* e = as_entry(Py_NewRef(PyList_GET_ITEM(entries, k)));
    Operands operands;
    int holds = prepare_entry(e, leaves, count, &operands);
    if (holds == 1 && e->lifted_count) {
      // The guards may have run Python code: the leaves are packed again, in one pass with the
      // rest.
      uint64_t pass = new_pass();
      Packed packed =
          pack_call(signature, context, signature->words()[0] >> 1, leaves, count, pass);
      for (int i = 0; packed == Packed::yes && i < e->lifted_count; ++i) {
        packed = pack_leaf(signature, operands.at[operands.first_lifted + i], pass, count + i);
      }
      holds = packed == Packed::failed
                  ? -1
                  : packed == Packed::yes &&
                        signature->nbytes() == size_t(PyBytes_GET_SIZE(e->signature)) &&
                        memcmp(signature->words(), PyBytes_AS_STRING(e->signature),
                               signature->nbytes()) == 0;
    }
    if (holds == 1) holds = ask_check(e, leaves, count);
    if (holds == 1) {
      found = Found::yes;
      d->hits2 += 1;
      remember_lifted(e, operands);
      remember_call(d, e, structure, leaves, count, context);
      *result = run_entry(e, operands);
    } else if (holds < 0) {
      found = Found::failed;
    }
    Py_DECREF(e);
  }
  Py_DECREF(entries);
  return found;
}

PyObject* call_method(PyObject* self, PyObject* name, PyObject* first, PyObject* second) {
  PyObject* operands[3] = {self, first, second};
  return PyObject_VectorcallMethod(name, operands, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

PyObject* tuple_from(PyObject* const* items, Py_ssize_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
  return tuple;
}

// The common road of a call: null result with *is_foreign set means that Python must flatten.
PyObject* dispatch(PyObject* self, PyObject* structure, PyObject* const* leaves, Py_ssize_t count,
                   bool* is_foreign) {
  DispatcherObject* d = as_dispatcher(self);
  *is_foreign = false;
  int context = read_context();
  if (context < 0) return nullptr;
  if (context == 2) {
    *is_foreign = true;
    return nullptr;
  }
  PyObject* result = nullptr;
  EntryObject* refused = nullptr;
  Found found = try_last(d, structure, leaves, count, context, &result, &refused);
  if (found == Found::yes) return result;
  if (found == Found::failed) return nullptr;
  int64_t number = structure_number(d, structure);
  if (number < 0) return nullptr;
  Signature signature;
  Packed packed = pack_call(&signature, context, number, leaves, count, new_pass());
  if (packed == Packed::failed) return nullptr;
  if (packed == Packed::foreign) {
    *is_foreign = true;
    return nullptr;
  }
  found = try_bucket(d, structure, leaves, count, context, &signature, refused, &result);
  if (found == Found::yes) return result;
  if (found == Found::failed) return nullptr;
  d->misses += 1;
  PyObject* tuple = tuple_from(leaves, count);
  if (!tuple) return nullptr;
  result = call_method(self, name_miss, structure, tuple);
  Py_DECREF(tuple);
  return result;
}

PyObject* dispatcher_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf,
                                PyObject* names) {
  Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  if (named == 0) {
    bool is_foreign;
    PyObject* result = dispatch(self, Py_None, args, count, &is_foreign);
    if (TP_LIKELY(!is_foreign)) return result;
  }
  PyObject* tuple = tuple_from(args, count);
  PyObject* dict = PyDict_New();
  PyObject* result = nullptr;
  bool ok = tuple && dict;
  for (Py_ssize_t i = 0; ok && i < named; ++i) {
    ok = PyDict_SetItem(dict, PyTuple_GET_ITEM(names, i), args[count + i]) == 0;
  }
  if (ok) result = call_method(self, name_slow, tuple, dict);
  Py_XDECREF(tuple);
  Py_XDECREF(dict);
  return result;
}

// ---- methods --------------------------------------------------------------------------------

// dispatch(structure, leaves): a call with flattened arguments.
PyObject* dispatcher_dispatch(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "dispatch(structure, leaves) takes a tuple of leaves");
    return nullptr;
  }
  bool is_foreign;
  PyObject* leaves = args[1];
  PyObject* result = dispatch(self, args[0], reinterpret_cast<PyTupleObject*>(leaves)->ob_item,
                              PyTuple_GET_SIZE(leaves), &is_foreign);
  if (is_foreign) {
    PyErr_Format(PyExc_TypeError,
                 "dispatch takes tensors with data, numbers, strings and None outside of dispatch "
                 "modes, got %R",
                 leaves);
  }
  return result;
}

// signature(structure, leaves) -> bytes
PyObject* dispatcher_signature(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "signature(structure, leaves) takes a tuple of leaves");
    return nullptr;
  }
  int context = read_context();
  if (context < 0) return nullptr;
  int64_t number = structure_number(as_dispatcher(self), args[0]);
  if (number < 0) return nullptr;
  Signature signature;
  Packed packed =
      pack_call(&signature, context & 1, number, reinterpret_cast<PyTupleObject*>(args[1])->ob_item,
                PyTuple_GET_SIZE(args[1]), new_pass());
  if (packed == Packed::failed) return nullptr;
  if (packed == Packed::foreign) {
    PyErr_Format(PyExc_TypeError,
                 "a signature is of tensors with data, numbers, strings and None, "
                 "got %R",
                 args[1]);
    return nullptr;
  }
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(signature.words()),
                                   Py_ssize_t(signature.nbytes()));
}

bool grow_buckets(DispatcherObject* d) {
  size_t size = d->buckets ? 2 * (d->mask + 1) : 8;
  auto* fresh = allocate<Bucket>(Py_ssize_t(size));
  if (!fresh) return false;
  Bucket* old = d->buckets;
  size_t old_size = old ? d->mask + 1 : 0;
  d->buckets = fresh;
  d->mask = size - 1;
  for (size_t i = 0; i < old_size; ++i) {
    if (old[i].key) place_bucket(d, old[i]);
  }
  PyMem_Free(old);
  return true;
}

// add(key, entry): the newest entry of a key is tried first.
PyObject* dispatcher_add(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  DispatcherObject* d = as_dispatcher(self);
  if (nargs != 2 || !PyBytes_Check(args[0]) || !Py_IS_TYPE(args[1], &EntryType) ||
      PyBytes_GET_SIZE(args[0]) % Py_ssize_t(sizeof(int64_t))) {
    PyErr_SetString(PyExc_TypeError, "add(signature, entry)");
    return nullptr;
  }
  const char* key = PyBytes_AS_STRING(args[0]);
  size_t nbytes = size_t(PyBytes_GET_SIZE(args[0]));
  Signature words;
  if (!words.reserve(nbytes / sizeof(int64_t))) return nullptr;
  for (size_t i = 0; i < nbytes / sizeof(int64_t); ++i) {
    int64_t word;
    memcpy(&word, key + i * sizeof(word), sizeof(word));
    words.push(word);
  }
  uint64_t hash = hash_words(words.words(), words.count());
  Bucket* bucket = find_bucket(d, hash, key, nbytes);
  if (bucket) {
    if (PyList_Insert(bucket->entries, 0, args[1]) < 0) return nullptr;
    Py_RETURN_NONE;
  }
  if (2 * (d->count + 1) > (d->buckets ? d->mask + 1 : 0) && !grow_buckets(d)) return nullptr;
  PyObject* entries = PyList_New(1);
  if (!entries) return nullptr;
  PyList_SET_ITEM(entries, 0, Py_NewRef(args[1]));
  place_bucket(d, {hash, Py_NewRef(args[0]), entries});
  d->count += 1;
  Py_RETURN_NONE;
}

int dispatcher_clear(PyObject* self) {
  DispatcherObject* d = as_dispatcher(self);
  forget_last(d);
  Bucket* buckets = d->buckets;
  size_t size = buckets ? d->mask + 1 : 0;
  d->buckets = nullptr;
  d->mask = d->count = 0;
  for (size_t i = 0; i < size; ++i) {
    Py_XDECREF(buckets[i].key);
    Py_XDECREF(buckets[i].entries);
  }
  PyMem_Free(buckets);
  return 0;
}

// clear(): forget every entry.
PyObject* dispatcher_forget(PyObject* self, PyObject*) {
  dispatcher_clear(self);
  Py_RETURN_NONE;
}

// entries(): list of (signature, tuple of entries).
PyObject* dispatcher_entries(PyObject* self, PyObject*) {
  DispatcherObject* d = as_dispatcher(self);
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && d->buckets && i <= d->mask; ++i) {
    if (!d->buckets[i].key) continue;
    PyObject* entries = PyList_AsTuple(d->buckets[i].entries);
    PyObject* pair = entries ? PyTuple_Pack(2, d->buckets[i].key, entries) : nullptr;
    if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(entries);
    Py_XDECREF(pair);
  }
  return list;
}

// Heap types do not inherit the vectorcall flag before Python 3.12.
PyObject* dispatcher_init_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) || (kwargs && PyDict_GET_SIZE(kwargs))) {
    PyErr_SetString(PyExc_TypeError, "Dispatcher.__init_subclass__() takes no arguments");
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}

PyObject* dispatcher_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  as_dispatcher(self)->vectorcall = dispatcher_vectorcall;
  as_dispatcher(self)->structures = PyDict_New();
  if (!as_dispatcher(self)->structures) Py_CLEAR(self);
  return self;
}

int dispatcher_traverse(PyObject* self, visitproc visit, void* arg) {
  DispatcherObject* d = as_dispatcher(self);
  for (size_t i = 0; d->buckets && i <= d->mask; ++i) Py_VISIT(d->buckets[i].entries);
  Py_VISIT(d->structures);
  Py_VISIT(d->last_entry);
  Py_VISIT(d->last_structure);
  return 0;
}

int dispatcher_tp_clear(PyObject* self) {
  dispatcher_clear(self);
  Py_CLEAR(as_dispatcher(self)->structures);
  return 0;
}

void dispatcher_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  dispatcher_tp_clear(self);
  DispatcherObject* d = as_dispatcher(self);
  PyMem_Free(d->last_leaves);
  PyMem_Free(d->last_stamps);
  PyMem_Free(d->last_versions);
  Py_TYPE(self)->tp_free(self);
}

#define TP_METHOD(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))
PyMethodDef dispatcher_methods[] = {
    {"dispatch", TP_METHOD(dispatcher_dispatch), METH_FASTCALL, "a call with flattened arguments"},
    {"signature", TP_METHOD(dispatcher_signature), METH_FASTCALL, "the key of such a call"},
    {"add", TP_METHOD(dispatcher_add), METH_FASTCALL, "register an entry under a signature"},
    {"clear", dispatcher_forget, METH_NOARGS, "forget every entry"},
    {"entries", dispatcher_entries, METH_NOARGS, "pairs of signature and entries"},
    {"__init_subclass__", TP_METHOD(dispatcher_init_subclass),
     METH_VARARGS | METH_KEYWORDS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef dispatcher_members[] = {
    {"identity_hits", T_PYSSIZET, offsetof(DispatcherObject, hits1), READONLY, "level 1"},
    {"signature_hits", T_PYSSIZET, offsetof(DispatcherObject, hits2), READONLY, "level 2"},
    {"misses", T_PYSSIZET, offsetof(DispatcherObject, misses), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyTypeObject DispatcherType = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

// register_context(grad_mode, modes, no_modes)
PyObject* register_context(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3 || !PyContextVar_CheckExact(args[0]) || !PyContextVar_CheckExact(args[1])) {
    PyErr_SetString(PyExc_TypeError,
                    "register_context(grad_mode: ContextVar, modes: ContextVar, "
                    "value of modes when none is active)");
    return nullptr;
  }
  Py_XSETREF(grad_mode, Py_NewRef(args[0]));
  Py_XSETREF(modes, Py_NewRef(args[1]));
  Py_XSETREF(no_modes, Py_NewRef(args[2]));
  Py_RETURN_NONE;
}

int dispatcher_init(PyObject* module) {
  name_miss = PyUnicode_InternFromString("call_miss");
  name_slow = PyUnicode_InternFromString("call_slow");
  if (!name_miss || !name_slow) return -1;

  DispatcherType.tp_name = "tensorplay._C.Dispatcher";
  DispatcherType.tp_basicsize = sizeof(DispatcherObject);
  DispatcherType.tp_dealloc = dispatcher_dealloc;
  DispatcherType.tp_traverse = dispatcher_traverse;
  DispatcherType.tp_clear = dispatcher_tp_clear;
  DispatcherType.tp_new = dispatcher_new;
  DispatcherType.tp_call = PyVectorcall_Call;
  DispatcherType.tp_vectorcall_offset = offsetof(DispatcherObject, vectorcall);
  DispatcherType.tp_flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  DispatcherType.tp_methods = dispatcher_methods;
  DispatcherType.tp_members = dispatcher_members;
  DispatcherType.tp_doc = "Base class of compiled functions; see tensorplay/_C.pyi.";
  if (PyType_Ready(&DispatcherType) < 0) return -1;
  return PyModule_AddObjectRef(module, "Dispatcher", reinterpret_cast<PyObject*>(&DispatcherType));
}

}  // namespace tp
