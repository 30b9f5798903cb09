package io.tenure;

import com.google.protobuf.ByteString;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.BreakLockRequest;
import io.tenure.v1.CheckSequencerRequest;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.GetLockRequest;
import io.tenure.v1.GetSessionRequest;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.SessionBehavior;
import io.tenure.v1.SessionServiceGrpc;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * A client of one cluster. It stays connected to one member, and goes to another when that one fails. Make one for the whole
 * program, and close it at the end: that ends its sessions, and leaves nothing running.
 */
public final class Client implements AutoCloseable {
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);
  private static final int SECRET_BYTES = 32;

  private final ClientCore core;
  /** Ends when the client is closed; null before that begins. */
  private final AtomicReference<CompletableFuture<Void>> closing = new AtomicReference<>();

  Client(ConnectionString at, BootClock clock) {
    this.core = new ClientCore(at, CALL_TIMEOUT, clock);
  }

  /**
   * Makes a client of the cluster at {@code tenure://h1:7400,h2:7400/namespace?ttl=15s}. It does not wait for a member.
   *
   * @throws TenureException of kind INVALID_ARGUMENT when the text is not a connection string
   */
  public static Client connect(String connectionString) {
    return connect(ConnectionString.parse(connectionString));
  }

  /** Makes a client of a cluster. It does not wait for a member. */
  public static Client connect(ConnectionString at) {
    return new Client(at, new BootClock());
  }

  /** Returns the namespace of all keys; empty for none. */
  public String namespace() {
    return core.namespace.name();
  }

  /** Returns keys and values, outside of any session. */
  public KV kv() {
    return new KV(core, null);
  }

  /** Opens a session as the connection string says. */
  public Session openSession() {
    return openSession(SessionOptions.defaults());
  }

  /**
   * Opens a session.
   *
   * @throws TenureException.Unavailable when no member answers within 30 s
   */
  public Session openSession(SessionOptions options) {
    return Await.of(open(options, CALL_TIMEOUT, c -> { }));
  }

  /** Opens a session within a time; the listener is told its states from the beginning. */
  public Session openSession(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return Await.of(open(options, wait, listener));
  }

  /** Opens a session. */
  public CompletableFuture<Session> openSessionAsync(SessionOptions options) {
    return core.loop.shown(open(options, CALL_TIMEOUT, c -> { }), Session::closeAsync);
  }

  /** Opens a session within a time; the listener is told its states from the beginning. */
  public CompletableFuture<Session> openSessionAsync(
      SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(open(options, wait, listener), Session::closeAsync);
  }

  /**
   * Goes on with a session of another process, by the text that its {@link Session#export} or {@link Session#token} gave. That
   * process, if it still runs, can then use the session no more. Ask {@link Session#inherited} for what it holds.
   */
  public Session resume(String token) {
    return Await.of(resumeInner(token, CALL_TIMEOUT, c -> { }));
  }

  /** Goes on with a session of another process within a time; see {@link #resume(String)}. */
  public CompletableFuture<Session> resumeAsync(String token, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(resumeInner(token, wait, listener), Session::detach);
  }

  /** Returns a watch; it begins to work when it is read. */
  public Watch watch(WatchOptions options) {
    return new Watch(core, options);
  }

  /** Returns an election to look at; to stand in it, take {@link Session#election}. */
  public Election election(String key) {
    return new Election(core, null, key);
  }

  /** Returns a barrier: a key whose existence keeps others waiting. */
  public Barrier barrier(String key) {
    return new Barrier(core, kv(), key);
  }

  /** Returns the members of a group; to join it, take {@link Session#presence}. */
  public Presence presence(String group) {
    return new Presence(core, null, group);
  }

  /** Returns a copy of all keys that begin so, kept up to date by a watch. */
  public Cache cache(String prefix) {
    return new Cache(core, prefix);
  }

  /** Asks the cluster whether this very hold is valid at this moment. */
  public boolean check(Sequencer sequencer) {
    return Await.of(checkInner(sequencer));
  }

  /** Asks the cluster whether this very hold is valid at this moment. */
  public CompletableFuture<Boolean> checkAsync(Sequencer sequencer) {
    return core.loop.shown(checkInner(sequencer));
  }

  /**
   * Returns what the cluster knows of a session, live or among the last that ended.
   *
   * @throws TenureException.NotFound when it knows nothing
   */
  public SessionInfo lookup(String sessionId) {
    return Await.of(lookupInner(sessionId));
  }

  /** Returns what the cluster knows of a session; see {@link #lookup}. */
  public CompletableFuture<SessionInfo> lookupAsync(String sessionId) {
    return core.loop.shown(lookupInner(sessionId));
  }

  /** Returns a lock as it is; one that nobody uses is free. */
  public LockInfo lockInfo(String key) {
    return Await.of(lockInfoInner(key));
  }

  /** Returns a lock as it is; see {@link #lockInfo}. */
  public CompletableFuture<LockInfo> lockInfoAsync(String key) {
    return core.loop.shown(lockInfoInner(key));
  }

  /** Takes a lock away from all its holders, as an operator, for a reason that is kept. Returns how many holds were broken. */
  public int breakLock(String key, String reason) {
    return Await.of(core.change(LockServiceGrpc.getBreakLockMethod(), o -> BreakLockRequest.newBuilder()
        .setKey(core.namespace.key(key)).setReason(reason).setOptions(o).build()).thenApply(r -> r.getHolds()));
  }

  /** Returns the members as they are known now, host:port. */
  public List<String> members() {
    return Await.of(core.onLoop(() -> CompletableFuture.completedFuture(core.link.members())));
  }

  /** Returns the member connected to; empty when there is none at this moment. */
  public String connectedTo() {
    return Await.of(core.onLoop(() -> CompletableFuture.completedFuture(
        core.link.current() == null ? "" : core.link.current().address())));
  }

  /**
   * Ends all sessions cleanly, so that others get their locks at once, and everything that runs. It takes no longer than some
   * seconds, also when no member answers, and is not cut short by an interrupt. Closing it again does nothing.
   */
  @Override
  public void close() {
    CompletableFuture<Void> mine = new CompletableFuture<>();
    CompletableFuture<Void> other = closing.compareAndExchange(null, mine);
    if (other != null) {
      Await.uninterrupted(other);
      return;
    }
    try {
      awaitNetwork(Await.uninterrupted(closeInner()));
    } finally {
      core.end();
      mine.complete(null);
    }
  }

  ClientCore core() {
    return core;
  }

  private CompletableFuture<Session> open(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    ByteString secret = ClientCore.randomBytes(SECRET_BYTES);
    ByteString instance = ClientCore.randomBytes(ClientCore.ID_BYTES);
    CreateSessionRequest request = request(options, secret, instance);
    var events = connecting(listener);
    CompletableFuture<Session> opened = new CompletableFuture<>();
    return core.onLoop(opened, () -> {
      if (core.keeper.size() >= Keeper.SESSIONS_MAX) {
        throw TenureException.of(
            ErrorKind.LIMIT, Applied.NO, "a client can have " + Keeper.SESSIONS_MAX + " sessions; make another client");
      }
      // The cluster counts from when it made the session, which may be at the first attempt.
      long sentAt = core.clock.nanos();
      core.calls.call(SessionServiceGrpc.getCreateSessionMethod(), request, core.patience(wait))
          .whenComplete((r, error) -> {
            if (error != null) {
              opened.completeExceptionally(error);
              return;
            }
            SessionCore s = new SessionCore(core, new SessionCore.Identity(r.getSessionId(), secret, instance,
                r.getEpoch(), Wire.duration(r.getTtl()), renewEvery(Wire.duration(r.getKeepaliveInterval()))), events);
            s.listenLater(listener);
            s.created(sentAt);
            if (!opened.complete(new Session(s))) {
              s.close();
            }
          });
    });
  }

  /** Tells the listener that the session is being opened; returns where it is told the rest. */
  private Executor connecting(Consumer<SessionChange> listener) {
    Executor events = core.loop.serial();
    events.execute(() -> listener.accept(
        new SessionChange(SessionState.CONNECTING, SessionState.CONNECTING, Optional.empty())));
    return events;
  }

  private static Duration renewEvery(Duration said) {
    return said.isZero() ? Duration.ofSeconds(10) : said;
  }

  private CreateSessionRequest request(SessionOptions options, ByteString secret, ByteString instance) {
    CreateSessionRequest.Builder r = CreateSessionRequest.newBuilder()
        .setName(options.name().or(core.at::name).orElseGet(Client::program))
        .putAllMetadata(facts(options.metadata()))
        .setTtl(Wire.duration(options.ttl().orElse(core.at.ttl())))
        .setSecret(secret)
        .setInstanceId(instance)
        .setBehavior(options.deleteKeys()
            ? SessionBehavior.SESSION_BEHAVIOR_DELETE : SessionBehavior.SESSION_BEHAVIOR_RELEASE)
        .setOptions(io.tenure.v1.CallOptions.newBuilder()
            .setIdempotencyKey(ClientCore.randomBytes(ClientCore.ID_BYTES)));
    options.lockDelay().or(core.at::lockDelay).ifPresent(d -> r.setLockDelay(Wire.duration(d)));
    return r.build();
  }

  /** Returns what helps a human to find the process. */
  private static Map<String, String> facts(Map<String, String> own) {
    Map<String, String> all = new LinkedHashMap<>();
    try {
      all.put("host", InetAddress.getLocalHost().getHostName());
    } catch (UnknownHostException e) {
      // A machine without a name is found by its address, which the member adds.
      all.remove("host");
    }
    all.put("pid", Long.toString(ProcessHandle.current().pid()));
    all.put("program", program());
    all.put("user", System.getProperty("user.name", ""));
    all.put("language", "java " + System.getProperty("java.version", ""));
    all.values().removeIf(String::isEmpty);
    all.putAll(own);
    return all;
  }

  private static String program() {
    String command = System.getProperty("sun.java.command", "");
    String first = command.isEmpty() ? ManagementFactory.getRuntimeMXBean().getName() : command.split(" ", 2)[0];
    String base = first.substring(first.lastIndexOf('/') + 1);
    return base.length() > 200 ? base.substring(0, 200) : base;
  }

  private CompletableFuture<Session> resumeInner(String text, Duration wait, Consumer<SessionChange> listener) {
    SessionToken token = SessionToken.parse(text);
    Executor events = connecting(listener);
    CompletableFuture<Session> resumed = new CompletableFuture<>();
    return core.onLoop(resumed, () -> {
      ByteString secret = ByteString.copyFrom(token.secret());
      ByteString instance = core.taker(token);
      AttachSessionRequest request = AttachSessionRequest.newBuilder()
          .setSessionId(token.sessionId()).setInstanceId(instance).setAttempt(1).setTakeOver(true)
          .setOptions(io.tenure.v1.CallOptions.newBuilder().setSessionSecret(secret).setEpoch(token.epoch()))
          .build();
      long until = core.clock.nanos() + wait.toNanos();
      core.calls.call(SessionServiceGrpc.getAttachSessionMethod(), request, core.patience(wait))
          .whenComplete((r, error) -> {
            if (error != null) {
              RuntimeException e = asSession(error);
              if (e instanceof TenureException.SessionOver) {
                core.tookOver(token);
              }
              resumed.completeExceptionally(e);
              return;
            }
            Duration ttl = Wire.duration(r.getSession().getTtl());
            SessionCore s = new SessionCore(core, new SessionCore.Identity(token.sessionId(), secret, instance,
                r.getSession().getEpoch(), ttl, interval(ttl)), events);
            s.listenLater(listener);
            s.takenOver(r, !token.handedOver());
            awaitBelief(token, s, until, resumed);
          });
    });
  }

  /** Waits for the first renewal of a session that was taken over. Without it, whoever has the token may try again. */
  private void awaitBelief(SessionToken token, SessionCore s, long until, CompletableFuture<Session> resumed) {
    s.whenSafe(Long.MIN_VALUE, () -> {
      core.tookOver(token);
      resumed.complete(new Session(s));
    }, () -> resumed.completeExceptionally(s.overError(Applied.YES)));
    ScheduledFuture<?> late = core.loop.after(until - core.clock.nanos(), () -> resumed.completeExceptionally(
        TenureException.of(ErrorKind.UNAVAILABLE, Applied.YES,
            "session " + token.sessionId() + " was taken over, but no member renewed it in time; resume it again")));
    resumed.whenComplete((session, error) -> {
      late.cancel(false);
      if (error != null) {
        core.loop.run(s::detach);
      }
    });
  }

  private static Duration interval(Duration ttl) {
    Duration third = ttl.dividedBy(3);
    Duration most = Duration.ofSeconds(10);
    return ttl.isZero() || third.compareTo(most) > 0 ? most : third;
  }

  private static RuntimeException asSession(Throwable error) {
    Throwable e = Futures.error(error);
    if (e instanceof TenureException t && t.kind() == ErrorKind.SESSION_NOT_FOUND) {
      return TenureException.of(ErrorKind.SESSION_EXPIRED, t.applied(), t.getMessage(), t.details(), t);
    }
    if (e instanceof TenureException t && t.details().containsKey("epoch") && t.kind() == ErrorKind.INVALID_ARGUMENT) {
      return TenureException.of(ErrorKind.SESSION_SUPERSEDED, t.applied(), t.getMessage(), t.details(), t);
    }
    return Futures.rethrow(error);
  }

  private CompletableFuture<Boolean> checkInner(Sequencer sequencer) {
    return core.read(LockServiceGrpc.getCheckSequencerMethod(),
        CheckSequencerRequest.newBuilder().setSequencer(sequencer.wire()).build()).thenApply(r -> r.getHolds());
  }

  private CompletableFuture<SessionInfo> lookupInner(String id) {
    return core.read(SessionServiceGrpc.getGetSessionMethod(),
        GetSessionRequest.newBuilder().setSessionId(id).build()).thenApply(r -> new SessionInfo(id,
            !r.getSession().hasEnd(), r.getSession().getName(), r.getSession().getEpoch(), r.getHoldsCount(),
            r.getSession().hasEnd()
                ? r.getSession().getEnd().getCause().name().replaceFirst("^SESSION_END_CAUSE_", "") : ""));
  }

  private CompletableFuture<LockInfo> lockInfoInner(String key) {
    return core.read(LockServiceGrpc.getGetLockMethod(),
        GetLockRequest.newBuilder().setKey(core.namespace.key(key)).build()).handle((r, error) -> {
          if (error == null) {
            return new LockInfo(r.getLock().getHoldsList().stream().map(h -> new LockInfo.Holder(
                h.getSequencer().getSessionId(), h.getOwner(), h.getSequencer().getFencingToken())).toList(),
                r.getLock().getWaiters(), r.getLock().getDelayedHolds());
          }
          if (Futures.error(error) instanceof TenureException e && e.kind() == ErrorKind.LOCK_NOT_FOUND) {
            return new LockInfo(List.of(), 0, 0);
          }
          throw Futures.rethrow(error);
        });
  }

  /** Ends what runs; returns the connections, which are being closed. */
  private CompletableFuture<List<Connection>> closeInner() {
    CompletableFuture<List<Connection>> done = new CompletableFuture<>();
    core.loop.execute(() -> {
      for (SessionCore s : List.copyOf(core.sessions)) {
        s.close();
      }
      CompletableFuture<Void> ends = CompletableFuture.allOf(core.endings.toArray(CompletableFuture[]::new));
      core.loop.after(CLOSE_TIMEOUT.toNanos(), () -> ends.complete(null));
      ends.whenComplete((v, e) -> done.complete(closeParts()));
    });
    return done;
  }

  private List<Connection> closeParts() {
    core.closed = true;
    for (AutoCloseable part : List.copyOf(core.parts)) {
      Wire.closeQuietly(part);
    }
    core.calls.close(ClientCore.closedError());
    core.keeper.close();
    List<Connection> opened = List.copyOf(core.link.opened());
    core.link.close();
    return opened;
  }

  private void awaitNetwork(List<Connection> opened) {
    boolean interrupted = Thread.interrupted();
    long until = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
    for (Connection c : opened) {
      while (true) {
        try {
          c.awaitClosed(Math.max(0, until - System.nanoTime()));
          break;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
