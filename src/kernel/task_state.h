#pragma once

// What kernels of one task share (TaskState) and what one session adds to it (SessionState).

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/files.h"
#include "base/thread_pool.h"
#include "graph/op_def.h"
#include "kernel/resource.h"
#include "kernel/variable_store.h"

namespace capstan {

// Resources by (container, name). Thread-safe.
class ResourceStore {
 public:
  // The resource under this key, made by `make` when new. Throws InvalidArgument when it exists
  // with another kind.
  std::shared_ptr<Resource> get(std::string_view container, std::string_view name,
                                std::string_view kind,
                                const std::function<std::shared_ptr<Resource>()>& make);
  void reset(const std::vector<std::string>& containers);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resource>> resources_;
};

struct TaskState {
  TaskState(std::string name, int threads, Files& files, Isa isa);

  const std::string name;  // "/job:ps/task:0"
  VariableStore variables;
  ResourceStore resources;  // shared ones: those with a shared_name
  ThreadPool pool;          // for parallel_for inside kernels
  Files& files;
  const Isa isa;
  // Where variables get their bytes; set before the first one is made.
  std::shared_ptr<VariableMemory> variable_memory = std::make_shared<VariableMemory>();
  // Runs the continuation of a blocked segment; never on the stack of whoever unblocked it.
  std::function<void(std::function<void()>)> post;
};

// Private to one session on one task: resources without a shared_name, counters of random ops.
struct SessionState {
  ResourceStore resources;
  std::mutex mutex;
  std::map<std::string, uint64_t> random_counters;  // by node name: Philox blocks already used
};

}  // namespace capstan
