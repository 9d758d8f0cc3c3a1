#pragma once

// Reads the textual parts of a row: the kinds and defaults of attrs, the types of arguments.

#include <optional>
#include <string>
#include <string_view>

#include "graph/attr.h"
#include "graph/op_def.h"

namespace capstan {

// "list(int)" of the kind "list(int)>=1", "type" of "type:float|double".
std::string_view base_kind(const AttrDef& def);
// What follows the colon: "float|double", or "".
std::string_view allowed_values(const AttrDef& def);
// Throws InvalidArgument for a number, or a list's length, below the least that the kind allows.
void check_least(const AttrDef& def, const Attr& value);

// The default, or nothing where the attr must be given or inferred. Texts: "true", "3", "0.5",
// "float", "'text'" (or bare), for shapes "[2,?]" and "?" (unknown rank), for lists "[1, 2]".
std::optional<Attr> default_attr(const AttrDef& def);

// The value in the alternative that the kind asks for: whole numbers serve as floats, lists of
// whole numbers as shapes, an empty list as any list. Throws InvalidArgument for other kinds, for
// values that are not allowed and for those that are too small.
Attr fitting_attr(const AttrDef& def, Attr value);

// "[1, 2]", "float32", "'text'": for messages.
std::string attr_text(const Attr& value);
// The kind that a value would have: "list(int)".
std::string_view kind_of(const Attr& value);

const AttrDef* find_attr(const OpDef& def, std::string_view name);

// An argument's type, taken apart. Exactly one of type_attr, list_attr and fixed says the type.
struct ArgType {
  std::string_view count_attr;  // N of "N*T", or empty
  std::string_view type_attr;   // T, an attr of kind "type"
  std::string_view list_attr;   // an attr of kind "list(type)": one tensor per entry
  DType fixed = DType::kInvalid;
  bool ref = false;
  bool is_list() const { return !count_attr.empty() || !list_attr.empty(); }
};
ArgType arg_type(const OpDef& def, const ArgDef& arg);

}  // namespace capstan
