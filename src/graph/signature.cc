#include "graph/signature.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "graph/attr_kind.h"

namespace capstan {
namespace {

// More outputs than any real op has; a count out of a file may be anything.
constexpr int64_t kMaxOutputs = 1 << 16;

class Fitter {
 public:
  Fitter(const OpDef& def, std::span<const Output> inputs, AttrMap& attrs)
      : def_(def), inputs_(inputs), attrs_(attrs) {}

  Signature fit() {
    check_given_attrs();
    fit_inputs();
    for (const AttrDef& attr : def_.attrs) fill_default(attr);
    fit_outputs();
    return std::move(signature_);
  }

  std::vector<DType> output_types() {
    check_given_attrs();
    for (const AttrDef& attr : def_.attrs) fill_default(attr);
    fit_outputs();
    return std::move(signature_.output_types);
  }

 private:
  void check_given_attrs() {
    std::vector<std::pair<std::string, Attr>> fitting;
    for (const auto& [name, value] : attrs_) {
      if (name.starts_with('_')) continue;
      const AttrDef* attr = find_attr(def_, name);
      if (!attr) throw invalid_argument("the op has no attr '{}'; it has {}", name, attr_names());
      fitting.emplace_back(name, fitting_attr(*attr, value));
    }
    for (auto& [name, value] : fitting) attrs_.set(name, std::move(value));
  }

  std::string attr_names() const {
    std::string names;
    for (const AttrDef& attr : def_.attrs)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", attr.name);
    return names.empty() ? "none" : names;
  }

  // The number of tensors that the argument takes, where the attrs given already say it.
  std::optional<int64_t> known_length(const ArgType& type) const {
    if (!type.is_list()) return 1;
    if (!type.count_attr.empty()) {
      if (attrs_.has(type.count_attr)) return attrs_.get<int64_t>(type.count_attr);
      return std::nullopt;
    }
    if (attrs_.has(type.list_attr)) return attrs_.get<std::vector<DType>>(type.list_attr).size();
    return std::nullopt;
  }

  // Tensors left for each argument of unknown length; they share one count, as no op has two.
  int64_t length_of_lists(const std::vector<ArgType>& types) const {
    int64_t known = 0, lists = 0;
    for (const ArgType& type : types) {
      std::optional<int64_t> length = known_length(type);
      // A count beyond the inputs is one too many, however large it says it is.
      known += std::clamp<int64_t>(length.value_or(0), 0, int64_t(inputs_.size()) + 1);
      lists += !length;
    }
    int64_t rest = int64_t(inputs_.size()) - known;
    if (rest < 0 || (lists == 0 && rest > 0) || (lists > 0 && rest % lists)) {
      throw invalid_argument("{} inputs were given, but the op takes {}", inputs_.size(), usage());
    }
    return lists ? rest / lists : 0;
  }

  std::string usage() const {
    std::string text = fmt::format("{} (", def_.inputs.size());
    for (const ArgDef& arg : def_.inputs) {
      text += fmt::format("{}{}: {}", text.back() == '(' ? "" : ", ", arg.name, arg.type);
    }
    return text + ")";
  }

  void fit_inputs() {
    std::vector<ArgType> types;
    for (const ArgDef& arg : def_.inputs) types.push_back(arg_type(def_, arg));
    int64_t length_of_unknown = length_of_lists(types);
    size_t next = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      int64_t length = known_length(types[i]).value_or(length_of_unknown);
      if (length < 0 || length > int64_t(inputs_.size() - next)) {
        throw invalid_argument("{} inputs were given, but the op takes {}", inputs_.size(),
                               usage());
      }
      if (!types[i].count_attr.empty()) set_checked(types[i].count_attr, length);
      fit_arg(types[i], def_.inputs[i].name, next, size_t(length));
      signature_.input_ranks.resize(next + size_t(length), def_.inputs[i].rank);
      next += size_t(length);
    }
  }

  void fit_arg(const ArgType& type, std::string_view arg, size_t first, size_t length) {
    bool infers_list = !type.list_attr.empty() && !attrs_.has(type.list_attr);
    std::vector<DType> inferred;
    for (size_t i = 0; i < length; ++i) {
      size_t at = first + i;
      DType actual = inputs_[at].dtype();
      if (infers_list) {
        inferred.push_back(actual);
      } else {
        expect(at, arg, type, i);
      }
      if (type.ref && !inputs_[at].is_ref()) {
        throw invalid_argument(
            "input {} ('{}') must be a variable's reference, but '{}' is a plain value", at, arg,
            inputs_[at].name());
      }
      signature_.input_refs.push_back(type.ref);
    }
    if (infers_list) set_checked(type.list_attr, std::move(inferred));
  }

  // The type of input `at`, the i-th of its argument, is the one that the row and the inputs before
  // it ask for; the first to use an attr decides it.
  void expect(size_t at, std::string_view arg, const ArgType& type, size_t i) {
    DType actual = inputs_[at].dtype();
    DType expected = type.fixed;
    std::string reason = "as the op asks for it";
    if (!type.list_attr.empty()) {
      expected = attrs_.get<std::vector<DType>>(type.list_attr)[i];
      reason = fmt::format("by its attr {}", type.list_attr);
    } else if (!type.type_attr.empty()) {
      if (!attrs_.has(type.type_attr)) {
        set_checked(type.type_attr, actual);
        decided_by_.set(std::string(type.type_attr), fmt::format("input {} ('{}')", at, arg));
        return;
      }
      expected = attrs_.get<DType>(type.type_attr);
      bool inferred = decided_by_.has(type.type_attr);
      reason = inferred
                   ? fmt::format("the type of {}", decided_by_.get<std::string>(type.type_attr))
                   : fmt::format("by its attr {}", type.type_attr);
    }
    if (actual == expected) return;
    throw invalid_argument("input {} ('{}') has type {}, expected {} ({}); the value is '{}'", at,
                           arg, dtype_name(actual), dtype_name(expected), reason,
                           inputs_[at].name());
  }

  void set_checked(std::string_view name, Attr value) {
    attrs_.set(std::string(name), fitting_attr(*find_attr(def_, name), std::move(value)));
  }

  void fill_default(const AttrDef& attr) {
    if (attrs_.has(attr.name)) return;
    std::optional<Attr> value = default_attr(attr);
    if (!value) {
      throw invalid_argument("the attr '{}' ({}) is missing and does not follow from the inputs",
                             attr.name, attr.kind);
    }
    attrs_.set(std::string(attr.name), std::move(*value));
  }

  void fit_outputs() {
    for (const ArgDef& arg : def_.outputs) {
      ArgType type = arg_type(def_, arg);
      int64_t length = *known_length(type);
      if (length < 0 || length > kMaxOutputs - int64_t(signature_.output_types.size())) {
        throw invalid_argument("the output '{}' cannot be {} tensors", arg.name, length);
      }
      for (int64_t i = 0; i < length; ++i) {
        signature_.output_types.push_back(output_type(type, size_t(i)));
        signature_.output_refs.push_back(type.ref);
      }
    }
  }

  DType output_type(const ArgType& type, size_t i) const {
    if (!type.list_attr.empty()) return attrs_.get<std::vector<DType>>(type.list_attr)[i];
    return type.type_attr.empty() ? type.fixed : attrs_.get<DType>(type.type_attr);
  }

  const OpDef& def_;
  std::span<const Output> inputs_;
  AttrMap& attrs_;
  AttrMap decided_by_;  // for type attrs that were inferred, the input that did it
  Signature signature_;
};

}  // namespace

Signature fit_signature(const OpDef& def, std::span<const Output> inputs, AttrMap& attrs) {
  return Fitter(def, inputs, attrs).fit();
}

std::vector<DType> output_types(const OpDef& def, AttrMap attrs) {
  return Fitter(def, {}, attrs).output_types();
}

const ArgDef& input_arg(const Node& node, int i) {
  int end = 0;
  for (const ArgDef& arg : node.def().inputs) {
    const ArgType type = arg_type(node.def(), arg);
    if (!type.count_attr.empty()) {
      end += int(node.attrs().get<int64_t>(type.count_attr));
    } else if (!type.list_attr.empty()) {
      end += int(node.attrs().get<std::vector<DType>>(type.list_attr).size());
    } else {
      ++end;
    }
    if (i < end) return arg;
  }
  throw internal_error("{} has no input {}", node.name(), i);
}

}  // namespace capstan
