#pragma once

// Losses that are weighted and averaged, as tf.losses builds them.

#include "build/basics.h"

namespace capstan {

enum class Reduction {
  kNone,                // the weighted losses themselves
  kSum,                 // their sum
  kMean,                // over the sum of the weights
  kOverBatchSize,       // over the number of losses
  kOverNonzeroWeights,  // over the number of losses whose weight is not 0
};

// Weights are a number, or a tensor of the losses' rank with dimensions of theirs or 1.
Output weighted_loss(Output losses, const Hyper& weights,
                     Reduction reduction = Reduction::kOverNonzeroWeights,
                     std::string_view name = "weighted_loss");

Output mean_squared_error(Output labels, Output predictions, const Hyper& weights = 1.0,
                          Reduction reduction = Reduction::kOverNonzeroWeights,
                          std::string_view name = "mean_squared_error");
Output absolute_difference(Output labels, Output predictions, const Hyper& weights = 1.0,
                           Reduction reduction = Reduction::kOverNonzeroWeights,
                           std::string_view name = "absolute_difference");
Output log_loss(Output labels, Output predictions, const Hyper& weights = 1.0,
                double epsilon = 1e-7, Reduction reduction = Reduction::kOverNonzeroWeights,
                std::string_view name = "log_loss");
// `smoothing` moves labels towards an equal share of all classes.
Output softmax_cross_entropy_loss(Output labels, Output logits, const Hyper& weights = 1.0,
                                  double smoothing = 0,
                                  Reduction reduction = Reduction::kOverNonzeroWeights,
                                  std::string_view name = "softmax_cross_entropy_loss");
Output sparse_softmax_cross_entropy_loss(
    Output labels, Output logits, const Hyper& weights = 1.0,
    Reduction reduction = Reduction::kOverNonzeroWeights,
    std::string_view name = "sparse_softmax_cross_entropy_loss");
Output sigmoid_cross_entropy_loss(Output labels, Output logits, const Hyper& weights = 1.0,
                                  double smoothing = 0,
                                  Reduction reduction = Reduction::kOverNonzeroWeights,
                                  std::string_view name = "sigmoid_cross_entropy_loss");

}  // namespace capstan
