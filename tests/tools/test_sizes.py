"""tools/sizes.py: how files and functions are sized."""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import shape_of_code  # noqa: E402

TEXT = """// A comment.
#define ONE 1
namespace a {
int f(int x) {
  return x;
}
struct S {
  int g() const {
    if (true) {
      return 2;
    }
    return 1;
  }
};
constexpr int kList[] = {
    1,
};
}  // namespace a
"""


def test_functions_are_found_and_lists_and_types_are_not():
    assert shape_of_code.functions(TEXT) == [3, 6]


def test_a_spread_is_median_nine_tenths_and_largest():
    assert shape_of_code.spread(range(1, 12)) == "6 / 10 / 11"


def test_the_tool_prints_every_room_and_the_shape_of_the_engine():
    done = subprocess.run([sys.executable, TOOLS / "sizes.py"], check=True, capture_output=True, text=True)
    assert "src/ops " in done.stdout and "\nsrc: files " in done.stdout
