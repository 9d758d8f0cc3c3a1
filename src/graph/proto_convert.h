#pragma once

// Between our values and TensorFlow's messages. Messages come from files and peers: every size is
// checked before memory is taken for it.

#include <cstdint>
#include <string_view>

#include "graph/attr.h"
#include "graph/op_def.h"
#include "proto/graph.pb.h"

namespace capstan {

// Bytes that messages may ask for beyond what they carry: a short list of values fills any shape.
class FillBudget {
 public:
  explicit FillBudget(uint64_t bytes) : left_(bytes) {}
  // Throws ResourceExhausted when too little is left.
  void take(uint64_t bytes);

 private:
  uint64_t left_;
};
constexpr uint64_t kMaxFillBytes = 1ull << 30;

// False for bytes that are no such message; nothing is printed, whatever the bytes are.
bool parse_quietly(std::string_view bytes, google::protobuf::MessageLite& out);

void write_shape(const Shape& shape, pb::TensorShapeProto* out);
Shape read_shape(const pb::TensorShapeProto& in);
DType read_dtype(int number);

void write_tensor(const Tensor& tensor, pb::TensorProto* out);
Tensor read_tensor(const pb::TensorProto& in, FillBudget& budget);

void write_attr(const Attr& attr, pb::AttrValue* out);
// `def` decides what an empty list is a list of; null for private attrs.
Attr read_attr(const pb::AttrValue& in, const AttrDef* def, FillBudget& budget);

}  // namespace capstan
