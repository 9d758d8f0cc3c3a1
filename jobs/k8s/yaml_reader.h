#pragma once

// The two readers behind read_documents(): yaml-cpp's events and nlohmann's. Both throw TextError.

#include <string_view>
#include <vector>

#include "jobs/k8s/document_builder.h"

namespace capstan::jobs::k8s {

std::vector<Document> read_yaml(std::string_view text, const ReadLimits& limits);
std::vector<Document> read_json(std::string_view text, const ReadLimits& limits);

}  // namespace capstan::jobs::k8s
