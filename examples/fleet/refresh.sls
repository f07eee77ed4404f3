{#- The inventory has a new revision: the minions whose pillar differs from it get the new one. An event does
    not prove who sent it, so nothing is taken from it: the runner finds the minions itself. Nor do many events
    mean many refreshes: with `merge`, one works and one waits at most. -#}

refresh:
  runner.reclass.refresh:
    - args:
        - canary: 10%
        - batch: 25%
        - merge: True
