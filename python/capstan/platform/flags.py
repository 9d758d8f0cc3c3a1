"""tf.app.flags: values given on the command line, read when the first of them is asked for."""

import json
import sys

from capstan import _capstan
from capstan.core.public import public_module

public_module("flags", "app.flags", "python.platform.flags")


class _Flag:
    """A definition with its present value; shown, it is its value."""

    def __init__(
        self, name, default, help, parse, is_bool=False, is_multi=False, short=None, required=False
    ):
        self.name, self.default, self.help = name, default, help or ""
        self.parse, self.is_bool, self.is_multi = parse, is_bool, is_multi
        self.short, self.required = short, required
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
        self.__dict__.update(
            __flags={}, _parsed=False, _assigned={}, _argv=None, _rest=[], _warned=set()
        )

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
        given, rest = _Reader(table).read(argv)
        self._warn(rest)
        roles = _role_flags()
        for flag in table.values():
            flag.value, flag.present = flag.default, 0
            if flag.name in self._assigned:
                flag.value = self._assigned[flag.name]
            elif flag.name in given:
                flag.value, flag.present = given[flag.name], 1
            elif flag.name in roles:
                flag.value = _convert(flag, roles[flag.name])
            if flag.required and flag.value is None:
                raise FlagError("flag --%s must be given" % flag.name)
        self.__dict__.update(_parsed=True, _rest=rest)
        return rest

    def _warn(self, rest):
        """Of flags that are not defined but look like one that is; the program may know better."""
        for word in rest:
            name = word.partition("=")[0]
            if not name.startswith("--") or name in self._warned:
                continue
            if near := _capstan.nearest(name[2:], list(self._table())):
                self._warned.add(name)
                program = sys.argv[0] if sys.argv else "python"
                sys.stderr.write(
                    "%s: warning: there is no flag %s; did you mean --%s?\n" % (program, name, near)
                )

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
        flag = self._lookup(name)
        self._ready()
        return flag.value

    def _lookup(self, name):
        table = self._table()
        if name not in table:
            near = _capstan.nearest(name, list(table))
            hint = "; did you mean '%s'?" % near if near else ""
            raise AttributeError("no flag named '%s' is defined%s" % (name, hint))
        return table[name]

    def __setattr__(self, name, value):
        self._assigned[name] = value
        self._ready()
        if name in self._table():
            self._table()[name].value = value
        else:
            self._define(_Flag(name, value, "", lambda text: text))

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


class _Reader:
    """Reads a command line by a table of flags. Unknown flags are left to the program."""

    def __init__(self, table):
        self._table = table
        self._named = {**table, **{flag.short: flag for flag in table.values() if flag.short}}
        self._switched_off = {"no" + flag.name: flag for flag in table.values() if flag.is_bool}
        self._given = {}

    def read(self, argv):
        """(values by name, the rest)"""
        words, rest = list(reversed(argv)), []
        while words:
            word = words.pop()
            if word == "--":
                rest.extend(reversed(words))
                break
            name, equals, text = word.lstrip("-").partition("=")
            if self._asks_for_help(word, name):
                _show_help(self._table)
            flag, on = self._find(word, name)
            if flag is None:
                rest.append(word)
            elif not on:
                self._given[flag.name] = False
            else:
                self._take(flag, text if equals else self._value(flag, words))
        return self._given, rest

    def _asks_for_help(self, word, name):
        return (
            word in ("--help", "-h", "--helpfull", "-help")
            and not {name, "help"} & self._named.keys()
        )

    def _find(self, word, name):
        """(flag, whether it is given rather than switched off), or (None, False)."""
        if word.startswith("-") and name in self._named:
            return self._named[name], True
        if not word.startswith("--") or not name:
            return None, False
        if name in self._switched_off:
            return self._switched_off[name], False
        return self._by_prefix(name)

    def _by_prefix(self, name):
        """As tf.flags up to 1.4 had it: a prefix that only one name has stands for it."""
        found = {key for key in (*self._table, *self._switched_off) if key.startswith(name)}
        if len(found) > 1:
            names = ", ".join("--" + key for key in sorted(found))
            raise FlagError("flag --%s may mean any of %s: write the whole name" % (name, names))
        for key in found:
            on = key in self._table
            return (self._table if on else self._switched_off)[key], on
        return None, False

    @staticmethod
    def _value(flag, words):
        """Of a flag that was given without "="."""
        if flag.is_bool:
            return words.pop() if words and words[-1].lower() in ("true", "false") else "true"
        if not words:
            raise FlagError("flag --%s needs a value" % flag.name)
        return words.pop()

    def _take(self, flag, text):
        value = _convert(flag, text)
        if flag.is_multi:
            value = self._given.get(flag.name, []) + value
        self._given[flag.name] = value


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


# What tf.app.flags of old called them, and what absl does.
_SPELLINGS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _spelled(define):
    def spelled(*args, **kwargs):
        return define(*args, **{_SPELLINGS.get(key, key): value for key, value in kwargs.items()})

    spelled.__wrapped__ = define  # whose parameters `inspect` shows
    return spelled


def _define(name, default, help, parse, common, **kind):
    """`common`: what every kind of flag may be given besides; `kind` tells _Flag which kind it is."""
    flag_values, required, short_name = common
    if flag_values not in (None, FLAGS):
        raise NotImplementedError(
            "flag --%s: there is one set of flags here, tf.app.flags.FLAGS" % name
        )
    if default is not None:
        default = parse(default)
    FLAGS._define(_Flag(name, default, help, parse, short=short_name, required=required, **kind))


def _definer(parse, **kind):
    @_spelled
    def define(name, default=None, help="", flag_values=FLAGS, required=False, short_name=None):
        _define(name, default, help, parse, (flag_values, required, short_name), **kind)

    return define


def _within(parse, lower_bound, upper_bound):
    def bounded(text):
        value = parse(text)
        if lower_bound is not None and value < lower_bound:
            raise ValueError("must be %s or more" % lower_bound)
        if upper_bound is not None and value > upper_bound:
            raise ValueError("must be %s or less" % upper_bound)
        return value

    return bounded


def _number_definer(parse, many=lambda parse: parse, **kind):
    @_spelled
    def define(
        name,
        default=None,
        help="",
        lower_bound=None,
        upper_bound=None,
        flag_values=FLAGS,
        required=False,
        short_name=None,
    ):
        bounded = many(_within(parse, lower_bound, upper_bound))
        _define(name, default, help, bounded, (flag_values, required, short_name), **kind)

    return define


def _listed(parse):
    def listed(given):
        return [parse(item) for item in (given if isinstance(given, (list, tuple)) else [given])]

    return listed


DEFINE_string = _definer(str)
DEFINE_integer = _number_definer(_parse_int)
DEFINE_float = _number_definer(float)
DEFINE_list = _definer(_parse_list)
DEFINE_multi_string = _definer(_listed(str), is_multi=True)
DEFINE_multi_integer = _number_definer(_parse_int, _listed, is_multi=True)
DEFINE_multi_float = _number_definer(float, _listed, is_multi=True)


@_spelled
def DEFINE_boolean(
    name,
    default=None,
    help="",
    flag_values=FLAGS,
    module_name=None,
    required=False,
    short_name=None,
):
    _define(name, default, help, _parse_bool, (flag_values, required, short_name), is_bool=True)


DEFINE_bool = DEFINE_boolean


@_spelled
def DEFINE_enum(
    name,
    default,
    enum_values,
    help="",
    flag_values=FLAGS,
    module_name=None,
    required=False,
    short_name=None,
):
    def parse(text):
        if text not in enum_values:
            raise ValueError("must be one of %s" % ", ".join(enum_values))
        return text

    _define(name, default, help, parse, (flag_values, required, short_name))


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    """The program ends at the first look at the flags if it was not given and has no default."""
    FLAGS._lookup(flag_name).required = True
    FLAGS.__dict__["_parsed"] = False


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    for name in flag_names:
        mark_flag_as_required(name)
