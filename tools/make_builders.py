"""Makes what C++ has of the rows of src/build: composites.h and optimizers.h, with a function for each,
and families.cc, with the lists of rows.

    make_builders.py <src/build> <out folder>

The types of a composite come from its function's definition, beside its row; defaults and the comment
from the row.
"""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "python" / "capstan" / "core"))

import row_text  # noqa: E402

COMPOSITES = """#pragma once

// Functions that add several nodes. Made by tools/make_builders.py from the rows of src/build.

#include "build/composite.h"

namespace capstan {
%s
}  // namespace capstan
"""
OPTIMIZERS = """#pragma once

// The optimizers. Made by tools/make_builders.py from the rows of src/build.

#include "build/optimizer_row.h"

namespace capstan {
%s
}  // namespace capstan
"""
FAMILIES = """// The rows of src/build, by family. Made by tools/make_builders.py.

#include "build/composite.h"
#include "build/optimizer_row.h"

namespace capstan {

%s
std::vector<CompositeFamily> composite_families() { return {%s}; }
std::vector<OptimizerFamily> optimizer_families() { return {%s}; }

}  // namespace capstan
"""
COMPOSITE = re.compile(r'\{\.name = "(\w+)",((?:(?!\{\.name).)*?)\.build = builder<', re.S)
OPTIMIZER = re.compile(r'\{\.name = "(\w+)",\s*(\.python_class = (?:(?!\{\.name).)*)', re.S)


def field(row, name):
    """The text of a row's field, its literals joined."""
    found = re.search(r"\.%s = ((?:\"[^\"]*\"\s*)+)" % name, row)
    return "".join(re.findall(r'"([^"]*)"', found.group(1))) if found else ""


def definition_of(function, source):
    """(result, [parameter]) of a function, from where it is defined."""
    found = re.search(r"^([\w:<>]+&?) %s\(([^;{]*?)\) \{" % function, source, re.M | re.S)
    if not found:
        raise SystemExit(f"{function}() has a row and no definition beside it")
    flat = " ".join(found.group(2).split())
    return found.group(1), re.split(r", (?![^<]*>)", flat)


REDUCTIONS = {
    "none": "kNone",
    "weighted_sum": "kSum",
    "weighted_mean": "kMean",
    "weighted_sum_over_batch_size": "kOverBatchSize",
    "weighted_sum_by_nonzero_weights": "kOverNonzeroWeights",
}


TYPES = {"float32": "kFloat", "float64": "kDouble", "int32": "kInt32", "int64": "kInt64", "bool": "kBool"}


def default_in_cpp(parameter, default):
    """Python's default as C++ writes it for that parameter. Numbers do not become tensors there."""
    if not default or (parameter.startswith("Output ") and default != "None"):
        return ""
    if parameter.startswith("DType "):
        return " = DType::" + TYPES[default]
    if parameter.startswith("Reduction "):
        return " = Reduction::" + REDUCTIONS[default.strip("'")]
    plain = {"None": "{}", "True": "true", "False": "false"}
    return " = " + plain.get(default, default.replace("'", '"'))


def wrapped(start, pieces, indent, between=" "):
    """Pieces in lines of up to 100 columns."""
    lines = [start + pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(between) + len(piece) < 100:
            lines[-1] += between + piece
        else:
            lines[-1] += between.rstrip()
            lines.append(indent + piece)
    return "\n".join(lines)


def declaration(name, row, source):
    result, types = definition_of(name, source)
    declared = [
        (own, default)
        for own, how, default in row_text.parameters_of(field(row, "python"))
        if row_text.is_engines(own, how)
    ]
    own = [type for type in types if not type.startswith("Graph&")]
    if len(declared) + 1 != len(own) or own[-1] != "std::string_view name":
        raise SystemExit(f"{name}({', '.join(own)}) does not fit its row's parameters {declared}")
    given = [f'std::string_view name = "{field(row, "scope")}"']
    for type, (_, default) in zip(own[-2::-1], reversed(declared)):
        given.insert(0, type + default_in_cpp(type, default))
    head = ["Graph& graph"] if len(types) > len(own) else []
    start = f"{result} {name}("
    comment = wrapped("// ", field(row, "doc").split(), "// ")
    return f"\n{comment}\n{wrapped(start, head + given, ' ' * len(start), ', ')});\n"


def type_of_setting(how, default):
    """The C++ type of a parameter of an optimizer."""
    if default in ("True", "False"):
        return "bool"
    if default.startswith("'"):
        return "std::string"
    return "double" if how in ("number", "positive") else "Hyper"


def factory(name, row):
    declared = row_text.parameters_of(field(row, "python_class"))
    given = [f"{type_of_setting(how, default)} {own}{default_in_cpp('', default)}" for own, how, default in declared]
    start = f"inline std::unique_ptr<Optimizer> {name}("
    comment = wrapped("// ", field(row, "doc").split(), "// ")
    head = wrapped(start, given, " " * len(start), ", ")
    settings = ", ".join(own for own, _, _ in declared)
    body = f'  return make_optimizer("{name}", {{{settings}}});'
    return f"\n{comment}\n{head}) {{\n{body}\n}}\n"


def composites_in(source):
    """Those of the rows that say their parameters; the others are declared in headers of their own."""
    for name, row in COMPOSITE.findall(source):
        if field(row, "python"):
            yield declaration(name, row, source)


def optimizers_in(source):
    return [factory(name, row) for name, row in OPTIMIZER.findall(source)]


def families_in(sources, kind):
    """What gives the rows of each file that has such."""
    return [name for source in sources for name in re.findall(rf"^{kind} (\w+)\(\) \{{", source, re.M)]


def families(sources):
    kinds = {kind: families_in(sources, kind) for kind in ("CompositeFamily", "OptimizerFamily")}
    prototypes = "".join(f"{kind} {name}();\n" for kind, names in kinds.items() for name in names)
    return FAMILIES % (prototypes, *(", ".join(f"{name}()" for name in names) for names in kinds.values()))


def write(path, text):
    """Only where it changes: what includes it need not be compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(folder, out):
    paths = [path for path in sorted(Path(folder).glob("*.cc")) if not path.name.endswith("_test.cc")]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    composites = (text for source in sources for text in composites_in(source))
    optimizers = (text for source in sources for text in optimizers_in(source))
    write(Path(out) / "composites.h", COMPOSITES % "".join(composites))
    write(Path(out) / "optimizers.h", OPTIMIZERS % "".join(optimizers))
    write(Path(out) / "families.cc", families(sources))


if __name__ == "__main__":
    main(*sys.argv[1:])
