#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace capstan {
namespace {

// Comparing takes the product of both lengths, and what is longer is no slip of a hand.
constexpr size_t kLongestGuess = 200;

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

size_t most_edits(std::string_view wrong) { return std::max<size_t>(1, wrong.size() / 4); }

std::string nearest(std::string_view wrong, std::span<const std::string> names) {
  if (wrong.size() > kLongestGuess) return {};
  size_t best = most_edits(wrong) + 1;
  std::string found;
  for (const std::string& name : names) {
    // No fewer edits than this, and far quicker to tell.
    const size_t apart = std::max(name.size(), wrong.size()) - std::min(name.size(), wrong.size());
    if (apart >= best) continue;
    size_t distance = edit_distance(wrong, name);
    if (distance >= best) continue;
    best = distance;
    found = name;
  }
  return found;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> names) {
  std::string name = nearest(wrong, names);
  return name.empty() ? name : "; did you mean " + name + "?";
}

}  // namespace capstan
