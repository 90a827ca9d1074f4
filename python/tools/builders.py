"""Writes `anabranch/builders.py`, the typed methods that build a scenario.

It reads the output of `anabranch list keys --json` and similar commands.

    python3 python/tools/builders.py           # works in any folder; with --check it exits with 1 if the file is stale
"""

from __future__ import annotations

import difflib
import json
import keyword
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "python" / "anabranch" / "builders.py"
WIDTH = 118

HEAD = '''"""The methods that build a scenario. Their types list all kinds, keys and values, so type checkers and editors reject others.

This file is generated from the declarations of keys and parameters: `python3 python/tools/builders.py` renews it.

If a call leaves out a value, the scenario has the default. If the kind is a variable, set the table instead, such as
`scenario["topology"] = {...}`. Its keys are checked when the scenario is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Union, overload

#: A size in quotes, with its unit: `"8MiB"`, `"100KB"`. A size of a scheme may also be in `bdp` or `packets`, and a threshold
#: in `queue`.
Size = str
#: A time in quotes, with its unit: `"20us"`. A time of a scheme may also be in `rtt`, or in full queues: `"2rtt+5queue"`.
Time = str
#: A rate in quotes, with its unit: `"400Gbps"`. A rate of a scheme may also be in `line`, the rate of a host's link.
Rate = str
#: The path of a file, relative to the scenario's folder, or to the working directory if the scenario is a dict.
File = str
'''

#: The types of keys, by their names in `anabranch list keys --json`. A name that neither this table nor `type_of` knows stops
#: the generator.
TYPES = {
    "bool": "bool",
    "text": "str",
    "name": "str",
    "selector": "str",
    "file": "File",
    "whole": "int",
    "even": "int",
    "host": "int",
    "number": "float",
    "size": "Size",
    "time": "Time",
    "rate": "Rate",
    "ratio": "str",
}
#: The types of parameters, by their names in `anabranch list parameters --json`.
PARAMETER_TYPES = {
    "a whole number": "int",
    "a number": "float",
    "true or false": "bool",
    "text in quotes": "str",
    "a size": "Size",
    "a time": "Time",
    "a time or path": "Time",
    "a rate": "Rate",
}
#: The names of the types of nested tables, by the tables' headings.
NESTED = {
    "[[topology.tier]]": "Tier",
    "[workload.incast]": "Incasts",
    "[workload.pipeline]": "Pipeline",
    "[[workload.message]]": "Message",
    "[workload.server]": "Server",
    "[[workload.algorithm]]": "TraceAlgorithm",
    "[[workload.job]]": "Job",
}


@dataclass
class Key:
    """A key of a scenario or a parameter of a scheme, from a row of `anabranch list`."""

    name: str
    type: str
    needed: bool
    default: str
    meaning: str
    unit: str = ""


def listed(*what: str) -> dict[str, Any]:
    """The JSON output of `anabranch list`, from the program at `$ANABRANCH` or else from the program of this repository."""
    program = os.environ.get("ANABRANCH")
    command = [program] if program else ["cargo", "run", "--quiet", "--package", "anabranch-cli", "--"]
    printed = subprocess.run([*command, "list", *what, "--json"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(printed.stdout)


def literal(names: list[str]) -> str:
    return f"Literal[{', '.join(repr(name).replace(chr(39), chr(34)) for name in names)}]"


def choices(key: dict[str, Any]) -> list[str]:
    """The words that a key accepts as values."""
    return key["type"]["choice"]


def type_of(of: Any, named: dict[str, list[str]]) -> str:
    """The Python type of a key, or of the elements of its list. For choices in `named` it is the name of their type."""
    if isinstance(of, str):
        return TYPES[of]
    ((name, inner),) = of.items()
    if name == "choice":
        return next((called for called, words in named.items() if words == inner), literal(inner))
    if name == "word":
        return literal([inner])
    if name == "whole" and isinstance(inner["low"], dict) and isinstance(inner["high"], dict):
        numbers = range(inner["low"]["from"], inner["high"]["to"] + 1)
        return f"Literal[{', '.join(map(str, numbers))}]"
    if name in ("list", "set"):
        return f"Sequence[{type_of(inner['of'], named) if inner['of'] else 'Any'}]"
    if name == "one-or-more":
        one = type_of(inner, named)
        return f"{one} | Sequence[{one}]"
    if name == "either":
        return " | ".join(dict.fromkeys(type_of(one, named) for one in inner))
    if name == "table":
        return NESTED[inner]
    if name == "tables":
        return f"Sequence[{NESTED[inner]}]"
    return TYPES[name]


def key_of(row: dict[str, Any], named: dict[str, list[str]]) -> Key:
    is_table = isinstance(row["type"], dict) and row["type"].keys() & {"table", "tables"}
    marked = row["marked"]
    unit = "" if is_table else marked["may_be"]
    return Key(row["name"], type_of(row["type"], named), row["needed"], marked["default"], row["meaning"], unit)


def toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def parameter_of(row: dict[str, Any]) -> Key:
    a_type = literal(row["choices"]) if row["choices"] else PARAMETER_TYPES[row["type"]]
    default = "required" if row["needed"] else "none" if row["default"] is None else f"`{toml(row['default'])}`"
    unit = f"{row['unit']}, {row['range']}" if row["range"] else row["unit"]
    return Key(row["name"], a_type, row["needed"], default, row["meaning"], unit)


def told(key: Key) -> str:
    """The line on a key in a docstring: name, meaning, unit and default."""
    default = "needed" if key.needed else f"default: {key.default}"
    return f"{key.name}: {key.meaning} ({'; '.join(part for part in (key.unit, default) if part)})"


def wrap(text: str, **options: Any) -> list[str]:
    """The lines of `text`, none of which breaks a name at its hyphen: a reader searches for the whole name."""
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, **options)


def docstring(meaning: str, keys: list[Key], indent: str) -> list[str]:
    """The lines of a docstring with a sentence and a line for each key."""
    lines = wrap(f'"""{meaning}', initial_indent=indent, subsequent_indent=indent)
    if keys:
        lines.append("")
    for key in keys:
        hanging = f"{indent}    "
        wrapped = wrap(told(key), initial_indent=indent, subsequent_indent=hanging, break_long_words=False)
        lines += [line.replace("\\", "\\\\") for line in wrapped]
    lines[-1] += '"""' if not keys else ""
    return [*lines, f'{indent}"""'] if keys else lines


def typed_dict(name: str, meaning: str, keys: list[Key]) -> list[str]:
    """The lines of a `TypedDict` of needed and other keys, which is valid in Python 3.10."""
    needed = [key for key in keys if key.needed]
    other = [key for key in keys if not key.needed]
    base = "TypedDict"
    lines: list[str] = []
    if not other and not any(keyword.iskeyword(key.name) for key in needed):
        lines += [f"class {name}(TypedDict):", *docstring(meaning, keys, "    "), ""]
        return [*lines, *(f"    {key.name}: {key.type}" for key in needed), "", ""]
    if needed:
        base = f"_{name}Needed"
        if any(keyword.iskeyword(key.name) for key in needed):
            pairs = ", ".join(f'"{key.name}": {key.type}' for key in needed)
            lines += [f'{base} = TypedDict("{base}", {{{pairs}}})', "", ""]
        else:
            lines += [f"class {base}(TypedDict):", *(f"    {key.name}: {key.type}" for key in needed), "", ""]
    lines += [f"class {name}({base}, total=False):", *docstring(meaning, keys, "    ")]
    if other:
        lines += ["", *(f"    {key.name}: {key.type}" for key in other)]
    return [*lines, "", ""]


def call(method: str, first: str, keys: list[Key], meaning: str) -> list[str]:
    """The lines of an overload of `method`. `first` is a positional argument, and keys are keyword arguments."""
    needed = [f"{key.name}: {key.type}" for key in keys if key.needed]
    other = [f"{key.name}: {key.type} = ..." for key in keys if not key.needed]
    arguments = ["self: S", first, "*", *needed, *other] if keys else ["self: S", first]
    return [
        "    @overload",
        f"    def {method}(",
        *(f"        {argument}," for argument in arguments),
        "    ) -> S:",
        *docstring(meaning, keys, "        "),
        "",
    ]


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[-_. ]", name))


def keys_part(named: dict[str, list[str]]) -> tuple[list[str], dict[str, list[str]], dict[str, list[Key]]]:
    """The lines of the `TypedDict`s of nested tables, those of the overloads by method, and the keys of `limits` and `find`."""
    dicts: list[str] = []
    calls: dict[str, list[str]] = {"topology": [], "workload": [], "fault": [], "measure": []}
    single: dict[str, list[Key]] = {}
    all_keys = listed("keys")
    for section in all_keys["tables"]:
        rows = [row for row in all_keys["keys"] if row["section"] == section["section"]]
        heading, table = section["table"], section["table"].strip("[]")
        if heading in NESTED:
            dicts += typed_dict(NESTED[heading], section["meaning"], [key_of(row, named) for row in rows])
        elif table in ("limits", "find"):
            single[table] = [key_of(row, named) for row in rows]
        elif table == "measure":
            calls["measure"] = measures([key_of(row, named) for row in rows if row["name"] != "series"])
        elif table in calls:
            # The first key is `kind`, which is the positional argument.
            kind, *keys = (key_of(row, named) for row in rows)
            assert kind.name == "kind", heading
            calls[table] += call(table, f"kind: {kind.type}", keys, section["meaning"])
    return dicts, calls, single


def measures(keys: list[Key]) -> list[str]:
    """The lines of the overloads of `measure`. Series with the same sort of points and the same key share an overload."""
    by_name = {key.name: key for key in keys}
    by_points: dict[tuple[str, str], list[str]] = {}
    for row in listed("series")["series"]:
        by_points.setdefault((row["points"], row["key"]), []).append(row["name"])
    lines: list[str] = []
    for (points, where), series in by_points.items():
        own = [by_name[where], *([by_name["every"]] if points != "acks" else [])]
        if where == "links":
            own.append(by_name["by"])
        if points == "acks":
            meaning = "Records a curve with a point for each acknowledgement."
        else:
            meaning = f"Records a curve of {'queue pairs' if where == 'qps' else where}."
        plain = [name for name in series if name != "queue-delay"]
        lines += call("measure", f"series: {literal(plain)}", own, meaning)
        if "queue-delay" in series:
            delay = [*own, by_name["above"]]
            lines += call("measure", f"series: {literal(['queue-delay'])}", delay, "Records how long packets wait.")
    return lines


def nested_dicts(name: str, meaning: str, keys: list[Key], optional: bool) -> list[str]:
    """The lines of the `TypedDict`s of parameters whose names are paths, such as `pfc.at[].buffer`. Each table has its own."""
    lines: list[str] = []
    here: list[Key] = []
    below: dict[str, list[Key]] = {}
    for key in keys:
        head, dot, rest = key.name.partition(".")
        if dot:
            below.setdefault(head, []).append(Key(rest, key.type, key.needed, key.default, key.meaning, key.unit))
        else:
            here.append(Key(key.name, key.type, key.needed and not optional, key.default, key.meaning, key.unit))
    for head, inner in below.items():
        plain = head.removesuffix("[]")
        child = f"{name}{camel(plain)}"
        several = head.endswith("[]")
        # Elements of a list have no base, so their required keys stay required. If `optional`, any other table may leave out
        # keys, which then have the values of the base.
        lines += nested_dicts(child, f"`{plain}` of this part.", inner, optional and not several)
        a_type = f"Sequence[{child}]" if several else child
        here.append(Key(plain, a_type, False, "the table of the base", "A table with keys of its own."))
    return lines + typed_dict(name, meaning, here)


def schemes_part() -> tuple[list[str], list[str], list[str]]:
    """The lines of the `TypedDict`s of schemes' parts, the arguments of `scheme`, and the paths of all parameters."""
    kinds: dict[str, list[tuple[str, str, list[Key]]]] = {}
    fabric: list[Key] = []
    top: list[Key] = []
    all_parameters = listed("parameters")
    for of in all_parameters["kinds"]:
        is_its = [row for row in all_parameters["parameters"] if (row["part"], row["kind"]) == (of["part"], of["kind"])]
        keys = [parameter_of(row) for row in is_its]
        if of["kind"]:
            kinds.setdefault(of["part"], []).append((of["kind"], of["meaning"], keys))
        elif of["part"] == "fabric":
            fabric = keys
        else:
            top = keys
    lines: list[str] = []
    paths = [key.name for key in top]
    for where in ("transport", "cc", "lb", "fabric.program"):
        prefix = {"transport": "Transport", "cc": "Cc", "lb": "Lb", "fabric.program": "Program"}[where]
        names: list[str] = []
        every: dict[str, Key] = {}
        for kind_name, meaning, keys in kinds[where]:
            a_kind = Key("kind", literal([kind_name]), True, "required", "The kind of this part.")
            names.append(f"{prefix}{camel(kind_name)}")
            lines += nested_dicts(names[-1], meaning, [a_kind, *keys], False)
            for key in keys:
                paths.append(f"{where}.{key.name}")
                known = every.get(key.name)
                if known is None:
                    every[key.name] = key
                elif key.type not in known.type.split(" | "):
                    every[key.name] = Key(key.name, f"{known.type} | {key.type}", False, "", key.meaning, key.unit)
        some = [Key(key.name, key.type, False, "that of the base", key.meaning, key.unit) for key in every.values()]
        lines += nested_dicts(f"{prefix}Settings", f"Parameters of the base's `{where}`, of any kind.", some, True)
        own = ["OwnBalancer"] if where == "lb" else []
        lines += [f"{prefix} = Union[", *(f"    {name}," for name in [*names, f"{prefix}Settings", *own]), "]", "", ""]
    paths += [f"fabric.{key.name}" for key in fabric]
    whole = [key for key in fabric if key.name != "program_at"]
    program = Key("program", "Program", False, "none", "The program that the switches run.")
    at = [key for key in fabric if key.name == "program_at"]
    lines += nested_dicts("Fabric", "The parameters of switches, their queues and their routing.", [*whole, *at, program], True)
    every_n = [Key(key.name.removeprefix("mix."), key.type, True, key.default, key.meaning, key.unit) for key in top if "." in key.name]
    balancer = Key("lb", "Lb", True, "required", "The load balancer of these hosts.")
    lines += typed_dict("Mix", "A load balancer that only some of the hosts have.", [*every_n, balancer])
    qps = next(key for key in top if key.name == "qps")
    arguments = [
        f"qps: {qps.type} = ...",
        "mix: Mix = ...",
        "transport: Transport = ...",
        "cc: Cc = ...",
        "lb: Lb = ...",
        "fabric: Fabric = ...",
    ]
    return lines, arguments, [path for path in dict.fromkeys(paths) if "[]" not in path]


OWN = '''class OwnBalancer(dict[str, Any]):
    """The table of a load balancer that the user wrote: its name in `balancers`, and its parameters.

    >>> OwnBalancer("sticky", patience=8)
    {'kind': 'sticky', 'patience': 8}
    """

    def __init__(self, kind: str, **parameters: float) -> None:
        super().__init__(kind=kind, **parameters)


'''


def written() -> str:
    """The text of `anabranch/builders.py`."""
    collective = listed("keys", "collective")["keys"]
    algorithms, placements = (
        choices(next(row for row in collective if row["name"] == name)) for name in ("algorithm", "placement")
    )
    dicts, calls, single = keys_part({"Algorithm": algorithms, "Placement": placements})
    of_schemes, arguments, paths = schemes_part()
    schemes = sorted(row["name"] for row in listed("schemes")["schemes"])
    lines = [HEAD]
    for name, meaning, names in (
        ("Algorithm", "The algorithms of collectives.", algorithms),
        ("Placement", "The ways to place ranks on hosts.", placements),
        ("Base", "The schemes that come with the package.", schemes),
        ("Parameter", "The paths of the parameters of schemes.", paths),
    ):
        lines += [f"#: {meaning}", f"{name} = Literal[", *(f'    "{word}",' for word in names), "]"]
    lines += ["", OWN.rstrip("\n"), "", "", *dicts, *of_schemes]
    lines += ['S = TypeVar("S", bound="Builder")', "", "", "class Builder(dict[str, Any]):"]
    lines += ['    """A scenario. Each method sets or adds one of its tables."""', ""]
    does = {
        "topology": ("kind", "Sets the fabric.", 'self["topology"] = {"kind": kind, **keys}'),
        "workload": ("kind", "Sets the traffic.", 'self["workload"] = {"kind": kind, **keys}'),
        "fault": ("kind", "Adds a fault.", 'self.setdefault("fault", []).append({"kind": kind, **keys})'),
        "measure": ("series", "Records a curve.", 'self.setdefault("measure", []).append({"series": series, **keys})'),
    }
    for method, (first, meaning, body) in does.items():
        lines += calls[method]
        kinds = re.findall(rf"^        {first}: Literal\[(.*)\],$", "\n".join(calls[method]), re.MULTILINE)
        all_kinds = ", ".join(dict.fromkeys(re.findall(r'"([a-z0-9-]+)"', ", ".join(kinds))))
        sentence = wrap(f"{meaning} `{first}` is one of: {all_kinds}.", subsequent_indent="        ")
        lines += [f"    def {method}(self: S, {first}: str, **keys: Any) -> S:"]
        lines += [f'        """{sentence[0]}', *sentence[1:]]
        lines[-1] += '"""'
        lines += [f"        {body}", "        return self", ""]
    for own in ([], ["parameters: Mapping[Parameter, Any],"]):
        lines += ["    @overload", "    def scheme(", "        self: S,", "        name: str,", "        base: Base,", "        *,"]
        lines += [f"        {argument}" for argument in (*own, *(f"{argument}," for argument in arguments))]
        lines += ["    ) -> S: ...", ""]
    lines += [
        "    def scheme(self: S, name: str, base: str, *, parameters: Mapping[Any, Any] = {}, **settings: Any) -> S:",
        '        """Adds a scheme to those that run. It is the scheme `base` with these settings.',
        "",
        "        `transport`, `cc`, `lb` and `fabric` are tables. A table with a `kind` needs every parameter that the kind requires.",
        "        A table without a `kind` changes parameters of the base. `parameters` sets others by path: `{\"lb.buffer\": 16}`.",
        '        """',
        '        self.setdefault("scheme", []).append({"name": name, "base": base, "set": {**settings, **parameters}})',
        "        return self",
        "",
    ]
    for method, meaning in (("limits", "Sets the limits that end a run."), ("find", "Sets the search of `anabranch find`.")):
        keys = sorted(single[method], key=lambda key: not key.needed)
        lines += [f"    def {method}(", "        self: S,", "        *,"]
        lines += [f"        {key.name}: {key.type}{'' if key.needed else ' = _UNSAID'}," for key in keys]
        lines += ["    ) -> S:", *docstring(meaning, keys, "        ")]
        lines += ["        keys = {"]
        lines += [f'            "{key.name}": {key.name},' for key in keys]
        lines += ["        }", f'        self["{method}"] = {{key: value for key, value in keys.items() if value is not _UNSAID}}']
        lines += ["        return self", ""]
    text = "\n".join(lines).replace('S = TypeVar("S"', '#: The value of arguments that a call leaves out.\n_UNSAID: Any = object()\nS = TypeVar("S"')
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip("\n") + "\n"


def main() -> int:
    """Writes the file. With `--check`, prints the differences instead, and returns 1 if there are any."""
    text = written()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    there = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    difference = list(difflib.unified_diff(there.splitlines(), text.splitlines(), "there", "fresh", lineterm="", n=0))
    if difference:
        print("\n".join(difference[:20]))
        print("python/anabranch/builders.py is stale: `python3 python/tools/builders.py` renews it")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
