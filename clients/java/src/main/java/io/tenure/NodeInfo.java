package io.tenure;

import java.util.Map;

/**
 * A node of the catalog.
 *
 * @param name its name
 * @param id the id of its machine, a UUID; may be empty
 * @param address where it is reached
 * @param zone its failure domain; may be empty
 * @param meta facts about it
 * @param createRevision the revision that created it
 * @param modRevision the revision that last changed it
 */
public record NodeInfo(String name, String id, String address, String zone, Map<String, String> meta, long createRevision,
    long modRevision) implements CatalogItem {}
