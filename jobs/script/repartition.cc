#include "jobs/script/repartition.h"

#include <fmt/format.h>

#include "jobs/script/session.h"

namespace capstan::script {
namespace {

// More parts than any cluster has workers; each is a file at training.
constexpr int64_t kMostPartitions = 4096;

constexpr OptionDef kOptions[] = {
    {"partitionNum", OptionType::kInt, "", "Into how many parts the table is cut.", "", true, 1},
};

void repartition(const AlgorithmCall& call) {
  const int64_t count = call.options.integer("partitionNum");
  if (count > kMostPartitions) {
    throw error_at(
        call.options.place_of("partitionNum"), Code::kInvalidArgument,
        fmt::format("option partitionNum is {}; it must be at most {}", count, kMostPartitions));
  }
  call.session.engine.repartition(call.table, int(count), call.result);
}

constexpr std::string_view kDoc = "Cuts a table into parts: one per worker that trains on it.";

}  // namespace

const Algorithm kTableRepartition = {
    .name = "TableRepartition", .doc = kDoc, .train = repartition, .train_options = kOptions};
const Algorithm kRepartitionExt = {
    .name = "RepartitionExt", .doc = kDoc, .train = repartition, .train_options = kOptions};

}  // namespace capstan::script
