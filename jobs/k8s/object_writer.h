#pragma once

// Makes and removes the objects of one job: returns at once, tries again until the server has done
// it, and says in events what it did and what it could not do. One call at a time for an object.

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "jobs/k8s/operator_context.h"

namespace capstan::jobs::k8s {

struct MakeAnswer {
  JsonRef object;  // as the server has it, be it ours from before; null with an error, of a Secret
  std::optional<Error> error;
};
using OnMade = std::function<void(const MakeAnswer&)>;

class ObjectWriter {
 public:
  // What it makes has this job as its controller.
  ObjectWriter(OperatorContext& context, std::string job, std::string uid, JobVoice& voice);
  ~ObjectWriter();
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // `made` is told once: the object is there and ours; or it is not to be had, since somebody else
  // has its name or the server finds it wrong. What may pass is tried again.
  void make(Resource resource, nlohmann::json object, OnMade made = {});
  // Removes this very object, with its own grace or at once. Told when the server has heard it.
  void remove(Resource resource, const ObjectName& object, const std::string& uid,
              bool at_once = false);
  // What is not there yet is not tried any more, and nobody is told.
  void give_up_making();
  bool makes(Resource resource, const ObjectName& object) const;
  // It has been asked to go.
  bool removes(const std::string& uid) const { return removed_.contains(uid); }
  void forget(const std::string& uid) { removed_.erase(uid); }

 private:
  struct Making;
  struct Removing;
  using MakingRef = std::shared_ptr<Making>;
  using RemovingRef = std::shared_ptr<Removing>;

  void create(const MakingRef& making);
  void created(const MakingRef& making, const ApiAnswer& answer);
  void look_whose(const MakingRef& making);
  void found(const MakingRef& making, const JsonRef& object);
  bool stays(const nlohmann::json& object) const;
  void end(const MakingRef& making, MakeAnswer answer);
  void send(const RemovingRef& removing);
  void removed(const RemovingRef& removing, const ApiAnswer& answer);
  template <class Then>
  void later(double delay, Then then);
  void say_done(std::string_view verb, Resource resource, std::string_view name);
  void say_failed(std::string_view verb, Resource resource, const Error& error);

  OperatorContext& context_;
  const std::string job_, uid_;
  JobVoice& voice_;
  std::map<std::pair<std::string, ObjectName>, MakingRef> making_;
  std::map<std::string, bool> removed_;  // uid to: at once
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
