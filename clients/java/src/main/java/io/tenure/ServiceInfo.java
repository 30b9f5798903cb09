package io.tenure;

import java.util.List;
import java.util.Map;

/**
 * An instance of a service, as it is registered. Unlike an {@link Instance}, it says nothing of its node or of its checks.
 *
 * @param name the name of the service
 * @param id its id, unique on its node
 * @param node the name of its node
 * @param address where it is reached; empty: at the address of its node
 * @param port its port; 0: none
 * @param tags its tags, sorted
 * @param meta facts about it
 * @param createRevision the revision that created it
 * @param modRevision the revision that last changed it
 */
public record ServiceInfo(String name, String id, String node, String address, int port, List<String> tags,
    Map<String, String> meta, long createRevision, long modRevision) implements CatalogItem {}
