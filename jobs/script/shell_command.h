#pragma once

// A command of the shell, whose answer a script takes.

#include <functional>
#include <string>

namespace capstan::script {

// What the command printed, without the blanks around it. Throws Aborted for one that ends badly,
// and Cancelled soon after `stopped` says so; whatever the command started is gone then.
std::string shell_answer(const std::string& command, const std::function<bool()>& stopped);

}  // namespace capstan::script
