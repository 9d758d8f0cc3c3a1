#pragma once

// Softmax of each row of a row-major matrix, and the cross entropies built on it. Results do not
// depend on the number of threads. T is float or double.

#include <cstdint>

#include "base/isa.h"
#include "base/thread_pool.h"

namespace capstan {

template <class T>
struct SoftmaxArgs {
  const T* logits;
  int64_t rows, cols;
};

// out = exp(logits) / sum(exp(logits)) of each row. out may be the logits.
template <class T>
void softmax_rows(const SoftmaxArgs<T>& in, T* out, ThreadPool& pool, Isa isa = best_isa());

// out = logits - log(sum(exp(logits))). out may be the logits.
template <class T>
void log_softmax_rows(const SoftmaxArgs<T>& in, T* out, ThreadPool& pool, Isa isa = best_isa());

// loss[r] = -sum(labels * log_softmax), where a label of 0 counts for nothing; backprop = softmax -
// labels. backprop may be the logits.
template <class T>
void cross_entropy_rows(const SoftmaxArgs<T>& in, const T* labels, T* loss, T* backprop,
                        ThreadPool& pool, Isa isa = best_isa());

// The same for labels that name one column each; the caller has checked that they exist.
template <class T>
void sparse_cross_entropy_rows(const SoftmaxArgs<T>& in, const int64_t* labels, T* loss,
                               T* backprop, ThreadPool& pool, Isa isa = best_isa());

}  // namespace capstan
