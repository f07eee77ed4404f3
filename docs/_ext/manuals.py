"""Manual pages turn into pages of the site, with an anchor for each option.

`reclass manual` writes `docs/man` from the definitions that parse the command line, and a test compares
them. Only the part of roff that it uses is known here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pages import put
from sphinx.application import Sphinx

FONT = re.compile(r"\\f[BIR]")
ESCAPES = {r"\-": "-", r"\(aq": "'", r"\*(Aq": "'", r"\&": "", r"\(bu": "", r"\\": "\\"}


def plain(roff: str) -> str:
    """The text without fonts and escapes."""
    text = FONT.sub("", roff)
    for escape, character in ESCAPES.items():
        text = text.replace(escape, character)
    return text.strip()


def marked(text: str, site: str) -> str:
    """The text as reStructuredText, with links to other pages."""
    text = re.sub(r"([\\*|_])", r"\\\1", text)
    text = re.sub(r"\b(reclass[a-z-]*)\(1\)", r":doc:`\1`", text)
    return re.sub(rf"{re.escape(site)}([a-z]+)\.html", r":doc:`/\1`", text) if site else text


def term(words: str, lines: list[str], site: str) -> Iterator[str]:
    """An option, or another term, with the lines below it."""
    name, *default = words.split(" [default: ")
    body = []
    for line in lines:
        text, *more = line.split(" [default: ")
        body.append(marked(text, site))
        default += more
    body += [f"Default: ``{value.removesuffix(']')}``" for value in default]
    option = name.startswith("-")
    yield f".. option:: {name}" if option else marked(name, site) if "(1)" in name else f"``{name}``"
    if option:
        yield ""
    for line in body:
        yield f"   {line}"
        yield ""


def page(roff: str, site: str) -> str:
    """The page for the site."""
    sections = re.split(r"^\.SH ", roff, flags=re.MULTILINE)[1:]
    synopsis = next(section for section in sections if section.startswith("SYNOPSIS"))
    title = plain(synopsis.split("\\fB")[1].split("\\fR")[0])
    out = [title, "=" * len(title), "", f".. program:: {title}", ""]
    for section in sections:
        heading, _, body = section.partition("\n")
        heading = plain(heading.strip('"'))
        if heading in ("NAME", "DESCRIPTION"):
            out += [marked(plain(body).removeprefix(f"{title.replace(' ', '-', 1)} - "), site), ""]
            continue
        out += ["", heading.capitalize(), "-" * len(heading), ""]
        if heading == "SYNOPSIS":
            out += ["::", "", *(f"   {plain(line)}" for line in body.splitlines() if line != ".br"), ""]
            continue
        # The values of an option are bullets below it. They become one line.
        body = re.sub(r"^\.IP .*\n(.*)\n", r"`\1` ", body, flags=re.MULTILINE)
        body = re.sub(r"\.br\n\n\.br\n.*Possible values:.*\n\.RS 14\n(.*)\.RE\n", r"Values: \1\n", body)
        for part in re.split(r"^\.(?=TP|PP)", body, flags=re.MULTILINE):
            macro, lines = part[:2], [line for line in map(plain, part.splitlines()[1:]) if line]
            if macro == "TP":
                out += term(lines[0], lines[1:], site)
            elif ".EX" in lines:
                begin = lines.index(".EX")
                out += [*lines[:begin], "", ".. code-block:: bash", ""]
                out += [*(f"   {line}" for line in lines[begin + 1 : -1]), ""]
            else:
                out += [marked(plain(part if macro != "PP" else part[2:]), site), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def write(app: Sphinx) -> None:
    for path in sorted(Path(app.srcdir, "man").glob("*.1")):
        put(app, f"{path.stem}.rst", page(path.read_text(), app.config.html_baseurl))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
