#pragma once

// Where this installation keeps its Python side: found from the place of the running program, so
// that a build tree, an install prefix and a wheel all work without being told.

#include <string>

namespace capstan::cli {

struct Installation {
  std::string python_path;  // the folder with the packages capstan/ and tensorflow/; empty: none
  std::string own_python;   // the interpreter of our own venv; empty: none
};

Installation find_installation();

// --python, else the active virtual environment, else our own venv, else python3. Throws NotFound
// if what was asked for is not there.
std::string find_python(const std::string& asked, const Installation& installation);

// Ours first, then what PYTHONPATH already held. Throws FailedPrecondition without a Python side.
std::string python_path_for_tasks(const Installation& installation);

}  // namespace capstan::cli
