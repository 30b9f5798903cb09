package io.tenure.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import io.tenure.Barrier;
import io.tenure.Cache;
import io.tenure.Client;
import io.tenure.DoubleBarrier;
import io.tenure.Election;
import io.tenure.ElectionRun;
import io.tenure.FenceGate;
import io.tenure.Held;
import io.tenure.KV;
import io.tenure.KeyValue;
import io.tenure.LeaderChange;
import io.tenure.Leadership;
import io.tenure.Lock;
import io.tenure.LockOptions;
import io.tenure.Presence;
import io.tenure.PutOptions;
import io.tenure.Sequencer;
import io.tenure.Session;
import io.tenure.SessionChange;
import io.tenure.SessionOptions;
import io.tenure.TenureException;
import io.tenure.Txn;
import io.tenure.Watch;
import io.tenure.WatchEvent;
import io.tenure.WatchMessage;
import io.tenure.WatchOptions;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;

/** What an agent can be told to do. */
final class Operations {
  private static final Duration OPEN_WAIT = Duration.ofSeconds(30);
  /** Threads of this agent, and those that the Java runtime begins for itself when it first needs them. */
  private static final Pattern PLATFORM = Pattern.compile(
      "agent|ForkJoinPool\\.commonPool.*|CompletableFutureDelayScheduler|Common-Cleaner|Attach Listener|process reaper.*");

  /** Where events go. */
  interface Events {
    void event(String name, String of, JsonElement value);
  }

  /** One request. */
  private record Request(String op, String on, String as, Args args) {}

  private final Events events;
  private final Map<String, Object> things = new ConcurrentHashMap<>();
  private final Map<String, FenceGate> gates = new ConcurrentHashMap<>();
  private final Deque<Client> clients = new ArrayDeque<>();
  private final ExecutorService blocking = Executors.newCachedThreadPool(r -> {
    Thread t = new Thread(r, "agent");
    t.setDaemon(true);
    return t;
  });
  private Set<Thread> before;

  Operations(Events events) {
    this.events = events;
  }

  CompletableFuture<JsonObject> run(JsonObject line) {
    Request r = new Request(line.get("op").getAsString(), text(line, "on"), text(line, "as"),
        new Args(line.getAsJsonObject("args")));
    String group = r.op.substring(0, Math.max(0, r.op.indexOf('.')));
    return switch (group) {
      case "agent", "client", "sequencer", "fence" -> client(r);
      case "session" -> session(r);
      case "lock", "held", "rwlock", "semaphore" -> lock(r);
      case "kv" -> kv(r);
      case "watch", "cache", "x" -> watch(r);
      case "election" -> election(r);
      case "barrier", "double_barrier", "presence" -> recipe(r);
      default -> throw new IllegalArgumentException("unknown op " + r.op);
    };
  }

  private static String text(JsonObject o, String name) {
    return o.has(name) && !o.get(name).isJsonNull() ? o.get(name).getAsString() : "";
  }

  private <T> T on(Request r, Class<T> type) {
    Object o = things.get(r.on);
    if (!type.isInstance(o)) {
      throw new IllegalArgumentException(r.op + ": " + r.on + " is no " + type.getSimpleName());
    }
    return type.cast(o);
  }

  /** Runs what blocks on a thread of its own; cancelling the future interrupts it. */
  private CompletableFuture<JsonObject> block(Callable<JsonObject> work) {
    CompletableFuture<JsonObject> result = new CompletableFuture<>();
    var task = blocking.submit(() -> {
      try {
        result.complete(work.call());
      } catch (Exception e) {
        result.completeExceptionally(e);
      }
    });
    result.whenComplete((v, e) -> {
      if (result.isCancelled()) {
        task.cancel(true);
      }
    });
    return result;
  }

  /** Turns a future's value into a reply; cancelling the reply cancels the future. */
  private static <T> CompletableFuture<JsonObject> reply(CompletableFuture<T> from, Function<T, JsonObject> as) {
    CompletableFuture<JsonObject> result = new CompletableFuture<>();
    from.whenComplete((v, e) -> {
      if (e != null) {
        result.completeExceptionally(e);
      } else {
        try {
          result.complete(as.apply(v));
        } catch (RuntimeException x) {
          result.completeExceptionally(x);
        }
      }
    });
    result.whenComplete((v, e) -> {
      if (result.isCancelled()) {
        from.cancel(true);
      }
    });
    return result;
  }

  private static CompletableFuture<JsonObject> done(JsonObject o) {
    return CompletableFuture.completedFuture(o);
  }

  private CompletableFuture<JsonObject> client(Request r) {
    Args a = r.args;
    switch (r.op) {
      case "agent.close":
        return block(() -> {
          while (!clients.isEmpty()) {
            clients.pop().close();
          }
          return new JsonObject();
        });
      case "agent.leaks":
        return block(this::leaks);
      case "client.open": {
        if (before == null) {
          before = new HashSet<>(Thread.getAllStackTraces().keySet());
        }
        Client c = Client.connect(a.text("uri"));
        a.finish(r.op);
        clients.push(c);
        things.put(r.as, c);
        return done(Json.of("namespace", c.namespace()));
      }
      case "client.close": {
        Client c = on(r, Client.class);
        return block(() -> {
          c.close();
          return new JsonObject();
        });
      }
      case "client.info": {
        Client c = on(r, Client.class);
        return block(() -> {
          JsonArray members = new JsonArray();
          c.members().forEach(members::add);
          return Json.of("members", members, "count", members.size(), "connected_to", c.connectedTo());
        });
      }
      case "sequencer.check": {
        Sequencer s = Sequencer.parse(a.text("sequencer"));
        a.finish(r.op);
        return reply(on(r, Client.class).checkAsync(s), h -> Json.of("holds", h));
      }
      case "fence.check": {
        FenceGate gate = gates.computeIfAbsent(a.text("gate"), k -> new FenceGate());
        Sequencer s = Sequencer.parse(a.text("sequencer"));
        a.finish(r.op);
        gate.check(s);
        return done(new JsonObject());
      }
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  private JsonObject leaks() throws InterruptedException {
    JsonArray what = new JsonArray();
    for (int i = 0; i < 100; i++) {
      what = new JsonArray();
      for (Thread t : Thread.getAllStackTraces().keySet()) {
        if (!PLATFORM.matcher(t.getName()).matches() && t.isAlive() && (before == null || !before.contains(t))) {
          what.add(t.getName());
        }
      }
      if (what.isEmpty()) {
        break;
      }
      synchronized (this) {
        wait(100);
      }
    }
    return Json.of("left", what.size(), "what", what);
  }

  private CompletableFuture<JsonObject> session(Request r) {
    Args a = r.args;
    switch (r.op) {
      case "session.open": {
        SessionOptions o = options(a);
        Duration wait = a.duration("wait_ms").orElse(OPEN_WAIT);
        boolean blocks = a.maybe("listener").orElse("").equals("blocks");
        a.finish(r.op);
        return reply(on(r, Client.class).openSessionAsync(o, wait, blocks ? forEver(states(r.as)) : states(r.as)), s -> remember(r, s));
      }
      case "session.resume": {
        String token = a.text("token");
        Duration wait = a.duration("wait_ms").orElse(OPEN_WAIT);
        a.finish(r.op);
        return reply(on(r, Client.class).resumeAsync(token, wait, states(r.as)), s -> remember(r, s));
      }
      case "session.export":
        return reply(on(r, Session.class).exportAsync(), t -> Json.of("token", t));
      case "session.token":
        return done(Json.of("token", on(r, Session.class).token()));
      case "session.holds": {
        a.duration("wait_ms");
        a.finish(r.op);
        return reply(on(r, Session.class).inheritedAsync(), all -> {
          JsonArray holds = new JsonArray();
          for (Held h : all) {
            hold(r.as + "." + h.key(), h);
            holds.add(Json.of("key", h.key(), "owner", h.owner(), "token", h.token()));
          }
          return Json.of("holds", holds);
        });
      }
      case "session.info": {
        Session s = on(r, Session.class);
        return done(Json.of("id", s.id(), "state", s.state().name(), "cause", s.cause().map(Json::lower).orElse(""),
            "safe", s.isSafe(), "safe_for_ms", Json.millis(s.safeFor()), "ttl_ms", s.ttl().toMillis(),
            "epoch", s.epoch()));
      }
      case "session.close":
        return reply(on(r, Session.class).closeAsync(), v -> new JsonObject());
      case "session.lookup": {
        String id = a.text("id");
        a.finish(r.op);
        return reply(on(r, Client.class).lookupAsync(id), s -> Json.of("id", s.id(), "live", s.live(), "name", s.name(),
            "epoch", s.epoch(), "holds", s.holds(), "end_cause", s.endCause()));
      }
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  private static SessionOptions options(Args a) {
    SessionOptions o = SessionOptions.defaults();
    Optional<Duration> ttl = a.duration("ttl_ms");
    if (ttl.isPresent()) {
      o = o.withTtl(ttl.get());
    }
    Optional<Duration> delay = a.duration("lock_delay_ms");
    if (delay.isPresent()) {
      o = o.withLockDelay(delay.get());
    }
    if (a.maybe("behavior").orElse("release").equals("delete")) {
      o = o.deletingKeys();
    }
    Optional<String> name = a.maybe("name");
    if (name.isPresent()) {
      o = o.withName(name.get());
    }
    Optional<JsonElement> metadata = a.raw("metadata");
    if (metadata.isPresent()) {
      for (var e : metadata.get().getAsJsonObject().entrySet()) {
        o = o.withMetadata(e.getKey(), e.getValue().getAsString());
      }
    }
    return o;
  }

  private Consumer<SessionChange> states(String as) {
    return c -> events.event("session.state", as,
        Json.of("state", c.to().name(), "cause", c.cause().map(Json::lower).orElse("")));
  }

  /** Returns a listener that never comes back from what it is told first. */
  private static Consumer<SessionChange> forEver(Consumer<SessionChange> told) {
    return c -> {
      told.accept(c);
      new CompletableFuture<Void>().join();
    };
  }

  private JsonObject remember(Request r, Session s) {
    things.put(r.as, s);
    return Json.session(s);
  }

  private JsonObject hold(String as, Held h) {
    things.put(as, h);
    h.onEnded(cause -> events.event("held.ended", as, Json.of("cause", Json.lower(cause))));
    return Json.held(h);
  }

  private CompletableFuture<JsonObject> lock(Request r) {
    Args a = r.args;
    switch (r.op) {
      case "lock.acquire", "rwlock.read", "rwlock.write", "semaphore.acquire": {
        Optional<Duration> wait = a.duration("wait_ms");
        Lock lock = lockOf(r);
        a.finish(r.op);
        return reply(wait.map(lock::acquireAsync).orElseGet(lock::acquireAsync), h -> hold(r.as, h));
      }
      case "lock.try": {
        Lock lock = lockOf(r);
        a.finish(r.op);
        return reply(lock.tryAcquireAsync(), t -> {
          if (t.held().isEmpty()) {
            return Json.of("acquired", false, "holders", t.holders(), "waiters", t.waiters(), "delayed", t.delayed());
          }
          JsonObject o = hold(r.as, t.held().get());
          o.addProperty("acquired", true);
          return o;
        });
      }
      case "lock.info": {
        String key = a.text("key");
        a.finish(r.op);
        return reply(on(r, Client.class).lockInfoAsync(key), l -> {
          JsonArray holders = new JsonArray();
          l.holders().forEach(h -> holders.add(Json.of("session", h.sessionId(), "owner", h.owner(), "token",
              h.fencingToken())));
          return Json.of("holders", holders, "waiters", l.waiters(), "delayed", l.delayed());
        });
      }
      case "lock.break": {
        String key = a.text("key");
        String reason = a.text("reason");
        a.finish(r.op);
        Client c = on(r, Client.class);
        return block(() -> Json.of("holds", c.breakLock(key, reason)));
      }
      case "held.info": {
        Held h = held(r);
        JsonObject o = Json.held(h);
        o.addProperty("safe", h.isSafe());
        o.addProperty("safe_for_ms", Json.millis(h.safeFor()));
        o.addProperty("ended", h.cause().isPresent());
        o.addProperty("cause", h.cause().map(Json::lower).orElse(""));
        return done(o);
      }
      case "held.release":
        return reply(held(r).releaseAsync(), b -> Json.of("released", b));
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  private Held held(Request r) {
    return things.get(r.on) instanceof Leadership l ? l.held() : on(r, Held.class);
  }

  private Lock lockOf(Request r) {
    Args a = r.args;
    Session s = on(r, Session.class);
    String key = a.text("key");
    int permits = a.number("permits").orElse(r.op.equals("semaphore.acquire") ? 1L : 0L).intValue();
    int limit = a.number("limit").orElse(0L).intValue();
    String mode = switch (r.op) {
      case "rwlock.read" -> "shared";
      case "rwlock.write" -> "exclusive";
      case "semaphore.acquire" -> "semaphore";
      default -> a.maybe("mode").orElse("exclusive");
    };
    LockOptions o = switch (mode) {
      case "exclusive" -> LockOptions.exclusive();
      case "shared" -> LockOptions.shared();
      case "semaphore" -> LockOptions.semaphore(permits, limit);
      default -> throw new IllegalArgumentException("unknown mode " + mode);
    };
    Optional<String> owner = a.maybe("owner");
    if (owner.isPresent()) {
      o = o.withOwner(owner.get());
    }
    Optional<String> value = a.maybe("value");
    if (value.isPresent()) {
      o = o.withValue(value.get().getBytes(StandardCharsets.UTF_8));
    }
    return s.lock(key, o.onQueued(p -> events.event("held.queued", r.as, Json.of("position", p))));
  }

  private KV kvOf(Request r) {
    return things.get(r.on) instanceof Session s ? s.kv() : on(r, Client.class).kv();
  }

  private CompletableFuture<JsonObject> kv(Request r) {
    Args a = r.args;
    KV kv = kvOf(r);
    switch (r.op) {
      case "kv.get": {
        String key = a.text("key");
        a.finish(r.op);
        return reply(kv.getAsync(key), Json::kv);
      }
      case "kv.put": {
        PutOptions o = putOptions(a);
        String key = a.text("key");
        byte[] value = a.bytes("value");
        a.finish(r.op);
        return reply(kv.putAsync(key, value, o), p -> Json.of("key", p.key(), "revision", p.revision()));
      }
      case "kv.delete": {
        String key = a.text("key");
        Optional<Long> revision = a.number("if_revision");
        Optional<String> guard = a.maybe("guard");
        a.finish(r.op);
        return block(() -> Json.of("deleted", revision.isPresent() ? kv.deleteIf(key, revision.get())
            : guard.isPresent() ? kv.delete(key, guard(guard.get())) : kv.delete(key)));
      }
      case "kv.list": {
        String prefix = a.maybe("prefix").orElse("");
        a.finish(r.op);
        return reply(kv.listAsync(prefix), all -> {
          JsonArray kvs = new JsonArray();
          all.forEach(k -> kvs.add(Json.kv(k)));
          return Json.of("kvs", kvs);
        });
      }
      case "kv.delete_prefix": {
        String prefix = a.maybe("prefix").orElse("");
        a.finish(r.op);
        return reply(kv.deletePrefixAsync(prefix), n -> Json.of("deleted", n));
      }
      case "kv.txn":
        return txn(kv, r);
      case "kv.loop": {
        String key = a.text("key");
        long count = a.number("count").orElse(1L);
        a.finish(r.op);
        return block(() -> {
          for (long i = 0; i < count; i++) {
            addOne(kv, key);
          }
          return Json.of("done", count);
        });
      }
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  private static void addOne(KV kv, String key) {
    while (true) {
      Optional<KeyValue> now = kv.find(key);
      long number = now.map(k -> Long.parseLong(k.text())).orElse(0L) + 1;
      try {
        kv.put(key, Long.toString(number).getBytes(StandardCharsets.UTF_8),
            PutOptions.defaults().ifRevision(now.map(KeyValue::modRevision).orElse(0L)));
        return;
      } catch (TenureException.CompareFailed e) {
        // Another one added meanwhile.
        continue;
      }
    }
  }

  private Held guard(String name) {
    Object o = things.get(name);
    return o instanceof Leadership l ? l.held() : (Held) o;
  }

  private PutOptions putOptions(Args a) {
    PutOptions o = PutOptions.defaults().withFlags(a.number("flags").orElse(0L));
    Optional<Long> revision = a.number("if_revision");
    if (revision.isPresent()) {
      o = o.ifRevision(revision.get());
    }
    if (a.flag("bind")) {
      o = o.ephemeral();
    }
    if (a.flag("sequential")) {
      o = o.sequential();
    }
    Optional<String> guard = a.maybe("guard");
    return guard.isPresent() ? o.guardedBy(guard(guard.get())) : o;
  }

  private CompletableFuture<JsonObject> txn(KV kv, Request r) {
    Txn t = kv.txn();
    for (JsonObject c : r.args.objects("compares")) {
      String key = c.get("key").getAsString();
      if (c.has("revision")) {
        t.ifRevision(key, c.get("revision").getAsLong());
      }
      if (c.has("version")) {
        t.ifVersion(key, c.get("version").getAsLong());
      }
      if (c.has("value")) {
        t.ifValue(key, c.get("value").getAsString().getBytes(StandardCharsets.UTF_8));
      }
    }
    r.args.objects("then").forEach(o -> operation(t, o));
    t.otherwise();
    r.args.objects("otherwise").forEach(o -> operation(t, o));
    r.args.maybe("guard").ifPresent(g -> t.guardedBy(guard(g)));
    r.args.finish(r.op);
    return reply(kv.commitAsync(t), result -> {
      JsonArray gets = new JsonArray();
      for (Optional<KeyValue> g : result.gets()) {
        gets.add(g.isPresent() ? Json.of("key", g.get().key(), "value", g.get().text()) : JsonNull.INSTANCE);
      }
      return Json.of("succeeded", result.succeeded(), "gets", gets);
    });
  }

  private static void operation(Txn t, JsonObject o) {
    if (o.has("put")) {
      JsonObject p = o.getAsJsonObject("put");
      t.put(p.get("key").getAsString(), p.get("value").getAsString().getBytes(StandardCharsets.UTF_8));
    } else if (o.has("delete")) {
      t.delete(o.getAsJsonObject("delete").get("key").getAsString());
    } else {
      t.get(o.getAsJsonObject("get").get("key").getAsString());
    }
  }

  private CompletableFuture<JsonObject> watch(Request r) {
    Args a = r.args;
    switch (r.op) {
      case "watch.open": {
        Watch w = on(r, Client.class).watch(watchOptions(a));
        a.finish(r.op);
        things.put(r.as, w);
        return reply(w.beginAsync(), v -> {
          Thread t = new Thread(() -> follow(r.as, w), "agent-watch");
          t.setDaemon(true);
          t.start();
          return new JsonObject();
        });
      }
      case "watch.close", "x.close": {
        Object o = things.get(r.on);
        return block(() -> {
          ((AutoCloseable) o).close();
          return new JsonObject();
        });
      }
      case "cache.open": {
        Cache c = on(r, Client.class).cache(a.maybe("prefix").orElse(""));
        a.duration("wait_ms");
        a.finish(r.op);
        things.put(r.as, c);
        return reply(c.beginAsync(), v -> new JsonObject());
      }
      case "cache.get": {
        Cache c = on(r, Cache.class);
        Optional<KeyValue> kv = c.get(a.text("key"));
        a.finish(r.op);
        JsonObject o = Json.of("found", kv.isPresent(), "stale_ms", Math.max(1, c.staleFor().toMillis()));
        kv.ifPresent(k -> {
          o.addProperty("value", k.text());
          o.addProperty("revision", k.modRevision());
        });
        return done(o);
      }
      case "cache.keys": {
        JsonArray keys = new JsonArray();
        on(r, Cache.class).all().keySet().forEach(keys::add);
        return done(Json.of("keys", keys));
      }
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  private static WatchOptions watchOptions(Args a) {
    WatchOptions o = WatchOptions.all();
    for (String k : a.list("keys")) {
      o = o.andKey(k);
    }
    for (String p : a.list("prefixes")) {
      o = o.andPrefix(p);
    }
    for (String k : a.list("locks")) {
      o = o.andLock(k);
    }
    for (String id : a.list("session_ids")) {
      o = o.andSession(id);
    }
    if (a.flag("initial")) {
      o = o.withInitial();
    }
    Optional<Long> after = a.number("after_revision");
    if (after.isPresent()) {
      o = o.after(after.get());
    }
    Optional<String> token = a.maybe("resume_token");
    return token.isPresent() ? o.resume(token.get()) : o;
  }

  private void follow(String as, Watch w) {
    String kind = "";
    try {
      for (WatchMessage m : w) {
        if (m instanceof WatchMessage.Initial i) {
          JsonArray kvs = new JsonArray();
          i.keys().forEach(kv -> kvs.add(Json.kv(kv)));
          events.event("watch.initial", as, Json.of("kvs", kvs, "revision", i.revision()));
        } else if (m instanceof WatchMessage.Events e) {
          for (WatchEvent one : e.events()) {
            events.event("watch.event", as, Json.event(one));
          }
          events.event("watch.token", as, Json.of("resume_token", e.resumeToken()));
        }
      }
    } catch (TenureException e) {
      kind = e.kind().name().equals("CLIENT_CLOSED") ? "" : Json.lower(e.kind());
    }
    events.event("watch.ended", as, Json.of("kind", kind));
  }

  private CompletableFuture<JsonObject> election(Request r) {
    Args a = r.args;
    switch (r.op) {
      case "election.campaign": {
        Election e = on(r, Session.class).election(a.text("key"));
        CompletableFuture<Leadership> f = e.campaignAsync(
            a.maybe("value").orElse(""), a.maybe("owner").orElse(null), a.duration("wait_ms"),
            p -> events.event("held.queued", r.as, Json.of("position", p)));
        a.finish(r.op);
        return reply(f, l -> {
          JsonObject o = hold(r.as, l.held());
          things.put(r.as, l);
          return o;
        });
      }
      case "election.proclaim": {
        byte[] value = a.bytes("value");
        a.finish(r.op);
        return reply(on(r, Leadership.class).proclaimAsync(value), v -> new JsonObject());
      }
      case "election.resign": {
        String session = a.maybe("to_session").orElse("");
        String owner = a.maybe("to_owner").orElse("");
        a.finish(r.op);
        return reply(on(r, Leadership.class).resignToAsync(session, owner), b -> Json.of("resigned", b));
      }
      case "election.leader": {
        Election e = on(r, Client.class).election(a.text("key"));
        a.finish(r.op);
        return reply(e.leaderAsync(), l -> Json.of("leader", Json.leader(l.orElse(null))));
      }
      case "election.observe": {
        Election e = on(r, Client.class).election(a.text("key"));
        a.finish(r.op);
        Observer o = new Observer(r.as);
        things.put(r.as, o);
        e.observe().subscribe(o);
        return done(new JsonObject());
      }
      case "election.run": {
        Election e = on(r, Session.class).election(a.text("key"));
        String value = a.maybe("value").orElse("");
        a.finish(r.op);
        ElectionRun run = e.run(value, l -> {
          events.event("run.begun", r.as, Json.of("token", l.held().token()));
          l.held().ended().join();
          events.event("run.ended", r.as, Json.of("token", l.held().token()));
        });
        things.put(r.as, run);
        return done(new JsonObject());
      }
      default:
        throw new IllegalArgumentException("unknown op " + r.op);
    }
  }

  /** Tells who leads. */
  private final class Observer implements Flow.Subscriber<LeaderChange>, AutoCloseable {
    private final String as;
    private volatile Flow.Subscription subscription;

    Observer(String as) {
      this.as = as;
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(LeaderChange c) {
      events.event("observe.leader", as, Json.of("leader", Json.leader(c.leader().orElse(null)), "gap", c.gap()));
    }

    @Override
    public void onError(Throwable t) {
      t.printStackTrace();
    }

    @Override
    public void onComplete() {
      // The client was closed.
    }

    @Override
    public void close() {
      subscription.cancel();
    }
  }

  private CompletableFuture<JsonObject> recipe(Request r) {
    Args a = r.args;
    Object on = things.get(r.on);
    Optional<Duration> wait = a.duration("wait_ms");
    return block(() -> {
      switch (r.op) {
        case "barrier.set", "barrier.remove", "barrier.wait" -> {
          String key = a.text("key");
          a.finish(r.op);
          Barrier b = on instanceof Session s ? s.barrier(key) : ((Client) on).barrier(key);
          if (r.op.equals("barrier.set")) {
            b.set();
          } else if (r.op.equals("barrier.remove")) {
            b.remove();
          } else if (wait.isPresent()) {
            b.await(wait.get());
          } else {
            b.await();
          }
        }
        case "double_barrier.enter" -> {
          Session s = (Session) on;
          DoubleBarrier b = s.doubleBarrier(
              a.text("key"), a.number("count").orElse(1L).intValue(), a.maybe("name").orElse(s.id()));
          a.finish(r.op);
          if (wait.isPresent()) {
            b.enter(wait.get());
          } else {
            b.enter();
          }
          things.put(r.as, b);
        }
        case "double_barrier.leave" -> {
          a.finish(r.op);
          if (wait.isPresent()) {
            ((DoubleBarrier) on).leave(wait.get());
          } else {
            ((DoubleBarrier) on).leave();
          }
        }
        case "presence.join" -> {
          Presence p = ((Session) on).presence(a.text("group"));
          things.put(r.as, p.join(a.text("name"), a.maybe("value").orElse("")));
        }
        case "presence.leave" -> ((Presence.Membership) on).close();
        case "presence.members" -> {
          Presence p = on instanceof Session s
              ? s.presence(a.text("group")) : ((Client) on).presence(a.text("group"));
          JsonObject members = new JsonObject();
          p.members().forEach(members::addProperty);
          return Json.of("members", members);
        }
        default -> throw new IllegalArgumentException("unknown op " + r.op);
      }
      return new JsonObject();
    });
  }
}
