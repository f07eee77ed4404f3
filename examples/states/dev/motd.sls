/etc/motd:
  file.managed:
    - contents_pillar: motd:text
