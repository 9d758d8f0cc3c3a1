"""Makes the table by which names of TensorFlow are found: capstan/_names.py, when Capstan is built.

Reads, without importing anything: the declarations of capstan/core/public.py in the sources of the
package, what the rows in src/ops and src/build say of their Python functions, and "// Names: tf.…" above the
messages of proto/. Two places that declare one name are an error.

    make_names.py <repository> out/_names.py
"""

import ast
import re
import sys
from pathlib import Path

HEAD = '''"""Where each public name of TensorFlow lives here: "file:attribute", or "file" for a module.

Made by tools/make_names.py from what the sources say.
"""

TABLE = {
'''
ROW = re.compile(r'(?:\.python = |in_python\()((?:"[^"]*"\s*)+)')
CLASS = re.compile(r'\.python_class = ((?:"[^"]*"\s*)+)')
MESSAGE = re.compile(r"^// Names: (.+)\n(?://.*\n)*message (\w+)", re.M)


def strings_of(call):
    if not all(isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in call.args):
        raise SyntaxError(f"line {call.lineno}: names are written out as strings")
    return [arg.value for arg in call.args]


def calls_to(name, node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def difference_of(statement):
    """What a declared function or class says of how it differs, or ""."""
    for decorator in getattr(statement, "decorator_list", ()):
        if calls_to("public", decorator):
            return "".join(keyword.value.value for keyword in decorator.keywords)
    return ""


def declared_by(statement):
    """(attribute or "" for the module, public name) of what a statement of a module declares."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        for decorator in statement.decorator_list:
            if calls_to("public", decorator):
                yield from ((statement.name, name) for name in strings_of(decorator))
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        if calls_to("public", statement.value.func):
            for target in statement.targets:
                yield from ((target.id, name) for name in strings_of(statement.value.func))
    elif isinstance(statement, ast.Expr) and calls_to("public_module", statement.value):
        yield from (("", name) for name in strings_of(statement.value))
    elif isinstance(statement, ast.Expr) and calls_to("public_values", statement.value):
        for keyword in statement.value.keywords:
            yield from ((keyword.arg, name) for name in keyword.value.value.split())


def statements_in(package):
    """(file, statement) of all that stands in the modules of a package."""
    for path in sorted(package.rglob("*.py")):
        file = ".".join(path.relative_to(package).with_suffix("").parts)
        for statement in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
            yield file, statement


def declared_in(package):
    """(public name, where it is) of all that the sources of a package declare."""
    for file, statement in statements_in(package):
        for attribute, name in declared_by(statement):
            yield name, f"{file}:{attribute}" if attribute else file


def differences_in(package):
    """{public name: how it differs from TensorFlow's}"""
    return {
        name: difference_of(statement)
        for _, statement in statements_in(package)
        for _, name in declared_by(statement)
        if difference_of(statement)
    }


def texts_in(folder, pattern):
    """What the rows of a folder of src say in a field, as one text each."""
    for path in sorted(folder.glob("*.cc")):
        if path.name.endswith("_test.cc"):
            continue
        for literals in pattern.findall(path.read_text(encoding="utf-8")):
            yield "".join(re.findall(r'"([^"]*)"', literals))


def rows_in(folder, where):
    """The functions of rows; `where` is the module that derives them."""
    for text in texts_in(folder, ROW):
        yield from ((name, f"{where}:{name}") for name in text.partition("(")[0].split())


def classes_in(folder):
    """The optimizers, whose classes are made from rows."""
    for text in texts_in(folder, CLASS):
        for name in text.partition("(")[0].split():
            yield name, f"train.optimizers:{name.rpartition('.')[2]}"


def messages_in(protos):
    for path in sorted(protos.glob("*.proto")):
        for names, message in MESSAGE.findall(path.read_text(encoding="utf-8")):
            for name in re.split(r",\s*", names):
                yield name.removeprefix("tf."), f"core.protos:{message}"


def table_of(pairs):
    """{module of TensorFlow: {name: where}}"""
    table = {}
    for full, where in pairs:
        module, _, name = full.rpartition(".")
        if table.setdefault(module, {}).setdefault(name, where) != where:
            raise SystemExit(f"tf.{full} is declared twice: {table[module][name]} and {where}")
    return table


def text_of(table):
    blocks = []
    for module in sorted(table):
        lines = "".join(f'        "{name}": "{where}",\n' for name, where in sorted(table[module].items()))
        blocks.append(f'    "{module}": {{\n{lines}    }},\n')
    return HEAD + "".join(blocks) + "}\n"


def names_of(root):
    """{module of TensorFlow: {name: where}} of a repository."""
    sources = (
        declared_in(root / "python" / "capstan"),
        rows_in(root / "src" / "ops", "core.derived"),
        rows_in(root / "src" / "build", "ops.composites"),
        classes_in(root / "src" / "build"),
        messages_in(root / "proto"),
    )
    return table_of(pair for pairs in sources for pair in pairs)


def main(root, out):
    Path(out).write_text(text_of(names_of(Path(root))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
