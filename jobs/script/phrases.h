#pragma once

// The parts that statements of the job script share: references, options, arguments.

#include "jobs/script/token_reader.h"

namespace capstan::script {

class Phrases {
 public:
  explicit Phrases(std::shared_ptr<const Source> source)
      : source_(source), in_(std::move(source)) {}

 protected:
  // ``csv.`/a` ``
  Reference reference(std::string_view what);
  // Names with dots between them, as one text; of the quotes only an outer pair is left out.
  Text dotted_name(std::string_view what);
  // The original takes `where and a="1"`, and `a="1"` without where; so do we.
  GivenOptions options();
  // All up to the semicolon, as written, and the last two tokens of it.
  Text rest(std::vector<Token>* last_two);
  // A piece of an unquoted argument of a command; those that touch each other are one argument.
  bool at_raw_argument() const;
  Text raw_argument();

  std::shared_ptr<const Source> source_;
  TokenReader in_;

 private:
  GivenOption option();
};

}  // namespace capstan::script
