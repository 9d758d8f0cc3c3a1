"""tools/make_builders.py: C++ has the functions that rows of src/build declare, with their defaults."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_builders.py"
COMPOSITE = """
Output halved(Graph& g, Output x, double by, Reduction reduction, DType type,
              std::string_view name) {
}

constexpr CompositeDef kRows[] = {
    {.name = "halved",
     .python = "math.halved (x, by=2.0, reduction='none', dtype=float32, name=None, "
               "old: for by=None)",
     .doc = "x over two.",
     .scope = "halved",
     .build = builder<halved>},
    {.name = "piece", .build = builder<static_cast<Any>(piece)>},
};

CompositeFamily half_composites() { return kRows; }
"""
OPTIMIZER = """
constexpr OptimizerDef kRows[] = {
    {.name = "descent",
     .python_class = "train.Descent (rate, start: number=0.1, use_locking=False, name='Descent')",
     .doc = "Down.",
     .dense = {"Apply", "var rate grad"}},
};

OptimizerFamily descents() { return kRows; }
"""


def make(folder, source):
    (folder / "a.cc").write_text(source)
    (folder / "a_test.cc").write_text(source)  # nothing of a test is declared
    return subprocess.run([sys.executable, TOOL, folder, folder], capture_output=True, text=True)


def test_a_composite_is_declared_with_its_types_and_defaults(tmp_path):
    assert make(tmp_path, COMPOSITE).returncode == 0
    assert (
        "// x over two.\n"
        "Output halved(Graph& graph, Output x, double by = 2.0, Reduction reduction = Reduction::kNone,\n"
        '              DType type = DType::kFloat, std::string_view name = "halved");\n'
    ) in (tmp_path / "composites.h").read_text()


def test_an_optimizer_is_a_function_of_its_parameters(tmp_path):
    assert make(tmp_path, OPTIMIZER).returncode == 0
    text = (tmp_path / "optimizers.h").read_text()
    assert "descent(Hyper rate, double start = 0.1," in text
    assert 'return make_optimizer("descent", {rate, start, use_locking, name});' in text


def test_families_are_those_of_the_files(tmp_path):
    make(tmp_path, COMPOSITE + OPTIMIZER)
    text = (tmp_path / "families.cc").read_text()
    assert "return {half_composites()};" in text and "return {descents()};" in text


def test_a_file_that_would_be_the_same_is_left_alone(tmp_path):
    make(tmp_path, COMPOSITE)
    before = (tmp_path / "composites.h").stat().st_mtime_ns
    make(tmp_path, COMPOSITE)
    assert (tmp_path / "composites.h").stat().st_mtime_ns == before


def test_a_row_that_does_not_fit_its_function_is_refused(tmp_path):
    done = make(tmp_path, COMPOSITE.replace("(x, by=2.0,", "(x,"))
    assert done.returncode != 0 and "does not fit its row's parameters" in done.stderr
    done = make(tmp_path, COMPOSITE.replace("Output halved(", "Output other("))
    assert "halved() has a row and no definition beside it" in done.stderr
