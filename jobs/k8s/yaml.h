#pragma once

// YAML (one document or several) and JSON as Kubernetes reads them, to JSON, with the place in the
// text of every field. What comes from outside is bounded: bytes, depth, and nodes after aliases
// have been put in.
//
// As in Kubernetes' own reader, plain words are typed by YAML 1.1: yes, no, on and off are
// booleans, 010 is eight; keys that are numbers or booleans become text; `<<` merges.

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs::k8s {

// Both from 1; 0: not known.
struct TextPlace {
  int line = 0, column = 0;
};

// Where the fields of a document stand: of a field its key, of an element its first character.
struct Places {
  TextPlace here;
  std::map<std::string, Places, std::less<>> fields;
  std::vector<Places> items;
};

// Of "spec.tfReplicaSpecs[Worker].template.spec.containers[0]"; of the nearest field above where it
// is not there. Words in brackets are found in any case, as replica types are.
TextPlace place_of(const Places& root, std::string_view path);

struct Document {
  std::shared_ptr<const nlohmann::json> json;
  Places places;
};

struct ReadLimits {
  size_t bytes = 10'000'000;
  size_t nodes = 200'000;  // of all documents
  int depth = 64;
};

// Empty documents are left out. Throws InvalidArgument with placed_text() for what is wrong; `name`
// is that of the file.
std::vector<Document> read_documents(std::string_view text, std::string_view name,
                                     const ReadLimits& limits = {});

// "job.yaml:3:7: message", then the line and a caret below the column.
std::string placed_text(std::string_view text, std::string_view name, TextPlace place,
                        std::string_view message);

}  // namespace capstan::jobs::k8s
