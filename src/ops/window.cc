#include "ops/window.h"

#include <algorithm>
#include <cstring>

namespace capstan {
namespace {

// Neighbouring dimensions that are one run of equal steps become one.
Window merged(const Window& w) {
  Window out;
  out.start = w.start;
  for (int i = 0; i < w.rank; ++i) {
    if (w.sizes[i] == 1) continue;
    int last = out.rank - 1;
    if (last >= 0 && out.steps[last] == w.steps[i] * w.sizes[i]) {
      out.sizes[last] *= w.sizes[i];
      out.steps[last] = w.steps[i];
    } else {
      out.push_back(w.sizes[i], w.steps[i]);
    }
  }
  return out;
}

// f(first element in the large tensor, elements, step between them), run by run.
template <class F>
void for_each_run(const Window& window, F&& f) {
  if (window.elements() == 0) return;
  Window w = merged(window);
  if (w.rank == 0) return f(w.start, int64_t(1), int64_t(1));
  int64_t index[Shape::kMaxRank] = {}, at = w.start;
  for (;;) {
    f(at, w.sizes[w.rank - 1], w.steps[w.rank - 1]);
    int d = w.rank - 2;
    for (; d >= 0; --d) {
      at += w.steps[d];
      if (++index[d] < w.sizes[d]) break;
      at -= w.steps[d] * w.sizes[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

template <class T, bool kRead>
void move_run(T* large, T* small, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kRead) {
      small[i] = large[i * step];
    } else {
      large[i * step] = small[i];
    }
  }
}

template <class T, bool kRead>
void move(const Window& window, void* large, void* small) {
  T *l = static_cast<T*>(large), *s = static_cast<T*>(small);
  for_each_run(window, [&](int64_t at, int64_t n, int64_t step) {
    if (step == 1 && !std::is_same_v<T, std::string>) {
      kRead ? std::memcpy(static_cast<void*>(s), l + at, size_t(n) * sizeof(T))
            : std::memcpy(static_cast<void*>(l + at), s, size_t(n) * sizeof(T));
    } else {
      move_run<T, kRead>(l + at, s, n, step);
    }
    s += n;
  });
}

template <bool kRead>
void move_by_size(const Window& window, DType dtype, void* large, void* small) {
  if (dtype == DType::kString) return move<std::string, kRead>(window, large, small);
  switch (dtype_size(dtype)) {
    case 1: return move<uint8_t, kRead>(window, large, small);
    case 2: return move<uint16_t, kRead>(window, large, small);
    case 4: return move<uint32_t, kRead>(window, large, small);
    case 8: return move<uint64_t, kRead>(window, large, small);
    default: throw unimplemented("elements of type {} cannot be sliced", dtype_name(dtype));
  }
}

}  // namespace

void copy_elements(DType dtype, void* to, const void* from, int64_t n) {
  if (dtype == DType::kString) {
    std::copy_n(static_cast<const std::string*>(from), n, static_cast<std::string*>(to));
  } else if (n > 0) {
    std::memcpy(to, from, size_t(n) * dtype_size(dtype));
  }
}

void fill_zero(Tensor& t) {
  if (t.dtype() == DType::kString) {
    std::fill_n(t.data<std::string>(), t.size(), std::string());
  } else if (t.size() > 0) {
    std::memset(t.raw(), 0, t.bytes());
  }
}

int64_t Window::elements() const {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= sizes[i];
  return n;
}

Window plain_window(const Shape& large, const int64_t* begin, const Shape& size) {
  Window window;
  window.rank = large.rank();
  int64_t step = 1;
  for (int i = large.rank() - 1; i >= 0; --i) {
    window.sizes[i] = size[i];
    window.steps[i] = step;
    window.start += begin[i] * step;
    step *= large[i];
  }
  return window;
}

void read_window(const Window& window, const Tensor& large, Tensor& small) {
  move_by_size<true>(window, large.dtype(), const_cast<void*>(large.raw()), small.raw());
}

void write_window(const Window& window, const Tensor& small, Tensor& large) {
  move_by_size<false>(window, large.dtype(), large.raw(), const_cast<void*>(small.raw()));
}

}  // namespace capstan
