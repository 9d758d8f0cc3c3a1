#pragma once

// Puts a document together from the events of a reader, and refuses what is too deep, too large,
// named twice or named by control characters.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jobs/k8s/yaml.h"

namespace capstan::jobs::k8s {

// What is wrong with a text, and where; read_documents() makes an Error of it.
struct TextError {
  TextPlace place;
  std::string message;
};

class DocumentBuilder {
 public:
  // A value with all that is below it, which an alias may put elsewhere.
  struct Node {
    nlohmann::json value;
    Places places;
    size_t nodes = 1;
  };

  // `nodes` counts on over all documents of a text.
  DocumentBuilder(const ReadLimits& limits, size_t& nodes) : limits_(limits), nodes_(nodes) {}

  // The next thing must be a key.
  bool wants_key() const { return !open_.empty() && open_.back().is_map && !open_.back().has_key; }
  void key(std::string name, TextPlace place);
  // The maps that come next are put below those of this map.
  void merge_key(TextPlace place);
  void open(bool is_map, TextPlace place);
  // Both hand over a copy of what was closed or added, if that is asked for.
  void close(Node* copy = nullptr);
  void add(nlohmann::json value, TextPlace place, Node* copy = nullptr);
  // A copy of what stands elsewhere.
  void add_copy(const Node& node, TextPlace place);

  // The document; nothing is open any more.
  Document take();

 private:
  struct Open {
    Node node;
    bool is_map = false, has_key = false, merges = false;
    std::string key;
    TextPlace key_place;
    std::vector<Node> merged;
  };

  void count(size_t nodes, TextPlace place);
  void put(Node node, Node* copy);
  static void put_in_map(Open& open, Node& node);
  static void merge(Open& open);

  const ReadLimits& limits_;
  size_t& nodes_;
  std::vector<Open> open_;
  std::optional<Node> done_;
};

}  // namespace capstan::jobs::k8s
