#include "jobs/k8s/local_image.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"

namespace capstan::jobs::k8s {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string full_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  return error ? path.string() : full.lexically_normal().string();
}

LocalImage of_folder(const fs::path& folder) {
  LocalImage image{.folder = full_path(folder), .runs_there = true};
  if (is_there(folder / "main.py")) image.entry_point = {full_path(folder / "main.py")};
  return image;
}

// A program beside us is meant by its bare name, as a script would be.
LocalImage of_command(std::vector<std::string> words, const std::string& text) {
  const fs::path program = words[0];
  const bool is_here = is_there(program);
  if (!is_here && (words[0].ends_with(".py") || words[0].find('/') != std::string::npos)) {
    throw not_found("--image {}: there is no {}; give a program or a folder of this machine", text,
                    words[0]);
  }
  LocalImage image;
  if (is_here) {
    words[0] = full_path(program);
    image.folder = fs::path(words[0]).parent_path().string();
  }
  image.entry_point = std::move(words);
  return image;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!quote && space) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else if (quote ? c == quote : (c == '"' || c == '\'')) {
      quote = quote ? 0 : c;
    } else {
      words.back() += c;
    }
  }
  if (quote) throw invalid_argument("{}: a quote that does not end", text);
  return words;
}

LocalImage parse_local_image(const std::string& text) {
  // A file of that very name is meant, even if it has a = in it.
  const size_t equals = is_there(text) ? text.npos : text.find('=');
  const std::string value = equals == text.npos ? text : text.substr(equals + 1);
  const bool named = equals != text.npos;
  if (value.empty() || (named && equals == 0)) {
    throw invalid_argument(
        "--image {}: expected IMAGE=PROGRAM or IMAGE=FOLDER, as in example/mnist:1=main.py", text);
  }
  std::error_code error;
  LocalImage image;
  if (fs::is_directory(value, error)) {
    image = of_folder(value);
  } else {
    image = is_there(value) ? of_command({value}, text) : of_command(split_words(value), text);
  }
  image.image = named ? text.substr(0, equals) : "";
  return image;
}

const LocalImage* find_image(const std::vector<LocalImage>& images, std::string_view name) {
  auto named = [&](std::string_view wanted) -> const LocalImage* {
    auto found = std::ranges::find(images, wanted, &LocalImage::image);
    return found == images.end() ? nullptr : &*found;
  };
  if (const LocalImage* image = name.empty() ? nullptr : named(name)) return image;
  const size_t slash = name.rfind('/');
  const size_t tag = name.find_first_of(":@", slash == name.npos ? 0 : slash);
  const LocalImage* untagged = tag == name.npos || tag == 0 ? nullptr : named(name.substr(0, tag));
  return untagged ? untagged : named("");
}

std::string local_path(const LocalImage& image, const std::string& word) {
  const bool is_path = word.find('/') != std::string::npos || word.ends_with(".py");
  if (image.folder.empty() || !is_path || word.starts_with('-') || is_there(word)) return word;
  const fs::path path = fs::path(word).relative_path().lexically_normal();
  for (auto begin = path.begin(); begin != path.end(); ++begin) {
    fs::path rest;
    for (auto part = begin; part != path.end(); ++part) rest /= *part;
    if (*begin == ".." || rest.empty() || rest == ".") continue;
    if (is_there(image.folder / rest)) return (image.folder / rest).string();
  }
  return word;
}

}  // namespace capstan::jobs::k8s
