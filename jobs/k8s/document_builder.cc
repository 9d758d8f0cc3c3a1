#include "jobs/k8s/document_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"

namespace capstan::jobs::k8s {
namespace {

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

void DocumentBuilder::count(size_t nodes, TextPlace place) {
  nodes_ += nodes;
  if (nodes_ <= limits_.nodes) return;
  throw TextError{place, fmt::format("more than {} values, counted after aliases (*name) are put "
                                     "in; no job needs as many",
                                     limits_.nodes)};
}

void DocumentBuilder::key(std::string name, TextPlace place) {
  if (has_control(name)) {
    throw TextError{place, fmt::format("a name has control characters: {}", printable(name))};
  }
  count(1, place);
  Open& map = open_.back();
  if (auto found = map.node.places.fields.find(name); found != map.node.places.fields.end()) {
    throw TextError{place, fmt::format("{} is given twice; the first stands in line {}. Keep one",
                                       name, found->second.here.line)};
  }
  map.key = std::move(name);
  map.key_place = place;
  map.has_key = true;
}

void DocumentBuilder::merge_key(TextPlace place) {
  open_.back().has_key = open_.back().merges = true;
  open_.back().key_place = place;
}

void DocumentBuilder::open(bool is_map, TextPlace place) {
  if (wants_key()) {
    throw TextError{place, "a name is expected here, as in name: value; a list or a map is none"};
  }
  if (int(open_.size()) >= limits_.depth) {
    throw TextError{place, fmt::format("nested deeper than {} levels", limits_.depth)};
  }
  count(1, place);
  Open& next = open_.emplace_back();
  next.is_map = is_map;
  next.node.value = is_map ? nlohmann::json::object() : nlohmann::json::array();
  next.node.places.here = place;
}

void DocumentBuilder::close(Node* copy) {
  Open closed = std::move(open_.back());
  open_.pop_back();
  if (closed.is_map) merge(closed);
  put(std::move(closed.node), copy);
}

void DocumentBuilder::add(nlohmann::json value, TextPlace place, Node* copy) {
  count(1, place);
  Node node{.value = std::move(value)};
  node.places.here = place;
  put(std::move(node), copy);
}

void DocumentBuilder::add_copy(const Node& node, TextPlace place) {
  if (wants_key()) throw TextError{place, "an alias cannot be a name; write it out"};
  count(node.nodes, place);
  put(node, nullptr);
}

void DocumentBuilder::put(Node node, Node* copy) {
  if (copy) *copy = node;
  if (open_.empty()) {
    done_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  parent.node.nodes += node.nodes;
  if (parent.is_map) {
    put_in_map(parent, node);
  } else {
    parent.node.value.push_back(std::move(node.value));
    parent.node.places.items.push_back(std::move(node.places));
  }
}

void DocumentBuilder::put_in_map(Open& open, Node& node) {
  open.has_key = false;
  if (std::exchange(open.merges, false)) {
    const bool maps = node.value.is_array() && std::ranges::all_of(node.value, [](const auto& one) {
                        return one.is_object();
                      });
    if (!node.value.is_object() && !maps) {
      throw TextError{open.key_place, "<< merges maps; what follows it is none"};
    }
    open.merged.push_back(std::move(node));
    return;
  }
  node.places.here = open.key_place;
  open.node.value[open.key] = std::move(node.value);
  open.node.places.fields[open.key] = std::move(node.places);
}

// What the map says itself counts, then what was merged first.
void DocumentBuilder::merge(Open& open) {
  auto take = [&](nlohmann::json& value, Places& places) {
    for (auto& [name, one] : value.items()) {
      if (open.node.value.contains(name)) continue;
      open.node.value[name] = std::move(one);
      open.node.places.fields[name] = std::move(places.fields[name]);
    }
  };
  for (Node& merged : open.merged) {
    if (merged.value.is_object()) take(merged.value, merged.places);
    if (!merged.value.is_array()) continue;
    for (size_t i = 0; i < merged.value.size(); ++i) {
      take(merged.value[i], merged.places.items[i]);
    }
  }
}

Document DocumentBuilder::take() {
  Document document;
  if (!done_) return document;
  document.json = std::make_shared<const nlohmann::json>(std::move(done_->value));
  document.places = std::move(done_->places);
  done_.reset();
  return document;
}

}  // namespace capstan::jobs::k8s
