#pragma once

// The program that a DTF training runs: tables that hold scripts, one file, or a folder.

#include <string>
#include <vector>

#include "jobs/script/algorithm.h"
#include "jobs/task_spec.h"

namespace capstan::script {

struct Project {
  std::vector<jobs::TaskFile> files;  // in the folder of every task
  std::string entry;                  // the one that is run
  std::vector<std::string> arguments;
};

// From the options scripts, entryPoint, condaFile, pythonScriptPath and pythonDescPath. Throws at
// the option that is wrong.
Project dtf_project(const AlgorithmCall& call);

// "python train.py --x 1", the command of an MLproject's entry point `train`, else `main`; empty
// where there is none.
std::string mlproject_command(std::string_view text);

}  // namespace capstan::script
