#include "build/optimizer_row.h"

#include <algorithm>
#include <optional>

#include "build/row_text.h"

namespace capstan {
namespace {

bool is_number(const RowParameter& parameter) {
  return parameter.how == "number" || parameter.how == "positive";
}

// The parameters of a row and what a program gave for them.
class Settings {
 public:
  Settings(const OptimizerDef& row, std::vector<Setting> given)
      : parameters_(row_parameters(row.python_class)), given_(std::move(given)) {
    if (given_.size() != parameters_.size()) {
      throw invalid_argument("{} takes {} settings, not {}", row.name, parameters_.size(),
                             given_.size());
    }
    for (size_t i = 0; i < given_.size(); ++i) check(i);
  }

  const std::vector<RowParameter>& parameters() const { return parameters_; }
  const Setting& at(size_t i) const { return given_[i]; }

  template <class T>
  const T& get(std::string_view name) const {
    auto is_named = [&](const RowParameter& p) { return p.name == name; };
    auto found = std::ranges::find_if(parameters_, is_named);
    if (found == parameters_.end()) throw internal_error("there is no parameter '{}'", name);
    return std::get<T>(given_[found - parameters_.begin()]);
  }
  double number(std::string_view name) const { return std::get<double>(get<Hyper>(name)); }

 private:
  void check(size_t i) const {
    if (!is_number(parameters_[i])) return;
    const double* value = std::get_if<double>(&std::get<Hyper>(given_[i]));
    if (!value) throw invalid_argument("{} is a number, no tensor", parameters_[i].name);
    if (parameters_[i].how == "positive" && !(*value > 0)) {
      throw invalid_argument("{} must be positive: {}", parameters_[i].name, *value);
    }
  }

  std::vector<RowParameter> parameters_;
  std::vector<Setting> given_;
};

VariableRef make_power(Graph& graph, const Hyper& start, std::string_view name) {
  VariableOptions options;
  options.name = std::string(name);
  if (const Output* tensor = std::get_if<Output>(&start)) {
    return make_variable(
        graph, [&] { return *tensor; }, options);
  }
  return make_variable(graph, Tensor::scalar<float>(float(std::get<double>(start))), options);
}

class RowOptimizer final : public Optimizer {
 public:
  RowOptimizer(const OptimizerDef& row, Settings settings)
      : Optimizer(settings.get<std::string>("name"), settings.get<bool>("use_locking")),
        row_(row),
        settings_(std::move(settings)) {}

  void create_slots(Graph& graph, std::span<const VariableRef> variables) override {
    if (powers_.empty() && row_.powers.size() > 0) create_powers(graph, variables);
    for (const VariableRef& v : variables) {
      for (const SlotDef& slot : row_.slots) create_slot(graph, v, slot);
    }
  }

  void prepare(Graph& graph) override {
    for (size_t i = 0; i < settings_.parameters().size(); ++i) {
      const RowParameter& parameter = settings_.parameters()[i];
      const Hyper* value = std::get_if<Hyper>(&settings_.at(i));
      if (!value || is_number(parameter)) continue;
      tensors_[parameter.name] = as_tensor(graph, *value, DType::kFloat, parameter.name);
    }
  }

  Node* apply_dense(Graph& graph, Output gradient, const VariableRef& variable) override;

  Node* finish(Graph& graph, std::span<Node* const> updates, std::string_view name) override {
    if (powers_.empty()) return Optimizer::finish(graph, updates, name);
    std::vector<Node*> all(updates.begin(), updates.end());
    {
      auto after = graph.control_dependencies(all);
      auto with = graph.colocate_with(powers_.front().ref.node);
      for (size_t i = 0; i < powers_.size(); ++i) all.push_back(advance(graph, i));
    }
    return &group(graph, all, name);
  }

 private:
  class Context;

  // The powers live with the variable whose name comes first, as in TensorFlow.
  void create_powers(Graph& graph, std::span<const VariableRef> variables) {
    const VariableRef& first =
        *std::ranges::min_element(variables, {}, [](const VariableRef& v) { return v.name(); });
    auto with = graph.colocate_with(first.ref.node);
    for (const PowerDef& power : row_.powers) {
      powers_.push_back(keep(make_power(graph, settings_.get<Hyper>(power.of), power.name)));
    }
  }

  void create_slot(Graph& graph, const VariableRef& v, const SlotDef& def) {
    const std::string kind(def.kind);
    if (def.initial.empty()) {
      zeros_slot(graph, v, kind, name());
    } else if (!slot(kind, v)) {
      const double start = settings_.number(def.initial);
      auto initial = [&] { return graph.constant(filled(v.dtype(), v.shape(), start)); };
      keep_slot(kind, v, make_slot(graph, v, name(), initial, slot_scope()));
    }
  }

  // What prepare() made of a parameter; a subclass may have overridden that.
  Output tensor(std::string_view name) const {
    auto found = tensors_.find(name);
    if (found != tensors_.end()) return found->second;
    throw failed_precondition(
        "{}: '{}' was not prepared; a _prepare() that a program overrides has to call its base's",
        row_.name, name);
  }

  const VariableRef* power(std::string_view name) const {
    for (size_t i = 0; i < powers_.size(); ++i) {
      if (row_.powers[i].name == name) return &powers_[i];
    }
    return nullptr;
  }

  Node* advance(Graph& graph, size_t i) {
    Output inputs[] = {powers_[i].read, tensor(row_.powers[i].of)};
    Output next = graph.add_node("Mul", inputs, {}, "mul").output(0);
    return graph.add("Assign", {powers_[i].ref, next}, {{"use_locking", use_locking()}}).node;
  }

  const OptimizerDef& row_;
  const Settings settings_;
  std::map<std::string_view, Output> tensors_;  // the parameters
  std::vector<VariableRef> powers_;             // as the row has them
};

class RowOptimizer::Context final : public ApplyContext {
 public:
  Context(RowOptimizer& own, Graph& graph, Output gradient, const VariableRef& variable)
      : own_(own), graph_(graph), gradient_(gradient), variable_(variable) {}

  Node& apply(const ApplyDef& how) const {
    if (how.build) return how.build(*this);
    std::vector<Output> inputs;
    for (std::string_view rest = how.inputs; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      inputs.push_back(input(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return graph_.add_node(how.op, inputs, flags());
  }

  Graph& graph() const override { return graph_; }
  Output gradient() const override { return gradient_; }
  const VariableRef& variable() const override { return variable_; }
  Output parameter(std::string_view name) const override {
    return cast_to(own_.tensor(name), variable_.dtype());
  }
  const VariableRef& slot(std::string_view kind) const override {
    return *own_.slot(std::string(kind), variable_);
  }
  Output power(std::string_view name) const override {
    return cast_to(own_.power(name)->read, variable_.dtype());
  }
  bool use_locking() const override { return own_.use_locking(); }

 private:
  Output input(std::string_view name) const {
    if (name == "var") return variable_.ref;
    if (name == "grad") return gradient_;
    if (!name.starts_with('@')) return parameter(name);
    name.remove_prefix(1);
    return own_.power(name) ? power(name) : slot(name).ref;
  }

  AttrMap flags() const {
    AttrMap attrs;
    for (size_t i = 0; i < own_.settings_.parameters().size(); ++i) {
      const bool* flag = std::get_if<bool>(&own_.settings_.at(i));
      if (flag) attrs.set(std::string(own_.settings_.parameters()[i].name), *flag);
    }
    return attrs;
  }

  RowOptimizer& own_;
  Graph& graph_;
  const Output gradient_;
  const VariableRef& variable_;
};

Node* RowOptimizer::apply_dense(Graph& graph, Output gradient, const VariableRef& variable) {
  return &Context(*this, graph, gradient, variable).apply(row_.dense);
}

}  // namespace

std::vector<const OptimizerDef*> all_optimizers() {
  std::vector<const OptimizerDef*> rows;
  for (OptimizerFamily family : optimizer_families()) {
    for (const OptimizerDef& row : family) rows.push_back(&row);
  }
  return rows;
}

const OptimizerDef& optimizer_called(std::string_view name) {
  for (const OptimizerDef* row : all_optimizers()) {
    if (row->name == name) return *row;
  }
  throw not_found("there is no optimizer '{}'", name);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerDef& row, std::vector<Setting> settings) {
  return std::make_unique<RowOptimizer>(row, Settings(row, std::move(settings)));
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, std::vector<Setting> settings) {
  return make_optimizer(optimizer_called(name), std::move(settings));
}

}  // namespace capstan
