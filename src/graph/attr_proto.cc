#include "base/error.h"
#include "graph/attr_kind.h"
#include "graph/proto_convert.h"

namespace capstan {
namespace {

using ListValue = pb::AttrValue::ListValue;

void write(int64_t value, pb::AttrValue* out) { out->set_i(value); }
void write(float value, pb::AttrValue* out) { out->set_f(value); }
void write(bool value, pb::AttrValue* out) { out->set_b(value); }
void write(const std::string& value, pb::AttrValue* out) { out->set_s(value); }
void write(DType value, pb::AttrValue* out) { out->set_type(pb::DataType(int(value))); }
void write(const Shape& value, pb::AttrValue* out) { write_shape(value, out->mutable_shape()); }
void write(const Tensor& value, pb::AttrValue* out) { write_tensor(value, out->mutable_tensor()); }

void add(int64_t value, ListValue* out) { out->add_i(value); }
void add(float value, ListValue* out) { out->add_f(value); }
void add(bool value, ListValue* out) { out->add_b(value); }
void add(const std::string& value, ListValue* out) { out->add_s(value); }
void add(DType value, ListValue* out) { out->add_type(pb::DataType(int(value))); }
void add(const Shape& value, ListValue* out) { write_shape(value, out->add_shape()); }

template <class T>
void write(const std::vector<T>& values, pb::AttrValue* out) {
  ListValue* list = out->mutable_list();
  for (size_t i = 0; i < values.size(); ++i) add(T(values[i]), list);
}

template <class T, class List, class F>
std::vector<T> read_list(const List& list, F read) {
  std::vector<T> out;
  for (const auto& item : list) out.push_back(read(item));
  return out;
}

// What the filled field of a list says it is a list of; an empty list is one of strings until its
// row says otherwise.
Attr read_list_value(const ListValue& in) {
  auto same = [](const auto& item) { return item; };
  if (in.tensor_size() || in.func_size())
    throw invalid_argument("lists of tensors or functions are not supported");
  if (in.i_size()) return read_list<int64_t>(in.i(), same);
  if (in.f_size()) return read_list<float>(in.f(), same);
  if (in.b_size()) return read_list<bool>(in.b(), same);
  if (in.type_size()) return read_list<DType>(in.type(), read_dtype);
  if (in.shape_size()) return read_list<Shape>(in.shape(), read_shape);
  return read_list<std::string>(in.s(), same);
}

Attr read_value(const pb::AttrValue& in, FillBudget& budget) {
  switch (in.value_case()) {
    case pb::AttrValue::kI: return int64_t(in.i());
    case pb::AttrValue::kF: return in.f();
    case pb::AttrValue::kB: return in.b();
    case pb::AttrValue::kS: return in.s();
    case pb::AttrValue::kType: return read_dtype(in.type());
    case pb::AttrValue::kShape: return read_shape(in.shape());
    case pb::AttrValue::kTensor: return read_tensor(in.tensor(), budget);
    case pb::AttrValue::kList: return read_list_value(in.list());
    case pb::AttrValue::kFunc:
    case pb::AttrValue::kPlaceholder: throw unimplemented("functions in graphs are not supported");
    case pb::AttrValue::VALUE_NOT_SET: break;
  }
  throw invalid_argument("it has no value");
}

}  // namespace

void write_attr(const Attr& attr, pb::AttrValue* out) {
  std::visit([out](const auto& value) { write(value, out); }, attr);
}

Attr read_attr(const pb::AttrValue& in, const AttrDef* def, FillBudget& budget) {
  Attr value = read_value(in, budget);
  return def ? fitting_attr(*def, std::move(value)) : value;
}

}  // namespace capstan
