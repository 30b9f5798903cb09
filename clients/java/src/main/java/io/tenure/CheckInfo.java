package io.tenure;

/**
 * A check of the catalog.
 *
 * @param id its id, unique on its node
 * @param name its name
 * @param node the name of its node
 * @param serviceId the id of the instance for which it counts; empty: it counts for the node
 * @param service the name of that instance's service; empty for a check of the node
 * @param status how it is
 * @param output what people see with the status
 * @param createRevision the revision that created it
 * @param modRevision the revision that last changed it
 */
public record CheckInfo(String id, String name, String node, String serviceId, String service, CheckStatus status, String output,
    long createRevision, long modRevision) implements CatalogItem {}
