import com.ecwid.consul.v1.ConsulClient;
import com.ecwid.consul.v1.QueryParams;
import com.ecwid.consul.v1.Response;
import com.ecwid.consul.v1.kv.model.GetValue;
import com.ecwid.consul.v1.kv.model.PutParams;
import com.ecwid.consul.v1.session.model.NewSession;
import com.ecwid.consul.v1.session.model.Session;
import java.util.List;

/** consul-api of ecwid. */
final class Used implements Library {
  private final ConsulClient consul;

  Used(String host, int port) {
    consul = new ConsulClient(host, port);
  }

  @Override
  public String create() {
    return create(Session.Behavior.RELEASE);
  }

  private String create(Session.Behavior behavior) {
    NewSession session = new NewSession();
    session.setName("contender");
    session.setTtl("10s");
    session.setLockDelay(1);
    session.setBehavior(behavior);
    return consul.sessionCreate(session, QueryParams.DEFAULT).getValue();
  }

  @Override
  public void renew(String session) {
    consul.renewSession(session, QueryParams.DEFAULT);
  }

  @Override
  public boolean acquire(String key, String session) {
    PutParams put = new PutParams();
    put.setAcquireSession(session);
    return consul.setKVValue(key, "here", put).getValue();
  }

  @Override
  public boolean release(String key, String session) {
    PutParams put = new PutParams();
    put.setReleaseSession(session);
    return consul.setKVValue(key, "gone", put).getValue();
  }

  @Override
  public void await(String key) {
    Response<GetValue> found = consul.getKVValue(key);
    while (found.getValue() != null && found.getValue().getSession() != null) {
      found = consul.getKVValue(key, new QueryParams(2, found.getConsulIndex()));
    }
  }

  @Override
  public void tour(String prefix) throws Exception {
    String key = prefix + "/a";
    PutParams put = new PutParams();
    put.setFlags(7);
    Library.check(consul.setKVValue(key, "one", put).getValue(), "put");
    Response<GetValue> found = consul.getKVValue(key);
    Library.check(found.getValue().getDecodedValue().equals("one") && found.getValue().getFlags() == 7, found);
    Library.check(found.getConsulIndex() == found.getValue().getModifyIndex() && found.isConsulKnownLeader(), found);
    PutParams cas = new PutParams();
    cas.setCas(found.getConsulIndex());
    Library.check(consul.setKVValue(key, "two", cas).getValue(), "cas");
    Library.check(!consul.setKVValue(key, "three", cas).getValue(), "cas with an old index");
    consul.setKVValue(prefix + "/b/c", "");
    Library.check(consul.getKVKeysOnly(prefix + "/", "/", null).getValue().equals(List.of(key, prefix + "/b/")), "keys");
    Library.check(consul.getKVValues(prefix + "/").getValue().size() == 2, "recurse");
    Library.check(consul.getKVValue(prefix + "/none").getValue() == null, "a missing key");
    long index = consul.getKVValue(key).getConsulIndex();
    Thread change =
        new Thread(
            () -> {
              consul.setKVValue(key, "changed");
            });
    change.start();
    found = consul.getKVValue(key, new QueryParams(60, index));
    change.join();
    Library.check(found.getConsulIndex() > index && found.getValue().getDecodedValue().equals("changed"), found);
    String one = create(Session.Behavior.DELETE);
    String other = create();
    Session info = consul.getSessionInfo(one, QueryParams.DEFAULT).getValue();
    Library.check(info.getName().equals("contender") && info.getTtl().equals("10s") && info.getBehavior() == Session.Behavior.DELETE, info);
    Library.check(consul.getSessionList(QueryParams.DEFAULT).getValue().stream().anyMatch(s -> s.getId().equals(one)), "list");
    Library.check(acquire(prefix + "/lock", one) && !acquire(prefix + "/lock", other), "a lock");
    consul.sessionDestroy(one, QueryParams.DEFAULT);
    Library.check(consul.getKVValue(prefix + "/lock").getValue() == null, "a key that goes with its session");
    Library.check(acquire(prefix + "/other", other), "another lock");
    consul.deleteKVValue(prefix + "/other");
    Library.check(acquire(prefix + "/other", other), "a lock whose key was deleted");
    consul.deleteKVValues(prefix + "/");
    Library.check(consul.getKVValues(prefix + "/").getValue() == null, "what was deleted");
    Library.check(!consul.getStatusLeader().getValue().isEmpty(), "the leader");
    Library.check(consul.getAgentSelf().getValue().getConfig().getDatacenter().equals("dc1"), "self");
    Library.check(consul.getCatalogDatacenters().getValue().equals(List.of("dc1")), "datacenters");
  }
}
