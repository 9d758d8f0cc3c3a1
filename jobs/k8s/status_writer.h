#pragma once

// Brings the status of one TFJob to the server: only if it differs, one call at a time, again after
// errors. The last status wins; what lay between is not written.

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "jobs/k8s/operator_context.h"

namespace capstan::jobs::k8s {

// What a merge patch must say to make `to` out of `from`; empty: they are the same.
nlohmann::json merge_difference(const nlohmann::json& from, const nlohmann::json& to);

class StatusWriter {
 public:
  // `written` is called when the server has taken what write() asked for.
  StatusWriter(OperatorContext& context, ObjectName job, std::string uid, JobVoice& voice,
               std::function<void()> written);
  ~StatusWriter();
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  // What the server has, as the informer told. Older than what is known already: nothing.
  void seen(const std::string& version, const nlohmann::json& status);
  void write(const nlohmann::json& status);
  // Nothing more will be written; seen() begins anew.
  void forget();
  // Somebody else writes it from now on.
  void stop() { stopped_ = true; }
  // The server has it.
  bool settled() const { return !busy_ && merge_difference(there_, wanted_).empty(); }

 private:
  void send_soon();
  void send();
  void sent(const ApiAnswer& answer);
  void look();
  void take(const nlohmann::json& object);
  void again(double retry_after);

  OperatorContext& context_;
  const ObjectName job_;
  const std::string uid_;
  JobVoice& voice_;
  const std::function<void()> written_;
  nlohmann::json there_, wanted_;
  std::string version_;
  bool asked_ = false, busy_ = false, posted_ = false, stopped_ = false;
  Backoff backoff_;
  std::shared_ptr<bool> alive_;
};

}  // namespace capstan::jobs::k8s
