package io.tenure;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A claim to be alive, kept up by the library through the loss of members, networks and this process's own pauses. What a
 * session holds is given to others when it ends. Close it: then others need not wait for its TTL.
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

  /** {@return the TTL as the cluster granted it; zero for none} */
  public Duration ttl() {
    return core.ttl();
  }

  /** {@return how often the session has been taken over, from 1} */
  public long epoch() {
    return core.epoch();
  }

  /** {@return how it is doing} */
  public SessionState state() {
    return core.stateNow();
  }

  /** {@return why it is CLOSED; absent otherwise} */
  public Optional<CloseCause> cause() {
    return core.cause();
  }

  /** {@return whether no other process can have got what the session holds by an expiry, by the clock, at this moment} */
  public boolean isSafe() {
    return core.isSafe();
  }

  /** {@return for how long {@link #isSafe} stays true without another renewal; zero when it is false, about 292 years without TTL} */
  public Duration safeFor() {
    return core.lease().left(core.client.clock.nanos());
  }

  /**
   * Has the listener told the state now and every change, in order, on a thread of the client's pool.
   *
   * @param listener is told, in order, on a thread of the client's pool
   */
  public void listen(Consumer<SessionChange> listener) {
    core.listen(Objects.requireNonNull(listener));
  }

  /**
   * Ends what {@link #listen} began. What was on its way may still be told.
   *
   * @param listener the very object that was given to listen; another one is no error
   */
  public void forget(Consumer<SessionChange> listener) {
    core.client.loop.run(() -> core.forget(listener));
  }

  /** {@return keys and values, with changes under this session} */
  public KV kv() {
    return new KV(core.client, core);
  }

  /**
   * {@return a handle to a lock with one holder}
   *
   * @param key the key, without the namespace
   */
  public Lock lock(String key) {
    return lock(key, LockOptions.exclusive());
  }

  /**
   * {@return a handle to a lock}
   *
   * @param key the key, without the namespace
   * @param options how the lock is taken
   */
  public Lock lock(String key, LockOptions options) {
    return new Lock(core, key, options);
  }

  /**
   * {@return a lock that many may read under and one may write under}
   *
   * @param key the key, without the namespace
   */
  public ReadWriteLock readWriteLock(String key) {
    return new ReadWriteLock(lock(key, LockOptions.shared()), lock(key, LockOptions.exclusive()));
  }

  /**
   * {@return a handle to one permit of a limit on which all must agree}
   *
   * @param key the key, without the namespace
   * @param limit how many permits there are in all, at least 1; all holders and waiters must say the same
   * @throws TenureException of kind INVALID_ARGUMENT when the limit is below 1
   */
  public Lock semaphore(String key, int limit) {
    return semaphore(key, limit, 1);
  }

  /**
   * {@return a handle to so many permits of a limit on which all must agree}
   *
   * @param key the key, without the namespace
   * @param limit how many permits there are in all, at least 1; all holders and waiters must say the same
   * @param permits how many of them to take, from 1 to the limit
   * @throws TenureException of kind INVALID_ARGUMENT when the limit is below 1, or the permits are not from 1 to the limit
   */
  public Lock semaphore(String key, int limit, int permits) {
    return lock(key, LockOptions.semaphore(limit, permits));
  }

  /**
   * {@return an election to stand in}
   *
   * @param key the key, without the namespace
   */
  public Election election(String key) {
    return new Election(core.client, core, key);
  }

  /**
   * {@return a barrier: a key whose existence keeps others waiting}
   *
   * @param key the key, without the namespace
   */
  public Barrier barrier(String key) {
    return new Barrier(core.client, kv(), key);
  }

  /**
   * {@return a barrier that so many pass together, in and out} The name is this party's; the session's id is a good one.
   *
   * @param key the key, without the namespace
   * @param count how many parties
   * @param name the name of this party
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
   * Hands the session over to another process: it ends here, without being destroyed, and the text resumes it there. Keep
   * the text secret. A last renewal gives the other process a whole TTL; when no member answers within 3 s the text is returned
   * without it, and the session lives for what is left. A session without TTL stays, with what it holds, until it is resumed or
   * destroyed. An interrupt does not lose the text: the flag is set when it is returned.
   *
   * @return the text
   * @throws TenureException.SessionOver when the session is over here, or the cluster says so
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
   * {@return a text by which another process can resume the session after a crash of this one} Keep it secret. Who resumes a session
   * without TTL by it never believes in what was held: hand such a session over by {@link #export}.
   */
  public String token() {
    return core.end.token(false);
  }

  /**
   * {@return what a resumed session inherited and still holds, once the process before cannot believe in it any more: at once after an export, a TTL after the resumption otherwise}
   * A place in a queue that was inherited is kept for an acquire with the same owner; those that nobody took up are given
   * up here. When nobody asks, they are given up a TTL after the resumption, and the locks with them that were granted there
   * meanwhile. Another call returns the same again.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD when the session has no TTL, was not handed over by {@link #export}, and
   *     still holds what it held then: the process before may believe in that for as long as it runs. So may no acquire of these
   *     locks by the same owner. {@link #close} frees them, with their lock-delay.
   */
  public List<Held> inherited() {
    return Await.of(core.client.onLoop(core.inheritance::tell));
  }

  /** {@return what a resumed session holds; see {@link #inherited}} */
  public CompletableFuture<List<Held>> inheritedAsync() {
    return core.client.loop.shown(core.client.onLoop(core.inheritance::tell));
  }

  /**
   * Ends the session: what it holds is free for others at once. Closing it again does nothing. An interrupt ends the waiting for
   * the answer, not the end. When no member answers within 10 s it is left to its TTL; one without TTL then stays, with what it
   * holds, until somebody destroys it.
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
   * @return a future that ends when that is done
   */
  public CompletableFuture<Void> closeAsync() {
    return core.client.closed ? CompletableFuture.completedFuture(null) : core.client.loop.shown(closeInner());
  }

  /** Stops using the session without ending it. */
  void detach() {
    core.client.loop.run(core::detach);
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
