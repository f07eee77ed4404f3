"""Sessions of a shell: the copy button gives the commands with their here-documents, and nothing else.

The lexer of Pygments takes every line that begins with `> ` for the next line of a command, so the output of
`diff` would be copied too. This one reads a session as `tests/programs/pages.rs` does. The YAML in it has
colours.
"""

import re
from collections.abc import Iterator

from pygments.lexer import Lexer, do_insertions
from pygments.lexers.data import YamlLexer
from pygments.lexers.shell import BashLexer
from pygments.token import Generic
from sphinx.application import Sphinx

# A command with the lines that continue it, as here-documents do, or a line of output.
STEP = re.compile(r"(?P<command>\$ .*\n(?:>(?: .*)?\n)*)|.*\n")
PROMPT = re.compile(r"^(?:\$ |> |>$)", re.MULTILINE)
# A command that writes a YAML file, and commands that print YAML.
WRITES = re.compile(r"(?P<command>.*\.yml <<-?'?(?P<end>\w+)'?\n)(?P<yaml>(?:.*\n)*?)(?P<rest>(?P=end)\n)")
PRINTS = re.compile(r"^\$ (?:cat \S+\.yml$|(?!.* -o json)(?:.*&& )?reclass (?:show|--nodeinfo) )")
KEY = re.compile(r"(?P<indent>(?: |- )*)(?P<key>[\w.~=/-]+|'[^']*'):(?= |$)")
UNMARKED = re.compile(r"^```(?:text)?\n(?=\$ )", re.MULTILINE)


def tokens(command: str) -> Iterator[tuple[int, object, str]]:
    """The tokens of a command without its prompts."""
    parts = [(0, BashLexer(), command)]
    if written := WRITES.fullmatch(command):
        lexers = {"command": BashLexer(), "yaml": YamlLexer(), "rest": BashLexer()}
        parts = [(written.start(name), lexer, written[name]) for name, lexer in lexers.items()]
    for start, lexer, text in parts:
        for index, token, value in lexer.get_tokens_unprocessed(text):
            yield start + index, token, value


def output(line: str) -> Iterator[tuple[int, object, str]]:
    """The tokens of a line of YAML. The copy button leaves out all kinds of output."""
    if key := KEY.match(line):
        yield 0, Generic.Output, key["indent"]
        yield key.start("key"), Generic.Output.Key, key["key"]
        yield key.end("key"), Generic.Output, line[key.end("key") :]
    else:
        yield 0, Generic.Output, line


class Session(Lexer):
    """Commands, as Bash has them, with their output."""

    name = "Session of a shell"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        prints_yaml = False
        for step in STEP.finditer(text):
            if not step["command"]:
                shown = output(step[0]) if prints_yaml else [(0, Generic.Output, step[0])]
                yield from ((step.start() + index, token, value) for index, token, value in shown)
                continue
            prints_yaml = bool(PRINTS.match(step[0]))
            prompts, command, position = [], "", 0
            for prompt in PROMPT.finditer(step[0]):
                command += step[0][position : prompt.start()]
                prompts.append((len(command), [(0, Generic.Prompt, prompt[0])]))
                position = prompt.end()
            command += step[0][position:]
            for index, token, value in do_insertions(prompts, tokens(command)):
                yield step.start() + index, token, value


def mark(_: Sphinx, __: str, content: list[str]) -> None:
    """Blocks that begin with a prompt are sessions, also where no test runs the commands."""
    content[0] = UNMARKED.sub("```console\n", content[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("console", Session)
    app.connect("source-read", mark)
    return {"parallel_read_safe": True}
