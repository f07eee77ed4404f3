"""Turns the difference between two revisions of an inventory into one comment on a pull or merge request.

    python3 review.py OLD NEW [OPTION OF RECLASS…]

Prints markdown. In a job of GitHub or GitLab with a token (`GITHUB_TOKEN`, `GITLAB_TOKEN`) it also writes the
comment, or updates the one that it wrote before. The exit code is 1 if a node breaks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

MARK = "<!-- the difference that reclass found -->"


def comment(old: str, new: str, options: list[str]) -> tuple[str, bool]:
    """The comment, and whether a node breaks. Secrets are masked, and the size is what GitHub takes."""
    command = ["reclass", "impact", *options, old, new, "-o", "markdown"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
        sys.exit(done.returncode)
    return f"{MARK}\n### reclass\n\n{done.stdout}", done.returncode == 1


def call(method: str, address: str, header: dict[str, str], data: Any = None) -> Any:
    body = None if data is None else json.dumps(data).encode()
    header = {**header, "Content-Type": "application/json"}
    request = urllib.request.Request(address, body, header, method=method)  # noqa: S310 - the address is that of the job
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def place() -> tuple[str, str, str, dict[str, str]] | None:
    """Where the comments of the request are, where a single one is, how to update it, and the token."""
    given = os.environ
    if given.get("GITHUB_TOKEN") and given.get("PULL_REQUEST"):
        base = f"{given['GITHUB_API_URL']}/repos/{given['GITHUB_REPOSITORY']}/issues"
        token = {"Authorization": f"Bearer {given['GITHUB_TOKEN']}"}
        return f"{base}/{given['PULL_REQUEST']}/comments", f"{base}/comments", "PATCH", token
    if given.get("GITLAB_TOKEN") and given.get("CI_MERGE_REQUEST_IID"):
        base = f"{given['CI_API_V4_URL']}/projects/{given['CI_PROJECT_ID']}"
        notes = f"{base}/merge_requests/{given['CI_MERGE_REQUEST_IID']}/notes"
        return notes, notes, "PUT", {"PRIVATE-TOKEN": given["GITLAB_TOKEN"]}
    return None


def write(body: str) -> None:
    """Writes the comment, or updates it."""
    found = place()
    if found is None:
        return
    comments, one, update, token = found
    page = 1
    while known := call("GET", f"{comments}?per_page=100&page={page}", token):
        for earlier in known:
            if earlier["body"].startswith(MARK):
                call(update, f"{one}/{earlier['id']}", token, {"body": body})
                return
        page += 1
    call("POST", comments, token, {"body": body})


def main() -> None:
    old, new, *options = sys.argv[1:]
    body, breaks = comment(old, new, options)
    print(body)
    try:
        write(body)
    except urllib.error.HTTPError as error:
        # The token of a fork may only read. The job has the text all the same.
        print(f"the comment is not written: {error}", file=sys.stderr)
    sys.exit(1 if breaks else 0)


if __name__ == "__main__":
    main()
