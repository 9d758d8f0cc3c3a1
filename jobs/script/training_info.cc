#include "jobs/script/training_info.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "jobs/script/model_store.h"

namespace capstan::script {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostPoints = 1000;
constexpr int kVersion = 1;

Cell cell_of(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Json json_of(const TrainingPoint& point) {
  return Json::array({point.step, point.loss ? Json(*point.loss) : Json(nullptr),
                      point.steps_per_second, point.seconds, point.live_workers});
}

TrainingPoint point_of(const Json& json) {
  TrainingPoint point{.step = json.at(0), .loss = {}, .steps_per_second = json.at(2)};
  if (!json.at(1).is_null()) point.loss = json.at(1).get<double>();
  point.seconds = json.at(3);
  point.live_workers = json.at(4);
  return point;
}

void append(Rows& all, const std::string& file) {
  std::string text;
  try {
    text = posix_files().read(file);
  } catch (const Error&) {
    return;  // none was kept, or its run has just ended
  }
  try {
    for (auto& row : TrainingInfo::from_json(text).rows().rows) all.rows.push_back(std::move(row));
  } catch (const Error& error) {
    throw Error(error.code(), file + ": " + error.message());
  }
}

}  // namespace

TrainingInfo::TrainingInfo(std::string run, double started)
    : run_(std::move(run)), started_(started) {}

void TrainingInfo::add(const jobs::Progress& progress, double seconds, int live_workers) {
  if (progress.step < last_.step) return;  // of a worker that is behind
  if (progress.step > last_.step) rate_.add(seconds, progress.step);
  const auto loss = progress.loss ? progress.loss : last_.loss;
  last_ = {progress.step, loss, rate_.per_second(seconds), seconds, live_workers};
  if (!points_.empty()) {
    if (points_.back().step == last_.step) return void(points_.back() = last_);
    const double spacing = seconds / double(kMostPoints);
    if (seconds - points_.back().seconds < spacing) return;
  }
  points_.push_back(last_);
  if (points_.size() < kMostPoints) return;
  size_t kept = 0;
  for (size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
}

Rows TrainingInfo::rows() const {
  Rows all;
  all.columns = {{"run", "VARCHAR"},         {"step", "BIGINT"},
                 {"loss", "DOUBLE"},         {"steps_per_second", "DOUBLE"},
                 {"wall_time", "DOUBLE"},    {"seconds", "DOUBLE"},
                 {"live_workers", "INTEGER"}};
  auto add = [&](const TrainingPoint& point) {
    all.rows.push_back({run_, point.step, cell_of(point.loss), point.steps_per_second,
                        started_ + point.seconds, point.seconds, int64_t(point.live_workers)});
  };
  for (const TrainingPoint& point : points_) add(point);
  if (!points_.empty() && points_.back().step < last_.step) add(last_);
  all.total = int64_t(all.rows.size());
  return all;
}

std::string TrainingInfo::to_json() const {
  Json points = Json::array();
  for (const TrainingPoint& point : points_) points.push_back(json_of(point));
  if (!points_.empty() && points_.back().step < last_.step) points.push_back(json_of(last_));
  Json json = {{"version", kVersion}, {"run", run_}, {"started", started_}, {"points", points}};
  return json.dump() + "\n";
}

TrainingInfo TrainingInfo::from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    if (json.at("version") != kVersion) throw data_loss("it is of another version");
    TrainingInfo info(json.at("run"), json.at("started"));
    for (const Json& point : json.at("points")) info.points_.push_back(point_of(point));
    if (!info.points_.empty()) info.last_ = info.points_.back();
    return info;
  } catch (const Json::exception& error) {
    throw data_loss("it is damaged ({})", error.what());
  }
}

Rows training_info_rows(const std::string& path) {
  Rows all = TrainingInfo("", 0).rows();
  const std::vector<ModelVersion> versions = model_versions(path);
  for (const ModelVersion& version : versions) append(all, version.training_info());
  std::error_code error;
  bool running = false;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (!entry.path().filename().string().starts_with(kRunningPrefix)) continue;
    running = true;
    append(all, entry.path() / "meta" / "training_info.json");
  }
  if (versions.empty() && !running) throw not_found("{}: nothing was trained there", path);
  all.total = int64_t(all.rows.size());
  return all;
}

}  // namespace capstan::script
