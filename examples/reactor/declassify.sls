{#- Somebody has sent `reclass/minion/declassify` for a minion: its node goes, if it was made by
    `classify.sls` and the grain `reclass` of that minion is false. As there, `serve` needs `- commit: True`. -#}

declassify:
  runner.reclass.declassify_minion:
    - args:
        - minion: {{ data.get('id') | json }}
