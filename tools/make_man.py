"""Makes the manual pages of `capstan` out of what its commands say with --help.

    make_man.py <capstan> <folder>
"""

import argparse
import re
import subprocess
from pathlib import Path

OPTION = re.compile(r"^  (-\S.*?|[A-Z]+(?: \S+)*?)(?:\s{2,}(.*))?$")


def help_of(capstan, *words):
    return subprocess.run([capstan, *words, "--help"], check=True, capture_output=True, text=True).stdout


def roff(text):
    """Text as troff takes it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return "\\&" + text if text[:1] in (".", "'") else text


def commands_of(text):
    """The commands that the help of the program names, in its order."""
    words = re.findall(r"^  capstan ((?:[a-z]+)(?:[^\n]*?))(?:  |$)", text, re.M)
    named = (re.findall(r"(?:^|\| )([a-z]+)", line) for line in words)
    return list(dict.fromkeys(word for line in named for word in line))


def page(name, version, summary, usage, body):
    head = [f'.TH "{roff(name.upper())}" 1 "" "Capstan {version}"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}"]
    return "\n".join([*head, ".SH SYNOPSIS", ".nf", roff(usage), ".fi", *body]) + "\n"


def literal(title, text):
    return [f".SH {title}", ".nf", *map(roff, text.strip("\n").splitlines()), ".fi"]


def options_section(lines):
    out = [".SH OPTIONS"]
    for line in lines:
        if match := OPTION.match(line):
            out += [".TP", f"\\fB{roff(match[1])}\\fR", roff(match[2] or "")]
        elif line.strip():
            out.append(roff(line.strip()))
    return out


def command_page(capstan, command, version):
    summary, rest = help_of(capstan, command).split("\n", 1)
    usage, rest = re.match(r"Usage: ([^\n]*)\n(.*)", rest, re.S).groups()
    blocks = re.split(r"\n(?=\S)", rest)
    body, notes = [], []
    for block in blocks:
        if block.startswith(("Options:", "Positionals:")):
            body += options_section(block.splitlines()[1:])[0 if not body else 1 :]
        else:
            notes.append(block)
    if "\n".join(notes).strip():
        body += literal("NOTES", "\n".join(notes))
    return page(f"capstan-{command}", version, summary, usage, body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capstan")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    text = help_of(args.capstan)
    version = subprocess.run([args.capstan, "--version"], capture_output=True, text=True).stdout.split()[1]
    first, rest = text.split("\n", 1)
    commands = commands_of(text)
    see = ", ".join(f"capstan-{command}(1)" for command in commands)
    body = [*literal("DESCRIPTION", rest), ".SH SEE ALSO", roff(see)]
    front = page("capstan", version, first.split(": ", 1)[1], "capstan COMMAND [OPTIONS]", body)
    (args.folder / "capstan.1").write_text(front)
    for command in commands:
        (args.folder / f"capstan-{command}.1").write_text(command_page(args.capstan, command, version))


if __name__ == "__main__":
    main()
