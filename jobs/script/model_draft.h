#pragma once

// A model that is being trained: written below its path under a hidden name, and published whole,
// or not at all.

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "jobs/scratch_folder.h"
#include "jobs/script/model_store.h"

namespace capstan::script {

// Throws FailedPrecondition where keepVersion="false" would replace what no training has left.
void check_replaceable(const std::string& path);

class ModelDraft {
 public:
  // `resume`: what the chief writes survives a run that fails, and the next draft has it. Throws
  // FailedPrecondition if another run is at it; PermissionDenied and the like where `path` cannot
  // be written.
  ModelDraft(const std::string& path, const std::string& run, int chief, bool resume,
             jobs::FolderKeeper* keeper = nullptr);
  ~ModelDraft();
  ModelDraft(const ModelDraft&) = delete;
  ModelDraft& operator=(const ModelDraft&) = delete;

  // Where the chief writes; not made here.
  const std::string& model() const { return model_; }
  // The name of the newest checkpoint that an earlier run left, or nothing.
  std::string found() const;

  // Whole or absent, beside the model.
  void write_meta(const std::string& name, std::string_view bytes);

  // Nothing if the chief wrote no model. `keep_version`: as the next number; else in place of what
  // was there.
  std::optional<ModelVersion> publish(bool keep_version);

 private:
  ModelVersion publish_version();
  ModelVersion replace();
  std::string resume_folder() const;

  const std::string path_;
  const int chief_;
  const bool was_there_;
  jobs::ScratchFolder part_;
  Fd resume_lock_;
  std::string model_;
};

}  // namespace capstan::script
