#pragma once

// Graph building as formulas: `relu(matmul(x, w) + b)`, under the graph's current scopes. Numbers
// become constants of the other operand's type.

#include <string_view>
#include <vector>

#include "build/basics.h"

namespace capstan {

Output placeholder(Graph& graph, DType dtype, const Shape& shape,
                   std::string_view name = "Placeholder");

Output operator+(Output a, Output b);
Output operator-(Output a, Output b);
Output operator*(Output a, Output b);
Output operator/(Output a, Output b);
Output operator-(Output a);
Output operator+(Output a, double b);
Output operator-(Output a, double b);
Output operator*(Output a, double b);
Output operator/(Output a, double b);
Output operator+(double a, Output b);
Output operator-(double a, Output b);
Output operator*(double a, Output b);
Output operator/(double a, Output b);

Output matmul(Output a, Output b, bool transpose_a = false, bool transpose_b = false);
Output relu(Output x);
Output sigmoid(Output x);
Output tanh(Output x);
Output square(Output x);
Output exp(Output x);
Output log(Output x);
Output abs(Output x);
Output sqrt(Output x);
Output pow(Output x, const Hyper& exponent);
Output maximum(Output x, const Hyper& y);
Output minimum(Output x, const Hyper& y);
Output less(Output x, const Hyper& y);
Output greater(Output x, const Hyper& y);
Output softmax(Output logits);
Output reshape(Output x, const Shape& shape);
Output cast(Output x, DType dtype);
Output equal(Output a, Output b);
Output argmax(Output x, int axis);
Output concat(std::span<const Output> values, int axis);
Output transpose(Output x, const std::vector<int64_t>& order);
// The rows of x at the indices.
Output gather(Output x, Output indices);
Output reduce_sum(Output x, const Axes& axes = {});
Output reduce_mean(Output x, const Axes& axes = {});
Output logical_xor(Output a, Output b, std::string_view name = "LogicalXor");
// The axes of x from the last to the first.
Output reversed_axes(Output x);

}  // namespace capstan
