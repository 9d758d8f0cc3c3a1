#include "jobs/duck/vet.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "jobs/duck/duck_error.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

using nlohmann::json;
using script::SqlError;

// Functions in `from`: whoever is not here may reach anything.
constexpr std::string_view kTableFunctions[] = {"unnest", "generate_series", "range",
                                                "repeat", "json_each",       "json_tree"};

// Functions elsewhere that tell of the machine, run or plan SQL that nobody has seen, or take the
// store's own bytes on trust.
constexpr std::string_view kRefused[] = {"current_setting",
                                         "getenv",
                                         "query",
                                         "query_table",
                                         "json_execute_serialized_sql",
                                         "json_serialize_plan",
                                         "write_log",
                                         "current_query",
                                         "combine",
                                         "finalize",
                                         "variant_bytes_to_variant",
                                         "capstan_pull"};

// Names of the store's own lists.
constexpr std::string_view kOwn[] = {
    "pg_", "duckdb_", "sqlite_", "pragma_", "information_schema", "capstan"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

std::string text_of(const json& node, const char* member) {
  auto found = node.find(member);
  return found != node.end() && found->is_string() ? found->get<std::string>() : "";
}

class Vet {
 public:
  explicit Vet(const Tables& tables) : tables_(tables) {}

  void check(const json& root) {
    collect_names(root);
    walk(root);
  }

 private:
  [[noreturn]] static void refuse(const json& node, Code code, std::string message) {
    auto place = node.find("query_location");
    if (place != node.end() && place->is_number_unsigned() &&
        place->get<uint64_t>() < UINT64_MAX / 2) {
      throw SqlError(code, std::move(message), place->get<uint64_t>());
    }
    throw Error(code, std::move(message));
  }

  // `with a as (…)` makes a name that is no table.
  void collect_names(const json& node) {
    if (node.is_object()) {
      auto map = node.find("cte_map");
      if (map != node.end() && map->contains("map")) {
        for (const json& entry : (*map)["map"]) with_.insert(lower(text_of(entry, "key")));
      }
      std::string type = text_of(node, "type");
      if (type == "RECURSIVE_CTE_NODE" || type == "CTE_NODE") {
        with_.insert(lower(text_of(node, "cte_name")));
        with_.insert(lower(text_of(node, "ctename")));
      }
    }
    for (const json& child : node) {
      if (child.is_structured()) collect_names(child);
    }
  }

  void walk(const json& node) {
    if (node.is_object()) check_node(node);
    for (const json& child : node) {
      if (child.is_structured()) walk(child);
    }
  }

  void check_node(const json& node) {
    std::string type = text_of(node, "type");
    if (type == "BASE_TABLE") check_table(node);
    if (type == "TABLE_FUNCTION") check_table_function(node);
    if (type == "SHOW_REF") refuse(node, Code::kPermissionDenied, "!desc tells of a table here");
    if (node.contains("function_name")) check_function(node);
  }

  void check_table(const json& node) {
    std::string name = text_of(node, "table_name"), schema = text_of(node, "schema_name");
    if (!schema.empty() || !text_of(node, "catalog_name").empty()) {
      refuse(node, Code::kPermissionDenied,
             fmt::format("{}.{}: tables of a script have no schema", schema, name));
    }
    bool own = std::any_of(std::begin(kOwn), std::end(kOwn), [&](std::string_view prefix) {
      return lower(name).starts_with(prefix);
    });
    if (tables_.has(name) || (with_.contains(lower(name)) && !own)) return;
    refuse(node, Code::kNotFound,
           fmt::format("there is no table {}{}", name, did_you_mean(name, tables_.names())));
  }

  static void check_table_function(const json& node) {
    auto function = node.find("function");
    std::string name = function == node.end() ? "" : lower(text_of(*function, "function_name"));
    if (contains(kTableFunctions, name)) return;
    refuse(node, Code::kPermissionDenied,
           fmt::format("{} may not be called in SQL; `load` reads files", name));
  }

  static void check_function(const json& node) {
    std::string name = lower(text_of(node, "function_name"));
    if (!contains(kRefused, name) && !name.starts_with("__") && !name.starts_with("duckdb_")) {
      return;
    }
    refuse(node, Code::kPermissionDenied, fmt::format("{} may not be called in SQL", name));
  }

  const Tables& tables_;
  std::set<std::string> with_;
};

}  // namespace

void vet_query(Link& link, const Tables& tables, const std::string& sql) {
  std::vector<std::string> parsed =
      // By its whole name: a script may give another function the short one.
      link.run("SELECT system.main.json_serialize_sql($1::VARCHAR)", {sql}).texts();
  json tree = json::parse(parsed.at(0), nullptr, false);
  // Infinity, which JSON has not.
  if (!tree.is_object()) throw invalid_argument("a number in this SQL is too large");
  if (tree.value("error", true)) {
    std::string message = text_of(tree, "error_message"), at = text_of(tree, "position");
    bool not_a_query = message.find("SELECT statements") != message.npos;
    if (not_a_query) message = "a query is expected: select …";
    if (at.empty()) throw invalid_argument("{}", message);
    throw SqlError(Code::kInvalidArgument, message, std::stoull(at));
  }
  if (tree["statements"].size() != 1) throw invalid_argument("one statement is expected");
  Vet(tables).check(tree["statements"]);
}

}  // namespace capstan::duck
