package io.tenure;

import io.tenure.v1.BreakLockRequest;
import io.tenure.v1.CheckSequencerRequest;
import io.tenure.v1.GetLockRequest;
import io.tenure.v1.GetSessionRequest;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.SessionServiceGrpc;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * A client of one cluster. It stays connected to one member, and goes to another when that one fails. Make one for the whole
 * program, and close it at the end: that ends its sessions, and leaves nothing running.
 */
public final class Client implements AutoCloseable {
  /** How long a call outside of sessions, an opening and a resumption wait for a member unless something else is said. */
  public static final Duration DEFAULT_CALL_TIMEOUT = Duration.ofSeconds(30);

  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final ClientCore core;
  private final Opening opening;
  /** Ends when the client is closed; null before that begins. */
  private final AtomicReference<CompletableFuture<Void>> closing = new AtomicReference<>();
  /** What the JVM runs when it shuts down; null when it was not asked to. */
  private final AtomicReference<Thread> atShutdown = new AtomicReference<>();

  /** A client with a clock of its own, which makes another attempt at a call when one had no answer for so long. */
  Client(ConnectionString at, Duration callTimeout, BootClock clock, Duration attemptTimeout) {
    this.core = new ClientCore(at, callTimeout, attemptTimeout, clock);
    this.opening = new Opening(core);
  }

  /**
   * Makes a client of the cluster at {@code tenure://h1:7400,h2:7400/namespace?ttl=15s}. It does not wait for a member.
   *
   * @param connectionString where the cluster is, and what sessions are like
   * @return the client
   * @throws TenureException of kind INVALID_ARGUMENT when the text is not a connection string
   */
  public static Client connect(String connectionString) {
    return connect(ConnectionString.parse(connectionString));
  }

  /**
   * Makes a client of a cluster. It does not wait for a member.
   *
   * @param at where the cluster is, and what sessions are like
   * @return the client
   */
  public static Client connect(ConnectionString at) {
    return connect(at, DEFAULT_CALL_TIMEOUT);
  }

  /**
   * Makes a client of a cluster whose calls wait so long for a member. It does not wait for one itself.
   *
   * @param at where the cluster is, and what sessions are like
   * @param callTimeout how long a call outside of sessions, an opening and a resumption wait at most, unless a time of their own is
   *     said; calls under a session wait as long as it may live
   * @return the client
   * @throws TenureException of kind INVALID_ARGUMENT when the time is not positive
   */
  public static Client connect(ConnectionString at, Duration callTimeout) {
    if (callTimeout.isZero() || callTimeout.isNegative()) {
      throw TenureException.of(
          ErrorKind.INVALID_ARGUMENT, Applied.NO, "the time that calls may take is " + callTimeout + "; it must be positive");
    }
    return new Client(at, callTimeout, new BootClock(), ATTEMPT_TIMEOUT);
  }

  /**
   * Has the client closed when the JVM shuts down: on SIGTERM, SIGINT and {@code System.exit}. Its sessions end cleanly then, so that
   * what they hold is free and their places in queues are left at once, and not after TTL and lock-delay. Work that is under way goes
   * on until the JVM is gone; where it must have ended before another process has the lock, let a hook of your own wait for it, and
   * then close the client. Closing the client takes the hook away.
   *
   * @return this client
   * @throws IllegalStateException when the JVM is shutting down already
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

  /** Returns what the JVM runs when it shuts down; null when it has nothing to run. */
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

  /** {@return the namespace of all keys; empty for none} */
  public String namespace() {
    return core.namespace.name();
  }

  /** {@return keys and values, outside of any session} */
  public KV kv() {
    return new KV(core, null);
  }

  /**
   * Opens a session as the connection string says.
   *
   * @return the session
   */
  public Session openSession() {
    return openSession(SessionOptions.defaults());
  }

  /**
   * Opens a session.
   *
   * @param options what is asked for
   * @return the session
   * @throws TenureException.Unavailable when no member answers within {@link #DEFAULT_CALL_TIMEOUT}, or the time that was given to
   *     connect. A session that was made nevertheless is ended, if a member answers within 10 s more
   */
  public Session openSession(SessionOptions options) {
    return Await.of(opening.open(options, core.callTimeout, c -> { }));
  }

  /**
   * Opens a session within a time; the listener is told its states from the beginning.
   *
   * @param options what is asked for
   * @param wait how long to wait at most
   * @param listener is told, in order, on a thread of the client's pool; of a session that is not opened, that it is being opened only
   * @return the session
   * @throws TenureException.Unavailable when no member answered in that time. A session that was made nevertheless is ended, if
   *     a member answers within 10 s more
   */
  public Session openSession(SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return Await.of(opening.open(options, wait, listener));
  }

  /**
   * Opens a session.
   *
   * @param options what is asked for
   * @return a future of the session
   */
  public CompletableFuture<Session> openSessionAsync(SessionOptions options) {
    return core.loop.shown(opening.open(options, core.callTimeout, c -> { }), Session::closeAsync);
  }

  /**
   * Opens a session within a time; the listener is told its states from the beginning.
   *
   * @param options what is asked for
   * @param wait how long to wait at most
   * @param listener is told, in order, on a thread of the client's pool
   * @return a future of the session
   */
  public CompletableFuture<Session> openSessionAsync(
      SessionOptions options, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(opening.open(options, wait, listener), Session::closeAsync);
  }

  /**
   * Goes on with a session of another process, by the text that its {@link Session#export} or {@link Session#token} gave.
   * That process, if it still runs, can then use the session no more. Ask {@link Session#inherited} for what it holds.
   *
   * @param token what {@link Session#export} or {@link Session#token} gave
   * @return the session
   * @throws TenureException.SessionOver when the session ended, or another process took it over
   * @throws TenureException.Unavailable when no member answers within {@link #DEFAULT_CALL_TIMEOUT}, or the time that was given to
   *     connect; the same client may try again
   * @throws TenureException of kind TOKEN_INVALID when the text is damaged
   */
  public Session resume(String token) {
    return Await.of(opening.resume(token, core.callTimeout, c -> { }));
  }

  /**
   * Goes on with a session of another process within a time; see {@link #resume(String)}.
   *
   * @param token what {@link Session#export} or {@link Session#token} gave
   * @param wait how long to wait at most
   * @param listener is told, in order, on a thread of the client's pool
   * @return the session
   */
  public Session resume(String token, Duration wait, Consumer<SessionChange> listener) {
    return Await.of(opening.resume(token, wait, listener));
  }

  /**
   * Goes on with a session of another process; see {@link #resume(String)}.
   *
   * @param token what {@link Session#export} or {@link Session#token} gave
   * @return a future of the session
   */
  public CompletableFuture<Session> resumeAsync(String token) {
    return resumeAsync(token, core.callTimeout, c -> { });
  }

  /**
   * Goes on with a session of another process within a time; see {@link #resume(String)}.
   *
   * @param token what {@link Session#export} or {@link Session#token} gave
   * @param wait how long to wait at most
   * @param listener is told, in order, on a thread of the client's pool
   * @return a future of the session
   */
  public CompletableFuture<Session> resumeAsync(String token, Duration wait, Consumer<SessionChange> listener) {
    return core.loop.shown(opening.resume(token, wait, listener), Session::detach);
  }

  /**
   * {@return a watch; it begins to work when it is read}
   *
   * @param options what is asked for
   */
  public Watch watch(WatchOptions options) {
    return new Watch(core, Objects.requireNonNull(options));
  }

  /**
   * {@return an election to look at; to stand in it, take {@link Session#election}}
   *
   * @param key the key, without the namespace
   */
  public Election election(String key) {
    return new Election(core, null, key);
  }

  /**
   * {@return a barrier: a key whose existence keeps others waiting}
   *
   * @param key the key, without the namespace
   */
  public Barrier barrier(String key) {
    return new Barrier(core, kv(), key);
  }

  /**
   * {@return the members of a group; to join it, take {@link Session#presence}}
   *
   * @param group the name of the group
   */
  public Presence presence(String group) {
    return new Presence(core, null, group);
  }

  /**
   * {@return a copy of all keys that begin so, kept up to date by a watch} {@link Cache#begin} fills it.
   *
   * @param prefix how the keys begin, without the namespace
   */
  public Cache cache(String prefix) {
    return new Cache(core, prefix);
  }

  /**
   * Asks the cluster whether this very hold is valid at this moment.
   *
   * @param sequencer the proof of the hold
   * @return whether it is so
   */
  public boolean check(Sequencer sequencer) {
    return Await.of(checkInner(sequencer));
  }

  /**
   * Asks the cluster whether this very hold is valid at this moment.
   *
   * @param sequencer the proof of the hold
   * @return a future that tells whether it is so
   */
  public CompletableFuture<Boolean> checkAsync(Sequencer sequencer) {
    return core.loop.shown(checkInner(sequencer));
  }

  /**
   * {@return what the cluster knows of a session, live or among the last that ended}
   *
   * @param sessionId the id of a session
   * @throws TenureException.NotFound when it knows nothing
   */
  public SessionInfo lookup(String sessionId) {
    return Await.of(lookupInner(sessionId));
  }

  /**
   * {@return what the cluster knows of a session; see {@link #lookup}}
   *
   * @param sessionId the id of a session
   */
  public CompletableFuture<SessionInfo> lookupAsync(String sessionId) {
    return core.loop.shown(lookupInner(sessionId));
  }

  /**
   * {@return a lock as it is; one that nobody uses is free}
   *
   * @param key the key, without the namespace
   */
  public LockInfo lockInfo(String key) {
    return Await.of(lockInfoInner(key));
  }

  /**
   * {@return a lock as it is; see {@link #lockInfo}}
   *
   * @param key the key, without the namespace
   */
  public CompletableFuture<LockInfo> lockInfoAsync(String key) {
    return core.loop.shown(lockInfoInner(key));
  }

  /**
   * Takes a lock away from all its holders, as an operator, for a reason that is kept. From very many holders it takes several
   * calls, and what is granted meanwhile stays: after an error some holds may be broken and others not.
   *
   * @param key the key, without the namespace
   * @param reason why, for people
   * @return how many holds were broken
   */
  public int breakLock(String key, String reason) {
    return Await.of(breakInner(key, reason));
  }

  /**
   * Takes a lock away from all its holders; see {@link #breakLock}.
   *
   * @param key the key, without the namespace
   * @param reason why, for people
   * @return a future of how many holds were broken
   */
  public CompletableFuture<Integer> breakLockAsync(String key, String reason) {
    return core.loop.shown(breakInner(key, reason));
  }

  /** {@return the members as they are known now, host:port} */
  public List<String> members() {
    return Await.of(core.onLoop(() -> CompletableFuture.completedFuture(core.link.members())));
  }

  /** {@return the member connected to, host:port; empty when there is none at this moment} */
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
    forgetShutdown();
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

  private CompletableFuture<Boolean> checkInner(Sequencer sequencer) {
    Objects.requireNonNull(sequencer);
    return Futures.map(core.read(LockServiceGrpc.getCheckSequencerMethod(),
        () -> CheckSequencerRequest.newBuilder().setSequencer(sequencer.wire()).build()), r -> r.getHolds());
  }

  private CompletableFuture<Integer> breakInner(String key, String reason) {
    Objects.requireNonNull(key);
    Objects.requireNonNull(reason);
    return breakOn(core.namespace.key(key), reason, 0, "");
  }

  /** Goes on with a break from where its last call stopped, until no hold remains. */
  private CompletableFuture<Integer> breakOn(String key, String reason, int broken, String token) {
    return Futures.compose(core.change(LockServiceGrpc.getBreakLockMethod(), o -> BreakLockRequest.newBuilder()
        .setKey(key).setReason(reason).setOptions(o).setBreakToken(token).build()), r -> {
          int holds = broken + r.getHolds();
          return r.getBreakToken().isEmpty() ? CompletableFuture.completedFuture(holds)
              : breakOn(key, reason, holds, r.getBreakToken());
        });
  }

  private CompletableFuture<SessionInfo> lookupInner(String id) {
    Objects.requireNonNull(id);
    return Futures.map(core.read(SessionServiceGrpc.getGetSessionMethod(),
        () -> GetSessionRequest.newBuilder().setSessionId(id).build()), r -> new SessionInfo(id,
            !r.getSession().hasEnd(), r.getSession().getName(), r.getSession().getEpoch(), r.getHoldsCount(),
            r.getSession().hasEnd()
                ? r.getSession().getEnd().getCause().name().replaceFirst("^SESSION_END_CAUSE_", "") : ""));
  }

  private CompletableFuture<LockInfo> lockInfoInner(String key) {
    Objects.requireNonNull(key);
    CompletableFuture<LockInfo> info = Futures.map(core.read(LockServiceGrpc.getGetLockMethod(),
        () -> GetLockRequest.newBuilder().setKey(core.namespace.key(key)).build()),
        r -> new LockInfo(r.getLock().getHoldsList().stream().map(h -> new LockInfo.Holder(
            h.getSequencer().getSessionId(), h.getOwner(), h.getSequencer().getFencingToken())).toList(),
            r.getLock().getWaiters(), r.getLock().getDelayedHolds()));
    return Futures.unless(info, ErrorKind.LOCK_NOT_FOUND, new LockInfo(List.of(), 0, 0));
  }

  /** Ends what runs; returns the connections, which are being closed. */
  private CompletableFuture<List<Connection>> closeInner() {
    CompletableFuture<List<Connection>> done = new CompletableFuture<>();
    core.loop.execute(() -> {
      core.closing = true;
      core.calls.look();
      opening.close();
      for (SessionCore s : List.copyOf(core.sessions)) {
        s.end.close();
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
