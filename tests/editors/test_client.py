"""`reclass lsp` and the client of pytest-lsp, which says that it is an editor people use.

The client warns of each message that the editor has not said to understand. Here such a warning is a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, LspSpecificationWarning, client_capabilities, make_test_lsp_client

from tests.editors.server import FILES, PROGRAM, part, position

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.conftest import Write

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings(f"error::{LspSpecificationWarning.__module__}.LspSpecificationWarning"),
]

# A check begins after a pause in typing of 80 ms. On a busy machine all takes longer.
PATIENCE = 20.0


class Editor:
    """An editor with the open texts."""

    def __init__(self, client: LanguageClient, encoding: str) -> None:
        self.client = client
        self.encoding = encoding
        self.texts: dict[Path, str] = {}
        self.versions: dict[Path, int] = {}
        self.statuses: dict[str, Any] = {}

        @client.feature("reclass/status")
        def status(params: Any) -> None:
            self.statuses[params.uri] = params

    async def greet(self, *folders: Path, editor: str = "visual_studio_code") -> types.InitializeResult:
        """Says hello, with the abilities of an editor and with these folders."""
        abilities = client_capabilities(editor)
        general = abilities.general or types.GeneralClientCapabilities()
        general.position_encodings = [types.PositionEncodingKind(self.encoding)]
        abilities.general = general
        names = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        params = types.InitializeParams(capabilities=abilities, workspace_folders=names)
        return await self.client.initialize_session(params)

    def open(self, path: Path, text: str | None = None) -> str:
        self.texts[path] = path.read_text() if text is None else text
        self.versions[path] = 1
        item = types.TextDocumentItem(path.as_uri(), "yaml", 1, self.texts[path])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self.texts[path]

    def change(self, path: Path, *changes: types.TextDocumentContentChangeEvent) -> None:
        """Sends edits as they are; `texts` is not changed."""
        self.versions[path] = self.versions.get(path, 0) + 1
        document = types.VersionedTextDocumentIdentifier(uri=path.as_uri(), version=self.versions[path])
        params = types.DidChangeTextDocumentParams(document, list(changes))
        self.client.text_document_did_change(params)

    def replace(self, path: Path, before: str, after: str) -> None:
        """Types: the part of a text that is `before` becomes `after`."""
        text = self.texts[path]
        place = types.Range(self.at(path, before), self.at(path, before, after=True))
        self.texts[path] = text.replace(before, after, 1)
        self.change(path, types.TextDocumentContentChangePartial(range=place, text=after))

    def whole(self, path: Path, text: str) -> None:
        self.texts[path] = text
        self.change(path, types.TextDocumentContentChangeWholeDocument(text))

    def close(self, path: Path) -> None:
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        self.client.text_document_did_close(params)

    def at(self, path: Path, mark: str, *, after: bool = False) -> types.Position:
        return position(self.texts[path], mark, self.encoding, after=after)

    async def hover(self, path: Path, mark: str) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(*self.place(path, mark)))
        assert found is not None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    def place(self, path: Path, mark: str) -> tuple[types.TextDocumentIdentifier, types.Position]:
        return types.TextDocumentIdentifier(path.as_uri()), self.at(path, mark)

    async def until(self, there: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Waits for a message. Other messages come in meanwhile."""
        end = time.monotonic() + patience
        while not there():
            assert time.monotonic() < end, f"no {what}: {self.client.diagnostics}"
            await asyncio.sleep(0.02)

    def codes(self, path: Path) -> list[object]:
        return [found.code for found in self.client.diagnostics.get(path.as_uri(), [])]

    async def checked(self, path: Path) -> None:
        """Waits for the first check: the server says then which node's values are shown."""
        await self.until(lambda: path.as_uri() in self.statuses, "status")


@pytest_asyncio.fixture(params=["utf-8", "utf-16"])
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    """An editor with a server, which says goodbye at the end."""
    client = make_test_lsp_client()
    environment = {name: value for name, value in os.environ.items() if name != "RECLASS_BASE"}
    await client.start_io(str(PROGRAM), "lsp", cwd=str(tmp_path), env={**environment, "HOME": str(tmp_path)})
    editor = Editor(client, request.param)
    yield editor
    if client.capabilities is not None:
        await client.shutdown_session()
    await client.stop()


@pytest_asyncio.fixture
async def base(editor: Editor, write: Write) -> Path:
    """The small inventory, known to the server."""
    base = write(FILES)
    await editor.greet(base)
    return base


@pytest.mark.parametrize("name", ["visual_studio_code", "neovim", "emacs"])
async def test_it_introduces_itself(editor: Editor, write: Write, name: str) -> None:
    answer = await editor.greet(write(FILES), editor=name)
    assert answer.server_info is not None
    assert answer.server_info.name == "reclass"
    assert answer.capabilities.position_encoding == types.PositionEncodingKind(editor.encoding)
    sync = answer.capabilities.text_document_sync
    kind = sync.change if isinstance(sync, types.TextDocumentSyncOptions) else sync
    assert kind == types.TextDocumentSyncKind.Incremental
    command = answer.capabilities.execute_command_provider
    assert command is not None
    assert "reclass.chooseNode" in command.commands


async def test_problems_of_all_files_are_there_without_an_open_text(editor: Editor, write: Write) -> None:
    base = write(
        {**FILES, "classes/bad": "parameters: {a: '${nothing:there}'}\n", "nodes/bad": "classes: [bad]\n"}
    )
    await editor.greet(base)
    await editor.until(lambda: editor.codes(base / "classes/bad.yml"), "problem")
    assert editor.codes(base / "classes/bad.yml") == ["reference-not-found"]


async def test_unsaved_text_has_problems_and_loses_them(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    editor.replace(path, "${db:host}", "${db:hots}")
    await editor.until(lambda: "reference-not-found" in editor.codes(path), "problem")
    found = editor.client.diagnostics[path.as_uri()]
    (problem,) = (one for one in found if one.code == "reference-not-found")
    assert problem.severity == types.DiagnosticSeverity.Error
    assert problem.source == "reclass"
    # The range has the reference, whatever comes before it on the line.
    assert "db:hots" in part(editor.texts[path], problem.range, editor.encoding)
    editor.replace(path, "${db:hots}", "${db:host}")
    await editor.until(lambda: "reference-not-found" not in editor.codes(path), "end of the problem")
    assert path.read_text() == FILES["classes/app/web"]


async def test_hover_shows_the_value_and_its_layers(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    await editor.checked(path)
    reference = await editor.hover(path, "nginx:port}")
    assert "**web1**" in reference
    assert "8080" in reference
    assert "nodes/web1.yml" in reference
    entry = await editor.hover(path, "app.common")
    assert entry.startswith("**app.common**")
    assert "2 nodes" in entry
    assert "http://db1:8080" in await editor.hover(path, "url")


# A client that closes a text twice gets the file again, too.
@pytest.mark.parametrize("closes", [1, 2])
async def test_unsaved_text_counts_for_hover(editor: Editor, base: Path, closes: int) -> None:
    site, web = base / "classes/site.yml", base / "classes/app/web.yml"
    editor.open(web)
    editor.open(site)
    await editor.checked(web)
    editor.replace(site, "db1", "db7")
    assert "db7" in await editor.hover(web, "db:host")
    for _ in range(closes):
        editor.close(site)
    assert "db1" in await editor.hover(web, "db:host")


async def test_definition_leads_to_classes_and_to_values(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    await editor.checked(path)

    async def lead(mark: str) -> list[tuple[str, int]]:
        params = types.DefinitionParams(*editor.place(path, mark))
        found = await editor.client.text_document_definition_async(params)
        assert isinstance(found, list)
        places = [one if isinstance(one, types.Location) else None for one in found]
        return [(one.uri, one.range.start.line) for one in places if one]

    assert await lead("app.common") == [((base / "classes/app/common.yml").as_uri(), 0)]
    assert await lead("db:host") == [((base / "classes/site.yml").as_uri(), 3)]
    # The last layer comes first.
    assert await lead("nginx:port}") == [((base / "nodes/web1.yml").as_uri(), 1), (path.as_uri(), 4)]


async def test_references_are_found_in_all_files(editor: Editor, base: Path) -> None:
    site, common = base / "classes/site.yml", base / "classes/app/common.yml"
    editor.open(site)
    editor.open(common)
    await editor.checked(site)

    async def users(path: Path, mark: str) -> list[str]:
        place = editor.place(path, mark)
        params = types.ReferenceParams(types.ReferenceContext(include_declaration=False), *place)
        found = await editor.client.text_document_references_async(params)
        return [one.uri for one in found or []]

    assert await users(site, "host") == [(base / "classes/app/web.yml").as_uri()]
    web = base / "classes/app/web.yml"
    editor.open(web)
    place = types.Range(editor.at(web, "${db:host}"), editor.at(web, "${db:host}", after=True))
    params = types.ReferenceParams(
        types.ReferenceContext(include_declaration=False), *editor.place(site, "host")
    )
    (found,) = await editor.client.text_document_references_async(params) or []
    assert found.range.start.line == place.start.line
    assert "db:host" in part(editor.texts[web], found.range, editor.encoding)


async def test_completion_knows_classes_and_paths(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    await editor.checked(path)

    async def offers(mark: str) -> dict[str, types.CompletionItem]:
        place = types.TextDocumentIdentifier(path.as_uri()), editor.at(path, mark, after=True)
        found = await editor.client.text_document_completion_async(types.CompletionParams(*place))
        items = found.items if isinstance(found, types.CompletionList) else found or []
        return {item.label: item for item in items}

    editor.replace(path, "app.common", "app.co")
    assert "app.common" in await offers("- app.co")
    editor.replace(path, "app.co", "app.common")
    # Text that is no YAML, behind wide characters.
    editor.replace(path, "${db:host}:${nginx:port}'", "${db:")
    found = await offers("${db:")
    assert {"db:host", "db:port"} <= set(found)
    # The same after a pause, in which the broken text was checked.
    await editor.until(lambda: editor.statuses[path.as_uri()].nodes == 0, "check of everything")
    found = await offers("${db:")
    assert {"db:host", "db:port"} <= set(found)
    assert found["db:host"].detail == "db1"
    edit = found["db:host"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert part(editor.texts[path], edit.range, editor.encoding) == "db:"


async def test_an_action_repairs_what_a_problem_says(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    editor.replace(path, "app.common", "app.comon")
    await editor.until(lambda: "class-not-found" in editor.codes(path), "problem")
    problems = list(editor.client.diagnostics[path.as_uri()])
    (problem,) = (one for one in problems if one.code == "class-not-found")
    document = types.TextDocumentIdentifier(path.as_uri())
    params = types.CodeActionParams(document, problem.range, types.CodeActionContext([problem]))
    found = await editor.client.text_document_code_action_async(params)
    actions = {one.title: one for one in found or [] if isinstance(one, types.CodeAction)}
    assert {"Change to 'app.common'", "Create the class 'app.comon'"} <= set(actions)
    edit = actions["Change to 'app.common'"].edit
    assert edit is not None
    assert edit.changes is not None
    ((change,),) = edit.changes.values()
    assert part(editor.texts[path], change.range, editor.encoding) == "app.comon"
    assert change.new_text == "app.common"


async def test_a_repaired_reference_is_a_reference(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    editor.replace(path, "${db:host}", "${db:hots}")
    await editor.until(lambda: "reference-not-found" in editor.codes(path), "problem")
    (problem,) = editor.client.diagnostics[path.as_uri()]
    document = types.TextDocumentIdentifier(path.as_uri())
    params = types.CodeActionParams(document, problem.range, types.CodeActionContext([problem]))
    found = await editor.client.text_document_code_action_async(params)
    (action,) = (one for one in found or [] if isinstance(one, types.CodeAction))
    assert action.edit is not None
    assert action.edit.changes is not None
    ((change,),) = action.edit.changes.values()
    wrong = part(editor.texts[path], change.range, editor.encoding)
    assert "http://${db:hots}:".replace(wrong, change.new_text) == "http://${db:host}:"


async def test_the_chosen_node_is_shown_and_given_back(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    uri = path.as_uri()
    editor.open(path)
    await editor.checked(path)
    assert (editor.statuses[uri].node, editor.statuses[uri].nodes) == ("web1", 2)
    params = {"textDocument": {"uri": uri}}
    answer = await editor.client.protocol.send_request_async("reclass/nodes", params)
    assert (answer.nodes, answer.node) == (["web1", "web2"], "web1")

    async def choose(*arguments: str) -> None:
        command = types.ExecuteCommandParams("reclass.chooseNode", list(arguments))
        await editor.client.workspace_execute_command_async(command)

    await choose(uri, "web2")
    await editor.until(lambda: editor.statuses[uri].node == "web2", "other node")
    assert "**web2**" in await editor.hover(path, "nginx:port}")
    await choose(uri)
    await editor.until(lambda: editor.statuses[uri].node == "web1", "first node")


async def test_two_folders_have_an_inventory_each(editor: Editor, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, value in zip(folders, ["first", "second"], strict=True):
        for name, text in {
            "nodes/n": "classes: [c]\n",
            "classes/c": f"parameters: {{a: {value}, b: '${{a}}'}}\n",
        }.items():
            path = folder / f"{name}.yml"
            path.parent.mkdir(parents=True)
            path.write_text(text)
    await editor.greet(*folders)
    for folder, value in zip(folders, ["first", "second"], strict=True):
        path = folder / "classes/c.yml"
        editor.open(path)
        await editor.checked(path)
        assert value in await editor.hover(path, "b:")
    # An edit in one of them is none of the other.
    editor.replace(folders[0] / "classes/c.yml", "first", "third")
    assert "third" in await editor.hover(folders[0] / "classes/c.yml", "b:")
    assert "second" in await editor.hover(folders[1] / "classes/c.yml", "b:")


async def test_other_yaml_files_are_left_alone(editor: Editor, base: Path) -> None:
    other = base.parent / "other" / "compose.yml"
    other.parent.mkdir()
    other.write_text("parameters: {x: '${nothing}'}\n")
    editor.open(base / "classes/site.yml")
    editor.open(other)
    await editor.checked(base / "classes/site.yml")
    params = types.HoverParams(*editor.place(other, "nothing"))
    assert await editor.client.text_document_hover_async(params) is None
    assert other.as_uri() not in editor.client.diagnostics
    assert other.as_uri() not in editor.statuses


async def test_other_files_beside_the_inventory_are_left_alone(editor: Editor, write: Write) -> None:
    base = write(FILES)
    await editor.greet(base.parent)
    known = base / "classes/site.yml"
    editor.open(known)
    await editor.checked(known)
    for other in [base.parent / "compose.yml", base / "compose.yml"]:
        editor.open(other, "\nservices: {}\n")
        place = types.TextDocumentIdentifier(other.as_uri()), types.Position(0, 0)
        found = await editor.client.text_document_completion_async(types.CompletionParams(*place))
        assert not found
        assert other.as_uri() not in editor.statuses


async def test_a_folder_comes_and_goes(editor: Editor, base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for name, text in {"nodes/n": "classes: [c]\n", "classes/c": "parameters: {a: '${b}'}\n"}.items():
        (other / name).parent.mkdir(parents=True)
        (other / f"{name}.yml").write_text(text)
    editor.open(base / "classes/site.yml")
    await editor.checked(base / "classes/site.yml")
    folders = [types.WorkspaceFolder(other.as_uri(), "other")]
    none: list[types.WorkspaceFolder] = []

    def tell(added: list[types.WorkspaceFolder], removed: list[types.WorkspaceFolder]) -> None:
        event = types.WorkspaceFoldersChangeEvent(added=added, removed=removed)
        params = types.DidChangeWorkspaceFoldersParams(event)
        editor.client.workspace_did_change_workspace_folders(params)

    tell(folders, none)
    await editor.until(lambda: editor.codes(other / "classes/c.yml"), "problem", patience=3)
    tell(none, folders)
    await editor.until(lambda: not editor.codes(other / "classes/c.yml"), "end of the problem", patience=3)


async def test_a_change_after_the_end_of_a_text_does_not_count(editor: Editor, base: Path) -> None:
    site, web = base / "classes/site.yml", base / "classes/app/web.yml"
    editor.open(web)
    editor.open(site)
    await editor.checked(web)
    editor.close(site)
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.change(site, types.TextDocumentContentChangePartial(range=start, text="late: 1\n"))
    assert "db1" in await editor.hover(web, "db:host")


async def test_edits_that_make_no_sense_do_no_harm(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    partial = types.TextDocumentContentChangePartial

    def span(*numbers: int) -> types.Range:
        return types.Range(types.Position(*numbers[:2]), types.Position(*numbers[2:]))

    # A text that was never opened, a place far behind the end, and a range from its end to its begin.
    editor.change(path, partial(range=span(0, 0, 0, 0), text="a: 1\n"))
    editor.open(path)
    editor.change(path, partial(range=span(999, 7, 1000, 9), text="# far\n"))
    editor.change(path, partial(range=span(4, 9, 1, 0), text=""))
    # An older version after a newer one: what counts is the order of the messages, as the protocol says.
    editor.versions[path] = -3
    editor.change(path, partial(range=span(0, 0, 0, 0), text="# old\n"))
    # A text that is opened twice is the one that came last.
    editor.open(path)
    await editor.checked(path)
    assert "8080" in await editor.hover(path, "nginx:port}")
    # The text as a whole puts everything right, in one message with edits before and after it.
    text = FILES["classes/app/web"].replace("80\n", "81\n")
    editor.texts[path] = text.replace("81\n", "82\n")
    start = position(text, "81", editor.encoding)
    change = types.Range(start, types.Position(start.line, start.character + 2))
    editor.change(
        path,
        partial(range=span(0, 0, 2, 0), text="nonsense: ["),
        types.TextDocumentContentChangeWholeDocument(text),
        partial(range=change, text="82"),
    )
    # The node overrides it.
    assert re.search(r"^ +82$", await editor.hover(path, "port: 82"), re.M)


async def test_unknown_methods_are_refused_and_the_server_lives(editor: Editor, base: Path) -> None:
    path = base / "classes/app/web.yml"
    editor.open(path)
    await editor.checked(path)
    with pytest.raises(Exception, match="no method 'reclass/nonsense'"):
        await editor.client.protocol.send_request_async("reclass/nonsense", {})
    with pytest.raises(Exception, match="the parameters are not those of the method"):
        await editor.client.protocol.send_request_async("reclass/nodes", {"textDocument": 7})
    editor.client.protocol.notify("reclass/nonsense", {})
    assert "8080" in await editor.hover(path, "nginx:port}")


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize("way", ["killed", "silent"])
async def test_a_client_that_dies_leaves_no_server(write: Write, way: str) -> None:
    """The client is a process of its own: killed, or ended in the middle of a message."""
    base = write(FILES)
    script = textwrap.dedent("""
        import json, subprocess, sys, time
        server = subprocess.Popen([sys.argv[1], "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        params = {"processId": None, "rootUri": sys.argv[2], "capabilities": {}}
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        server.stdin.write(f"Content-Length: {len(message)}\\r\\n\\r\\n{message}".encode())
        server.stdin.flush()
        server.stdout.readline()
        server.stdin.write(b"Content-Length: 100\\r\\n\\r\\n{")
        server.stdin.flush()
        print(server.pid, flush=True)
        if sys.argv[3] == "killed":
            time.sleep(60)
    """)
    client = subprocess.Popen(
        [sys.executable, "-c", script, PROGRAM, base.as_uri(), way], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    server = int(client.stdout.readline())
    assert json.loads(str(server)) > 0
    if way == "killed":
        client.send_signal(signal.SIGKILL)
    client.wait()
    end = time.monotonic() + PATIENCE
    while running(server):
        assert time.monotonic() < end, "the server goes on without its client"
        await asyncio.sleep(0.05)


def running(process: int) -> bool:
    """Whether a process that is no child of this one works still."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
