{#- `salt-run state.orchestrate fleet.rollout`: the last commit reaches its minions, pillars first. The states
    are applied if no pillar fails. -#}
{% set minions = salt['saltutil.runner']('reclass.impact', kwarg={'form': 'list'}) %}

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
