#include "jobs/script/model_function.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/nearest.h"
#include "jobs/script/columns.h"
#include "jobs/script/tensor_rows.h"

namespace capstan::script {
namespace {

LoadOptions load_options(const ModelChoice& choice) {
  LoadOptions options;
  options.signature = choice.signature;
  for (const Binding& binding : choice.inputs) {
    if (binding.value) {
      options.constants[binding.tensor] = *binding.value;
    } else {
      options.inputs.push_back(binding.tensor);
    }
  }
  for (const Binding& binding : choice.outputs) options.outputs.push_back(binding.tensor);
  return options;
}

// "layer/x:0" -> "x".
std::string short_name(const std::string& tensor) {
  const std::string node = tensor.substr(0, tensor.rfind(':'));
  return node.substr(node.rfind('/') + 1);
}

std::string described(const ModelTensor& tensor) {
  return fmt::format("the model's input '{}' ({} {})", tensor.name, dtype_name(tensor.dtype),
                     tensor.shape);
}

// The shape of one row of the tensor, which is given `width` numbers (0: one, not in a list).
Shape row_shape(const ModelTensor& tensor, int64_t width) {
  const Shape& shape = tensor.shape;
  if (!shape.known_rank()) return width ? Shape{width} : Shape{};
  Shape row(shape.dims().subspan(1));
  int64_t known = 1, open = -1;
  for (int i = 0; i < row.rank(); ++i) {
    if (row[i] >= 0) known *= row[i];
    if (row[i] < 0 && open >= 0)
      throw invalid_argument("{} leaves open more than one dimension of a row", described(tensor));
    if (row[i] < 0) open = i;
  }
  const int64_t given = std::max<int64_t>(width, 1);
  if (open >= 0 && known > 0 && given % known == 0) row[int(open)] = given / known;
  if (row.fully_defined() && row.elements() == given) return row;
  throw invalid_argument(
      "{} takes {} per row, but it is given {}", described(tensor),
      row.fully_defined() ? fmt::format("{} numbers", row.elements()) : row.text(), given);
}

// How many numbers a row of it has: 0 for one that is not in a list, -1 where that is open.
int64_t natural_width(const ModelTensor& tensor) {
  if (!tensor.shape.known_rank()) return -1;
  const Shape row(tensor.shape.dims().subspan(1));
  if (!row.fully_defined()) return -1;
  return row.elements() == 1 ? 0 : row.elements();
}

void check_takes_rows(const ModelTensor& tensor) {
  if (!tensor.shape.known_rank()) return;
  if (tensor.shape.rank() == 0) {
    throw invalid_argument("{} is one value for all rows: give it, as inputs=\"{}=1\"",
                           described(tensor), tensor.name);
  }
  if (tensor.shape[0] >= 0) {
    throw invalid_argument("{} takes exactly {} rows at a time; train with a batch of any size",
                           described(tensor), tensor.shape[0]);
  }
}

void check_no_variable(const LoadedModel& model) {
  for (const ModelTensor& output : model.outputs()) {
    const std::string node = output.tensor.substr(0, output.tensor.rfind(':'));
    if (std::ranges::find(model.variables(), node) == model.variables().end()) continue;
    throw invalid_argument(
        "the model's output '{}' is a variable, the same for every row: name what the model "
        "computes of its inputs",
        output.name);
  }
}

}  // namespace

ModelFunction::ModelFunction(const ModelChoice& choice, const std::vector<Column>* columns,
                             const std::function<int64_t(const std::string&)>& width_of)
    : model_(std::make_shared<LoadedModel>(
          LoadedModel::open(posix_files(), choice.folder, load_options(choice)))) {
  check_no_variable(*model_);
  bind(choice, columns, width_of);
  try_out(choice);
}

namespace {

// One input after the other finds its columns, and adds its arguments.
class Binder {
 public:
  Binder(const ModelChoice& choice, const LoadedModel& model, const std::vector<Column>* columns,
         const std::function<int64_t(const std::string&)>& width_of)
      : choice_(choice), columns_(columns), width_of_(width_of) {
    for (const ModelTensor& tensor : model.inputs()) {
      const bool named = find_binding(tensor) && !find_binding(tensor)->columns.empty();
      if (!named && !choice.features.empty()) unnamed_.push_back(tensor.name);
    }
    if (unnamed_.size() > 1) {
      throw invalid_argument(
          "features is for one input, but {} are not named; use inputs=\"{}=[…]\"", unnamed_.size(),
          unnamed_[0]);
    }
  }

  InputColumns bind(const ModelTensor& tensor, std::vector<FunctionValue>& arguments) const {
    check_takes_rows(tensor);
    InputColumns input = columns_of(tensor);
    if (input.side_by_side) {
      for (std::string& column : input.columns) {
        if (columns_) column = get_column(*columns_, column).name;
        arguments.push_back({column, tensor.dtype, 0});
      }
      input.row = row_shape(tensor, int64_t(input.columns.size()));
      return input;
    }
    const Column* known = columns_ ? &get_column(*columns_, input.columns[0]) : nullptr;
    if (known) input.columns[0] = known->name;
    const int64_t width = width_for(tensor, input.columns[0], known);
    input.row = row_shape(tensor, width);
    arguments.push_back({input.columns[0], tensor.dtype, width});
    return input;
  }

 private:
  const Binding* find_binding(const ModelTensor& tensor) const {
    for (const Binding& binding : choice_.inputs) {
      const bool same = binding.tensor == tensor.name || binding.tensor == tensor.tensor ||
                        binding.tensor + ":0" == tensor.tensor;
      if (same) return &binding;
    }
    return nullptr;
  }

  InputColumns columns_of(const ModelTensor& tensor) const {
    const Binding* binding = find_binding(tensor);
    if (binding && !binding->columns.empty())
      return {tensor.name, binding->columns, binding->side_by_side, {}};
    if (!choice_.features.empty())
      return {tensor.name, choice_.features, choice_.features.size() > 1 || !list_feature(), {}};
    return {tensor.name, {column_named(tensor)}, false, {}};
  }

  // features="c" of a column of lists is that column, not a row of one list.
  bool list_feature() const {
    const Column* column = columns_ ? find_column(*columns_, choice_.features[0]) : nullptr;
    return column && is_list(*column);
  }

  // The column whose name is the input's, whole or without its scopes.
  std::string column_named(const ModelTensor& tensor) const {
    const std::string names[] = {tensor.name, tensor.tensor.substr(0, tensor.tensor.rfind(':')),
                                 short_name(tensor.tensor)};
    if (!columns_) return short_name(tensor.name);
    for (const std::string& name : names) {
      if (const Column* found = find_column(*columns_, name)) return found->name;
    }
    throw invalid_argument(
        "{} finds no column '{}' in the table{}; name one: inputs=\"{}=column\", or its columns: "
        "features=\"a,b\"",
        described(tensor), names[2], has_columns(*columns_), tensor.name);
  }

  int64_t width_for(const ModelTensor& tensor, const std::string& column,
                    const Column* known) const {
    const int64_t width = natural_width(tensor);
    if (known && !is_list(*known)) return 0;
    if (known && width <= 0) return width_of_ ? width_of_(column) : 1;
    if (width >= 0) return width;
    throw invalid_argument(
        "{} leaves open how many numbers a row has: name them, as features=\"a,b\"",
        described(tensor));
  }

  const ModelChoice& choice_;
  const std::vector<Column>* columns_;
  const std::function<int64_t(const std::string&)>& width_of_;
  std::vector<std::string> unnamed_;
};

// Arguments as they come from the engine to inputs as the model takes them.
std::vector<Tensor> model_inputs(std::span<const InputColumns> inputs,
                                 std::span<const Tensor> arguments) {
  std::vector<Tensor> values;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto own = arguments.subspan(next, inputs[i].columns.size());
    next += own.size();
    const Tensor value = inputs[i].side_by_side ? side_by_side(own) : own[0];
    Shape shape{own[0].shape()[0]};
    for (int64_t dim : inputs[i].row.dims()) shape.push_back(dim);
    values.push_back(value.reshaped(shape));
  }
  return values;
}

Shape with_rows(int64_t rows, int64_t width) { return width ? Shape{rows, width} : Shape{rows}; }

std::vector<Tensor> answers(std::vector<Tensor> outputs, std::span<const FunctionValue> results,
                            int64_t rows) {
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = outputs[i].reshaped(with_rows(rows, results[i].width));
  return outputs;
}

std::string result_name(const ModelTensor& output, const Binding* binding, bool only) {
  if (binding && !binding->columns.empty()) return binding->columns[0];
  return only ? "prediction" : short_name(output.name);
}

}  // namespace

void ModelFunction::bind(const ModelChoice& choice, const std::vector<Column>* columns,
                         const std::function<int64_t(const std::string&)>& width_of) {
  const Binder binder(choice, *model_, columns, width_of);
  for (const ModelTensor& tensor : model_->inputs())
    inputs_.push_back(binder.bind(tensor, arguments_));
  if (inputs_.empty())
    throw invalid_argument("the outputs need no input: there is nothing to predict");
}

std::vector<Tensor> ModelFunction::answers_to_zeros(int64_t rows) const {
  std::vector<Tensor> zeros;
  for (const FunctionValue& argument : arguments_) {
    zeros.emplace_back(argument.dtype, with_rows(rows, argument.width));
    if (argument.dtype != DType::kString) std::memset(zeros.back().raw(), 0, zeros.back().bytes());
  }
  std::vector<Tensor> values = model_->run(model_inputs(inputs_, zeros));
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = values[i].shape();
    if (shape.rank() > 0 && shape[0] == rows) continue;
    throw invalid_argument("the model's output '{}' gives {} for {} rows, not one answer per row",
                           model_->outputs()[i].name, shape, rows);
  }
  return values;
}

// Two numbers of rows: what has one of them for another reason has not the other one.
void ModelFunction::try_out(const ModelChoice& choice) {
  constexpr int64_t kRows = 2;
  answers_to_zeros(kRows + 1);
  const std::vector<Tensor> values = answers_to_zeros(kRows);
  std::set<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) {
    const ModelTensor& output = model_->outputs()[i];
    const Binding* binding = choice.outputs.empty() ? nullptr : &choice.outputs[i];
    const int64_t width = values[i].shape().elements() / kRows;
    results_.push_back(
        {result_name(output, binding, values.size() == 1), output.dtype, width == 1 ? 0 : width});
    if (!names.insert(results_.back().name).second)
      throw invalid_argument("two outputs are called '{}': name them, as outputs=\"tensor=name\"",
                             results_.back().name);
  }
}

std::vector<std::string> ModelFunction::argument_columns() const {
  std::vector<std::string> names;
  for (const FunctionValue& argument : arguments_) names.push_back(argument.name);
  return names;
}

Function ModelFunction::function(std::string name) const {
  auto call = [model = model_, inputs = inputs_,
               results = results_](const std::vector<Tensor>& arguments) {
    const int64_t rows = arguments[0].shape()[0];
    return answers(model->run(model_inputs(inputs, arguments)), results, rows);
  };
  return {std::move(name), arguments_, results_, std::move(call)};
}

}  // namespace capstan::script
