"""Settings of Sphinx for the documentation site; `make docs` builds it.

The pages are plain Markdown and can be read as they are. `_ext` adds the pages of Salt's modules and of
the commands.
"""

import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "python")]

# The wheel installs the folders of `salt/` as parts of the package.
import saltext.reclass  # noqa: E402

saltext.reclass.__path__.append(str(ROOT / "salt"))

metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
addresses = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]

project = metadata["name"]
release = metadata["version"]
html_title = f"{project} {release}"
html_baseurl = addresses["homepage"]
source_url = addresses["repository"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
extensions += ["groups", "links", "manuals", "modules", "playground", "sessions"]
exclude_patterns = ["_build"]
highlight_language = "text"
# Two hyphens begin an option.
smartquotes = False

# The anchors of headings are those of the forge, so that links work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]

autodoc_mock_imports = ["salt", "saltext.reclass._engine"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False

html_theme = "furo"
html_copy_source = False
html_static_path = ["_static"]
html_search_scorer = str(ROOT / "docs" / "_ext" / "search.js")
html_css_files = ["examples.css", "sessions.css"]
# Without the prompts and the output; `sessions` says what is output.
copybutton_prompt_text = r"\$ |> |>$"
copybutton_prompt_is_regexp = True
copybutton_copy_empty_lines = False
copybutton_exclude = ".linenos, .go"

# External links are checked by `make docs-links`, where the network allows it.
linkcheck_anchors = False

# The page on errors shows files that are no YAML.
suppress_warnings = ["misc.highlighting_failure"]
