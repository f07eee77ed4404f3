"""A real master under load: many minions ask for their pillars while the inventory changes underneath.

`history` remembers which file said what and when, and judges answers by it; `inventory` has the files and
changes them; `clients` ask as minions, administrators and reactors do; `run` puts it together and counts.
`swarm` is hundreds of minions that answer jobs.
"""
