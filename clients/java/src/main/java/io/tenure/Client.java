package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.BootClock;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.catalog.Registrar;
import io.tenure.internal.catalog.RegistrationCore;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Security;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.Opening;
import io.tenure.internal.session.SessionCore;
import io.tenure.internal.watch.WatchCore;
import io.tenure.v1.BreakLockRequest;
import io.tenure.v1.CheckSequencerRequest;
import io.tenure.v1.GetLockRequest;
import io.tenure.v1.GetSessionRequest;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.SessionServiceGrpc;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * A client of one cluster. It stays connected to one member, and moves to another if that member fails. Create one client for the
 * whole program, and close it at the end: that ends its sessions, and leaves nothing running. Any thread can use it.
 */
public final class Client implements AutoCloseable {
  /** How long calls outside sessions, and calls that open or resume a session, wait for a member by default: 30 s. */
  public static final Duration DEFAULT_CALL_TIMEOUT = Duration.ofSeconds(30);

  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final ClientCore core;
  private final Opening opening;
  /** Completes when the client is closed; null before closing starts. */
  private final AtomicReference<CompletableFuture<Void>> closing = new AtomicReference<>();
  /** What the JVM runs when it shuts down; null unless {@link #closeOnShutdown} was called. */
  private final AtomicReference<Thread> atShutdown = new AtomicReference<>();

  /** A client with its own clock, which sends a call again if an attempt had no answer within the attempt timeout. */
  Client(ConnectionString at, Duration callTimeout, BootClock clock, Duration attemptTimeout) {
    this(at, callTimeout, clock, attemptTimeout, Security.NONE);
  }

  Client(ConnectionString at, Duration callTimeout, BootClock clock, Duration attemptTimeout, Security security) {
    this(new ClientCore(at, callTimeout, attemptTimeout, clock, security));
  }

  private Client(ClientCore core) {
    this.core = core;
    this.opening = new Opening(core);
  }

  /**
   * A client of an agent, which is called without a token. There is TLS if its address or its builder asks for it; only then the environment
   * says what these leave open, as by itself it is about members.
   */
  static Client ofAgent(ConnectionString at, Duration callTimeout, Security security, Map<String, String> environment) {
    boolean secured = at.tls() || !security.asksForTls().isEmpty();
    Map<String, String> files = secured ? new HashMap<>(environment) : new HashMap<>();
    files.keySet().removeAll(Set.of("TENURE_TOKEN", "TENURE_TOKEN_FILE"));
    return new Client(new ClientCore(at, callTimeout, ATTEMPT_TIMEOUT, new BootClock(), security, files));
  }

  /**
   * Returns a client of the cluster at {@code tenure://h1:7400,h2:7400/namespace?ttl=15s}. It does not wait for a member.
   *
   * @param connectionString the members, the namespace, and defaults for sessions; see {@link ConnectionString}
   * @return the client
   * @throws TenureException of kind INVALID_ARGUMENT if the text is not a connection string; the message names the mistake
   */
  public static Client connect(String connectionString) {
    return connect(ConnectionString.parse(connectionString));
  }

  /**
   * Returns a client of a cluster. It does not wait for a member.
   *
   * @param at the members, the namespace, and defaults for sessions
   * @return the client
   */
  public static Client connect(ConnectionString at) {
    return connect(at, DEFAULT_CALL_TIMEOUT);
  }

  /**
   * Returns a client of a cluster, with another time than {@link #DEFAULT_CALL_TIMEOUT}. It does not wait for a member.
   *
   * @param at the members, the namespace, and defaults for sessions
   * @param callTimeout how long calls outside sessions, and calls that open or resume a session, wait for a member, unless they are
   *     given a time of their own; a call under a session waits until its lease has ended and then for up to twice its TTL, at most
   *     45 s
   * @return the client
   * @throws TenureException of kind INVALID_ARGUMENT if the time is not positive
   */
  public static Client connect(ConnectionString at, Duration callTimeout) {
    return connect(at, callTimeout, Security.NONE);
  }

  static Client connect(ConnectionString at, Duration callTimeout, Security security) {
    if (callTimeout.isZero() || callTimeout.isNegative()) {
      throw Exceptions.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "the timeout of calls is " + Wire.text(callTimeout) + ", but must be positive");
    }
    return new Client(at, callTimeout, new BootClock(), ATTEMPT_TIMEOUT, security);
  }

  /**
   * Returns what makes a client with settings of its own, such as certificates, a token or interceptors.
   *
   * @param connectionString the members, the namespace, and defaults for sessions; see {@link ConnectionString}
   * @return a builder
   * @throws TenureException of kind INVALID_ARGUMENT if the text is not a connection string; the message names the mistake
   */
  public static ClientBuilder builder(String connectionString) {
    return builder(ConnectionString.parse(connectionString));
  }

  /**
   * Returns what makes a client with settings of its own, such as certificates, a token or interceptors.
   *
   * @param at the members, the namespace, and defaults for sessions
   * @return a builder
   */
  public static ClientBuilder builder(ConnectionString at) {
    return new ClientBuilder(at);
  }

  /**
   * Closes the client when the JVM shuts down: on SIGTERM, SIGINT and {@code System.exit}. Its sessions then end cleanly: their locks
   * become free and their places in queues are given up immediately, and not only after the TTL and the lock-delay. Running work
   * continues until the JVM has stopped. If it must have ended before another process gets the lock, wait for it in your own shutdown
   * hook, and then close the client, instead of calling this. Closing the client removes the hook.
   *
   * @return this client
   * @throws IllegalStateException if the JVM is already shutting down
   */
  public Client closeOnShutdown() {
    Thread hook = new Thread(this::close, "tenure-shutdown");
    if (closing.get() == null && atShutdown.compareAndSet(null, hook)) {
      Runtime.getRuntime().addShutdownHook(hook);
      if (closing.get() != null) {
        forgetShutdown();
      }
    }
    return this;
  }

  /** Returns what the JVM runs when it shuts down; null if there is nothing. */
  Thread shutdownHook() {
    return atShutdown.get();
  }

  private void forgetShutdown() {
    Thread hook = atShutdown.getAndSet(null);
    if (hook != null) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        return; // The JVM is shutting down, and runs it.
      }
    }
  }

  /** {@return the namespace of all keys; empty if there is none} */
  public String namespace() {
    return core.namespace.name();
  }

  /** {@return keys and values, without a session} */
  public KV kv() {
    return new KV(core, null);
  }

  /** {@return prepared queries, without a session} */
  public Queries queries() {
    return new Queries(core, null);
  }

  /**
   * Opens a session with the options of the connection string; see {@link #openSession(SessionOptions)}.
   *
   * @return the session
   */
  public Session openSession() {
    return openSession(SessionOptions.defaults());
  }

  /**
   * Opens a session.
   *
   * @param options the TTL, the lock-delay, the name and others
   * @return the session
   * @throws TenureException.Unavailable if no member answers within {@link #DEFAULT_CALL_TIMEOUT}, or the time that connect was
   *     given. If the session was created nevertheless, the library ends it once a member answers within 10 s more
   */
  public Session openSession(SessionOptions options) {
    return new Session(Await.of(open(options, core.callTimeout, c -> { })));
  }

  /**
   * Opens a session within a time, with a listener that gets its states from the start.
   *
   * @param options the TTL, the lock-delay, the name and others
   * @param wait how long to wait for a member
   * @param listener gets the states in order, on a thread of the client's pool; if the session cannot be opened, only CONNECTING
   * @return the session
   * @throws TenureException.Unavailable if no member answers in that time. If the session was created nevertheless, the library
   *     ends it once a member answers within 10 s more
   */
  public Session openSession(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return new Session(Await.of(open(options, wait, listener)));
  }

  /**
   * Opens a session.
   *
   * @param options the TTL, the lock-delay, the name and others
   * @return a future of the session
   */
  public CompletableFuture<Session> openSessionAsync(SessionOptions options) {
    return core.loop.shown(open(options, core.callTimeout, c -> { }), Session::new, s -> new Session(s).closeAsync());
  }

  /**
   * Opens a session within a time, with a listener that gets its states from the start.
   *
   * @param options the TTL, the lock-delay, the name and others
   * @param wait how long to wait for a member
   * @param listener gets the states in order, on a thread of the client's pool
   * @return a future of the session
   */
  public CompletableFuture<Session> openSessionAsync(
      SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(open(options, wait, listener), Session::new, s -> new Session(s).closeAsync());
  }

  private CompletableFuture<SessionCore> open(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return opening.open(Objects.requireNonNull(options, "options").plan(), wait, listener);
  }

  /**
   * Continues a session of another process. If that process still runs, it can no longer use the session. {@link Session#inherited}
   * returns the locks that the session holds.
   *
   * @param token the text that {@link Session#export} or {@link Session#token} returned
   * @return the session
   * @throws TenureException.SessionOver if the session has ended, or another process took it over
   * @throws TenureException.Unavailable if no member answers within {@link #DEFAULT_CALL_TIMEOUT}, or the time that connect was
   *     given. Try again with this client: any other client is refused if the session had already been taken over
   * @throws TenureException of kind TOKEN_INVALID if the text is damaged
   */
  public Session resume(String token) {
    return new Session(Await.of(opening.resume(token, core.callTimeout, c -> { })));
  }

  /**
   * Continues a session of another process, waiting at most the given time; see {@link #resume(String)}.
   *
   * @param token the text that {@link Session#export} or {@link Session#token} returned
   * @param wait how long to wait for a member
   * @param listener gets the states in order, on a thread of the client's pool
   * @return the session
   */
  public Session resume(String token, Duration wait, Consumer<SessionChange> listener) {
    return new Session(Await.of(opening.resume(token, wait, listener)));
  }

  /**
   * Continues a session of another process; see {@link #resume(String)}.
   *
   * @param token the text that {@link Session#export} or {@link Session#token} returned
   * @return a future of the session
   */
  public CompletableFuture<Session> resumeAsync(String token) {
    return resumeAsync(token, core.callTimeout, c -> { });
  }

  /**
   * Continues a session of another process, waiting at most the given time; see {@link #resume(String)}.
   *
   * @param token the text that {@link Session#export} or {@link Session#token} returned
   * @param wait how long to wait for a member
   * @param listener gets the states in order, on a thread of the client's pool
   * @return a future of the session
   */
  public CompletableFuture<Session> resumeAsync(String token, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(opening.resume(token, wait, listener), Session::new, s -> new Session(s).detach());
  }

  /**
   * {@return a watch; it starts when it is first read}
   *
   * @param options what to watch, and from where
   */
  public Watch watch(WatchOptions options) {
    return new Watch(new WatchCore(core, Objects.requireNonNull(options, "options").plan()));
  }

  /**
   * {@return an election, to see its leader; to campaign in it, use {@link Session#election}}
   *
   * @param key the key, without the namespace
   */
  public Election election(String key) {
    return new Election(core, null, key);
  }

  /**
   * {@return a barrier: {@link Barrier#await()} returns once its key does not exist}
   *
   * @param key the key, without the namespace
   */
  public Barrier barrier(String key) {
    return new Barrier(core, kv(), key);
  }

  /**
   * {@return a group, to list or watch its members; to join it, use {@link Session#presence}}
   *
   * @param group the name of the group
   */
  public Presence presence(String group) {
    return new Presence(core, null, group);
  }

  /**
   * {@return a local copy of all keys with a prefix, kept up to date by a watch} {@link Cache#begin} fills it.
   *
   * @param prefix the prefix of the keys, without the namespace
   */
  public Cache cache(String prefix) {
    return new Cache(core, prefix);
  }

  /**
   * {@return a list of the instances that pass, of some services, kept up to date by a watch} {@link ServiceList#begin} fills it.
   *
   * @param services the names of 1 to 128 services
   */
  public ServiceList serviceList(String... services) {
    return new ServiceList(core, List.of(services));
  }

  /**
   * Registers an instance of a service in the catalog, without an agent, until the registration or the client is closed. The node need
   * not exist yet, and remains. The library repeats the registration every minute, and reports what {@link ServiceOptions#withHealth}
   * or {@link Registration#set} say immediately. If the process dies, nothing turns the check critical: members time no checks. Where
   * that matters, use {@link Agent#register}.
   *
   * @param service what is registered; needs {@link ServiceOptions#withNode}
   * @return the registration
   */
  public Registration register(ServiceOptions service) {
    return new Registration(Await.of(registerInner(service)));
  }

  /**
   * Registers an instance of a service in the catalog; see {@link #register}.
   *
   * @param service what is registered
   * @return a future of the registration
   */
  public CompletableFuture<Registration> registerAsync(ServiceOptions service) {
    return core.loop.shown(registerInner(service), Registration::new, RegistrationCore::closeAsync);
  }

  private CompletableFuture<RegistrationCore> registerInner(ServiceOptions service) {
    return RegistrationCore.open(core, new Registrar.Catalog(core), service.plan());
  }

  /**
   * Asks the cluster whether a hold is still valid.
   *
   * @param sequencer the proof of the hold
   * @return whether it is valid
   */
  public boolean check(Sequencer sequencer) {
    return Await.of(checkInner(sequencer));
  }

  /**
   * Asks the cluster whether a hold is still valid.
   *
   * @param sequencer the proof of the hold
   * @return a future of whether it is valid
   */
  public CompletableFuture<Boolean> checkAsync(Sequencer sequencer) {
    return core.loop.shown(checkInner(sequencer));
  }

  /**
   * {@return a session, alive or recently ended}
   *
   * @param sessionId the id of a session
   * @throws TenureException.NotFound if there is no such session
   */
  public SessionInfo lookup(String sessionId) {
    return Await.of(lookupInner(sessionId));
  }

  /**
   * {@return a future of a session; see {@link #lookup}}
   *
   * @param sessionId the id of a session
   */
  public CompletableFuture<SessionInfo> lookupAsync(String sessionId) {
    return core.loop.shown(lookupInner(sessionId));
  }

  /**
   * {@return a lock with its holders; a lock that was never held is free}
   *
   * @param key the key, without the namespace
   */
  public LockInfo lockInfo(String key) {
    return Await.of(lockInfoInner(key));
  }

  /**
   * {@return a future of a lock with its holders; see {@link #lockInfo}}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<LockInfo> lockInfoAsync(String key) {
    return core.loop.shown(lockInfoInner(key));
  }

  /**
   * Takes a lock away from all its holders, as an operator. The lock-delay applies. With more than 1 024 holders and waiters this takes
   * several calls: holds granted in between remain, and after an error some holds may have ended and others not.
   *
   * @param key the key, without the namespace
   * @param reason the reason, which the holders and operators see
   * @return how many holds it ended
   */
  public int breakLock(String key, String reason) {
    return Await.of(breakInner(key, reason));
  }

  /**
   * Takes a lock away from all its holders; see {@link #breakLock}.
   *
   * @param key the key, without the namespace
   * @param reason the reason, which the holders and operators see
   * @return a future of how many holds it ended
   */
  public CompletableFuture<Integer> breakLockAsync(String key, String reason) {
    return core.loop.shown(breakInner(key, reason));
  }

  /** {@return the addresses of the members that the client knows now, host:port} */
  public List<String> members() {
    return Await.of(core.onLoop(() -> CompletableFuture.completedFuture(core.link.members())));
  }

  /** {@return the address of the member in use, host:port; empty if the client is not connected} */
  public String connectedTo() {
    return Await.of(core.onLoop(() -> CompletableFuture.completedFuture(
        core.link.current() == null ? "" : core.link.current().address())));
  }

  /**
   * Ends all sessions cleanly, so that other clients get their locks immediately, and ends all threads of the client. It takes at most
   * about 20 s, even if no member answers, and an interrupt does not end it early. Closing it again does nothing.
   */
  @Override
  public void close() {
    CompletableFuture<Void> mine = new CompletableFuture<>();
    CompletableFuture<Void> other = closing.compareAndExchange(null, mine);
    if (other != null) {
      Await.uninterrupted(other);
      return;
    }
    forgetShutdown();
    try {
      awaitNetwork(Await.uninterrupted(closeInner()));
    } finally {
      core.end();
      mine.complete(null);
    }
  }

  @Override
  public String toString() {
    return "Client[" + String.join(",", core.at.members()) + (namespace().isEmpty() ? "" : "/" + namespace()) + "]";
  }

  ClientCore core() {
    return core;
  }

  private CompletableFuture<Boolean> checkInner(Sequencer sequencer) {
    Objects.requireNonNull(sequencer, "sequencer");
    return Futures.map(core.read(LockServiceGrpc.getCheckSequencerMethod(),
        () -> CheckSequencerRequest.newBuilder().setSequencer(Wire.sequencer(sequencer)).build()), r -> r.getHolds());
  }

  private CompletableFuture<Integer> breakInner(String key, String reason) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(reason, "reason");
    AtomicInteger broken = new AtomicInteger();
    // Each call goes on where the one before stopped, until no hold remains.
    return Futures.map(Futures.pages(token -> core.change(LockServiceGrpc.getBreakLockMethod(), o -> BreakLockRequest.newBuilder()
        .setKey(core.namespace.key(key)).setReason(reason).setOptions(o).setBreakToken(token).build()), r -> {
      broken.addAndGet(r.getHolds());
      return r.getBreakToken();
    }), v -> broken.get());
  }

  private CompletableFuture<SessionInfo> lookupInner(String id) {
    Objects.requireNonNull(id, "id");
    return Futures.map(core.read(SessionServiceGrpc.getGetSessionMethod(),
        () -> GetSessionRequest.newBuilder().setSessionId(id).build()), r -> new SessionInfo(id,
            !r.getSession().hasEnd(), r.getSession().getName(), r.getSession().getEpoch(), r.getHoldsCount(),
            r.getSession().hasEnd()
                ? r.getSession().getEnd().getCause().name().replaceFirst("^SESSION_END_CAUSE_", "") : ""));
  }

  private CompletableFuture<LockInfo> lockInfoInner(String key) {
    Objects.requireNonNull(key, "key");
    CompletableFuture<LockInfo> info = Futures.map(core.read(LockServiceGrpc.getGetLockMethod(),
        () -> GetLockRequest.newBuilder().setKey(core.namespace.key(key)).build()),
        r -> new LockInfo(r.getLock().getHoldsList().stream().map(h -> new LockInfo.Holder(
            h.getSequencer().getSessionId(), h.getOwner(), h.getSequencer().getFencingToken())).toList(),
            r.getLock().getWaiters(), r.getLock().getDelayedHolds()));
    return Futures.unless(info, ErrorKind.LOCK_NOT_FOUND, new LockInfo(List.of(), 0, 0));
  }

  /** Ends everything that runs; returns the connections, which are being closed. */
  private CompletableFuture<List<Connection>> closeInner() {
    CompletableFuture<List<Connection>> done = new CompletableFuture<>();
    core.loop.execute(() -> {
      core.closing = true;
      core.calls.look();
      opening.close();
      for (SessionCore s : List.copyOf(core.sessions)) {
        s.end.close();
      }
      for (ClientCore.Kept r : core.registrations) {
        core.ends(r.ending());
      }
      CompletableFuture<Void> ends = CompletableFuture.allOf(core.endings.toArray(CompletableFuture[]::new));
      core.loop.after(CLOSE_TIMEOUT.toNanos(), () -> ends.complete(null));
      ends.thenApply(v -> closeParts()).whenComplete((opened, error) -> {
        if (error != null) {
          done.completeExceptionally(Futures.error(error));
        } else {
          done.complete(opened);
        }
      });
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
          c.awaitClosed(until);
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
