package io.tenure;

import io.tenure.internal.session.HeldCore;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A lock that is held. Check {@link #isSafe} before each step that two processes must not do at the same time. If the step writes to
 * a resource outside Tenure, send {@link #token} along and let the resource check it ({@link FenceGate}), because a process can be
 * paused between the check and the step. A Held that has ended never becomes valid again. Close it to release the lock. Any thread
 * can use it.
 */
public final class Held implements AutoCloseable {
  private final HeldCore core;

  private Held(HeldCore core) {
    this.core = core;
  }

  /** Returns the Held of a hold: always the same one. */
  static Held of(HeldCore core) {
    return core.shown(Held::new);
  }

  HeldCore core() {
    return core;
  }

  /** {@return the lock's key, without the namespace} */
  public String key() {
    return core.key();
  }

  /** {@return the name of this hold within its session} */
  public String owner() {
    return core.owner();
  }

  /** {@return how the lock is shared} */
  public LockMode mode() {
    return core.mode();
  }

  /** {@return the proof of the hold, which can be passed on to other processes} */
  public Sequencer sequencer() {
    return core.sequencer();
  }

  /** {@return the fencing token: larger than that of every earlier hold in the cluster} */
  public long token() {
    return core.token();
  }

  /** {@return the number of this hold among the holds of its key} */
  public long lockIndex() {
    return core.sequencer().lockIndex();
  }

  /**
   * {@return whether the lock is certainly held at this moment} It reads the clock, not the network, and costs almost nothing. True
   * means that no expiry has passed the lock on. What takes the lock earlier is an operator's break, another client that destroys the
   * session, or a failed check to which it is bound. The cluster tells the client immediately, and this Held ends as soon as that arrives.
   */
  public boolean isSafe() {
    return core.isSafe();
  }

  /** {@return for how long {@link #isSafe} stays true without a further renewal; zero if it is false} */
  public Duration safeFor() {
    return core.safeFor();
  }

  /**
   * Does nothing if the lock is certainly held at this moment, and fails otherwise.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD if it is not; the message says why
   */
  public void check() {
    core.check();
  }

  /**
   * {@return why it ended; empty while it is held} It also reads the clock: the end of the lease ends the hold, even before callbacks
   * have been called.
   */
  public Optional<EndCause> cause() {
    return core.cause();
  }

  /**
   * Calls a callback when the hold ends, on a thread of the client's pool; immediately if it has ended. Callbacks of one session run
   * one after another, so keep them short.
   *
   * @param callback gets the cause
   */
  public void onEnded(Consumer<EndCause> callback) {
    core.onEnded(callback);
  }

  /** {@return a future that completes with the cause when the hold ends} */
  public CompletableFuture<EndCause> ended() {
    return core.ended();
  }

  /**
   * Releases the lock.
   *
   * @return whether it was held until now, as far as is known: an attempt without an answer may have released it; false if it ended before
   * @throws TenureException.Unavailable if no member answered; the library keeps trying to release it
   */
  public boolean release() {
    return core.release();
  }

  /**
   * Releases the lock; see {@link #release}.
   *
   * @return a future of whether it was held until now
   */
  public CompletableFuture<Boolean> releaseAsync() {
    return core.releaseAsync();
  }

  /**
   * Releases the lock. If it was lost before, this fails, because another holder may have done the same work. It is not a loss if the
   * hold ended by the release itself, because the lease ran out after the release had started, or because this program closed or
   * exported the session. In try-with-resources, an exception of your code is thrown instead, with this one suppressed. After
   * {@link #release}, or another close, it does nothing. If the thread is interrupted, this returns, and the release continues.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD if the lock was lost while it was held
   * @throws TenureException.Unavailable if no member answered; the library keeps trying to release it
   */
  @Override
  public void close() {
    core.close();
  }

  @Override
  public String toString() {
    return core.toString();
  }
}
