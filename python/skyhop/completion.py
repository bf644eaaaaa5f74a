"""`skyhop completion`: a script for bash, zsh or fish, written from the parser: it knows what the program knows."""

# Annotations are not postponed: `typer` would evaluate the text of each one several times at every start.

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

import typer


class Shell(str, Enum):
    """The shells that there is a script for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def register(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command()
    def completion(
        shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
    ) -> None:
        """Print a script that completes commands and options: `source <(skyhop completion bash)`."""
        typer.echo(script(shell, commands(typer.main.get_command(app))), nl=False)


@dataclass(frozen=True)
class Option:
    """An option with its names; `takes` is "" for a flag, else "file", "folder", "values" or "text"."""

    names: tuple[str, ...]
    help: str
    takes: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A command by its words: ("study", "run"). `below` are the commands below it."""

    words: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    below: tuple[str, ...]
    #: What its arguments are, as `takes` of an option.
    takes: str
    values: tuple[str, ...]


def commands(root: Any, words: tuple[str, ...] = ()) -> list[Command]:
    """The command and all those below it."""
    below: dict[str, Any] = getattr(root, "commands", {})
    options = [_option(words, one) for one in root.params if one.param_type_name == "option"]
    arguments = [one for one in root.params if one.param_type_name == "argument"]
    takes, values = _taken(words, arguments[-1]) if arguments else ("text", ())
    helped = Option(("-h", "--help"), "Show this message and exit.", "")
    found = [Command(words, _first(root.help), (*options, helped), tuple(below), takes, values)]
    for name, one in below.items():
        found += commands(one, (*words, name))
    return found


def _first(text: str | None) -> str:
    """The first sentence, on one line and in one kind of quotes."""
    line = (text or "").strip().split("\n", 1)[0].replace("`", "").replace("'", "’")
    return re.split(r"(?<=[.:]) ", line, maxsplit=1)[0].rstrip(".:")


def _option(words: tuple[str, ...], one: Any) -> Option:
    names = (*one.opts, *one.secondary_opts)
    if one.is_flag:
        return Option(names, _first(one.help), "")
    takes, values = _taken(words, one)
    return Option(names, _first(one.help), takes, values)


def _taken(words: tuple[str, ...], one: Any) -> tuple[str, tuple[str, ...]]:
    choices = getattr(one.type, "choices", None)
    if choices:
        return "values", tuple(str(getattr(choice, "value", choice)) for choice in choices)
    if (words, one.name) in _VALUES:
        return "values", _VALUES[words, one.name]()
    if one.metavar in ("DIR", "FOLDER", "RUN"):
        return "folder", ()
    return ("file", ()) if one.metavar in ("FILE", "PATH", "RECORDING...") or "Path" in repr(one.type) else ("text", ())


def _formats() -> tuple[str, ...]:
    from skyhop.export import FORMATS

    return tuple(FORMATS)


def _presets() -> tuple[str, ...]:
    import json

    from skyhop import _core

    return tuple(one["name"] for one in json.loads(_core.presets_json()))


#: Values that the parser leaves to the command.
_VALUES: dict[tuple[tuple[str, ...], str], Callable[[], tuple[str, ...]]] = {
    (("export",), "to"): _formats,
    (("presets",), "name"): _presets,
    (("passes",), "constellation"): _presets,
    (("planes",), "constellation"): _presets,
}


def script(shell: Shell, found: list[Command]) -> str:
    """The script of a shell."""
    return {Shell.bash: _bash, Shell.zsh: _zsh, Shell.fish: _fish}[shell](found)


def _bash(found: list[Command]) -> str:
    names = " | ".join(f'"{" ".join(one.words)}"' for one in found if one.words)
    by_command, by_option = [], []
    for one in found:
        name = " ".join(one.words)
        known = " ".join(name for option in one.options for name in option.names)
        bare = " ".join(one.below or one.values)
        by_command.append(f'    "{name}") options="{known}" words="{bare}" takes={"values" if bare else one.takes} ;;')
        for option in one.options:
            if option.takes:
                cases = " | ".join(f'"{name} {short}"' for short in option.names)
                by_option.append(f'    {cases}) takes={option.takes} words="{" ".join(option.values)}" ;;')
    return f"""\
# Completes skyhop in bash: source <(skyhop completion bash)
_skyhop() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command="" options="" words="" takes="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{command:+$command }}$word" in
    {names}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command" in
{chr(10).join(by_command)}
  esac
  case "$command $before" in
{chr(10).join(by_option)}
    *) if [[ $current == -* ]]; then takes=values words=$options; fi ;;
  esac
  case $takes in
    values) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    *) COMPREPLY=() ;;
  esac
}}
complete -F _skyhop skyhop
"""


def _zsh_said(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _zsh_takes(takes: str, values: tuple[str, ...]) -> str:
    kinds = {"file": "_files", "folder": "_files -/", "text": " ", "values": f"({' '.join(values)})"}
    return kinds[takes]


def _zsh(found: list[Command]) -> str:
    functions = []
    for one in found:
        specs = []
        for option in one.options:
            value = f":value:{_zsh_takes(option.takes, option.values)}" if option.takes else ""
            specs += [shlex.quote(f"*{name}[{_zsh_said(option.help)}]{value}") for name in option.names]
        name = "_".join(("_skyhop", *one.words)).replace("-", "_")
        if not one.below:
            specs.append(shlex.quote(f"*:argument:{_zsh_takes(one.takes, one.values)}"))
            functions.append(f"{name}() {{\n  _arguments {' '.join(specs)}\n}}\n")
            continue
        entries = [
            shlex.quote(f"{two.words[-1]}:{_zsh_said(two.help)}")
            for two in found
            if two.words[:-1] == one.words and two.words
        ]
        calls = [f"    {word}) {name}_{word.replace('-', '_')} ;;" for word in one.below]
        functions.append(
            f"{name}() {{\n  local state line\n  local -a words_below\n  words_below=({' '.join(entries)})\n"
            f"  _arguments -C {' '.join(specs)} '1: :->command' '*:: :->rest' && return\n"
            f"  if [[ $state == command ]]; then\n    _describe command words_below\n    return\n  fi\n"
            "  case $line[1] in\n" + "\n".join(calls) + "\n  esac\n}\n"
        )  # fmt: skip
    return (
        "#compdef skyhop\n# Completes skyhop in zsh: source <(skyhop completion zsh), or as _skyhop in $fpath\n"
        + "".join(functions)
        + 'if [[ ${funcstack[1]} == _skyhop ]]; then _skyhop "$@"; else compdef _skyhop skyhop; fi\n'
    )


def _fish(found: list[Command]) -> str:
    names = " ".join(shlex.quote(" ".join(one.words)) for one in found if one.words)
    lines = [
        "# Completes skyhop in fish: skyhop completion fish | source",
        "function __skyhop_at",
        "  set -l command",
        "  for word in (commandline -opc)[2..-1]",
        f'    if contains -- (string join -- " " $command $word) {names}',
        "      set command $command $word",
        "    end",
        "  end",
        '  test "$command" = "$argv"',
        "end",
        "complete -c skyhop -f",
    ]
    for one in found:
        where = shlex.quote(f"__skyhop_at {' '.join(one.words)}".strip())
        where = f"-n {where}"
        for two in found:
            if two.words and two.words[:-1] == one.words:
                lines.append(f"complete -c skyhop {where} -a {two.words[-1]} -d {shlex.quote(two.help)}")
        if not one.below:
            kinds = {"file": "-F", "folder": "-a '(__fish_complete_directories)'", "text": ""}
            kinds["values"] = f"-a {shlex.quote(' '.join(one.values))}"
            lines.append(f"complete -c skyhop {where} {kinds[one.takes]}".rstrip())
        for option in one.options:
            flags = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
            )  # fmt: skip
            kinds = {"": "", "file": "-rF", "folder": "-x -a '(__fish_complete_directories)'", "text": "-x"}
            kinds["values"] = f"-x -a {shlex.quote(' '.join(option.values))}"
            lines.append(f"complete -c skyhop {where} {flags} {kinds[option.takes]} -d {shlex.quote(option.help)}")
    return "\n".join(lines) + "\n"
