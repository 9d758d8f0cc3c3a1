"""tf.app.flags: values given on the command line, read when the first of them is asked for."""

import json
import sys

from capstan import _capstan


class Flag:
    """A definition with its present value; shown, it is its value."""

    def __init__(self, name, default, help, parse, is_bool=False):
        self.name, self.default, self.help = name, default, help
        self.parse, self.is_bool = parse, is_bool
        self.value = default
        self.present = 0

    def __str__(self):
        return str(self.value)

    __repr__ = __str__

    def __format__(self, spec):
        return format(self.value, spec)


class FlagError(ValueError):
    """A flag that cannot be read."""


class _FlagValues:
    """Attributes are flags. The command line is parsed at the first access, and again when flags
    were defined since; values that the program set stay."""

    def __init__(self):
        self.__dict__.update(__flags={}, _parsed=False, _assigned={}, _argv=None, _rest=[])

    def _define(self, flag):
        self.__dict__["__flags"][flag.name] = flag
        self.__dict__["_parsed"] = False

    def _table(self):
        return self.__dict__["__flags"]

    def _parse_flags(self, args=None):
        """Parses (sys.argv by default) and returns what belongs to no flag."""
        if args is not None:
            self.__dict__["_argv"] = list(args)
        argv = self._argv if self._argv is not None else sys.argv[1:]
        table = self._table()
        given, rest = _read(argv, table)
        roles = _role_flags()
        for flag in table.values():
            flag.value, flag.present = flag.default, 0
            if flag.name in self._assigned:
                flag.value = self._assigned[flag.name]
            elif flag.name in given:
                flag.value, flag.present = given[flag.name], 1
            elif flag.name in roles:
                flag.value = _convert(flag, roles[flag.name])
        self.__dict__.update(_parsed=True, _rest=rest)
        return rest

    def _ready(self):
        if not self._parsed:
            try:
                self._parse_flags()
            except FlagError as error:
                sys.stderr.write("%s: %s\n" % (sys.argv[0] if sys.argv else "python", error))
                sys.exit(2)

    def __getattr__(self, name):
        if name == "__wrapped":  # asked for by programs that unwrap absl's object
            return self
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        table = self._table()
        if name not in table:
            import difflib

            near = difflib.get_close_matches(name, table, 1)
            hint = "; did you mean '%s'?" % near[0] if near else ""
            raise AttributeError("no flag named '%s' is defined%s" % (name, hint))
        self._ready()
        return table[name].value

    def __setattr__(self, name, value):
        self._ready()
        self._assigned[name] = value
        if name in self._table():
            self._table()[name].value = value
        else:
            self._define(Flag(name, value, "", lambda text: text))

    def __delattr__(self, name):
        self._table().pop(name, None)

    def __getitem__(self, name):
        self._ready()
        return self._table()[name]

    def __contains__(self, name):
        return name in self._table()

    def __iter__(self):
        return iter(self._table())

    def __dir__(self):
        return sorted(self._table())

    def __call__(self, argv, known_only=False):
        return list(argv[:1]) + self._parse_flags(argv[1:])

    def flag_values_dict(self):
        self._ready()
        return {name: flag.value for name, flag in self._table().items()}

    def is_parsed(self):
        return self._parsed

    def mark_as_parsed(self):
        self._ready()

    def remaining(self):
        """What the command line holds besides flags."""
        self._ready()
        return list(self._rest)


def _role_flags():
    text = _capstan.role_flags()
    return json.loads(text) if text else {}


def _read(argv, table):
    """(values by name, the rest). Unknown flags are left to the program."""
    given, rest, at = {}, [], 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            rest.extend(argv[at:])
            break
        if word in ("--help", "-h", "--helpfull", "-help") and "help" not in table:
            _show_help(table)
        name, equals, text = word.lstrip("-").partition("=")
        flag = table.get(name) if word.startswith("-") else None
        if (
            flag is None
            and word.startswith("--no")
            and name[2:] in table
            and table[name[2:]].is_bool
        ):
            given[name[2:]] = False
        elif flag is None:
            rest.append(word)
        elif equals:
            given[name] = _convert(flag, text)
        elif flag.is_bool:
            takes = at < len(argv) and argv[at].lower() in ("true", "false")
            given[name] = _convert(flag, argv[at]) if takes else True
            at += takes
        elif at == len(argv):
            raise FlagError("flag --%s needs a value" % name)
        else:
            given[name] = _convert(flag, argv[at])
            at += 1
    return given, rest


def _convert(flag, text):
    try:
        return flag.parse(text)
    except (TypeError, ValueError) as error:
        raise FlagError("flag --%s=%s: %s" % (flag.name, text, error)) from None


def _show_help(table):
    print("usage: %s [flags]\n" % (sys.argv[0] if sys.argv else "python"))
    for name in sorted(table):
        flag = table[name]
        print(
            "  --%s%s: %s\n    (default: %r)"
            % ("[no]" if flag.is_bool else "", name, flag.help, flag.default)
        )
    sys.exit(0)


def _parse_bool(text):
    if isinstance(text, bool):
        return text
    if str(text).lower() in ("true", "t", "1", "yes", "y"):
        return True
    if str(text).lower() in ("false", "f", "0", "no", "n"):
        return False
    raise ValueError("not a boolean")


def _parse_int(text):
    if isinstance(text, int):
        return text
    # "08" is eight; "0x10" is sixteen.
    return int(text, 10) if str(text).lstrip("+-").isdigit() else int(str(text), 0)


def _parse_list(text):
    return (
        list(text)
        if isinstance(text, (list, tuple))
        else [item.strip() for item in text.split(",")]
        if text
        else []
    )


FLAGS = _FlagValues()


def _definer(parse, is_bool=False):
    def define(flag_name=None, default_value=None, docstring="", *unused, **kwargs):
        name = kwargs.get("name", flag_name)
        default = kwargs.get("default", default_value)
        text = kwargs.get("help", docstring)
        if default is not None:
            default = parse(default)
        FLAGS._define(Flag(name, default, text or "", parse, is_bool))

    return define


DEFINE_string = _definer(str)
DEFINE_integer = _definer(_parse_int)
DEFINE_float = _definer(float)
DEFINE_boolean = _definer(_parse_bool, True)
DEFINE_bool = DEFINE_boolean
DEFINE_list = _definer(_parse_list)


def DEFINE_enum(name, default, enum_values, help="", **unused):
    def parse(text):
        if text not in enum_values:
            raise ValueError("must be one of %s" % ", ".join(enum_values))
        return text

    FLAGS._define(Flag(name, default, help, parse))


def _multi(parse):
    def define(name, default, help="", **unused):
        FLAGS._define(Flag(name, default, help, lambda text: [parse(text)]))

    return define


DEFINE_multi_string = _multi(str)
DEFINE_multi_integer = _multi(_parse_int)


def mark_flag_as_required(name, flag_values=None):
    FLAGS._ready()
    if FLAGS._table()[name].value is None:
        sys.stderr.write("flag --%s must be given\n" % name)
        sys.exit(2)


def mark_flags_as_required(names, flag_values=None):
    for name in names:
        mark_flag_as_required(name)
