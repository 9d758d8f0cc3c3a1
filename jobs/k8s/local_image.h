#pragma once

// What stands for a container image where there are no containers: a program of this machine, or a
// folder in which the commands of containers are found.

#include <string>
#include <string_view>
#include <vector>

namespace capstan::jobs::k8s {

struct LocalImage {
  std::string image;                     // as files name it; empty: every image
  std::vector<std::string> entry_point;  // what it runs if the container says nothing; may be empty
  std::string folder;                    // where paths of the image are looked for; empty: nowhere
  bool runs_there = false;               // its commands run in that folder
};

// "NAME=PROGRAM", "NAME=PROGRAM ARGUMENTS", "NAME=FOLDER", or without NAME= for every image. In a
// folder main.py is the entry point. Throws InvalidArgument, or NotFound for what is not there.
LocalImage parse_local_image(const std::string& text);

// The one of that name, else that of the name without its tag, else the one for all; null: none.
const LocalImage* find_image(const std::vector<LocalImage>& images, std::string_view name);

// Words of a command line: quotes and backslashes as in a shell, nothing else. Throws
// InvalidArgument for a quote that does not end.
std::vector<std::string> split_words(std::string_view text);

// A path within the image as one of this machine: what does not exist here, and whose end does
// below the image's folder, is that. Anything else stays as it is.
std::string local_path(const LocalImage& image, const std::string& word);

}  // namespace capstan::jobs::k8s
