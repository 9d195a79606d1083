// A compiled program: checks its inputs, allocates, launches kernels, calls Python functions.
#pragma once

#include "kernel.h"

namespace tp {

extern PyTypeObject ProgramType;

// Runs a Program on tensors; returns a tuple of tensors, or null with an exception set.
PyObject* program_run(PyObject* program, PyObject* const* tensors, Py_ssize_t count);

}  // namespace tp
