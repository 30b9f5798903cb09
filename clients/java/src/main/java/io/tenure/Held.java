package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.v1.Guard;
import io.tenure.v1.Hold;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A lock that is held. Check {@link #isSafe} before each step that two processes must not do at the same time. If the step writes to
 * a resource outside Tenure, send {@link #token} along and let the resource check it ({@link FenceGate}), because a process can be
 * paused between the check and the step. A Held that has ended never becomes valid again. Close it to release the lock. Any thread
 * can use it.
 */
public final class Held implements AutoCloseable {
  private final SessionCore session;
  private final String key;
  private final String owner;
  private final Sequencer sequencer;
  private final LockMode mode;
  private final CompletableFuture<EndCause> ended = new CompletableFuture<>();
  private volatile EndCause cause;
  /** How many calls are under way that may have passed the hold on to somebody else. */
  private final AtomicInteger doubts = new AtomicInteger();
  /** Whether such a call passed it on, or may have. */
  private volatile boolean passedOn;
  /** How it had ended before its release, as far as that showed only then; null if it had not. */
  private volatile EndCause lostUnheard;
  /** The answer that told so, if it was an error. */
  private volatile TenureException lostBecause;
  /** Whether an attempt at its release failed that may have been applied. Only the loop touches it. */
  private boolean maybeReleased;
  /** Whether whoever has it was told that it ended, or that it is released. */
  private final AtomicBoolean told = new AtomicBoolean();
  /** How many acquires have it. The loop counts. */
  private int claims;

  Held(SessionCore session, Hold hold) {
    this.session = session;
    this.sequencer = Sequencer.of(hold.getSequencer());
    this.key = session.client.namespace.strip(sequencer.key());
    this.owner = hold.getOwner();
    this.mode = switch (hold.getMode()) {
      case LOCK_MODE_SHARED -> LockMode.SHARED;
      case LOCK_MODE_SEMAPHORE -> LockMode.SEMAPHORE;
      default -> LockMode.EXCLUSIVE;
    };
    session.holds.add(this);
    if (session.state() == SessionState.CLOSED) {
      end(EndCause.SESSION_CLOSED);
    }
  }

  /** {@return the lock's key, without the namespace} */
  public String key() {
    return key;
  }

  /** {@return the name of this hold within its session} */
  public String owner() {
    return owner;
  }

  /** {@return how the lock is shared} */
  public LockMode mode() {
    return mode;
  }

  /** {@return the proof of the hold, which can be passed on to other processes} */
  public Sequencer sequencer() {
    return sequencer;
  }

  /** {@return the fencing token: larger than that of every earlier hold in the cluster} */
  public long token() {
    return sequencer.fencingToken();
  }

  /** {@return the number of this hold among the holds of its key} */
  public long lockIndex() {
    return sequencer.lockIndex();
  }

  /**
   * {@return whether the lock is certainly held at this moment} It reads the clock, not the network, and costs almost nothing. True
   * means that no expiry has passed the lock on. What takes the lock earlier is an operator's break, another client that destroys the
   * session, or a failed check to which it is bound. The cluster tells the client immediately, and this Held ends as soon as that arrives.
   */
  public boolean isSafe() {
    // Whether it has ended is read last. An end is final, so everything was true at the moment when the lease was read.
    return session.isSafe() && doubts.get() == 0 && cause == null;
  }

  /** {@return for how long {@link #isSafe} stays true without a further renewal; zero if it is false} */
  public Duration safeFor() {
    Duration left = session.safeFor(); // First, as in isSafe.
    return doubts.get() == 0 && cause == null ? left : Duration.ZERO;
  }

  /**
   * Does nothing if the lock is certainly held at this moment, and fails otherwise.
   *
   * @throws TenureException.StaleToken of kind NOT_HELD if it is not; the message says why
   */
  public void check() {
    if (!isSafe()) {
      String why = cause().map(EndCause::ofHeld).orElse("it is being given up");
      throw Exceptions.of(ErrorKind.NOT_HELD, Applied.NO, "lock " + key + " is not held: " + why);
    }
  }

  /**
   * {@return why it ended; empty while it is held} It also reads the clock: the end of the lease ends the hold, even before callbacks
   * have been called.
   */
  public Optional<EndCause> cause() {
    EndCause over = session.whyOver(); // First, as in isSafe.
    EndCause own = cause;
    return Optional.ofNullable(own != null ? own : over);
  }

  /**
   * Calls a callback when the hold ends, on a thread of the client's pool; immediately if it has ended. Callbacks of one session run
   * one after another, so keep them short.
   *
   * @param callback gets the cause
   */
  public void onEnded(Consumer<EndCause> callback) {
    Objects.requireNonNull(callback, "callback");
    ended.thenAccept(why -> session.events().execute(() -> callback.accept(why)));
  }

  /** {@return a future that completes with the cause when the hold ends} */
  public CompletableFuture<EndCause> ended() {
    return session.client.loop.shown(ended.copy());
  }

  /**
   * Releases the lock.
   *
   * @return whether it was held until now, as far as is known: an attempt without an answer may have released it; false if it ended before
   * @throws TenureException.Unavailable if no member answered; the library keeps trying to release it
   */
  public boolean release() {
    told.set(true);
    return Await.of(releaseInner());
  }

  /**
   * Releases the lock; see {@link #release}.
   *
   * @return a future of whether it was held until now
   */
  public CompletableFuture<Boolean> releaseAsync() {
    told.set(true);
    return session.client.loop.shown(releaseInner());
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
    boolean news = !told.getAndSet(true);
    try {
      Await.ending(releaseInner());
    } catch (TenureException.SessionOver e) {
      // Whether that is a loss was noted with the answer.
    }
    EndCause why = howLost();
    if (news && why != null) {
      throw Exceptions.of(ErrorKind.NOT_HELD, Applied.NO,
          "lock " + key + " was lost while it was held: " + why.ofHeld(), Map.of(), lostBecause);
    }
  }

  /** Returns how it was lost, by what is known; null if it was not. */
  private EndCause howLost() {
    EndCause own = cause;
    if (own != null && own.isLoss() && own != EndCause.TAKEN_AWAY) {
      return own;
    }
    if (doubts.get() > 0 || passedOn) { // In this order: a call by which it was passed on notes that first.
      return null; // That explains why the cluster does not have it any more.
    }
    return own == EndCause.TAKEN_AWAY ? own : lostUnheard;
  }

  /** Takes the answer to the release that it was not there to release, or, with an error, that the session is over. The loop calls it. */
  private void notThere(TenureException.SessionOver over, long lapsesBefore) {
    session.look(session.client.clock.nanos());
    if (maybeReleased || over != null && over.applied() != Applied.NO || session.lapses() != lapsesBefore) {
      return; // It may have been released, or have ended with the lease after that was begun.
    }
    EndCause why = session.cause().map(CloseCause::ofHolds).orElse(
        over == null ? EndCause.TAKEN_AWAY
            : over.kind() == ErrorKind.SESSION_SUPERSEDED ? EndCause.SUPERSEDED : EndCause.SESSION_ENDED);
    if (why.isLoss()) { // Otherwise this program ended the session meanwhile.
      lostBecause = over;
      lostUnheard = why;
    }
  }

  /** Says that whoever has it knows how it ended. */
  void acknowledge() {
    told.set(true);
  }

  @Override
  public String toString() {
    return "Held[" + key + " token " + Long.toUnsignedString(token()) + (cause == null ? "" : " ended " + cause) + "]";
  }

  /** Returns the demand that this hold is still valid, for a write. */
  Guard guard() {
    return Guard.newBuilder().setHeld(sequencer.wire()).build();
  }

  SessionCore session() {
    return session;
  }

  String fullKey() {
    return sequencer.key();
  }

  /** Says that a call is under way by which somebody else may hold the lock: until {@link #undoubt} it is not safe. */
  void doubt() {
    doubts.incrementAndGet();
  }

  /** Says that such a call passed it on, or that nobody will know: that the cluster does not have it any more is no loss then. */
  void mayBePassedOn() {
    passedOn = true;
  }

  /** Says that it is known what became of such a call; if it passed the hold on, that is noted, and the hold ended, before. */
  void undoubt() {
    doubts.decrementAndGet();
  }

  boolean hasEnded() {
    return cause != null;
  }

  /** Ends it, once. The loop calls it. */
  void end(EndCause why) {
    if (cause == null) {
      cause = why;
      session.holds.remove(this);
      ended.complete(why);
    }
  }

  private CompletableFuture<Boolean> releaseInner() {
    if (cause != null) {
      return CompletableFuture.completedFuture(false);
    }
    CompletableFuture<Boolean> result = new CompletableFuture<>();
    session.client.onLoop(result, () -> {
      session.look(session.client.clock.nanos());
      if (cause != null) {
        result.complete(false);
        return;
      }
      // From here on nothing may count on it, whatever becomes of the call.
      end(EndCause.RELEASED);
      long lapses = session.lapses();
      session.returns.giveBack(sequencer.wire(), owner, () -> maybeReleased = true).whenComplete((released, error) -> {
        if (error == null) {
          if (!released) {
            notThere(null, lapses);
          }
          result.complete(released || maybeReleased); // As far as is known.
        } else {
          if (error instanceof TenureException.SessionOver over) {
            notThere(over, lapses);
          }
          result.completeExceptionally(error);
        }
      });
    });
    return result.exceptionally(error -> {
      if (Futures.error(error) instanceof TenureException e && e.kind() == ErrorKind.CLIENT_CLOSED) {
        return false; // It ended with its client.
      }
      throw Futures.rethrow(error);
    });
  }

  /** Notes that one acquire more has it. */
  Held claim() {
    claims++;
    return this;
  }

  /** One who acquired it did not take it: it is released unless somebody else has it. Any thread may call it. */
  void unclaim() {
    session.client.loop.run(() -> {
      if (--claims == 0) {
        releaseInner();
      }
    });
  }
}
