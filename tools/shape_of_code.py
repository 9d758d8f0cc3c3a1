"""How files and functions of C++ are sized: median, 90th percentile, longest; comments and macros."""

import re

FUNCTION = re.compile(
    r"^( *)(?!namespace|struct|class|enum|union|if|for|while|switch|do|else|try|extern)\S.*[)\w] ?\{$"
)
DEFINE = re.compile(r"^\s*#\s*define\b")


def functions(text):
    """The lengths of the functions of a file, with their first and last lines."""
    lengths, lines = [], text.splitlines()
    for at, line in enumerate(lines):
        begins = FUNCTION.match(line)
        if not begins or "(" not in "".join(lines[max(0, at - 4) : at + 1]):
            continue
        indent = begins[1]
        ends = next((i for i in range(at + 1, len(lines)) if lines[i].startswith(indent + "}")), None)
        # A brace of a list or a lambda within an expression ends with more than itself.
        if ends is not None and lines[ends] == indent + "}":
            lengths.append(ends - at + 1)
    return lengths


def spread(numbers):
    """Median, 90th percentile and largest of a list, as text."""
    ordered = sorted(numbers) or [0]
    return " / ".join(str(ordered[int(share * (len(ordered) - 1))]) for share in (0.5, 0.9, 1.0))


def shape(texts):
    """One row for a list of texts: files, lines, files' and functions' sizes, comments, macros."""
    lines = [line for text in texts for line in text.splitlines()]
    comments = sum(line.lstrip().startswith(("//", "/*", "*")) for line in lines)
    macros = sum(bool(DEFINE.match(line)) for line in lines)
    lengths = [length for text in texts for length in functions(text)]
    total = max(len(lines), 1)
    return (
        f"files {len(texts)}, lines {len(lines)}; file median / p90 / max {spread([t.count(chr(10)) for t in texts])}; "
        f"function {spread(lengths)}; comments {100 * comments // total}%; "
        f"{1000 * macros / total:.1f} #define per 1000 lines"
    )
