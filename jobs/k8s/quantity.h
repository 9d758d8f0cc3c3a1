#pragma once

// Amounts as Kubernetes writes them: 2, "500m", "1.5Gi", 1e3.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace capstan::jobs::k8s {

// In thousandths, rounded up: processors are asked for in such. Nothing for what is no amount.
std::optional<int64_t> parse_quantity(std::string_view text);
std::optional<int64_t> quantity_of(const nlohmann::json& text_or_number);

// "2", "500m"
std::string quantity_text(int64_t thousandths);

}  // namespace capstan::jobs::k8s
