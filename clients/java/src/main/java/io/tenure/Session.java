package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Futures;
import io.tenure.internal.session.SessionCore;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A session. While it lives, it can hold locks, lead elections and own ephemeral keys. The library renews it, and follows the members
 * of the cluster. When it ends, other clients get its locks. Close it, so that they need not wait for its TTL and lock-delay. A session
 * that is CLOSED has ended; the library never opens another one for you. Any thread can use it.
 */
public final class Session implements AutoCloseable {
  private final SessionCore core;

  Session(SessionCore core) {
    this.core = core;
  }

  /** {@return its id, a UUID} */
  public String id() {
    return core.id();
  }

  /** {@return the TTL that the cluster granted; zero means that the session never expires} */
  public Duration ttl() {
    return core.ttl();
  }

  /** {@return 1 for a new session; one more each time a process resumes it} */
  public long epoch() {
    return core.epoch();
  }

  /** {@return its state now} */
  public SessionState state() {
    return core.stateNow();
  }

  /** {@return why it is CLOSED; empty before that} */
  public Optional<CloseCause> cause() {
    return core.cause();
  }

  /** {@return whether the session is certainly alive at this moment} It reads the clock, not the network. */
  public boolean isSafe() {
    return core.isSafe();
  }

  /**
   * {@return why the cluster refuses to renew the session, which is that a right is gone or that the credential is not accepted; empty if
   * the last attempt was not refused so} The session stays as it is until its TTL ends, and continues if the right comes back before.
   */
  public Optional<TenureException> refusal() {
    return core.refusal();
  }

  /** {@return for how long {@link #isSafe} stays true without a further renewal; zero if it is false, 292 years without TTL} */
  public Duration safeFor() {
    return core.safeFor();
  }

  /**
   * Registers a listener: it gets the current state, and then each change.
   *
   * @param listener gets the states in order, on a thread of the client's pool
   */
  public void listen(Consumer<SessionChange> listener) {
    core.listeners.listen(Objects.requireNonNull(listener, "listener"));
  }

  /**
   * Removes a listener. It may still get a change that is just being delivered.
   *
   * @param listener the object that was given to {@link #listen}; any other object is ignored
   */
  public void forget(Consumer<SessionChange> listener) {
    core.client.loop.run(() -> core.listeners.forget(listener));
  }

  /** {@return keys and values; changes belong to this session} */
  public KV kv() {
    return new KV(core.client, core);
  }

  /** {@return prepared queries; those that are created or updated through it are deleted when this session ends} */
  public Queries queries() {
    return new Queries(core.client, core);
  }

  /**
   * {@return a lock with one holder at a time} It makes no call.
   *
   * @param key the key, without the namespace
   */
  public Lock lock(String key) {
    return lock(key, LockOptions.exclusive());
  }

  /**
   * {@return a lock} It makes no call.
   *
   * @param key the key, without the namespace
   * @param options the mode, the owner and the value
   */
  public Lock lock(String key, LockOptions options) {
    return new Lock(core, key, options);
  }

  /**
   * {@return a lock with many readers or one writer}
   *
   * @param key the key, without the namespace
   */
  public ReadWriteLock readWriteLock(String key) {
    return new ReadWriteLock(lock(key, LockOptions.shared()), lock(key, LockOptions.exclusive()));
  }

  /**
   * {@return one permit of a semaphore; the cluster enforces the limit}
   *
   * @param key the key, without the namespace
   * @param limit the number of all permits, at least 1. The first holder sets it; another limit fails as MODE_MISMATCH
   * @throws TenureException of kind INVALID_ARGUMENT if the limit is below 1
   */
  public Lock semaphore(String key, int limit) {
    return semaphore(key, limit, 1);
  }

  /**
   * {@return several permits of a semaphore; the cluster enforces the limit}
   *
   * @param key the key, without the namespace
   * @param limit the number of all permits, at least 1. The first holder sets it; another limit fails as MODE_MISMATCH
   * @param permits how many of them to acquire, from 1 to the limit
   * @throws TenureException of kind INVALID_ARGUMENT if the limit is below 1, or the permits are not from 1 to the limit
   */
  public Lock semaphore(String key, int limit, int permits) {
    return lock(key, LockOptions.semaphore(limit, permits));
  }

  /**
   * {@return an election, in which this session can campaign}
   *
   * @param key the key, without the namespace
   */
  public Election election(String key) {
    return new Election(core.client, core, key);
  }

  /**
   * {@return a barrier: {@link Barrier#await()} returns once its key does not exist}
   *
   * @param key the key, without the namespace
   */
  public Barrier barrier(String key) {
    return new Barrier(core.client, kv(), key);
  }

  /**
   * {@return a double barrier: its participants start together and end together}
   *
   * @param key the key, without the namespace
   * @param count the number of participants
   * @param name the name of this participant, such as the session's id
   */
  public DoubleBarrier doubleBarrier(String key, int count, String name) {
    return new DoubleBarrier(core, key, count, name);
  }

  /**
   * {@return a group that this session can join}
   *
   * @param group the name of the group
   */
  public Presence presence(String group) {
    return new Presence(core.client, core, group);
  }

  /**
   * Hands the session over to another process: it is CLOSED here, and {@link Client#resume(String)} continues it there. Keep the text
   * secret. Waits for locks end, and leave their queues; holds are kept. A last renewal gives the other process a whole TTL; if no
   * member answers within 3 s, the text is returned without it, and the other process has only the rest. A session without TTL
   * remains, with its locks, until it is resumed or destroyed. An interrupt does not lose the text: the thread's flag is set when it
   * is returned.
   *
   * @return the text
   * @throws TenureException.SessionOver if the session has ended
   */
  public String export() {
    return Await.uninterrupted(core.client.onLoop(core.end::export));
  }

  /**
   * Hands the session over; see {@link #export}.
   *
   * @return a future of the text
   */
  public CompletableFuture<String> exportAsync() {
    return core.client.loop.shown(core.client.onLoop(core.end::export));
  }

  /**
   * {@return a text with which another process can resume the session if this one crashes} Keep it secret. This process may still run
   * then, so the other one calls inherited holds safe only after one TTL: without TTL, never. Hand such a session over by {@link
   * #export}.
   */
  public String token() {
    return core.end.token(false);
  }

  /**
   * {@return the holds of a resumed session, once the previous process can no longer rely on them} After an {@link #export} that is
   * immediately, otherwise one TTL after the resumption, for which this call waits.
   *
   * <p>An inherited place in a queue is kept for an acquire with the same owner. This call gives up the places that no acquire has
   * taken up. Without this call they are given up one TTL after the resumption, and locks granted there until then are released.
   * Calling it again returns the same holds.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD if the session has no TTL and was not exported, because the previous process
   *     may rely on its holds for as long as it runs. An acquire of one of these locks by the same owner fails in the same way. {@link
   *     #close} frees the locks, with their lock-delay.
   */
  public List<Held> inherited() {
    return Await.of(inheritedInner());
  }

  /** {@return a future of the holds of a resumed session; see {@link #inherited}} */
  public CompletableFuture<List<Held>> inheritedAsync() {
    return core.client.loop.shown(inheritedInner());
  }

  /**
   * Ends the session: its locks become free immediately, and its ephemeral keys are deleted. Closing it again does nothing. If the
   * thread is interrupted, this returns, and the closing continues. If no member answers within 10 s, the session expires after its
   * TTL; without TTL it remains, with its locks, until it is destroyed.
   */
  @Override
  public void close() {
    if (!core.client.closed) {
      Await.ending(closeInner());
    }
  }

  /**
   * Ends the session; see {@link #close}.
   *
   * @return a future that completes when the session has ended
   */
  public CompletableFuture<Void> closeAsync() {
    return core.client.closed ? CompletableFuture.completedFuture(null) : core.client.loop.shown(closeInner());
  }

  /** Stops using the session without ending it. */
  void detach() {
    core.client.loop.run(core::detach);
  }

  private CompletableFuture<List<Held>> inheritedInner() {
    return core.client.onLoop(() -> Futures.map(core.inheritance.tell(), all -> all.stream().map(Held::of).toList()));
  }

  private CompletableFuture<Void> closeInner() {
    return core.client.onLoop(core.end::close).exceptionally(e -> {
      if (Futures.error(e) instanceof TenureException t && t.kind() == ErrorKind.CLIENT_CLOSED) {
        return null; // The client ended it.
      }
      throw Futures.rethrow(e);
    });
  }

  @Override
  public String toString() {
    return "Session[" + core.id() + " " + core.stateNow() + "]";
  }
}
