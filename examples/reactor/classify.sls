{#- A minion has sent `reclass/minion/classify` with what it knows of itself: its node is made, or
    updated, by the rules beside this file. Salt writes the id of the sender into `data['id']`, but a
    minion that sends a list of events writes it itself (docs/editing.md). The rest is whatever the
    minion wrote, and goes through as JSON, as data. -#}
{% import_yaml "reactor/class_mapping.yml" as class_mapping %}

classify:
  runner.reclass.node_classify:
    - args:
        - node_name: {{ data['id'] | json }}
        - node_data: {{ data.get('data') | json }}
        - class_mapping: {{ class_mapping | json }}
