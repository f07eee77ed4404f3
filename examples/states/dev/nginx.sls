{% set nginx = pillar['nginx'] %}
{% for name, site in nginx['sites'].items() %}
/etc/nginx/sites-enabled/{{ name }}.conf:
  file.managed:
    - makedirs: True
    - contents: |
        server {
          listen {{ nginx['listen'] }};
          server_name {{ site['server_name'] }};
          root {{ site['root'] }};
        }
{% endfor %}
