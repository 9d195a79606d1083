// Signatures: what a specialization depends on in its leaves, packed into words.
#pragma once

#include "common.h"

namespace tp {

// A growing array of words; the first ones are on the stack.
class Signature {
 public:
  Signature() = default;
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;
  ~Signature() {
    if (words_ != local_) PyMem_Free(words_);
  }
  const int64_t* words() const { return words_; }
  size_t count() const { return count_; }
  size_t nbytes() const { return count_ * sizeof(int64_t); }
  void clear() { count_ = 0; }
  // Room for `extra` more words; false with MemoryError.
  bool reserve(size_t extra);
  void push(int64_t word) { words_[count_++] = word; }

 private:
  int64_t local_[128];
  int64_t* words_ = local_;
  size_t count_ = 0;
  size_t capacity_ = 128;
};

// What became of packing a leaf.
enum class Packed { yes, foreign, failed };

// A pass over a list of leaves, which numbers them and finds aliases. Nothing may run between the
// leaves of one pass that starts another.
uint64_t new_pass();
// Appends leaf number `index` of a pass, with its aliases among the leaves before it. `foreign`
// means that it is no tensor with data, scalar, string or None; `failed` that an exception is set.
Packed pack_leaf(Signature* signature, PyObject* leaf, uint64_t pass, int64_t index);

}  // namespace tp
