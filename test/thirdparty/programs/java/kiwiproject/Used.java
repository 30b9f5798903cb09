import com.google.common.net.HostAndPort;
import java.math.BigInteger;
import java.util.List;
import java.util.Optional;
import org.kiwiproject.consul.Consul;
import org.kiwiproject.consul.KeyValueClient;
import org.kiwiproject.consul.SessionClient;
import org.kiwiproject.consul.model.ConsulResponse;
import org.kiwiproject.consul.model.kv.Value;
import org.kiwiproject.consul.model.session.ImmutableSession;
import org.kiwiproject.consul.model.session.SessionInfo;
import org.kiwiproject.consul.option.ImmutablePutOptions;
import org.kiwiproject.consul.option.QueryOptions;

/** consul-client of kiwiproject, and of orbitz, from which it comes: the names of the packages are all that differs. */
final class Used implements Library {
  private final Consul consul;
  private final KeyValueClient keys;
  private final SessionClient sessions;

  Used(String host, int port) {
    consul = Consul.builder().withHostAndPort(HostAndPort.fromParts(host, port)).withPing(false).build();
    keys = consul.keyValueClient();
    sessions = consul.sessionClient();
  }

  @Override
  public String create() {
    return create("release");
  }

  private String create(String behavior) {
    return sessions.createSession(ImmutableSession.builder().name("contender").ttl("10s").lockDelay("1s").behavior(behavior).build()).getId();
  }

  @Override
  public void renew(String session) {
    sessions.renewSession(session);
  }

  @Override
  public boolean acquire(String key, String session) {
    return keys.acquireLock(key, "here", session);
  }

  @Override
  public boolean release(String key, String session) {
    return keys.releaseLock(key, session);
  }

  @Override
  public void await(String key) {
    Optional<ConsulResponse<Value>> found = keys.getConsulResponseWithValue(key);
    while (found.isPresent() && found.get().getResponse().getSession().isPresent()) {
      found = keys.getConsulResponseWithValue(key, QueryOptions.blockSeconds(2, found.get().getIndex()).build());
    }
  }

  @Override
  public void tour(String prefix) throws Exception {
    String key = prefix + "/a";
    Library.check(keys.putValue(key, "one", 7), "put");
    ConsulResponse<Value> found = keys.getConsulResponseWithValue(key).get();
    Library.check(found.getResponse().getValueAsString().get().equals("one") && found.getResponse().getFlags() == 7, found);
    Library.check(found.getIndex().longValue() == found.getResponse().getModifyIndex() && found.isKnownLeader(), found);
    ImmutablePutOptions cas = ImmutablePutOptions.builder().cas(found.getIndex().longValue()).build();
    Library.check(keys.putValue(key, "two", 0, cas), "cas");
    Library.check(!keys.putValue(key, "three", 0, cas), "cas with an old index");
    keys.putValue(prefix + "/b/c", "");
    Library.check(keys.getKeys(prefix + "/", "/").equals(List.of(key, prefix + "/b/")), "keys");
    Library.check(keys.getValues(prefix + "/").size() == 2, "recurse");
    Library.check(keys.getValue(prefix + "/none").isEmpty(), "a missing key");
    BigInteger index = keys.getConsulResponseWithValue(key).get().getIndex();
    Thread change = new Thread(() -> keys.putValue(key, "changed"));
    change.start();
    found = keys.getConsulResponseWithValue(key, QueryOptions.blockSeconds(9, index).build()).get();
    change.join();
    Library.check(found.getIndex().compareTo(index) > 0 && found.getResponse().getValueAsString().get().equals("changed"), found);
    String one = create("delete");
    String other = create();
    SessionInfo info = sessions.getSessionInfo(one).get();
    Library.check(info.getName().get().equals("contender") && info.getTtl().get().equals("10s"), info);
    Library.check(sessions.listSessions().stream().anyMatch(s -> s.getId().equals(one)), "list");
    Library.check(acquire(prefix + "/lock", one) && !acquire(prefix + "/lock", other), "a lock");
    Library.check(keys.getSession(prefix + "/lock").get().equals(one), "the holder");
    sessions.destroySession(one);
    Library.check(keys.getValue(prefix + "/lock").isEmpty(), "a key that goes with its session");
    Library.check(acquire(prefix + "/other", other), "another lock");
    keys.deleteKey(prefix + "/other");
    Library.check(acquire(prefix + "/other", other), "a lock whose key was deleted");
    keys.deleteKeys(prefix + "/");
    Library.check(keys.getValues(prefix + "/").isEmpty(), "what was deleted");
    Library.check(!consul.statusClient().getLeader().isEmpty(), "the leader");
    Library.check(consul.agentClient().getAgent().getConfig().getDatacenter().equals("dc1"), "self");
    Library.check(consul.catalogClient().getDatacenters().equals(List.of("dc1")), "datacenters");
  }
}
