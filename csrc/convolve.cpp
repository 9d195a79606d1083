// convolve(images, kernels, out, strides…, paddings…, dilations…, groups): convolution of planes, a block at a time.
//
// A thread copies the windows of some rows of the result as columns into its own memory (im2col), where they stay in its
// cache until the product has read them. Where few results read one channel (depthwise), a product gains nothing, and the
// sums over windows are taken in registers.
#include "blas.h"
#include "common.h"
#include "elementwise.h"

#include <algorithm>
#include <cstring>

namespace tp {

namespace {

// What the columns of a block take: about half of a second-level cache; more where a window has many elements, because
// products of few columns read the kernels too often, but no more than the second, which a thread keeps.
constexpr int64_t kColumnBytes = 512 << 10;
constexpr int64_t kMostColumnBytes = 16 << 20;
constexpr int64_t kManyColumns = 128;
// Fewer multiplications than this run on one thread.
constexpr double kSerialWork = 64.0 * 64 * 64;
// Of one channel as many results as this are a product worth its columns.
constexpr int64_t kManyResults = 8;
// A larger plane, with its padding, finds no place in a cache.
constexpr double kLargePlane = 1.1e6;

struct Sizes {
  int64_t channels, height, width;
};

struct Convolution {
  const char *images, *kernels;
  char* out;
  int64_t count, groups;
  Sizes in, to;  // in.channels and to.channels are of one group
  int64_t kernel_rows, kernel_columns;
  int64_t stride[2], padding[2], dilation[2];
  int64_t row_block, row_blocks, width_block, width_blocks, channel_block, channel_blocks;

  int64_t terms() const { return in.channels * kernel_rows * kernel_columns; }
  bool is_depthwise() const {
    const double high = double(to.height) * double(stride[0]) + double(kernel_rows - 1) * double(dilation[0]);
    const double wide = double(to.width) * double(stride[1]) + double(kernel_columns - 1) * double(dilation[1]);
    return in.channels == 1 && to.channels < kManyResults && high * wide <= kLargePlane;
  }
  double work() const {
    return double(count) * double(groups) * double(to.channels) * double(terms()) *
           double(to.height) * double(to.width);
  }
};

// What one point of the windows [begin, end) of a row of the result reads.
template <class T>
void copy_points(const Convolution& c, const T* row, int64_t column, int64_t begin, int64_t end,
                 T* to) {
  const int64_t step = c.stride[1], offset = column * c.dilation[1] - c.padding[1];
  int64_t first = offset < 0 ? (-offset + step - 1) / step : 0;
  int64_t last = c.in.width > offset ? (c.in.width - 1 - offset) / step + 1 : 0;
  first = std::min(std::max(first, begin), end);
  last = std::max(first, std::min(last, end));
  std::fill(to, to + first - begin, T(0));
  const T* from = row + first * step + offset;
  if (step == 1) {
    memcpy(to + first - begin, from, size_t(last - first) * sizeof(T));
  } else {
    for (int64_t p = first; p < last; ++p, from += step) to[p - begin] = *from;
  }
  std::fill(to + last - begin, to + end - begin, T(0));
}

// A block of the result: rows [top, bottom), windows [left, right) of each.
struct Block {
  int64_t top, bottom, left, right;
  int64_t width() const { return right - left; }
};

template <class T>
void copy_columns(const Convolution& c, const T* image, const Block& block, T* columns) {
  for (int64_t channel = 0; channel < c.in.channels; ++channel) {
    const T* plane = image + channel * c.in.height * c.in.width;
    for (int64_t i = 0; i < c.kernel_rows; ++i) {
      for (int64_t j = 0; j < c.kernel_columns; ++j) {
        for (int64_t p = block.top; p < block.bottom; ++p, columns += block.width()) {
          const int64_t at = p * c.stride[0] + i * c.dilation[0] - c.padding[0];
          if (at < 0 || at >= c.in.height) {
            std::fill(columns, columns + block.width(), T(0));
          } else {
            copy_points(c, plane + at * c.in.width, j, block.left, block.right, columns);
          }
        }
      }
    }
  }
}

template <class T>
int64_t run_products(void* context, int64_t begin, int64_t end) {
  const auto& c = *static_cast<const Convolution*>(context);
  const int64_t terms = c.terms(), plane = c.to.height * c.to.width;
  T* columns = reinterpret_cast<T*>(
      thread_scratch(sizeof(T) * size_t(terms * c.row_block * c.width_block)));
  for (int64_t task = begin; task < end; ++task) {
    int64_t rest = task;
    const int64_t channel = rest % c.channel_blocks * c.channel_block;
    rest /= c.channel_blocks;
    Block block = {0, 0, rest % c.width_blocks * c.width_block, 0};
    block.right = std::min(block.left + c.width_block, c.to.width);
    rest /= c.width_blocks;
    block.top = rest % c.row_blocks * c.row_block;
    block.bottom = std::min(block.top + c.row_block, c.to.height);
    rest /= c.row_blocks;  // image and group
    const int64_t made = std::min(c.channel_block, c.to.channels - channel);
    auto* image = reinterpret_cast<const T*>(c.images) +
                  rest * c.in.channels * c.in.height * c.in.width;
    auto* kernels = reinterpret_cast<const T*>(c.kernels) +
                    (rest % c.groups * c.to.channels + channel) * terms;
    auto* out = reinterpret_cast<T*>(c.out) + (rest * c.to.channels + channel) * plane;
    copy_columns(c, image, block, columns);
    blas_gemm(made, (block.bottom - block.top) * block.width(), terms, kernels, columns,
              out + block.top * c.to.width + block.left, plane);
  }
  return 0;
}

// A plane with its padding as windows want it: of every row the columns 0, stride, 2 * stride, ..., then 1, 1 + stride, ...,
// so that the points of neighbouring windows are neighbours.
struct Padded {
  int64_t height, phase, row;  // rows; elements of each phase of a row; elements of a row

  explicit Padded(const Convolution& c)
      : height((c.to.height - 1) * c.stride[0] + (c.kernel_rows - 1) * c.dilation[0] + 1),
        phase(c.to.width + (c.kernel_columns - 1) * c.dilation[1] / c.stride[1]),
        row(phase * c.stride[1]) {}

  int64_t place(const Convolution& c, int64_t column) const {
    return column % c.stride[1] * phase + column / c.stride[1];
  }
  int64_t size() const { return height * row + kWindowSlack; }
};

template <class T>
void fill_plane(const Convolution& c, const Padded& padded, const T* image, T* plane) {
  const int64_t step = c.stride[1];
  for (int64_t y = 0; y < c.in.height && y + c.padding[0] < padded.height; ++y) {
    const T* from = image + y * c.in.width;
    T* to = plane + (y + c.padding[0]) * padded.row;
    for (int64_t first = 0; first < step && first < c.in.width; ++first) {
      const int64_t at = first + c.padding[1], begin = at / step;
      const int64_t count = std::min((c.in.width - first + step - 1) / step, padded.phase - begin);
      T* part = to + padded.place(c, at);
      if (step == 1) {
        if (count > 0) memcpy(part, from, size_t(count) * sizeof(T));
      } else {
        for (int64_t i = 0; i < count; ++i) part[i] = from[first + i * step];
      }
    }
  }
}

template <class T>
int64_t run_windows(void* context, int64_t begin, int64_t end) {
  const auto& c = *static_cast<const Convolution*>(context);
  const Padded padded(c);
  const int64_t taps = c.terms(), results = c.to.height * c.to.width;
  char* memory = thread_scratch(size_t(padded.size()) * sizeof(T) + size_t(taps) * sizeof(int64_t));
  auto* offsets = reinterpret_cast<int64_t*>(memory);
  T* plane = reinterpret_cast<T*>(offsets + taps);
  for (int64_t i = 0; i < c.kernel_rows; ++i) {
    for (int64_t j = 0; j < c.kernel_columns; ++j) {
      offsets[i * c.kernel_columns + j] =
          i * c.dilation[0] * padded.row + padded.place(c, j * c.dilation[1]);
    }
  }
  std::fill(plane, plane + padded.size(), T(0));
  const ElementwiseSet& set = elementwise_chosen();
  for (int64_t task = begin; task < end; ++task) {  // an image's channel
    fill_plane(c, padded, reinterpret_cast<const T*>(c.images) + task * c.in.height * c.in.width,
               plane);
    for (int64_t k = 0; k < c.to.channels; ++k) {
      const WindowPlane windows = {
          plane,
          c.stride[0] * padded.row,
          offsets,
          reinterpret_cast<const T*>(c.kernels) + (task % c.groups * c.to.channels + k) * taps,
          taps,
          reinterpret_cast<T*>(c.out) + (task * c.to.channels + k) * results,
          c.to.height,
          c.to.width};
      (sizeof(T) == 4 ? set.window_f32 : set.window_f64)(windows);
    }
  }
  return 0;
}

// About equal parts of at most `most`, none of which is empty.
void split(int64_t count, int64_t most, int64_t* size, int64_t* parts) {
  *parts = (count + most - 1) / most;
  *size = (count + *parts - 1) / *parts;
  *parts = (count + *size - 1) / *size;
}

// Cuts the product so that columns stay in a cache and all threads have work.
void cut(Convolution* c, int64_t itemsize) {
  const int64_t threads = thread_count(), own = std::max<int64_t>(1, c->count * c->groups);
  const int64_t bytes = c->terms() * itemsize;
  const int64_t most = std::max<int64_t>(1, kMostColumnBytes / bytes);
  const int64_t points = std::max(kColumnBytes / bytes, std::min(kManyColumns, most));
  int64_t rows = std::max<int64_t>(1, points / c->to.width);
  int64_t width = std::min(points, c->to.width);
  const int64_t wanted = (threads + own - 1) / own;
  int64_t channels = c->to.channels;
  if (wanted > 1 && c->to.height * c->to.width >= 256 * wanted) {
    rows = std::min(rows, std::max<int64_t>(1, c->to.height / wanted));
    if (c->to.height < wanted) width = std::min(width, (c->to.width + wanted - 1) / wanted);
  } else if (wanted > 1 && channels >= 16 * wanted) {
    channels = (channels + wanted - 1) / wanted;
  }
  split(c->to.height, rows, &c->row_block, &c->row_blocks);
  split(c->to.width, width, &c->width_block, &c->width_blocks);
  split(c->to.channels, channels, &c->channel_block, &c->channel_blocks);
}

void run(Convolution* c, int type) {
  const bool is_float = type == NPY_FLOAT;
  const bool is_depthwise = c->is_depthwise();
  RangeFunction function;
  int64_t tasks;
  if (is_depthwise) {
    function = is_float ? run_windows<float> : run_windows<double>;
    tasks = c->count * c->groups;
  } else {
    function = is_float ? run_products<float> : run_products<double>;
    cut(c, is_float ? 4 : 8);
    tasks = c->count * c->groups * c->row_blocks * c->width_blocks * c->channel_blocks;
  }
  const double work = c->work();
  const int64_t grain =
      std::max<int64_t>(1, int64_t(double(tasks) * std::min(1.0, kSerialWork / std::max(work, 1.0))));
  PyThreadState* state = work > 20000 ? PyEval_SaveThread() : nullptr;
  if (!is_depthwise) blas_enter();
  parallel_for(tasks, grain, function, c);
  if (!is_depthwise) blas_leave();
  if (state) PyEval_RestoreThread(state);
}

}  // namespace

// Returns whether it could: False where there is no BLAS, and for dtypes that it doesn't have.
PyObject* convolve(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  bool fits = nargs == 10;
  Aligned array[3];
  for (int k = 0; fits && k < 3; ++k) {
    array[k] = Aligned(args[k]);
    PyObject* object = array[k].get();
    if (!object) return nullptr;
    fits = PyArray_Check(object) && PyArray_NDIM(as_array(object)) == 4 &&
           PyArray_ISCARRAY_RO(as_array(object)) &&
           PyArray_TYPE(as_array(object)) == PyArray_TYPE(as_array(array[0].get()));
  }
  fits = fits && array[2].get() == args[2];
  int64_t number[7];
  for (int k = 0; fits && k < 7; ++k) {
    number[k] = PyLong_AsLongLong(args[3 + k]);
    if (PyErr_Occurred()) return nullptr;
    fits = number[k] >= (k == 2 || k == 3 ? 0 : 1);
  }
  PyArrayObject* images = fits ? as_array(array[0].get()) : nullptr;
  PyArrayObject* kernels = fits ? as_array(array[1].get()) : nullptr;
  PyArrayObject* out = fits ? as_array(array[2].get()) : nullptr;
  if (fits) {
    const npy_intp *x = PyArray_DIMS(images), *w = PyArray_DIMS(kernels), *y = PyArray_DIMS(out);
    const int64_t groups = number[6];
    fits = PyArray_ISWRITEABLE(out) && x[0] == y[0] && w[0] == y[1] && x[1] == w[1] * groups &&
           w[0] % groups == 0;
    for (int d = 0; fits && d < 2; ++d) {
      const int64_t span = x[2 + d] + 2 * number[2 + d] - number[4 + d] * (w[2 + d] - 1) - 1;
      fits = w[2 + d] >= 1 && span >= 0 && y[2 + d] == span / number[d] + 1;
    }
  }
  if (!fits) {
    PyErr_SetString(PyExc_ValueError,
                    "convolve(images, kernels, out, stride, stride, padding, padding, dilation, "
                    "dilation, groups) takes contiguous arrays of one dtype that fit");
    return nullptr;
  }
  const int type = PyArray_TYPE(images);
  const npy_intp *x = PyArray_DIMS(images), *w = PyArray_DIMS(kernels), *y = PyArray_DIMS(out);
  if ((type != NPY_FLOAT && type != NPY_DOUBLE) || w[1] == 0 || w[0] == 0) {
    Py_RETURN_FALSE;
  }
  Convolution c = {PyArray_BYTES(images), PyArray_BYTES(kernels), PyArray_BYTES(out), x[0],
                   number[6], {w[1], x[2], x[3]}, {w[0] / number[6], y[2], y[3]}, w[2], w[3],
                   {number[0], number[1]}, {number[2], number[3]}, {number[4], number[5]},
                   0, 0, 0, 0, 0, 0};
  if (!c.is_depthwise() && !blas_is_found()) Py_RETURN_FALSE;
  if (PyArray_SIZE(out)) run(&c, type);
  Py_RETURN_TRUE;
}

}  // namespace tp
