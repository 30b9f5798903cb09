import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.ext.consul.BlockingQueryOptions;
import io.vertx.ext.consul.ConsulClient;
import io.vertx.ext.consul.ConsulClientOptions;
import io.vertx.ext.consul.KeyValue;
import io.vertx.ext.consul.KeyValueOptions;
import io.vertx.ext.consul.Session;
import io.vertx.ext.consul.SessionBehavior;
import io.vertx.ext.consul.SessionOptions;
import io.vertx.ext.consul.TxnKVOperation;
import io.vertx.ext.consul.TxnKVVerb;
import io.vertx.ext.consul.TxnRequest;
import io.vertx.ext.consul.Watch;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The Consul client of Vert.x. */
final class Used implements Library {
  private final Vertx vertx = Vertx.vertx();
  private final ConsulClientOptions options;
  private final ConsulClient consul;

  Used(String host, int port) {
    options = new ConsulClientOptions();
    options.setHost(host);
    options.setPort(port);
    consul = ConsulClient.create(vertx, options);
  }

  private static <T> T got(Future<T> future) {
    return future.toCompletionStage().toCompletableFuture().join();
  }

  @Override
  public String create() {
    return create(SessionBehavior.RELEASE);
  }

  private String create(SessionBehavior behavior) {
    return got(
        consul.createSessionWithOptions(new SessionOptions().setName("contender").setTtl(10).setLockDelay(1).setBehavior(behavior)));
  }

  @Override
  public void renew(String session) {
    got(consul.renewSession(session));
  }

  @Override
  public boolean acquire(String key, String session) {
    return got(consul.putValueWithOptions(key, "here", new KeyValueOptions().setAcquireSession(session)));
  }

  @Override
  public boolean release(String key, String session) {
    return got(consul.putValueWithOptions(key, "gone", new KeyValueOptions().setReleaseSession(session)));
  }

  @Override
  public void await(String key) {
    KeyValue found = got(consul.getValue(key));
    while (found.isPresent() && found.getSession() != null) {
      found = got(consul.getValueWithOptions(key, new BlockingQueryOptions().setIndex(found.getModifyIndex()).setWait("2s")));
    }
  }

  @Override
  public void tour(String prefix) throws Exception {
    String key = prefix + "/a";
    Library.check(got(consul.putValueWithOptions(key, "one", new KeyValueOptions().setFlags(7))), "put");
    KeyValue found = got(consul.getValue(key));
    Library.check(found.getValue().equals("one") && found.getFlags() == 7, found.toJson());
    KeyValueOptions cas = new KeyValueOptions().setCasIndex(found.getModifyIndex());
    Library.check(got(consul.putValueWithOptions(key, "two", cas)), "cas");
    Library.check(!got(consul.putValueWithOptions(key, "three", cas)), "cas with an old index");
    got(consul.putValue(prefix + "/b/c", ""));
    Library.check(got(consul.getKeys(prefix + "/")).equals(List.of(key, prefix + "/b/c")), "keys");
    Library.check(got(consul.getValues(prefix + "/")).getList().size() == 2, "recurse");
    Library.check(!got(consul.getValue(prefix + "/none")).isPresent(), "a missing key");
    // The watch shows each value that it finds, and the one after.
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    Watch<KeyValue> watch =
        Watch.key(key, vertx, options)
            .setHandler(change -> seen.add(change.succeeded() ? change.nextResult().getValue() : String.valueOf(change.cause())))
            .start();
    Library.check("two".equals(seen.poll(30, TimeUnit.SECONDS)), "the first of a watch");
    got(consul.putValue(key, "changed"));
    Library.check("changed".equals(seen.poll(30, TimeUnit.SECONDS)), "the next of a watch");
    watch.stop();
    String one = create(SessionBehavior.DELETE);
    String other = create();
    Session info = got(consul.infoSession(one));
    Library.check(info.getId().equals(one) && info.getLockDelay() == 1, info.toJson());
    Library.check(got(consul.listSessions()).getList().stream().anyMatch(s -> s.getId().equals(one)), "list");
    Library.check(got(consul.listNodeSessions(info.getNode())).getList().stream().anyMatch(s -> s.getId().equals(one)), "the node's");
    renew(one);
    Library.check(acquire(prefix + "/lock", one) && !acquire(prefix + "/lock", other), "a lock");
    Library.check(got(consul.getValue(prefix + "/lock")).getSession().equals(one), "the holder");
    got(consul.destroySession(one));
    Library.check(!got(consul.getValue(prefix + "/lock")).isPresent(), "a key that goes with its session");
    Library.check(acquire(prefix + "/other", other), "another lock");
    got(consul.deleteValue(prefix + "/other"));
    Library.check(acquire(prefix + "/other", other), "a lock whose key was deleted");
    TxnRequest request =
        new TxnRequest()
            .addOperation(new TxnKVOperation().setType(TxnKVVerb.SET).setKey(prefix + "/txn").setValue("in a transaction"))
            .addOperation(new TxnKVOperation().setType(TxnKVVerb.GET).setKey(key));
    Library.check(got(consul.transaction(request)).getResultsSize() == 2, "a transaction");
    Library.check(got(consul.getValue(prefix + "/txn")).getValue().equals("in a transaction"), "what a transaction wrote");
    got(consul.deleteValues(prefix + "/"));
    Library.check(!got(consul.getValues(prefix + "/")).isPresent(), "what was deleted");
    Library.check(!got(consul.leaderStatus()).isEmpty() && got(consul.peersStatus()).size() >= 1, "the leader");
    Library.check(got(consul.agentInfo()).getJsonObject("Config").getString("Datacenter").equals("dc1"), "self");
    Library.check(got(consul.catalogDatacenters()).equals(List.of("dc1")), "datacenters");
  }
}
