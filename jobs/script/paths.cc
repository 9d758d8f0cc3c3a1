#include "jobs/script/paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"

namespace capstan::script {
namespace {

namespace fs = std::filesystem;

Error refused(const Place& place, const std::string& path, std::string_view why) {
  return error_at(place, Code::kPermissionDenied, fmt::format("path {}: {}", shown(path), why));
}

bool has_control(const std::string& path) {
  return std::ranges::any_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool climbs(const std::string& path) {
  return std::ranges::any_of(fs::path(path), [](const fs::path& part) { return part == ".."; });
}

// "s3" of "s3://bucket/x"; else empty.
std::string scheme_of(const std::string& path) {
  const size_t end = path.find("://");
  return end == path.npos || path.find('/') < end ? std::string() : path.substr(0, end);
}

// Where a path really lies, as far as it exists: the rest is going to be made there.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : real;
}

bool lies_below(const fs::path& path, const fs::path& base) {
  return std::ranges::mismatch(base, path).in1 == base.end();
}

// The part of a pattern that names one folder for sure.
fs::path before_pattern(const fs::path& path) {
  fs::path sure;
  for (const fs::path& part : path) {
    if (part.native().find_first_of("*?[{") != part.native().npos) break;
    sure /= part;
  }
  return sure;
}

// An empty last part ("a/") would count as one more level.
fs::path real_base(const std::string& base) {
  fs::path real = real_path(fs::absolute(base));
  return real.has_filename() ? real : real.parent_path();
}

std::string without(std::string text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  return text;
}

// "tf.py_train.mlsql" -> "tf/py_train.mlsql"
std::string dots_as_folders(const std::string& path, const Place& place) {
  const std::string suffix = path.ends_with(".py") ? ".py" : ".mlsql";
  std::string stem = without(path, suffix);
  const bool gap = stem.empty() || stem.front() == '.' || stem.back() == '.';
  if (gap || stem.find("..") != stem.npos)
    throw refused(place, path, "a name between dots is empty");
  std::ranges::replace(stem, '.', '/');
  return stem + suffix;
}

}  // namespace

Paths::Paths(std::string home, std::string root) : home_(std::move(home)), root_(std::move(root)) {}

// `..` is refused even where it would stay inside: what it means depends on links.
void Paths::check_text(const std::string& path, const Place& place) const {
  if (path.empty())
    throw error_at(place, Code::kInvalidArgument, "a path is missing between the backquotes");
  if (path.size() > 4000) throw refused(place, path, "it is too long");
  if (has_control(path)) throw refused(place, path, "it has a control character");
  if (climbs(path)) throw refused(place, path, "\"..\" is not allowed");
  const std::string scheme = scheme_of(path);
  if (!scheme.empty() && scheme != "file") {
    throw refused(place, path,
                  fmt::format("nothing here serves {}://; copy the data to a file first", scheme));
  }
}

std::string Paths::below(const std::string& base, const std::string& path,
                         const Place& place) const {
  const fs::path full = fs::path(base.empty() ? "." : base) / fs::path(path).relative_path();
  const fs::path real = real_path(before_pattern(fs::absolute(full)));
  if (!lies_below(real, real_base(base.empty() ? "." : base)))
    throw refused(place, path, "a link in it leads out of the allowed folder");
  return full.lexically_normal().string();
}

std::string Paths::file(const std::string& path, const Place& place) const {
  check_text(path, place);
  const std::string plain = path.starts_with("file://") ? path.substr(7) : path;
  const bool absolute = plain.starts_with('/');
  if (absolute && root_.empty()) return fs::path(plain).lexically_normal().string();
  if (!absolute && root_.empty()) return (fs::path(home_) / plain).lexically_normal().string();
  return below(absolute ? root_ : home_, plain, place);
}

std::string Paths::input(const std::string& path, const Place& place) const {
  const std::string found = file(path, place);
  if (root_.empty()) return found;
  const fs::path base =
      real_base(path.starts_with('/') || path.starts_with("file:") ? root_ : home_);
  auto check = [&](const fs::path& entry) {
    if (!lies_below(real_path(entry), base))
      throw refused(place, path,
                    fmt::format("{} is a link that leads out of the allowed folder",
                                entry.filename().string()));
  };
  for (const std::string& match : posix_files().glob(found)) check(match);
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(found, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    check(entry->path());
  return found;
}

std::string Paths::script(const std::string& project, const std::string& path,
                          const Place& place) const {
  check_text(path, place);
  const bool whole_path = project == "project" || project == "local";
  const bool as_file = whole_path || path.find('/') != path.npos;
  const std::string relative = as_file ? path : dots_as_folders(path, place);
  if (!whole_path) check_text(project, place);
  const std::string found = below(home_, whole_path ? relative : project + "/" + relative, place);
  if (!posix_files().exists(found)) {
    throw error_at(place, Code::kNotFound,
                   fmt::format("there is no script {}.`{}`; it was looked for at {}",
                               shown(project), shown(path), found));
  }
  return found;
}

}  // namespace capstan::script
