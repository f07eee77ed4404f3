"""The table of the functions that Salt's execution module and runner have."""

from __future__ import annotations

from typing import Any

from saltext.reclass import (
    _functions_checks,
    _functions_classify,
    _functions_fleet,
    _functions_nodes,
    _functions_params,
    _functions_values,
)
from saltext.reclass._place import Function, OfModule, OfRunner, of_salt

EVERYWHERE = (
    _functions_params.set_cluster_param,
    _functions_params.get_cluster_param,
    _functions_params.list_cluster_params,
    _functions_params.delete_cluster_param,
    _functions_params.cluster_meta_list,
    _functions_params.cluster_meta_get,
    _functions_params.cluster_meta_set,
    _functions_params.cluster_meta_delete,
    _functions_nodes.soft_meta_list,
    _functions_nodes.soft_meta_get,
    _functions_nodes.class_list,
    _functions_nodes.class_get,
    _functions_nodes.node_create,
    _functions_nodes.node_get,
    _functions_nodes.node_list,
    _functions_nodes.node_update,
    _functions_nodes.node_delete,
    _functions_classify.node_classify,
    _functions_values.node_pillar,
    _functions_values.top,
    _functions_values.explain,
    _functions_values.diff,
    _functions_values.inventory,
    _functions_values.graph_data,
    _functions_checks.lint,
    _functions_checks.validate_yaml,
    _functions_checks.validate_pillar,
    _functions_checks.cache_info,
)
OF_RUNNER = (
    _functions_classify.classify_minion,
    _functions_classify.declassify_minion,
    _functions_values.show_pillar,
    _functions_values.show_top,
    _functions_values.nodes,
    _functions_values.compare,
    _functions_fleet.status,
    _functions_fleet.stats,
    _functions_fleet.impact,
    _functions_fleet.refresh,
    _functions_fleet.drift,
    _functions_fleet.orphans,
    _functions_fleet.promote,
    _functions_fleet.abort,
    _functions_checks.check,
    _functions_checks.versions,
)


def of_module(variables: dict[str, Any]) -> dict[str, Function]:
    """The functions of the execution module; `variables` are its own, with those of Salt's loader."""
    return {function.__name__: of_salt(function, OfModule, variables) for function in EVERYWHERE}


def of_runner(variables: dict[str, Any]) -> dict[str, Function]:
    """The functions of the runner."""
    return {function.__name__: of_salt(function, OfRunner, variables) for function in EVERYWHERE + OF_RUNNER}
