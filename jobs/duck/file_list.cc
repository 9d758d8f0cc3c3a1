#include "jobs/duck/file_list.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace capstan::duck {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPatternSigns = "*?[{";

bool is_hidden(const fs::path& name) {
  std::string text = name.filename();
  return text.starts_with("_") || text.starts_with(".");
}

// The folder above the first sign of a pattern; the path itself without one.
fs::path base_of(const std::string& path) {
  size_t sign = path.find_first_of(kPatternSigns);
  if (sign == path.npos) return path;
  return path.substr(0, path.rfind('/', sign) + 1);
}

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  int status = glob(pattern.c_str(), GLOB_BRACE, nullptr, &found);
  std::vector<std::string> out(found.gl_pathv, found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  globfree(&found);
  return out;
}

void add_below(const fs::path& folder, std::vector<std::string>& out) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (is_hidden(entry.path())) continue;
    if (entry.is_directory() && !entry.is_symlink()) {
      add_below(entry.path(), out);
    } else {
      out.push_back(entry.path());
    }
  }
  if (error)
    throw permission_denied("cannot read the folder {}: {}", folder.string(), error.message());
}

void check_inside(const fs::path& base, const std::string& file) {
  std::error_code error;
  fs::path real = fs::canonical(file, error);
  if (error) throw not_found("{}: {}", file, error.message());
  auto [end, ignored] = std::mismatch(base.begin(), base.end(), real.begin(), real.end());
  if (end != base.end()) {
    throw permission_denied("{} is a link that leads out of {}", file, base.string());
  }
  if (!fs::is_regular_file(real)) throw invalid_argument("{} is neither file nor folder", file);
}

}  // namespace

std::vector<std::string> list_files(const std::string& path) {
  bool is_pattern = !fs::exists(path) && path.find_first_of(kPatternSigns) != path.npos;
  fs::path base = is_pattern ? base_of(path) : fs::path(path);
  std::error_code missing;
  fs::path real_base = fs::canonical(base, missing);
  if (missing) throw not_found("{}: there is no such file or folder", path);
  std::vector<std::string> files;
  for (const std::string& found : is_pattern ? matches(path) : std::vector<std::string>{path}) {
    if (fs::is_directory(found)) {
      add_below(found, files);
    } else {
      files.push_back(found);
    }
  }
  if (files.empty()) throw not_found("{}: there is no file", path);
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) check_inside(real_base, file);
  return files;
}

}  // namespace capstan::duck
