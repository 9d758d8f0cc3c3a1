#include "net/refusals.h"

namespace capstan {

void Refusals::add(const Error& why) {
  if (!tell_) return;
  if (quiet_) {
    ++untold_;
    last_ = why;
    return;
  }
  tell_(why);
  begin_period();
}

void Refusals::begin_period() {
  quiet_ = true;
  timer_ = loop_.at(loop_.now() + period_, [this] { end_period(); });
}

void Refusals::end_period() {
  quiet_ = false;
  if (untold_ == 0) return;
  tell_(
      Error(last_->code(), fmt::format("{} (one of {} within {} s)", last_->message(),
                                       std::exchange(untold_, 0), double(period_.count()) / 1000)));
  begin_period();
}

}  // namespace capstan
