#include "answers/samples.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "graph/attr_kind.h"

namespace capstan {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_input(std::string_view word) { return word.find('=') == word.npos; }

std::vector<bool> references(const OpDef& row, size_t inputs) {
  std::vector<bool> refs(inputs, false);
  for (size_t i = 0; i < row.inputs.size() && i < inputs; ++i)
    refs[i] = arg_type(row, row.inputs[i]).ref;
  return refs;
}

// "float[2,3](0,1)" taken apart.
struct Word {
  explicit Word(const std::string& text)
      : type(text.substr(0, text.find('['))), rest(text.substr(text.find(']') + 1)) {
    std::istringstream in(text.substr(type.size() + 1));
    for (int64_t dim; in >> dim; in.ignore(1)) dims.push_back(dim);
  }
  std::string text() const { return fmt::format("{}[{}]{}", type, fmt::join(dims, ","), rest); }
  std::string type, rest;
  std::vector<int64_t> dims;
};

}  // namespace

std::vector<SampleInput> sample_inputs(const OpDef& row, std::string_view sample) {
  std::vector<SampleInput> inputs;
  for (Tensor& value : parse_sample(row, sample).inputs) inputs.push_back({std::move(value)});
  size_t at = 0;
  for (const std::string& word : words_of(sample)) {
    if (is_input(word)) inputs.at(at++).free = word.find_first_of("{(") == word.npos;
  }
  // Lists of one sample are equally long.
  const auto lists = size_t(std::ranges::count_if(
      row.inputs, [&](const ArgDef& arg) { return arg_type(row, arg).is_list(); }));
  const size_t in_lists = inputs.size() + lists - row.inputs.size();
  at = 0;
  for (const ArgDef& arg : row.inputs) {
    const ArgType type = arg_type(row, arg);
    const size_t count = type.is_list() ? in_lists / lists : 1;
    for (size_t i = 0; i < count; ++i) inputs.at(at++).type_attr = type.type_attr;
  }
  return inputs;
}

std::optional<std::string> grown(std::string_view sample, int64_t elements) {
  int64_t from = 0, to = 0;
  std::string text;
  for (const std::string& given : words_of(sample)) {
    text += text.empty() ? "" : " ";
    if (!is_input(given) || given.find('{') != given.npos) {
      text += given;
      continue;
    }
    Word word(given);
    auto last = std::find_if(word.dims.rbegin(), word.dims.rend(), [](int64_t d) { return d > 1; });
    if (from == 0 && last != word.dims.rend()) {
      from = *last;
      double others = 1;
      for (int64_t dim : word.dims) others *= dim == from ? 1 : double(dim);
      const auto times = double(std::ranges::count(word.dims, from));
      to = int64_t(std::pow(double(elements) / others, 1 / times)) + 1;
      to += to % 2;  // for rows that cut it in halves
    }
    std::ranges::replace(word.dims, from, to);
    text += word.text();
  }
  return from == 0 ? std::nullopt : std::optional(text);
}

void ask(Question& q, const OpDef& row, const Sample& sample, Origin origin, Detour detour) {
  const std::vector<bool> refs = references(row, sample.inputs.size());
  std::vector<Output> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    inputs.push_back(refs[i] ? q.add_variable(sample.inputs[i])
                             : q.detour(q.add(sample.inputs[i], origin), detour));
  }
  Node& node = q.graph.add_node(row.name, inputs, sample.attrs);
  for (int i = 0; i < node.outputs(); ++i) {
    if (node.output_type(i) == DType::kResource) continue;
    Output after = q.detour(node.output(i), detour);
    q.fetches.push_back(q.add("Identity", {after}));
    q.fetches.push_back(q.add("IdentityN", {after}));
  }
}

}  // namespace capstan
