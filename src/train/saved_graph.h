#pragma once

// A trained graph in files: a SavedModel (saved_model.pb beside variables/), or a checkpoint with
// its graph beside it (.meta). No byte of either is trusted.

#include <string>
#include <string_view>

#include "base/files.h"
#include "proto/meta_graph.pb.h"

namespace capstan {

struct SavedGraph {
  pb::MetaGraphDef meta;
  std::string bundle;   // the prefix of its variables; a graph without any has no such files
  std::string title;    // for people: "the SavedModel /m/export"
  std::string warning;  // what was wrong with the folder and what is used instead; mostly empty
  bool is_saved_model = false;
};

// The SavedModel in the folder or, up to three folders below it, the newest one (the greatest
// number, as exporters name them); else the folder's newest checkpoint. Throws NotFound where
// neither is, and for a SavedModel without such a tag; DataLoss for bytes that are no such file.
SavedGraph read_saved_graph(Files& files, const std::string& folder,
                            const std::string& tag = "serve");

// The bytes of a saved_model.pb; `title` is for messages. Throws as above.
pb::MetaGraphDef parse_saved_model(std::string_view bytes, const std::string& tag,
                                   const std::string& title);

}  // namespace capstan
