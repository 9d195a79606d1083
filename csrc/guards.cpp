// Evaluating guards. Identity decides nearly always; values that are equal but not identical are
// compared here for the common types, and by the registered `same_value` for the others.
#include "guards.h"

#include <cstring>

namespace tp {

namespace {

PyObject* same_value_function = nullptr;
PyObject* any_tensor = nullptr;  // among expected items: whichever tensor is there now

int same_value(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (Py_TYPE(a) != Py_TYPE(b)) return 0;
  if (PyFloat_CheckExact(a)) {
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return memcmp(&x, &y, sizeof(x)) == 0 || (x != x && y != y);
  }
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a)) {
    return PyObject_RichCompareBool(a, b, Py_EQ);
  }
  if (PyBool_Check(a)) return 0;
  if (PyMethod_Check(a)) {
    return PyMethod_GET_SELF(a) == PyMethod_GET_SELF(b) &&
           PyMethod_GET_FUNCTION(a) == PyMethod_GET_FUNCTION(b);
  }
  if (!same_value_function) return PyObject_RichCompareBool(a, b, Py_EQ);
  PyObject* operands[2] = {a, b};
  PyObject* answer = PyObject_Vectorcall(same_value_function, operands, 2, nullptr);
  int truth = answer ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return truth;
}

bool is_any_tensor(PyObject* known, PyObject* item) {
  return known == any_tensor && is_tensor(item);
}

// `expected` is a tuple: the items, or a dict's keys and then its values.
int same_items(PyObject* container, PyObject* expected) {
  Py_ssize_t count = PyTuple_GET_SIZE(expected);
  if (PyDict_Check(container)) {
    Py_ssize_t half = PyDict_GET_SIZE(container), at = 0, i = 0;
    if (2 * half != count) return 0;
    PyObject *key, *value;
    while (PyDict_Next(container, &at, &key, &value) && i < half) {
      PyObject* pairs[2][2] = {{key, PyTuple_GET_ITEM(expected, i)},
                               {value, PyTuple_GET_ITEM(expected, half + i)}};
      for (auto& pair : pairs) {
        if (pair[0] == pair[1] || is_any_tensor(pair[1], pair[0])) continue;
        Py_INCREF(pair[0]);
        int same = same_value(pair[0], pair[1]);
        Py_DECREF(pair[0]);
        if (same != 1) return same;
      }
      i += 1;
    }
    return i == half;
  }
  if (!PyList_Check(container) && !PyTuple_Check(container)) return 0;
  if (PySequence_Fast_GET_SIZE(container) != count) return 0;
  for (Py_ssize_t i = 0; i < count && i < PySequence_Fast_GET_SIZE(container); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(container, i);
    PyObject* known = PyTuple_GET_ITEM(expected, i);
    if (item == known || is_any_tensor(known, item)) continue;
    Py_INCREF(item);
    int same = same_value(item, known);
    Py_DECREF(item);
    if (same != 1) return same;
  }
  return 1;
}

}  // namespace

// register_same_value(function, any_tensor)
PyObject* register_same_value(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyCallable_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "register_same_value(function, any_tensor)");
    return nullptr;
  }
  Py_XSETREF(same_value_function, Py_NewRef(args[0]));
  Py_XSETREF(any_tensor, Py_NewRef(args[1]));
  Py_RETURN_NONE;
}

PyObject* place_get(const Place& place) {
  switch (place.kind) {
    case Place::dict: {
      PyObject* value = PyDict_GetItemWithError(place.container, place.key);
      if (!value) PyErr_Clear();
      return Py_XNewRef(value);
    }
    case Place::cell:
      return PyCell_Get(place.container);
    case Place::sequence: {
      if (place.index < 0 || place.index >= PySequence_Fast_GET_SIZE(place.container))
        return nullptr;
      return Py_NewRef(PySequence_Fast_GET_ITEM(place.container, place.index));
    }
    case Place::itself:
      return Py_NewRef(place.container);
    case Place::attribute:
      break;
  }
  PyObject* value = PyObject_GetAttr(place.container, place.key);
  if (!value) PyErr_Clear();
  return value;
}

int guard_holds(const Guard& guard) {
  if (guard.kind == Guard::call) {
    PyObject* answer = PyObject_CallNoArgs(guard.expected);
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
  }
  PyObject* value = place_get(guard.place);
  if (!value) return 0;
  int holds = value == guard.expected;
  if (!holds && guard.kind == Guard::equals) holds = same_value(value, guard.expected);
  if (!holds && guard.kind == Guard::items) holds = same_items(value, guard.expected);
  Py_DECREF(value);
  return holds;
}

bool parse_place(PyObject* spec, Py_ssize_t first, Place* place) {
  PyObject* kind = PyTuple_GET_ITEM(spec, first);
  PyObject* container = PyTuple_GET_ITEM(spec, first + 1);
  PyObject* key = PyTuple_GET_ITEM(spec, first + 2);
  auto is = [&](const char* name) {
    return PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, name) == 0;
  };
  bool ok = true;
  if (is("dict")) {
    place->kind = Place::dict;
    ok = PyDict_Check(container);
  } else if (is("sequence")) {
    place->kind = Place::sequence;
    place->index = PyLong_Check(key) ? PyLong_AsSsize_t(key) : -1;
    ok = (PyList_Check(container) || PyTuple_Check(container)) && place->index >= 0;
  } else if (is("cell")) {
    place->kind = Place::cell;
    ok = PyCell_Check(container);
  } else if (is("attribute")) {
    place->kind = Place::attribute;
    ok = PyUnicode_Check(key);
  } else if (is("itself")) {
    place->kind = Place::itself;
  } else {
    ok = false;
  }
  if (!ok) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_ValueError,
                   "a place is ('dict', dict, key), ('sequence', list or tuple, index), ('cell', "
                   "cell, _), ('attribute', object, name) or ('itself', object, _), got %R",
                   spec);
    }
    return false;
  }
  place->container = Py_NewRef(container);
  place->key = Py_NewRef(key);
  return true;
}

bool parse_guard(PyObject* spec, Guard* guard) {
  if (PyTuple_Check(spec) && PyTuple_GET_SIZE(spec) >= 2 &&
      PyUnicode_Check(PyTuple_GET_ITEM(spec, 0))) {
    PyObject* kind = PyTuple_GET_ITEM(spec, 0);
    Py_ssize_t count = PyTuple_GET_SIZE(spec);
    auto is = [&](const char* name, Py_ssize_t length) {
      return PyUnicode_CompareWithASCIIString(kind, name) == 0 && count == length;
    };
    bool known = true;
    if (is("is", 5)) {
      guard->kind = Guard::is;
    } else if (is("equals", 5)) {
      guard->kind = Guard::equals;
    } else if (is("items", 5) && PyTuple_Check(PyTuple_GET_ITEM(spec, 4))) {
      guard->kind = Guard::items;
    } else if (is("call", 2)) {
      guard->kind = Guard::call;
      guard->expected = Py_NewRef(PyTuple_GET_ITEM(spec, 1));
      return true;
    } else {
      known = false;
    }
    if (known) {
      if (!parse_place(spec, 1, &guard->place)) return false;
      guard->expected = Py_NewRef(PyTuple_GET_ITEM(spec, 4));
      return true;
    }
  }
  PyErr_Format(PyExc_ValueError,
               "a guard is ('is' | 'equals' | 'items', place kind, container, key, expected) or "
               "('call', callable), got %R",
               spec);
  return false;
}

void clear_place(Place* place) {
  Py_CLEAR(place->container);
  Py_CLEAR(place->key);
}

void clear_guard(Guard* guard) {
  clear_place(&guard->place);
  Py_CLEAR(guard->expected);
}

}  // namespace tp
