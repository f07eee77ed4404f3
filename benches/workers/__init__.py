"""One program per peer: each runs in a process of its own and times what it is asked to do."""
