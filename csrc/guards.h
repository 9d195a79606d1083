// Guards: what a compiled function read without being given it, and whether it is still so.
#pragma once

#include "common.h"

namespace tp {

// Where a value is found again (compiler/capture/places.py: Place).
struct Place {
  enum Kind : uint8_t { dict, sequence, cell, attribute, itself } kind;
  PyObject* container;
  PyObject* key;
  Py_ssize_t index;  // of a sequence
};

// What was found there (places.py: Fact); `call` asks a Python function instead.
struct Guard {
  enum Kind : uint8_t { is, equals, items, call } kind;
  Place place;
  PyObject* expected;
};

// Parses (place kind, container, key); false with an exception.
bool parse_place(PyObject* spec, Py_ssize_t first, Place* place);
// Parses (fact kind, place kind, container, key, expected) or ("call", callable).
bool parse_guard(PyObject* spec, Guard* guard);
void clear_place(Place* place);
void clear_guard(Guard* guard);

// A new reference to what the place holds, or null (without an exception: nothing is there).
PyObject* place_get(const Place& place);
// 1: holds, 0: does not, -1: an exception is set.
int guard_holds(const Guard& guard);

}  // namespace tp
