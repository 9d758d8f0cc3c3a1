#pragma once

// Cross entropies, dropout and small layers, each as TensorFlow builds it.

#include "build/random.h"

namespace capstan {

// The loss of each row; labels are rows of probabilities. No gradient goes to the labels where they
// are stopped before.
Output softmax_cross_entropy(Output logits, Output labels,
                             std::string_view name = "softmax_cross_entropy_with_logits");
// The loss of each row; labels are the numbers of classes.
Output sparse_softmax_cross_entropy(Output logits, Output labels,
                                    std::string_view name = "SparseSoftmaxCrossEntropyWithLogits");
// The loss of each element, without large exponentials.
Output sigmoid_cross_entropy(Output logits, Output labels, std::string_view name = "logistic_loss");
// The same, with errors at positive labels counted `weight` times.
Output weighted_cross_entropy(Output logits, Output labels, const Hyper& weight,
                              std::string_view name = "logistic_loss");

// x * weights + biases
Output xw_plus_b(Output x, Output weights, Output biases, std::string_view name = "xw_plus_b");
Output relu_layer(Output x, Output weights, Output biases, std::string_view name = "relu_layer");

// x over its length along these axes.
Output l2_normalize(Output x, const Axes& axes, double epsilon = 1e-12,
                    std::string_view name = "l2_normalize");
// Softmax or LogSoftmax along an axis that is not the last.
Output softmax_along(std::string_view op, Output logits, int axis,
                     std::string_view name = "transpose");

// Each element is 0 with probability `rate`, and else scaled by 1 / (1 - rate). Elements for which
// `noise` (a shape; x's own without it) has one item share their fate.
using ShapeArgument = std::variant<std::monostate, Shape, Output>;
Output dropout(Output x, const Hyper& rate, const ShapeArgument& noise = {}, Seed seed = {},
               std::string_view name = "dropout");

// How many of the elements are 0, as a part of all.
Output zero_fraction(Output x, std::string_view name = "zero_fraction");

}  // namespace capstan
