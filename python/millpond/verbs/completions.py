# SPDX-License-Identifier: BSL-1.0
"""Makes the completions of bash, zsh and fish from the table of verbs."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.verbs.option import Verb, VerbOption

_BASH = """\
# Completion of {command} for bash: source <({command} completion bash)
_{function}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
    if (( COMP_CWORD > 1 )) && [[ " {nouns} " == *" $verb "* ]]; then verb+=" ${{COMP_WORDS[2]}}"; fi
    if (( COMP_CWORD == 1 )); then
        words="{first}"
    else
        case $verb in
{cases}
        esac
    fi
    case "$verb $previous" in
{values}
    esac
    COMPREPLY=()
    local word
    while read -r word; do COMPREPLY+=("$word"); done < <(
        compgen -W "$words" -- "$current"
        [[ $current == -* ]] || compgen -f -- "$current"
    )
}}
complete -o filenames -F _{function} {command}
"""


def bash(verbs: Sequence[Verb], command: str) -> str:
    """The completion of bash: verbs, then the options of the verb, their choices, or names of files."""
    nouns = _nouns(verbs)
    cases = [f'        "{noun} "*) words="{" ".join(v.words[1] for v in verbs if v.words[0] == noun)}" ;;'
             for noun in nouns]  # fmt: skip
    cases = [f'        "{one.name}") words="{" ".join(_words(one))}" ;;' for one in verbs] + cases
    values = [f'        "{one.name} {option.word}") words="{" ".join(option.choices)}" ;;'
              for one in verbs for option in _shown(one) if option.choices]  # fmt: skip
    first = " ".join([*_first(verbs), "--help", "--version"])
    return _BASH.format(command=command, function=command.replace("-", "_"), nouns=" ".join(nouns), first=first,
                        cases="\n".join(cases), values="\n".join(values) or "        *) ;;")  # fmt: skip


def fish(verbs: Sequence[Verb], command: str) -> str:
    """The completion of fish: a line for each verb and each option."""
    lines = [f"# Completion of {command} for fish: {command} completion fish | source",
             f"complete -c {command} -n __fish_use_subcommand -l help -d 'Show this help.'",
             f"complete -c {command} -n __fish_use_subcommand -l version -d 'Print the version.'"]  # fmt: skip
    for word, summary in _first(verbs).items():
        lines.append(f"complete -c {command} -n __fish_use_subcommand -a {word} -d {_quoted(summary)}")
    for one in verbs:
        seen = " ".join(f"; and __fish_seen_subcommand_from {word}" for word in one.words).removeprefix("; and ")
        if len(one.words) > 1:
            before = f"__fish_seen_subcommand_from {one.words[0]}; and not __fish_seen_subcommand_from {one.words[1]}"
            lines.append(f"complete -c {command} -n '{before}' -a {one.words[1]} -d {_quoted(one.summary)}")
        for option in _shown(one):
            name = f"-l {option.word[2:]}" if option.word.startswith("--") else f"-s {option.word[1:]}"
            choices = f" -a {_quoted(' '.join(option.choices))}" if option.choices else ""
            takes = f" -r{choices}" if option.takes_next else ""
            lines.append(f"complete -c {command} -n '{seen}' {name}{takes} -d {_quoted(option.help)}")
    return "\n".join(lines) + "\n"


def zsh(verbs: Sequence[Verb], command: str) -> str:
    """The completion of zsh: `_arguments` for each verb."""
    function = command.replace("-", "_")
    lines = [
        f"#compdef {command}",
        f"# Completion of {command} for zsh: source <({command} completion zsh)",
        f"_{function}() {{",
        "    local -a verbs",
        "    if (( CURRENT == 2 )); then",
        "        verbs=(",
    ]
    lines += [f"            {_quoted(f'{word}:{text}')}" for word, text in _first(verbs).items()]
    lines += ["            --help --version", "        )", "        _describe verb verbs", "        _files",
              "        return", "    fi", "    local verb=${words[2]}"]  # fmt: skip
    for noun in _nouns(verbs):
        own = [_quoted(f"{v.words[1]}:{v.summary}") for v in verbs if v.words[0] == noun]
        lines += [f"    if [[ $verb == {noun} ]]; then", "        if (( CURRENT == 3 )); then",
                  f"            verbs=({' '.join(own)})", "            _describe verb verbs", "            return",
                  "        fi", '        verb+=" ${words[3]}"', "    fi"]  # fmt: skip
    lines.append("    case $verb in")
    for one in verbs:
        lines.append(f"        {_quoted(one.name)}) _arguments \\")
        lines += [f"            {_quoted(_zsh_option(option))} \\" for option in _shown(one)]
        lines += ["            '--help[Show this help.]' '*:file:_files' ;;"]
    return "\n".join([*lines, "    esac", "}", f"compdef _{function} {command}"]) + "\n"


def _zsh_option(option: VerbOption) -> str:
    meaning = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    value = ""
    if option.takes_next:
        value = f":{option.metavar.split(':')[0].lower()}:" + (
            f"({' '.join(option.choices)})" if option.choices else "_files"
        )
    return f"{'*' if option.is_repeated else ''}{option.word}[{meaning}]{value}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


def _shown(verb: Verb) -> list[VerbOption]:
    return [one for one in verb.options if not one.is_hidden]


def _words(verb: Verb) -> list[str]:
    return [*(one.word for one in _shown(verb)), "--help"]


def _nouns(verbs: Sequence[Verb]) -> list[str]:
    return list({one.words[0]: None for one in verbs if len(one.words) > 1})


def _first(verbs: Sequence[Verb]) -> dict[str, str]:
    """The first words of all verbs, with their meanings."""
    found: dict[str, str] = {}
    for one in verbs:
        found.setdefault(one.words[0], one.summary)
    return found


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
