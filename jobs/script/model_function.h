#pragma once

// A trained model as a function over columns: which columns each input takes, and of what shape the
// answers are.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/script/bindings.h"
#include "jobs/script/engine.h"
#include "train/loaded_model.h"

namespace capstan::script {

struct ModelChoice {
  std::string folder;
  std::string signature;
  std::vector<Binding> inputs, outputs;
  std::vector<std::string> features;  // columns for the one input that is not named otherwise
};

// What an input takes of each row.
struct InputColumns {
  std::string input;                 // the model's word
  std::vector<std::string> columns;  // several, or in brackets: put side by side
  bool side_by_side = false;
  Shape row;  // the shape of one row of the tensor
};

class ModelFunction {
 public:
  // `columns`: of the table that it is for, each input then takes one of them; nothing: of no table
  // yet, names are free. `width_of` tells how long the lists of a column are, where the model
  // leaves it open. Runs the model twice, on zeros. Throws InvalidArgument where an input finds no
  // column, takes all rows at once or text, or where an answer is not one per row.
  ModelFunction(const ModelChoice& choice, const std::vector<Column>* columns,
                const std::function<int64_t(const std::string& column)>& width_of = {});

  const LoadedModel& model() const { return *model_; }
  const std::vector<InputColumns>& inputs() const { return inputs_; }
  const std::vector<FunctionValue>& results() const { return results_; }
  // Columns in the order of the arguments.
  std::vector<std::string> argument_columns() const;

  Function function(std::string name) const;

 private:
  void bind(const ModelChoice& choice, const std::vector<Column>* columns,
            const std::function<int64_t(const std::string&)>& width_of);
  std::vector<Tensor> answers_to_zeros(int64_t rows) const;
  void try_out(const ModelChoice& choice);

  std::shared_ptr<const LoadedModel> model_;
  std::vector<InputColumns> inputs_;
  std::vector<FunctionValue> arguments_, results_;
};

}  // namespace capstan::script
