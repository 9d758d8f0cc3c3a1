#include "session/executable.h"

namespace capstan {

void Executable::check_feeds(std::span<const Tensor> values) const {
  if (values.size() != feeds.size()) {
    throw invalid_argument("{} values were fed where {} are expected", values.size(), feeds.size());
  }
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (values[i].dtype() != feeds[i].dtype()) {
      throw invalid_argument("cannot feed a value of type {} for '{}', which is of type {}",
                             dtype_name(values[i].dtype()), feeds[i].name(),
                             dtype_name(feeds[i].dtype()));
    }
    if (!feeds[i].shape().compatible_with(values[i].shape())) {
      throw invalid_argument("cannot feed a value of shape {} for '{}', which has shape {}",
                             values[i].shape(), feeds[i].name(), feeds[i].shape());
    }
  }
}

}  // namespace capstan
