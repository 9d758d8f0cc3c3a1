#include "run.h"

#include "handles.h"

namespace capstan {
namespace {

[[noreturn]] void bad_fetch(nb::handle fetch) {
  std::string text = fmt::format(
      "Fetch argument {} has invalid type {}, must be a string, Tensor, Operation or Variable, or "
      "a "
      "list, tuple or dict of these",
      nb::repr(fetch).c_str(), nb::inst_name(fetch).c_str());
  throw nb::type_error(text.c_str());
}

// Python's limit on nesting: a list may hold itself.
class Nested {
 public:
  Nested() {
    if (Py_EnterRecursiveCall(" in the fetches or feeds of a run")) throw nb::python_error();
  }
  ~Nested() { Py_LeaveRecursiveCall(); }
  Nested(const Nested&) = delete;
};

bool is_namedtuple(nb::handle value) {
  return !PyTuple_CheckExact(value.ptr()) && PyTuple_Check(value.ptr()) &&
         nb::hasattr(value, "_fields");
}

std::string foreign(const char* what, const std::string& name) {
  return fmt::format("{} '{}' is not an element of this session's graph", what, name);
}

[[noreturn]] void bad_feed_key(const std::string& why) {
  throw nb::type_error(fmt::format("Cannot interpret feed_dict key as Tensor: {}", why).c_str());
}

// An element from anything that stands for one: a name, a variable.
nb::object resolve(nb::handle graph, nb::handle value) {
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) {
    return graph.attr("as_graph_element")(value);
  }
  if (nb::hasattr(value, "_as_graph_element")) return value.attr("_as_graph_element")();
  return {};
}

// A name that the graph does not have is TensorFlow's ValueError for a fetch, TypeError for a feed.
nb::object fetched(nb::handle graph, nb::handle fetch) {
  try {
    return resolve(graph, fetch);
  } catch (nb::python_error& error) {
    std::string why = nb::str(error.value()).c_str();
    nb::raise_from(error, PyExc_ValueError,
                   "Fetch argument %R cannot be interpreted as a Tensor: %s", fetch.ptr(),
                   why.c_str());
    throw nb::python_error();
  }
}

nb::object feed_key(nb::handle graph, nb::handle key) {
  nb::object element;
  try {
    element = nb::isinstance<TensorHandle>(key) ? nb::borrow(key) : resolve(graph, key);
  } catch (const nb::python_error& error) {
    bad_feed_key(nb::str(error.value()).c_str());
  }
  if (!element.is_valid() || !nb::isinstance<TensorHandle>(element)) {
    bad_feed_key(nb::repr(key).c_str());
  }
  return element;
}

void check_shape(const Output& output, const Tensor& value) {
  if (output.shape().compatible_with(value.shape())) return;
  throw nb::value_error(
      fmt::format("Cannot feed value of shape {} for Tensor '{}', which has shape {}",
                  value.shape(), output.name(), output.shape())
          .c_str());
}

// Whole numbers that the type cannot hold are refused, as in TensorFlow; numpy would wrap them.
void check_whole_number(const Output& output, nb::handle value, const Tensor& tensor,
                        const Numpy& numpy) {
  if (!PyLong_CheckExact(value.ptr()) || !is_integer(tensor.dtype())) return;
  if (numpy.value(tensor).equal(value)) return;
  throw nb::type_error(
      fmt::format("Type of feed value {} is not compatible with Tensor '{}' of type {}",
                  nb::repr(value).c_str(), output.name(), dtype_name(tensor.dtype()))
          .c_str());
}

Tensor feed_of(const Output& output, nb::handle value, const Numpy& numpy) {
  try {
    return numpy.feed(value, output.dtype());
  } catch (const nb::builtin_exception& error) {
    throw nb::type_error(fmt::format("Cannot feed {} for Tensor '{}' of type {}: {}",
                                     nb::inst_name(value).c_str(), output.name(),
                                     dtype_name(output.dtype()), error.what())
                             .c_str());
  } catch (nb::python_error& error) {
    nb::raise_from(error, error.matches(PyExc_TypeError) ? PyExc_TypeError : PyExc_ValueError,
                   "Cannot feed %R for Tensor '%s' of type %s", (PyObject*)Py_TYPE(value.ptr()),
                   output.name().c_str(), std::string(dtype_name(output.dtype())).c_str());
    throw nb::python_error();
  }
}

Tensor convert_feed(const Output& output, nb::handle value, const Numpy& numpy) {
  if (nb::isinstance<TensorHandle>(value)) {
    throw nb::type_error(
        fmt::format("The value of a feed cannot be a tf.Tensor object (for '{}'): run it "
                    "first, or give numbers, strings, lists or numpy arrays",
                    output.name())
            .c_str());
  }
  Tensor tensor = feed_of(output, value, numpy);
  check_whole_number(output, value, tensor, numpy);
  check_shape(output, tensor);
  return tensor;
}

void add_feed(Feeds& feeds, nb::handle graph, nb::handle key, nb::handle value, const Numpy& numpy);

// {(x, y): (1, 2)} feeds each of them.
void add_feeds(Feeds& feeds, nb::handle graph, nb::handle keys, nb::handle values,
               const Numpy& numpy) {
  Nested nested;
  if (!PySequence_Check(values.ptr()) || nb::len(keys) != nb::len(values)) {
    throw nb::value_error(fmt::format("the feed_dict key {} needs as many values, not {}",
                                      nb::repr(keys).c_str(), nb::repr(values).c_str())
                              .c_str());
  }
  for (size_t i = 0; i < nb::len(keys); ++i) add_feed(feeds, graph, keys[i], values[i], numpy);
}

void add_feed(Feeds& feeds, nb::handle graph, nb::handle key, nb::handle value,
              const Numpy& numpy) {
  if (PyTuple_CheckExact(key.ptr())) return add_feeds(feeds, graph, key, value, numpy);
  if (nb::hasattr(key, "_feed_parts")) {
    for (nb::handle part : nb::iter(key.attr("_feed_parts")(value))) {
      add_feed(feeds, graph, part[0], part[1], numpy);
    }
    return;
  }
  nb::object element = feed_key(graph, key);
  Output output = nb::inst_ptr<TensorHandle>(element)->output;
  if (&output.graph() != &graph_handle(graph).graph) bad_feed_key(foreign("tensor", output.name()));
  feeds.values.push_back(convert_feed(output, value, numpy));
  feeds.outputs.push_back(output);
}

}  // namespace

Fetches::Fetches(nb::handle graph, nb::handle fetches)
    : graph_(graph), fetches_(fetches), engine_graph_(&graph_handle(graph).graph) {
  flatten(fetches);
}

void Fetches::flatten(nb::handle fetch) {
  PyObject* raw = fetch.ptr();
  if (add_element(fetch)) return;
  if (PyList_Check(raw) || PyTuple_Check(raw)) return flatten_items(fetch);
  if (PyDict_Check(raw)) return flatten_items(nb::borrow<nb::dict>(fetch).values());
  flatten_leaf(fetch);
}

void Fetches::flatten_items(nb::handle iterable) {
  Nested nested;
  for (nb::handle item : nb::iter(iterable)) flatten(item);
}

bool Fetches::add_element(nb::handle element) {
  if (nb::isinstance<TensorHandle>(element)) {
    Output output = nb::inst_ptr<TensorHandle>(element)->output;
    if (&output.graph() != engine_graph_)
      throw nb::value_error(foreign("Fetch tensor", output.name()).c_str());
    outputs_.push_back(output);
    leaves_.push_back(Leaf::kTensor);
    return true;
  }
  if (!nb::isinstance<OperationHandle>(element)) return false;
  Node* node = nb::inst_ptr<OperationHandle>(element)->node;
  if (&node->graph() != engine_graph_)
    throw nb::value_error(foreign("Fetch operation", node->name()).c_str());
  targets_.push_back(node);
  leaves_.push_back(Leaf::kOperation);
  return true;
}

void Fetches::flatten_leaf(nb::handle fetch) {
  if (nb::hasattr(fetch, "_fetch_parts")) {
    nb::object pair = fetch.attr("_fetch_parts")();
    parts_.emplace_back(pair[0], pair[1]);
    leaves_.push_back(Leaf::kParts);
    nb::object items = parts_.back().first;
    return flatten_items(items);
  }
  nb::object element = fetched(graph_, fetch);
  if (!element.is_valid() || !add_element(element)) bad_fetch(fetch);
}

nb::object Fetches::build(const std::vector<Tensor>& values, const Numpy& numpy) {
  values_ = &values;
  numpy_ = &numpy;
  return build_one(fetches_);
}

nb::object Fetches::build_one(nb::handle fetch) {
  PyObject* raw = fetch.ptr();
  if (PyList_Check(raw)) {
    nb::object list = nb::steal(PyList_New(PyList_GET_SIZE(raw)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(raw); ++i) {
      PyList_SET_ITEM(list.ptr(), i, build_one(PyList_GET_ITEM(raw, i)).release().ptr());
    }
    return list;
  }
  if (PyTuple_Check(raw)) return build_tuple(fetch);
  if (PyDict_Check(raw)) return build_dict(fetch);
  return build_leaf();
}

nb::object Fetches::build_tuple(nb::handle fetch) {
  Py_ssize_t size = PyTuple_GET_SIZE(fetch.ptr());
  nb::object items = nb::steal(PyTuple_New(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyTuple_SET_ITEM(items.ptr(), i, build_one(PyTuple_GET_ITEM(fetch.ptr(), i)).release().ptr());
  }
  if (!is_namedtuple(fetch)) return items;
  return nb::handle((PyObject*)Py_TYPE(fetch.ptr()))(*items);
}

nb::object Fetches::build_dict(nb::handle fetch) {
  nb::object made = nb::handle((PyObject*)Py_TYPE(fetch.ptr()))();
  for (auto [key, value] : nb::borrow<nb::dict>(fetch)) made[key] = build_one(value);
  return made;
}

nb::object Fetches::build_leaf() {
  switch (leaves_[next_leaf_++]) {
    case Leaf::kTensor: return numpy_->value((*values_)[next_value_++]);
    case Leaf::kOperation: return nb::none();
    case Leaf::kParts: break;
  }
  auto& [items, make] = parts_[next_parts_++];
  nb::list values;
  for (nb::handle part : nb::iter(items)) values.append(build_one(part));
  return make(values);
}

Feeds convert_feeds(nb::handle graph, nb::handle feed_dict, const Numpy& numpy) {
  Feeds feeds;
  if (feed_dict.is_none()) return feeds;
  if (!PyDict_Check(feed_dict.ptr())) {
    throw nb::type_error("feed_dict must be a dictionary from tensors to values");
  }
  size_t count = size_t(PyDict_GET_SIZE(feed_dict.ptr()));
  feeds.outputs.reserve(count);
  feeds.values.reserve(count);
  for (auto [key, value] : nb::borrow<nb::dict>(feed_dict))
    add_feed(feeds, graph, key, value, numpy);
  return feeds;
}

}  // namespace capstan
