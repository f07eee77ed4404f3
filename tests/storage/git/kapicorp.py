"""The program of kapicorp-reclass, with the one name of an older pygit2 that its git storage needs."""

import pygit2

pygit2.Repository.create_remote = lambda self, name, url: self.remotes.create(name, url)

from reclass.cli import main  # noqa: E402

main()
