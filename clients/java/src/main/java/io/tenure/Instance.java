package io.tenure;

import io.tenure.internal.Wire;
import io.tenure.v1.Service;
import io.tenure.v1.ServiceInstance;
import java.util.List;
import java.util.Map;

/**
 * An instance of a service in the catalog.
 *
 * @param service the name of the service
 * @param id its id, unique on its node
 * @param node the name of its node
 * @param zone the failure domain of its node; may be empty
 * @param address where it is reached: its own address or else that of its node
 * @param port its port; 0: none
 * @param tags its tags, sorted
 * @param meta facts about it
 * @param weight the share of requests that it should get at its status; normally 1
 * @param status the worst of its checks and those of its node; in a {@link ServiceList} all pass
 */
public record Instance(String service, String id, String node, String zone, String address, int port, List<String> tags,
    Map<String, String> meta, int weight, CheckStatus status) {
  static Instance of(ServiceInstance i) {
    Service s = i.getService();
    CheckStatus status = Wire.status(i.getStatus());
    int weight = status == CheckStatus.WARNING ? s.getWeights().getWarning() : s.getWeights().getPassing();
    return new Instance(s.getName(), s.getServiceId(), s.getNode(), i.getNode().getZone(),
        s.getAddress().isEmpty() ? i.getNode().getAddress() : s.getAddress(), s.getPort(), List.copyOf(s.getTagsList()),
        Map.copyOf(s.getMetaMap()), s.hasWeights() ? weight : 1, status);
  }
}
