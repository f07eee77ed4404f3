{#- Somebody has sent `reclass/minion/classify` for a minion: its node is made, or updated, by the rules
    beside this file. An event does not prove who sent it, so no more is taken from it than the name: the
    data of the machine are those in the grain `reclass` of that minion (docs/editing.md). With the setting
    `serve` and the inventory in a folder, add `- commit: True`: minions get commits alone. -#}
{% import_yaml "reactor/class_mapping.yml" as class_mapping %}

classify:
  runner.reclass.classify_minion:
    - args:
        - minion: {{ data.get('id') | json }}
        - class_mapping: {{ class_mapping | json }}
