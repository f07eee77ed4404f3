"""Words are what names and values are drawn from. Their order is part of every inventory."""

# ruff: noqa: SIM905 - lists of words are read as text

from __future__ import annotations

FORMULAS = """linux openssh ntp salt rsyslog telegraf nginx haproxy keepalived prometheus grafana
elasticsearch kibana fluentd docker kubernetes etcd galera mysql postgresql rabbitmq memcached redis
apache bind dnsmasq logrotate backupninja glusterfs ceph keystone glance nova neutron cinder horizon
heat ironic jenkins gerrit gitlab artifactory aptly sphinx git maas freeipa collectd sensu influxdb
xtrabackup letsencrypt iptables auditd zookeeper kafka cassandra opencontrail octavia barbican manila
designate aodh gnocchi panko swift tftpd isc_dhcp powerdns openldap postfix dovecot varnish traefik
consul vault nomad minio loki tempo mimir thanos alertmanager blackbox node_exporter""".split()
# The formulas that every node has.
BASE = FORMULAS[:6]
ROLES = ["server", "client"]
COMPONENTS = ["server", "cluster", "proxy", "storage", "monitoring", "client", "api", "control"]
VARIANTS = ["single", "multi", "tls", "ha", "lite", "stable", "nightly", "legacy"]
NODE_ROLES = ["ctl", "web", "dbs", "msg", "cmp", "mon", "log", "prx", "cfg", "stg", "gtw", "kvm"]
# Keys of dicts at odd and at even depths, and of values.
AREAS = """network storage system service database logging security monitoring cache queue backup policy
identity compute image volume metadata scheduler worker listener frontend backend upstream cluster
session auth tls package repo kernel limits sysctl mount swap user group sudo audit telemetry""".split()
PARTS = """bind members pool options settings server params defaults source target endpoint rules
profile config limits timeouts headers plugin engine handlers output input filter""".split()
KEYS = """enabled host port address protocol version timeout retries level path mode owner user group
password name region size count interval threshold workers threads max_connections buffer prefix
suffix format type engine provider driver backend url key cert ca token comment description ttl
weight priority check rate burst window quota limit""".split()
PROSE = """the managed cluster node is configured by salt and its metadata comes from reclass so every
change should be reviewed before applying to production please see the runbook for details about
failover backup retention and the on call rotation of this environment""".split()
