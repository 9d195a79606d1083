// Memory of arrays: a pool of blocks in size classes, and the arrays made from it.
//
// Why: a fresh 64 MiB output costs its page faults on every call. Measured on the reference machine
// (2 cores, THP = madvise), one thread, y = x + 1 into 64 MiB: 27 to 43 ms with small pages, 9.8 ms
// when NumPy allocates (huge pages too), 8.2 ms into a fresh block, 4.4 ms into one used again.
// Blocks of 1 MiB and more are mapped at 2 MiB boundaries with MADV_HUGEPAGE; a freed block goes to
// its class's list and is handed out again, newest first, because its pages are warm. Idle blocks
// are unmapped oldest first when they pass the limit. The pool works after fork: the lock is
// taken around it, and the memory is private copy-on-write.
#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

namespace tp {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLine = 64;
constexpr int kSteps = 8;  // size classes for each doubling: at most 12.5 % of a block is unused
constexpr int kClasses = 64 * kSteps;

// Stands in the first bytes of an idle block.
struct Idle {
  Idle* next_in_class;
  Idle* prev_in_class;
  Idle* newer;
  Idle* older;
  size_t nbytes;
};

struct Pool {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Idle* classes[kClasses] = {};
  Idle* newest = nullptr;
  Idle* oldest = nullptr;
  size_t limit = 0;
  size_t idle_bytes = 0;
  size_t used_bytes = 0;
  size_t peak_bytes = 0;
  size_t idle_blocks = 0;
  size_t hits = 0;
  size_t misses = 0;
};
Pool pool;

// Rounds up to a class's capacity.
size_t capacity_of(size_t nbytes) {
  if (nbytes < kLine) nbytes = kLine;
  int bits = 63 - __builtin_clzll(nbytes);
  size_t step = (size_t{1} << bits) / kSteps;
  if (step < kLine) step = kLine;
  return (nbytes + step - 1) / step * step;
}

// Capacities of one class are equal, because capacity_of is idempotent and has kSteps values or
// fewer in each doubling.
int class_of(size_t capacity) {
  int bits = 63 - __builtin_clzll(capacity);
  return bits * kSteps + int((capacity - (size_t{1} << bits)) / ((size_t{1} << bits) / kSteps));
}

char* map_block(size_t capacity) {
  if (capacity < kLargeBlock) {
    return static_cast<char*>(aligned_alloc(kLine, capacity));
  }
  size_t total = capacity + kHugePage;
  void* raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (start + kHugePage - 1) & ~(uintptr_t{kHugePage} - 1);
  if (aligned > start) munmap(raw, aligned - start);
  size_t after = start + total - (aligned + capacity);
  if (after) munmap(reinterpret_cast<void*>(aligned + capacity), after);
  auto* data = reinterpret_cast<char*>(aligned);
#ifdef MADV_HUGEPAGE
  // Whole huge pages only: one at the end would cost up to 2 MiB that nobody asked for.
  size_t whole = capacity / kHugePage * kHugePage;
  if (whole) madvise(data, whole, MADV_HUGEPAGE);
#endif
  return data;
}

void unmap_block(void* data, size_t capacity) {
  if (capacity < kLargeBlock) {
    free(data);
  } else {
    munmap(data, capacity);
  }
}

void unlink_idle(Idle* idle) {
  if (idle->prev_in_class) {
    idle->prev_in_class->next_in_class = idle->next_in_class;
  } else {
    pool.classes[class_of(idle->nbytes)] = idle->next_in_class;
  }
  if (idle->next_in_class) idle->next_in_class->prev_in_class = idle->prev_in_class;
  (idle->newer ? idle->newer->older : pool.newest) = idle->older;
  (idle->older ? idle->older->newer : pool.oldest) = idle->newer;
  pool.idle_bytes -= idle->nbytes;
  pool.idle_blocks -= 1;
}

// Frees the oldest idle blocks until at most `limit` bytes are idle. The lock is held.
void trim_to(size_t limit) {
  while (pool.idle_bytes > limit) {
    Idle* idle = pool.oldest;
    size_t nbytes = idle->nbytes;
    unlink_idle(idle);
    unmap_block(idle, nbytes);
  }
}

char* pool_allocate(size_t capacity) {
  pthread_mutex_lock(&pool.lock);
  Idle* idle = pool.classes[class_of(capacity)];
  char* data;
  if (idle) {
    unlink_idle(idle);
    pool.hits += 1;
    data = reinterpret_cast<char*>(idle);
  } else {
    pool.misses += 1;
    data = map_block(capacity);
    if (!data) {
      trim_to(0);
      data = map_block(capacity);
    }
  }
  if (data) {
    pool.used_bytes += capacity;
    if (pool.used_bytes > pool.peak_bytes) pool.peak_bytes = pool.used_bytes;
  }
  pthread_mutex_unlock(&pool.lock);
  return data;
}

void pool_release(char* data, size_t capacity) {
  pthread_mutex_lock(&pool.lock);
  pool.used_bytes -= capacity;
  if (capacity > pool.limit) {
    unmap_block(data, capacity);
  } else {
    auto* idle = reinterpret_cast<Idle*>(data);
    int k = class_of(capacity);
    *idle = {pool.classes[k], nullptr, nullptr, pool.newest, capacity};
    if (idle->next_in_class) idle->next_in_class->prev_in_class = idle;
    pool.classes[k] = idle;
    (pool.newest ? pool.newest->newer : pool.oldest) = idle;
    pool.newest = idle;
    pool.idle_bytes += capacity;
    pool.idle_blocks += 1;
    trim_to(pool.limit);
  }
  pthread_mutex_unlock(&pool.lock);
}

void lock_pool() { pthread_mutex_lock(&pool.lock); }
void unlock_pool() { pthread_mutex_unlock(&pool.lock); }

void block_dealloc(PyObject* self) {
  auto* block = reinterpret_cast<BlockObject*>(self);
  if (block->data) pool_release(block->data, block->nbytes);
  PyObject_Free(self);
}

// A quarter of the machine's memory, at most 4 GiB.
size_t default_limit() {
  size_t bytes = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE)) / 4;
  return bytes < (size_t{4} << 30) ? bytes : size_t{4} << 30;
}

}  // namespace

PyTypeObject BlockType = {PyVarObject_HEAD_INIT(nullptr, 0)};

BlockObject* block_new(size_t nbytes) {
  auto* block = PyObject_New(BlockObject, &BlockType);
  if (!block) return nullptr;
  block->nbytes = capacity_of(nbytes);
  block->data = pool_allocate(block->nbytes);
  if (!block->data) {
    Py_DECREF(block);
    PyErr_Format(PyExc_MemoryError, "cannot allocate %zu bytes for a tensor", nbytes);
    return nullptr;
  }
  return block;
}

static PyObject* array_on_block(const DTypeEntry* dtype, int ndim, const npy_intp* shape,
                                const npy_intp* strides, size_t nbytes, size_t first) {
  BlockObject* block = block_new(nbytes);
  if (!block) return nullptr;
  Py_INCREF(dtype->descr);
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, dtype->descr, ndim, shape, strides, block->data + first,
                           NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, nullptr);
  if (!array) {
    Py_DECREF(block);
    return nullptr;
  }
  // Steals the block, also on failure.
  if (PyArray_SetBaseObject(as_array(array), reinterpret_cast<PyObject*>(block)) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

static int size_overflow() {
  PyErr_SetString(PyExc_MemoryError, "the tensor's size in bytes exceeds 2^63 - 1");
  return -1;
}

PyObject* empty_array(const DTypeEntry* dtype, int ndim, const npy_intp* shape) {
  npy_intp nbytes = dtype->itemsize;
  bool empty_axis = false;
  for (int d = 0; d < ndim; ++d) empty_axis |= shape[d] == 0;
  for (int d = 0; d < ndim && !empty_axis; ++d) {
    if (TP_UNLIKELY(__builtin_mul_overflow(nbytes, shape[d], &nbytes))) {
      size_overflow();
      return nullptr;
    }
  }
  if (empty_axis || size_t(nbytes) < kPooledArray) {
    Py_INCREF(dtype->descr);
    return PyArray_NewFromDescr(&PyArray_Type, dtype->descr, ndim, shape, nullptr, nullptr, 0,
                                nullptr);
  }
  return array_on_block(dtype, ndim, shape, nullptr, size_t(nbytes), 0);
}

PyObject* empty_strided_array(const DTypeEntry* dtype, int ndim, const npy_intp* shape,
                              const npy_intp* strides) {
  bool contiguous = true, empty_axis = false;
  npy_intp dense = dtype->itemsize, low = 0, high = dtype->itemsize;
  bool overflow = false;
  for (int d = ndim - 1; d >= 0; --d) {
    empty_axis |= shape[d] == 0;
    // Exactly: a dimension of size 1 keeps the stride that was asked for.
    if (strides && strides[d] != dense) contiguous = false;
    if (__builtin_mul_overflow(dense, shape[d], &dense)) overflow = true;
  }
  if (!strides || contiguous) return empty_array(dtype, ndim, shape);
  overflow = false;
  for (int d = 0; d < ndim && !empty_axis; ++d) {
    npy_intp reach;
    overflow |= __builtin_mul_overflow(shape[d] - 1, strides[d], &reach);
    overflow |= reach < 0 ? __builtin_add_overflow(low, reach, &low)
                          : __builtin_add_overflow(high, reach, &high);
  }
  if (overflow) {
    size_overflow();
    return nullptr;
  }
  if (empty_axis) low = high = 0;
  return array_on_block(dtype, ndim, shape, strides, size_t(high - low), size_t(-low));
}

int parse_sizes(PyObject* sequence, npy_intp* out, const char* what) {
  PyObject* fast = PySequence_Fast(sequence, "");
  if (!fast) {
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of integers, got %R", what, sequence);
    return -1;
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
  if (n > NPY_MAXDIMS) {
    PyErr_Format(PyExc_ValueError, "%s has %zd dimensions; at most %d are supported", what, n,
                 NPY_MAXDIMS);
    Py_DECREF(fast);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    out[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(fast, i), PyExc_OverflowError);
    if (out[i] == -1 && PyErr_Occurred()) {
      Py_DECREF(fast);
      return -1;
    }
  }
  Py_DECREF(fast);
  return int(n);
}

static int parse_shape(PyObject* sequence, npy_intp* shape) {
  int ndim = parse_sizes(sequence, shape, "shape");
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] < 0) {
      PyErr_Format(PyExc_ValueError, "sizes must not be negative, got shape %R", sequence);
      return -1;
    }
  }
  return ndim;
}

// empty(shape, dtype)
PyObject* empty(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "empty(shape, dtype)");
    return nullptr;
  }
  npy_intp shape[NPY_MAXDIMS];
  int ndim = parse_shape(args[0], shape);
  if (ndim < 0) return nullptr;
  const DTypeEntry* dtype = dtype_from_object(args[1]);
  return dtype ? empty_array(dtype, ndim, shape) : nullptr;
}

// empty_strided(shape, strides, dtype), strides in elements
PyObject* empty_strided(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3) {
    PyErr_SetString(PyExc_TypeError, "empty_strided(shape, strides, dtype)");
    return nullptr;
  }
  npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  int ndim = parse_shape(args[0], shape);
  if (ndim < 0) return nullptr;
  int given = parse_sizes(args[1], strides, "strides");
  if (given < 0) return nullptr;
  if (given != ndim) {
    PyErr_Format(PyExc_ValueError, "shape %R and strides %R differ in length", args[0], args[1]);
    return nullptr;
  }
  const DTypeEntry* dtype = dtype_from_object(args[2]);
  if (!dtype) return nullptr;
  for (int d = 0; d < ndim; ++d) {
    if (__builtin_mul_overflow(strides[d], dtype->itemsize, &strides[d])) {
      size_overflow();
      return nullptr;
    }
  }
  return empty_strided_array(dtype, ndim, shape, strides);
}

PyObject* pool_stats(PyObject*, PyObject*) {
  pthread_mutex_lock(&pool.lock);
  Pool now = pool;
  pthread_mutex_unlock(&pool.lock);
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "used_bytes", now.used_bytes, "peak_bytes",
                       now.peak_bytes, "idle_bytes", now.idle_bytes, "idle_blocks", now.idle_blocks,
                       "hits", now.hits, "misses", now.misses, "limit", now.limit);
}

PyObject* pool_trim(PyObject*, PyObject*) {
  pthread_mutex_lock(&pool.lock);
  trim_to(0);
  pool.peak_bytes = pool.used_bytes;
  pthread_mutex_unlock(&pool.lock);
  Py_RETURN_NONE;
}

PyObject* pool_set_limit(PyObject*, PyObject* limit) {
  size_t bytes = PyLong_AsSize_t(limit);
  if (bytes == size_t(-1) && PyErr_Occurred()) return nullptr;
  pthread_mutex_lock(&pool.lock);
  pool.limit = bytes;
  trim_to(bytes);
  pthread_mutex_unlock(&pool.lock);
  Py_RETURN_NONE;
}

int memory_init(PyObject*) {
  BlockType.tp_name = "tensorplay._C.Block";
  BlockType.tp_basicsize = sizeof(BlockObject);
  BlockType.tp_dealloc = block_dealloc;
  BlockType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  BlockType.tp_doc = "The owner of one pool block; the base of arrays that live in it.";
  pool.limit = default_limit();
  pthread_atfork(lock_pool, unlock_pool, unlock_pool);
  return PyType_Ready(&BlockType);
}

}  // namespace tp
