#include "jobs/script/phrases.h"

#include <fmt/format.h>

namespace capstan::script {
namespace {

constexpr size_t kMostOptions = 1000;

}  // namespace

Reference Phrases::reference(std::string_view what) {
  Reference out;
  out.format = in_.expect_name(what);
  in_.expect('.');
  out.path = in_.expect_name("a path in backquotes, or a name");
  if (in_.now().is('.')) in_.hint("a path with dots stands in backquotes");
  return out;
}

Text Phrases::dotted_name(std::string_view what) {
  if (!in_.now().is_name()) in_.fail(what);
  const Token first = in_.take();
  if (!in_.now().is('.')) return value_of(first);
  Text out{std::string(first.text), first.begin};
  while (in_.accept('.')) {
    if (!in_.now().is_name()) in_.fail(what);
    out.text += "." + std::string(in_.take().text);
  }
  if (out.text.starts_with('`') && out.text.ends_with('`')) {
    out.text = out.text.substr(1, out.text.size() - 2);
    ++out.at;
  }
  return out;
}

GivenOption Phrases::option() {
  GivenOption out;
  out.key = dotted_name("the name of an option");
  in_.expect('=');
  if (in_.now().kind == TokenKind::kWord || in_.now().kind == TokenKind::kReserved)
    in_.hint(fmt::format("values stand in quotes: {}=\"{}\"", shown(out.key.text),
                         shown(in_.now().text)));
  out.value = in_.expect_text("a value in quotes");
  return out;
}

GivenOptions Phrases::options() {
  GivenOptions out;
  if (!in_.accept("where")) in_.accept("options");
  if (in_.now().is_name()) out.push_back(option());
  while (in_.accept("and")) {
    out.push_back(option());
    if (out.size() > kMostOptions)
      throw error_at(in_.place(out.back().key.at), Code::kInvalidArgument,
                     fmt::format("more than {} options", kMostOptions));
  }
  if (in_.now().is(',')) in_.hint("options are joined by and");
  return out;
}

Text Phrases::rest(std::vector<Token>* last_two) {
  Text out{{}, in_.now().begin};
  while (in_.now().kind != TokenKind::kEnd && !in_.now().is(';')) {
    last_two->erase(last_two->begin(), last_two->begin() + (last_two->size() == 2));
    last_two->push_back(in_.take());
  }
  out.text = source_->text.substr(out.at, in_.last_end() - out.at);
  return out;
}

bool Phrases::at_raw_argument() const {
  const Token& now = in_.now();
  return now.is_name() || now.is('-') || now.is('/') || now.is('>') || now.is('<') || now.is('.') ||
         now.is('~');
}

Text Phrases::raw_argument() {
  Text out = value_of(in_.take());
  while (at_raw_argument() && in_.now().begin == in_.last_end()) out.text += in_.take().value();
  return out;
}

}  // namespace capstan::script
