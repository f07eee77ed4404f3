"""Sessions of a shell: the copy button gives the commands with their here-documents, and nothing else.

The lexer of Pygments takes every line that begins with `> ` for the next line of a command, so the output of
`diff` would be copied too. This one reads a session as `tests/pages.rs` does.
"""

import re
from collections.abc import Iterator

from pygments.lexer import Lexer, do_insertions
from pygments.lexers.shell import BashLexer
from pygments.token import Generic
from sphinx.application import Sphinx

# A command with the lines that continue it, as here-documents do, or a line of output.
STEP = re.compile(r"(?P<command>\$ .*\n(?:>(?: .*)?\n)*)|.*\n")
PROMPT = re.compile(r"^(?:\$ |> |>$)", re.MULTILINE)
UNMARKED = re.compile(r"^```(?:text)?\n(?=\$ )", re.MULTILINE)


class Session(Lexer):
    """Commands, as Bash has them, with their output."""

    name = "Session of a shell"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        for step in STEP.finditer(text):
            if not step["command"]:
                yield step.start(), Generic.Output, step[0]
                continue
            prompts, command, position = [], "", 0
            for prompt in PROMPT.finditer(step[0]):
                command += step[0][position : prompt.start()]
                prompts.append((len(command), [(0, Generic.Prompt, prompt[0])]))
                position = prompt.end()
            command += step[0][position:]
            for index, token, value in do_insertions(prompts, BashLexer().get_tokens_unprocessed(command)):
                yield step.start() + index, token, value


def mark(_: Sphinx, __: str, content: list[str]) -> None:
    """Blocks that begin with a prompt are sessions, also where no test runs the commands."""
    content[0] = UNMARKED.sub("```console\n", content[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("console", Session)
    app.connect("source-read", mark)
    return {"parallel_read_safe": True}
