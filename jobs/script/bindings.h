#pragma once

// The options `inputs` and `outputs` of prediction: which column, or value, goes with which tensor.
//
//   inputs="x"                 the input x, by the column of that name
//   inputs="x=features"        … by the column features
//   inputs="x=[age, height]"   … by several columns, side by side
//   inputs="x, keep_prob=1"    … and keep_prob is 1 in every row
//   outputs="p=probability"    the tensor p becomes the column probability
//
// Left of `=` stands a name of the model's signature, or a tensor: `x`, `layer/x:0`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::script {

struct Binding {
  std::string tensor;
  std::vector<std::string> columns;  // none: that of the tensor's name
  bool side_by_side = false;         // written in brackets
  std::optional<double> value;       // instead of columns
};

// Throws InvalidArgument that quotes the piece: nothing left of `=`, a bracket that stays open, a
// tensor twice.
std::vector<Binding> parse_bindings(std::string_view text);
// "a, b": names between commas, none of them empty.
std::vector<std::string> parse_names(std::string_view text);

}  // namespace capstan::script
