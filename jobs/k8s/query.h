#pragma once

// The part of an address behind the question mark, and the selectors in it.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs::k8s {

using Query = std::map<std::string, std::string, std::less<>>;

Query parse_query(std::string_view text);
// Empty if it is not there.
std::string_view query_value(const Query& query, std::string_view name);

// Labels ("a=b,c!=d,e in (f,g),h,!i") and fields ("metadata.name=x,spec.nodeName!=y").
class Selector {
 public:
  // Throws InvalidArgument for what is no selector.
  Selector(std::string_view labels, std::string_view fields);
  bool matches(const nlohmann::json& object) const;
  // The dotted names of fields that it looks at.
  std::vector<std::string> fields() const;

 private:
  struct Rule {
    std::string key;
    bool must = true;                 // or must not
    bool any_value = false;           // it is enough that it is there
    std::vector<std::string> values;  // one of them
    bool holds(const std::string* value) const;
  };

  static Rule label_rule(std::string_view text);
  static Rule field_rule(std::string_view text);

  std::vector<Rule> labels_, fields_;
};

}  // namespace capstan::jobs::k8s
