#pragma once

// Graph building as formulas: `relu(matmul(x, w) + b)`. Each adds one node under the graph's
// current scopes; numbers become constants of the other operand's type.

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace capstan {

Output placeholder(Graph& graph, DType dtype, const Shape& shape,
                   std::string_view name = "Placeholder");
Output random_normal(Graph& graph, const Shape& shape, float stddev = 1, float mean = 0);
Output truncated_normal(Graph& graph, const Shape& shape, float stddev = 1, float mean = 0);

Output operator+(Output a, Output b);
Output operator-(Output a, Output b);
Output operator*(Output a, Output b);
Output operator/(Output a, Output b);
Output operator-(Output a);
Output operator+(Output a, float b);
Output operator-(Output a, float b);
Output operator*(Output a, float b);
Output operator/(Output a, float b);

Output matmul(Output a, Output b, bool transpose_a = false, bool transpose_b = false);
Output relu(Output x);
Output sigmoid(Output x);
Output tanh(Output x);
Output square(Output x);
Output log(Output x);
Output softmax(Output logits);
Output reshape(Output x, const Shape& shape);
Output cast(Output x, DType dtype);
Output equal(Output a, Output b);
Output argmax(Output x, int axis);
// Over these axes; over all when there are none.
Output reduce_sum(Output x, std::vector<int> axes = {});
Output reduce_mean(Output x, std::vector<int> axes = {});
// The loss of each row.
Output softmax_cross_entropy(Output logits, Output labels);
Output sparse_softmax_cross_entropy(Output logits, Output labels);

}  // namespace capstan
