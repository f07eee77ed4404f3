"""Gen makes inventories in the shape of the public salt-formulas models, the same bytes for the same numbers.

| layer | content |
|---|---|
| `service.<formula>.<role>` | what a formula needs: its parameters and their `_param` |
| `system.<formula>.<component>[.<variant>]` | the same, tuned; includes a service class |
| `cluster.<cluster>[.env, .infra, .role, .dc]` | `_param` of a cluster, its hosts, the classes of roles |
| `nodes/<name>.yml` | three to eight classes, addresses, interfaces |

Each class and node draws from a generator of random numbers that its name seeds, so an inventory with
more nodes has the same classes.
"""
