/etc/postgresql/listen.conf:
  file.managed:
    - makedirs: True
    - contents: listen_addresses = '{{ pillar['postgresql']['listen'] | join(',') }}'
