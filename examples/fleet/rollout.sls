{#- `salt-run state.orchestrate fleet.rollout`: the last commit reaches its minions, pillars first. The states
    are applied if no pillar fails, on the minions that are connected.
    The inventory is in a folder of a git repository. For `yaml_git`, write `main~1` in place of `HEAD~1`. -#}
{% set plan = salt['saltutil.runner']('reclass.refresh', kwarg={'since': 'HEAD~1', 'test': True}) %}
{% set minions = plan.groups | sum(start=[]) %}

refresh:
  salt.runner:
    - name: reclass.refresh
    - since: HEAD~1
    - canary: 10%
    - batch: 25%

{% if minions %}
apply:
  salt.state:
    - tgt: {{ minions | json }}
    - tgt_type: list
    - highstate: True
    - require:
        - salt: refresh
{% endif %}
