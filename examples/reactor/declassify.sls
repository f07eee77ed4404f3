{#- A minion has sent `reclass/minion/declassify`: its node goes, if it was made by `classify.sls`. -#}

declassify:
  runner.reclass.node_delete:
    - args:
        - name: {{ data['id'] | json }}
        - path: _generated
