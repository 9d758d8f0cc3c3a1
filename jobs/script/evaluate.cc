#include "jobs/script/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "jobs/script/columns.h"
#include "jobs/script/session.h"
#include "jobs/script/words.h"

// Every figure is SQL over the engine's tables, so that they may be larger than memory. Lists of
// class scores go through a function of ours first, as no two engines agree on lists.

namespace capstan::script {
namespace {

// A probability of 0 would make the log loss infinite: it is taken for this, and 1 for 1 less this.
constexpr const char* kClip = "1e-15";

constexpr std::array<OptionDef, 4> kOptions = {{
    {.key = "label", .doc = "the column with what is true", .required = true},
    {.key = "prediction",
     .standard = "prediction",
     .doc = "the column with what the model says: a number, a probability of 1, the index of a "
            "class, or a list of one score per class"},
    {.key = "metric",
     .type = OptionType::kChoice,
     .doc =
         "one of them; all that apply if it is not given. The log loss takes probabilities below "
         "1e-15 for 1e-15",
     .choices = "accuracy|auc|logLoss|rmse"},
    {.key = "threshold",
     .type = OptionType::kNumber,
     .standard = "0.5",
     .doc = "from which probability on a row counts as 1"},
}};

double number(const Cell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  if (const auto* value = std::get_if<int64_t>(&cell)) return double(*value);
  if (const auto* value = std::get_if<Number>(&cell)) return std::stod(value->digits);
  if (const auto* value = std::get_if<bool>(&cell)) return *value;
  return std::nan("");
}

// What is known of the two columns before anything is computed.
struct Facts {
  int64_t rows = 0, used = 0;
  double least_label = 0, most_label = 0, least = 0, most = 0;
  bool whole_labels = false, whole = false;  // only whole numbers
  int64_t width = 0;                         // of lists; 0: single numbers
  double least_score = 0, worst_sum = 0;     // of lists: the most that a sum is away from 1

  bool binary() const { return whole_labels && least_label >= 0 && most_label <= 1; }
  bool classes() const { return whole_labels && least_label >= 0; }
  bool probabilities() const {
    if (width) return least_score >= 0 && worst_sum < 1e-3;
    return least >= 0 && most <= 1;
  }
};

class Evaluation {
 public:
  explicit Evaluation(const AlgorithmCall& call) : call_(call), engine_(call.session.engine) {}
  ~Evaluation() {
    for (const std::string& table : made_) {
      try {
        engine_.drop(table);
      } catch (const Error&) {  // it goes with the script
      }
    }
  }

  Rows run() {
    make_pairs();
    learn_facts();
    Rows out;
    out.columns = {{"metric", "VARCHAR"}, {"value", "DOUBLE"}};
    for (const Metric& metric : kMetrics) {
      if (!wanted(metric)) continue;
      out.rows.push_back({std::string(metric.name), (this->*metric.compute)()});
    }
    if (out.rows.empty())
      throw invalid_argument("no metric applies to '{}' and '{}'", label_.name, prediction_.name);
    out.total = int64_t(out.rows.size());
    return out;
  }

 private:
  struct Metric {
    std::string_view name;
    // What is missing, or nothing.
    std::string (Evaluation::*lack)() const;
    double (Evaluation::*compute)();
  };
  static const std::array<Metric, 4> kMetrics;

  bool wanted(const Metric& metric) const {
    const std::string asked = call_.options.text("metric");
    if (!asked.empty() && !same_word(asked, metric.name)) return false;
    const std::string lack = (this->*metric.lack)();
    if (lack.empty()) return true;
    if (asked.empty()) return false;
    throw error_at(call_.options.place_of("metric"), Code::kInvalidArgument,
                   fmt::format("{} needs {}", metric.name, lack));
  }

  Column column(std::string_view option) const {
    try {
      return get_column(engine_.columns(call_.table), call_.options.text(option));
    } catch (const Error& error) {
      throw error_at(call_.options.place_of(option), error);
    }
  }

  std::string select(const std::string& sql) {
    const std::string table = "capstan_evaluate_" + call_.session.fresh_name();
    engine_.select(sql, table);
    made_.push_back(table);
    return table;
  }

  double figure(const std::string& sql) { return number(engine_.query(sql, 1).rows.at(0).at(0)); }

  // --- Label and prediction as numbers y and p ---------------------------------------------------

  void make_pairs() {
    label_ = column("label");
    prediction_ = column("prediction");
    const std::string y = fmt::format("cast({} as double)", quoted_name(label_.name));
    const std::string p = quoted_name(prediction_.name);
    const std::string from = fmt::format("from {} where {} is not null and {} is not null",
                                         quoted_name(call_.table), quoted_name(label_.name), p);
    facts_.rows = int64_t(figure("select count(*) from " + quoted_name(call_.table)));
    if (is_list(prediction_)) return make_pairs_of_lists(y, p, from);
    pairs_ = select(fmt::format("select {} as y, cast({} as double) as p {}", y, p, from));
  }

  // p is the class of the best score, score that of the label.
  void make_pairs_of_lists(const std::string& y, const std::string& p, const std::string& from) {
    facts_.width = list_width(engine_, call_.table, prediction_.name);
    const std::string name =
        fmt::format("{}scores_{}", kOwnFunctionPrefix, call_.session.fresh_name());
    engine_.add_function(score_function(name));
    const std::string scored =
        select(fmt::format("select {} as y, {}({}, {}) as s {}", y, name, p, y, from));
    pairs_ =
        select(fmt::format("select y, s.best as p, s.score as score, s.total as total, "
                           "s.least as least, s.second as second from {} where s.best is not null",
                           scored));
  }

  Function score_function(const std::string& name) const {
    Function function;
    function.name = name;
    function.arguments = {{prediction_.name, DType::kDouble, facts_.width},
                          {label_.name, DType::kDouble, 0}};
    for (const char* result : {"best", "score", "total", "least", "second"})
      function.results.push_back({result, DType::kDouble, 0});
    function.call = [width = facts_.width](const std::vector<Tensor>& arguments) {
      return scores(arguments, width);
    };
    return function;
  }

  static std::vector<Tensor> scores(const std::vector<Tensor>& arguments, int64_t width) {
    const int64_t rows = arguments[1].size();
    std::vector<Tensor> out;
    for (int i = 0; i < 5; ++i) out.emplace_back(DType::kDouble, Shape{rows});
    for (int64_t r = 0; r < rows; ++r) {
      const std::span row(arguments[0].data<double>() + r * width, size_t(width));
      const double label = arguments[1].data<double>()[r];
      const bool known = label >= 0 && label < double(width);
      double total = 0;
      for (double score : row) total += score;
      out[0].data<double>()[r] = double(std::ranges::max_element(row) - row.begin());
      out[1].data<double>()[r] = known ? row[size_t(label)] : 0;
      out[2].data<double>()[r] = total;
      out[3].data<double>()[r] = *std::ranges::min_element(row);
      out[4].data<double>()[r] = width > 1 ? row[1] : row[0];
    }
    return out;
  }

  void learn_facts() {
    const std::string lists =
        facts_.width ? ", min(least), max(abs(total - 1))" : ", min(p), min(p)";
    const Rows rows =
        engine_.query(fmt::format("select count(*), min(y), max(y), min(p), max(p), "
                                  "min(case when y = floor(y) then 1 else 0 end), "
                                  "min(case when p = floor(p) then 1 else 0 end){} from {}",
                                  lists, pairs_),
                      1);
    const std::vector<Cell>& f = rows.rows.at(0);
    facts_.used = int64_t(number(f[0]));
    if (facts_.used == 0) throw invalid_argument("no row has both a label and a prediction");
    facts_.least_label = number(f[1]), facts_.most_label = number(f[2]);
    facts_.least = number(f[3]), facts_.most = number(f[4]);
    facts_.whole_labels = number(f[5]) == 1, facts_.whole = number(f[6]) == 1;
    facts_.least_score = number(f[7]), facts_.worst_sum = number(f[8]);
    if (facts_.used < facts_.rows) {
      call_.session.listener.note(
          fmt::format("{} of {} rows have no label or no prediction: left out",
                      facts_.rows - facts_.used, facts_.rows));
    }
    check_numbers();
  }

  void check_numbers() const {
    if (std::isnan(facts_.most) || std::isnan(facts_.most_label) ||
        (facts_.width && std::isnan(facts_.worst_sum)))
      throw invalid_argument("'{}' or '{}' is not a number (NaN) in some rows", label_.name,
                             prediction_.name);
    if (facts_.width && facts_.classes() && facts_.most_label >= double(facts_.width)) {
      throw invalid_argument("the label {} has no score: '{}' holds lists of {}", facts_.most_label,
                             prediction_.name, facts_.width);
    }
  }

  // --- The metrics -------------------------------------------------------------------------------

  std::string lacks_classes() const {
    if (!facts_.classes()) return "labels that are classes: 0, 1, 2, …";
    const bool choice = facts_.width || facts_.whole || (facts_.binary() && facts_.probabilities());
    return choice ? "" : "predictions that are classes, or probabilities of 1";
  }
  std::string lacks_order() const {
    if (!facts_.binary() || facts_.least_label == facts_.most_label)
      return "labels that are 0 and 1, and some of both";
    return facts_.width > 2 ? "a score of class 1, not lists of more" : "";
  }
  std::string lacks_probabilities() const {
    if (facts_.width && !facts_.classes()) return "labels that are classes: 0, 1, 2, …";
    if (!facts_.width && !facts_.binary()) return "labels that are 0 or 1";
    return facts_.probabilities() ? ""
                                  : "probabilities: from 0 to 1, those of a list summing up to 1";
  }
  std::string lacks_numbers() const { return facts_.width ? "single numbers, not lists" : ""; }

  double accuracy() {
    const bool rounds = !facts_.width && !facts_.whole;
    const std::string said = rounds ? fmt::format("case when p >= {} then 1 else 0 end",
                                                  call_.options.number("threshold"))
                                    : "p";
    return figure(
        fmt::format("select avg(case when y = ({}) then 1.0 else 0.0 end) from {}", said, pairs_));
  }

  // Over pairs of a 1 and a 0: how often the 1 has the greater score, a tie counting as half.
  double auc() {
    return figure(fmt::format(
        "select sum(ones * (below + zeros / 2.0)) / (sum(ones) * sum(zeros)) from ("
        "select ones, zeros, coalesce(sum(zeros) over (order by score rows between unbounded "
        "preceding and 1 preceding), 0) as below from ("
        "select {} as score, cast(sum(y) as double) as ones, cast(sum(1 - y) as double) as zeros "
        "from {} group by 1) as grouped) as running",
        facts_.width == 2 ? "second" : "p", pairs_));
  }

  double log_loss() {
    const std::string score = facts_.width ? "score" : "case when y = 1 then p else 1 - p end";
    return figure(fmt::format(
        "select avg(-ln(case when q < {0} then {0} when q > 1 - {0} then 1 - {0} else q end)) from "
        "(select {1} as q from {2}) as chances",
        kClip, score, pairs_));
  }

  double rmse() {
    return figure(fmt::format("select sqrt(avg((y - p) * (y - p))) from {}", pairs_));
  }

  const AlgorithmCall& call_;
  Engine& engine_;
  Column label_, prediction_;
  std::string pairs_;
  std::vector<std::string> made_;
  Facts facts_;
};

const std::array<Evaluation::Metric, 4> Evaluation::kMetrics = {{
    {"accuracy", &Evaluation::lacks_classes, &Evaluation::accuracy},
    {"auc", &Evaluation::lacks_order, &Evaluation::auc},
    {"logLoss", &Evaluation::lacks_probabilities, &Evaluation::log_loss},
    {"rmse", &Evaluation::lacks_numbers, &Evaluation::rmse},
}};

void evaluate(const AlgorithmCall& call) {
  const Rows rows = Evaluation(call).run();
  call.session.engine.define(call.result, rows);
}

}  // namespace

const Algorithm kEvaluate = {
    .name = "Evaluate",
    .doc =
        "How good predictions are: accuracy, AUC, log loss and RMSE, as a table of metric and "
        "value.",
    .train = evaluate,
    .train_options = kOptions,
};

}  // namespace capstan::script
