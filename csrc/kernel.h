// The kernel ABI and the Kernel object.
#pragma once

#include "common.h"

namespace tp {

// Runs iterations [begin, end) of the flattened outer loop nest; returns 0, or 1 + the number of
// the bounds check that failed.
using KernelFunction = int64_t (*)(void* const* buffers, int64_t begin, int64_t end);

struct KernelObject {
  PyObject_HEAD KernelFunction function;
  void* library;
  PyObject* path;
  PyObject* symbol;
};
extern PyTypeObject KernelType;

}  // namespace tp
