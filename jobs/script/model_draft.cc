#include "jobs/script/model_draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/files.h"
#include "io/checkpoint_state.h"
#include "jobs/script/training_info.h"

namespace capstan::script {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResume = ".resume";

[[noreturn]] void fail(const char* verb, const std::string& path, int number = errno) {
  const Code code = number == ENOSPC || number == EDQUOT  ? Code::kResourceExhausted
                    : number == EACCES || number == EROFS ? Code::kPermissionDenied
                                                          : Code::kUnknown;
  throw Error(code, fmt::format("the model was not published: cannot {} {}: {}", verb, path,
                                std::strerror(number)));
}

void sync_file(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) fail("open", path);
  if (fsync(fd.get()) != 0 && errno != EINVAL) fail("sync", path);
}

// Everything below the folder, then the folder itself: after this no crash of the machine takes it.
void sync_tree(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !(entry.is_regular_file() || entry.is_directory())) continue;
    sync_file(entry.path());
  }
  sync_file(folder);
}

// What a link of the model leads to, which is part of the model as well.
fs::path target_in(const fs::path& model, const fs::path& link) {
  const fs::path given = fs::read_symlink(link);
  const fs::path target = fs::weakly_canonical(link.parent_path() / given);
  const auto [end, unused] = std::ranges::mismatch(model, target);
  if (end == model.end() && target != model && fs::exists(target)) return target;
  throw failed_precondition(
      "the model was not published: its {} is a link to {}, which is not part of it; write the "
      "file itself there",
      link.lexically_relative(model).string(), given.string());
}

// Links inside the model lead to the same files when it has its published name.
void make_links_relative(const std::string& folder) {
  const fs::path model = fs::canonical(folder);
  std::vector<fs::path> links;
  for (const auto& entry : fs::recursive_directory_iterator(model)) {
    if (entry.is_symlink()) links.push_back(entry.path());
  }
  for (const fs::path& link : links) {
    const fs::path target = target_in(model, link);
    fs::remove(link);
    fs::create_symlink(fs::relative(target, link.parent_path()), link);
  }
}

// A script that saves below an absolute folder writes absolute names into `checkpoint`; they are
// wrong as soon as the folder has its published name.
void make_names_relative(const std::string& folder) {
  std::vector<std::string> folders = {folder};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) folders.push_back(entry.path());
  }
  for (const std::string& dir : folders) {
    try {
      auto state = read_checkpoint_state(posix_files(), dir);
      if (state) write_checkpoint_state(posix_files(), dir, *state, /*relative_paths=*/true);
    } catch (const Error& error) {
      if (error.code() != Code::kDataLoss) throw;  // a file of that name that is something else
    }
  }
}

// False: something is there already.
bool rename_if_free(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  const bool unknown = errno == EINVAL || errno == ENOSYS;  // a file system without it
  if (unknown && ::rename(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  fail("rename", fmt::format("{} to {}", from, to));
}

// What stood at `to` is at `from` afterwards.
void exchange(const std::string& from, const std::string& to) {
  if (rename_if_free(from, to)) return;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  const std::string aside = from + ".old";
  if (::rename(to.c_str(), aside.c_str()) != 0 || ::rename(from.c_str(), to.c_str()) != 0)
    fail("replace", to);
}

}  // namespace

void check_replaceable(const std::string& path) {
  if (posix_files().exists(join_path(path, "meta/model.json"))) return;
  auto refuse = [&](const char* name) {
    throw failed_precondition(
        "{} is there, and is no model that a training left: keepVersion=\"false\" does not replace "
        "it; give the model a folder of its own",
        join_path(path, name));
  };
  if (posix_files().exists(join_path(path, "meta"))) refuse("meta");
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(join_path(path, "model"), none)) {
    // Trainings of MLSQL left no meta, but a folder for each chief.
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || name.find_first_not_of("0123456789") != name.npos) refuse("model");
  }
}

ModelDraft::ModelDraft(const std::string& path, const std::string& run, int chief, bool resume,
                       jobs::FolderKeeper* keeper)
    : path_(path),
      chief_(chief),
      was_there_(posix_files().exists(path)),
      part_(path, kRunningPrefix, run, keeper) {
  const std::string own = join_path(part_.path(), "model");
  posix_files().make_dirs(own);
  posix_files().make_dirs(join_path(part_.path(), "meta"));
  if (resume) {
    posix_files().make_dirs(resume_folder());
    resume_lock_ = jobs::lock_folder(resume_folder());
    if (!resume_lock_) {
      throw failed_precondition("another run is training {} and would go on from the same files",
                                path);
    }
  }
  model_ = join_path(resume ? resume_folder() : own, std::to_string(chief));
}

ModelDraft::~ModelDraft() {
  if (resume_lock_) rmdir(resume_folder().c_str());  // stays if it holds anything
  if (part_.path().empty() || was_there_) return;
  std::error_code error;
  fs::remove_all(part_.path(), error);
  rmdir(path_.c_str());
}

std::string ModelDraft::resume_folder() const { return join_path(path_, kResume); }

std::string ModelDraft::found() const {
  if (!resume_lock_) return "";
  try {
    auto state = read_checkpoint_state(posix_files(), model_);
    if (state) return name_of(state->model_checkpoint_path);
  } catch (const Error&) {
  }
  std::error_code error;
  return fs::is_directory(model_, error) && !fs::is_empty(model_, error) ? "its files" : "";
}

void ModelDraft::write_meta(const std::string& name, std::string_view bytes) {
  write_atomically(posix_files(), join_path(part_.path(), "meta/" + name), bytes);
}

std::optional<ModelVersion> ModelDraft::publish(bool keep_version) {
  std::error_code error;
  if (!fs::is_directory(model_, error) || fs::is_empty(model_, error)) return std::nullopt;
  if (fs::is_symlink(model_, error)) {
    throw failed_precondition(
        "the model was not published: output_model_dir() is a link; make it a folder");
  }
  try {
    make_links_relative(model_);
    make_names_relative(model_);
    if (resume_lock_) {
      const std::string own = join_path(part_.path(), "model/" + std::to_string(chief_));
      if (!rename_if_free(model_, own)) fail("rename", model_, EEXIST);
    }
    sync_tree(part_.path());
  } catch (const fs::filesystem_error& problem) {
    fail("read", problem.path1(), problem.code().value());
  }
  ModelVersion version = keep_version ? publish_version() : replace();
  posix_files().sync_dir(path_);
  return version;
}

ModelVersion ModelDraft::publish_version() {
  for (;;) {  // another run may take the number first
    const std::vector<int> taken = version_numbers(path_);
    const int number = taken.empty() ? 0 : taken.back() + 1;
    if (!rename_if_free(part_.path(), version_folder(path_, number))) continue;
    part_.release();
    return newest_model(path_, number);
  }
}

ModelVersion ModelDraft::replace() {
  for (const char* name : {"model", "meta"})
    exchange(join_path(part_.path(), name), join_path(path_, name));
  return model_versions(path_).front();
}

}  // namespace capstan::script
