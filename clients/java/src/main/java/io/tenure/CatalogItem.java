package io.tenure;

/** What a watch tells of the catalog: a node, an instance of a service, a check or a prepared query. */
public sealed interface CatalogItem permits NodeInfo, ServiceInfo, CheckInfo, Query {}
