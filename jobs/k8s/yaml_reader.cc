#include "jobs/k8s/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <streambuf>

#include "base/error.h"
#include "jobs/k8s/yaml_scalar.h"

namespace capstan::jobs::k8s {
namespace {

TextPlace place(const YAML::Mark& mark) {
  return mark.is_null() ? TextPlace{} : TextPlace{mark.line + 1, mark.column + 1};
}

bool may_be_map_or_list(const std::string& tag, const char* own) {
  return tag.empty() || tag == "?" || tag == "!" || tag == std::string("tag:yaml.org,2002:") + own;
}

class Events : public YAML::EventHandler {
 public:
  explicit Events(DocumentBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override { anchors_.clear(); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    OnScalar(mark, "?", anchor, "");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw TextError{place(mark), "an alias stands within itself"};
    builder_.add_copy(found->second, place(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    try {
      if (!builder_.wants_key()) {
        builder_.add(scalar_value(tag, value), place(mark), kept(anchor));
      } else if (tag == "?" && value == "<<") {
        builder_.merge_key(place(mark));
      } else {
        builder_.key(scalar_name(tag, value), place(mark));
      }
    } catch (const Error& error) {
      throw TextError{place(mark), error.message()};
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, /*is_map=*/false);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, /*is_map=*/true);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    if (!may_be_map_or_list(tag, is_map ? "map" : "seq")) {
      throw TextError{place(mark), "the tag " + tag + " is not known here; leave it out"};
    }
    builder_.open(is_map, place(mark));
    open_.push_back(anchor);
  }

  void end() {
    DocumentBuilder::Node node;
    const YAML::anchor_t anchor = open_.back();
    open_.pop_back();
    builder_.close(anchor ? &node : nullptr);
    if (anchor) anchors_[anchor] = std::move(node);
  }

  DocumentBuilder::Node* kept(YAML::anchor_t anchor) {
    return anchor ? &anchors_[anchor] : nullptr;
  }

  DocumentBuilder& builder_;
  std::vector<YAML::anchor_t> open_;
  std::map<YAML::anchor_t, DocumentBuilder::Node> anchors_;
};

// A stream over bytes that stay where they are.
struct TextBuffer : std::streambuf {
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // streambuf reads through a pointer to non-const
    setg(begin, begin, begin + text.size());
  }
};

bool is_indented_by_tabs(std::string_view text, int line) {
  for (; line > 0 && text.find('\n') != text.npos; --line) {
    text.remove_prefix(text.find('\n') + 1);
  }
  const size_t begin = text.find_first_not_of(" \t");
  return text.substr(0, begin).find('\t') != text.npos;
}

// What yaml-cpp says in few words, with what to do.
std::string explained(const YAML::Exception& error, std::string_view text) {
  const std::string& message = error.msg;
  const bool tabs = is_indented_by_tabs(text, error.mark.line);
  if (tabs || message == YAML::ErrorMsg::TAB_IN_INDENTATION) {
    return "a tab where the line is indented; YAML wants spaces";
  }
  if (message == YAML::ErrorMsg::END_OF_MAP || message == YAML::ErrorMsg::END_OF_SEQ) {
    return "this line fits neither the block above it nor one around that; check how far it is "
           "indented, and that a colon is followed by a space";
  }
  if (message == YAML::ErrorMsg::UNKNOWN_ANCHOR) {
    return "an alias (*name) to something that is not named (&name) before; quote it if it is text";
  }
  if (message == YAML::ErrorMsg::UNKNOWN_TOKEN) {
    return "a character that cannot begin a value; quote the value";
  }
  return "not YAML: " + message;
}

}  // namespace

std::vector<Document> read_yaml(std::string_view text, const ReadLimits& limits) {
  TextBuffer buffer(text);
  std::istream stream(&buffer);
  std::vector<Document> documents;
  size_t nodes = 0;
  try {
    YAML::Parser parser(stream);
    while (true) {
      DocumentBuilder builder(limits, nodes);
      Events events(builder);
      if (!parser.HandleNextDocument(events)) return documents;
      documents.push_back(builder.take());
    }
  } catch (const YAML::Exception& error) {
    throw TextError{place(error.mark), explained(error, text)};
  }
}

}  // namespace capstan::jobs::k8s
