import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.camel.CamelContext;
import org.apache.camel.Message;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.consul.ConsulConstants;
import org.apache.camel.component.consul.endpoint.ConsulKeyValueActions;
import org.apache.camel.component.consul.endpoint.ConsulSessionActions;
import org.apache.camel.impl.DefaultCamelContext;
import org.kiwiproject.consul.model.kv.Value;
import org.kiwiproject.consul.model.session.ImmutableSession;
import org.kiwiproject.consul.model.session.SessionCreatedResponse;
import org.kiwiproject.consul.model.session.SessionInfo;
import org.kiwiproject.consul.option.ImmutablePutOptions;
import org.kiwiproject.consul.option.QueryOptions;

/** The component consul of Camel: each call is a message to one of its endpoints. */
final class Used implements Library {
  private final CamelContext camel = new DefaultCamelContext();
  private final ProducerTemplate template;
  private final String keys;
  private final String sessions;
  private final String url;

  Used(String host, int port) throws Exception {
    url = "http://" + host + ":" + port;
    keys = "consul:kv?pingInstance=false&url=" + url;
    sessions = "consul:session?pingInstance=false&url=" + url;
    camel.start();
    template = camel.createProducerTemplate();
  }

  /** Sends a message to an endpoint, with an action and pairs of a header and its value, and returns what came of it. */
  private Message sent(String endpoint, String action, Object body, Object... headers) {
    Map<String, Object> all = new HashMap<>();
    all.put(ConsulConstants.CONSUL_ACTION, action);
    for (int i = 0; i < headers.length; i += 2) {
      all.put((String) headers[i], headers[i + 1]);
    }
    var exchange =
        template.request(
            endpoint,
            e -> {
              e.getIn().setBody(body);
              e.getIn().setHeaders(all);
            });
    if (exchange.getException() != null) {
      throw new IllegalStateException(exchange.getException());
    }
    return exchange.getMessage();
  }

  private static boolean result(Message message) {
    return message.getHeader(ConsulConstants.CONSUL_RESULT, Boolean.class);
  }

  private static Value value(Message message) {
    return result(message) ? message.getBody(Value.class) : null;
  }

  private Value get(String key, QueryOptions options) {
    return value(sent(keys, ConsulKeyValueActions.GET_VALUE, null, ConsulConstants.CONSUL_KEY, key, ConsulConstants.CONSUL_OPTIONS, options));
  }

  private Value get(String key) {
    return get(key, QueryOptions.BLANK);
  }

  @Override
  public String create() {
    return create("release");
  }

  private String create(String behavior) {
    var session = ImmutableSession.builder().name("contender").ttl("10s").lockDelay("1s").behavior(behavior).build();
    return sent(sessions, ConsulSessionActions.CREATE, session).getBody(SessionCreatedResponse.class).getId();
  }

  @Override
  public void renew(String session) {
    sent(sessions, ConsulSessionActions.RENEW, session);
  }

  @Override
  public boolean acquire(String key, String session) {
    return result(sent(keys, ConsulKeyValueActions.LOCK, "here", ConsulConstants.CONSUL_KEY, key, ConsulConstants.CONSUL_SESSION, session));
  }

  @Override
  public boolean release(String key, String session) {
    return result(sent(keys, ConsulKeyValueActions.UNLOCK, null, ConsulConstants.CONSUL_KEY, key, ConsulConstants.CONSUL_SESSION, session));
  }

  @Override
  public void await(String key) {
    Value found = get(key);
    while (found != null && found.getSession().isPresent()) {
      found = get(key, QueryOptions.blockSeconds(2, BigInteger.valueOf(found.getModifyIndex())).build());
    }
  }

  @Override
  public void tour(String prefix) throws Exception {
    String key = prefix + "/a";
    Library.check(put(key, "one", 7), "put");
    Value found = get(key);
    Library.check(found.getValueAsString().get().equals("one") && found.getFlags() == 7, found);
    var cas = ImmutablePutOptions.builder().cas(found.getModifyIndex()).build();
    Library.check(put(key, "two", 0, ConsulConstants.CONSUL_OPTIONS, cas), "cas");
    Library.check(!put(key, "three", 0, ConsulConstants.CONSUL_OPTIONS, cas), "cas with an old index");
    put(prefix + "/b/c", "", 0);
    Library.check(sent(keys, ConsulKeyValueActions.GET_KEYS, null, ConsulConstants.CONSUL_KEY, prefix).getBody(List.class).size() == 2, "keys");
    Library.check(sent(keys, ConsulKeyValueActions.GET_VALUES, null, ConsulConstants.CONSUL_KEY, prefix).getBody(List.class).size() == 2, "recurse");
    Library.check(get(prefix + "/none") == null, "a missing key");
    // A route from a key gets each value that it finds, and the one after.
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    camel.addRoutes(
        new RouteBuilder() {
          @Override
          public void configure() {
            from("consul:kv?pingInstance=false&valueAsString=true&blockSeconds=9&key=" + key + "&url=" + url)
                .process(e -> seen.add(e.getMessage().getBody(String.class)));
          }
        });
    Library.check("two".equals(seen.poll(30, TimeUnit.SECONDS)), "the first of a route");
    put(key, "changed", 0);
    Library.check("changed".equals(seen.poll(30, TimeUnit.SECONDS)), "the next of a route");
    String one = create("delete");
    String other = create();
    SessionInfo info = sent(sessions, ConsulSessionActions.INFO, one).getBody(SessionInfo.class);
    Library.check(info.getName().get().equals("contender") && info.getTtl().get().equals("10s"), info);
    List<?> list = sent(sessions, ConsulSessionActions.LIST, null).getBody(List.class);
    Library.check(list.stream().anyMatch(s -> ((SessionInfo) s).getId().equals(one)), "list");
    renew(one);
    Library.check(acquire(prefix + "/lock", one) && !acquire(prefix + "/lock", other), "a lock");
    sent(sessions, ConsulSessionActions.DESTROY, one);
    Library.check(get(prefix + "/lock") == null, "a key that goes with its session");
    Library.check(acquire(prefix + "/other", other), "another lock");
    sent(keys, ConsulKeyValueActions.DELETE_KEY, null, ConsulConstants.CONSUL_KEY, prefix + "/other");
    Library.check(acquire(prefix + "/other", other), "a lock whose key was deleted");
    sent(keys, ConsulKeyValueActions.DELETE_KEYS, null, ConsulConstants.CONSUL_KEY, prefix);
    Library.check(get(key) == null, "what was deleted");
  }

  private boolean put(String key, String value, long flags, Object... headers) {
    Object[] all = java.util.Arrays.copyOf(headers, headers.length + 4);
    all[headers.length] = ConsulConstants.CONSUL_KEY;
    all[headers.length + 1] = key;
    all[headers.length + 2] = ConsulConstants.CONSUL_FLAGS;
    all[headers.length + 3] = flags;
    return result(sent(keys, ConsulKeyValueActions.PUT, value, all));
  }
}
