package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.EndCause;
import io.tenure.ErrorKind;
import io.tenure.Held;
import io.tenure.LockMode;
import io.tenure.Sequencer;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
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
import java.util.function.Function;

/**
 * What there is of a lock that is held: what {@link Held} shows of it, and what the session and its calls know besides. Any thread can ask;
 * what changes it says who may call it.
 */
public final class HeldCore {
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
  /** The Held that users have of it; null before one has. Guarded by this. */
  private Held shown;

  HeldCore(SessionCore session, Hold hold) {
    this.session = session;
    this.sequencer = Wire.sequencer(hold.getSequencer());
    this.key = session.client.namespace.strip(sequencer.key());
    this.owner = hold.getOwner();
    this.mode = Wire.mode(hold.getMode());
    session.holds.add(this);
    if (session.state() == SessionState.CLOSED) {
      end(EndCause.SESSION_CLOSED);
    }
  }

  public String key() {
    return key;
  }

  public String owner() {
    return owner;
  }

  public LockMode mode() {
    return mode;
  }

  public Sequencer sequencer() {
    return sequencer;
  }

  public long token() {
    return sequencer.fencingToken();
  }

  public boolean isSafe() {
    // Whether it has ended is read last. An end is final, so everything was true at the moment when the lease was read.
    return session.isSafe() && doubts.get() == 0 && cause == null;
  }

  public Duration safeFor() {
    Duration left = session.safeFor(); // First, as in isSafe.
    return doubts.get() == 0 && cause == null ? left : Duration.ZERO;
  }

  public void check() {
    if (!isSafe()) {
      String why = cause().map(Causes::text).orElse("it is being given up");
      throw Exceptions.of(ErrorKind.NOT_HELD, Applied.NO, "lock " + key + " is not held: " + why);
    }
  }

  public Optional<EndCause> cause() {
    EndCause over = session.whyOver(); // First, as in isSafe.
    EndCause own = cause;
    return Optional.ofNullable(own != null ? own : over);
  }

  public void onEnded(Consumer<EndCause> callback) {
    Objects.requireNonNull(callback, "callback");
    ended.thenAccept(why -> session.events().execute(() -> callback.accept(why)));
  }

  public CompletableFuture<EndCause> ended() {
    return session.client.loop.shown(ended.copy());
  }

  public boolean release() {
    told.set(true);
    return Await.of(releaseInner());
  }

  public CompletableFuture<Boolean> releaseAsync() {
    told.set(true);
    return session.client.loop.shown(releaseInner());
  }

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
          "lock " + key + " was lost while it was held: " + Causes.text(why), Map.of(), lostBecause);
    }
  }

  /** Returns how it was lost, by what is known; null if it was not. */
  private EndCause howLost() {
    EndCause own = cause;
    if (own != null && Causes.isLoss(own) && own != EndCause.TAKEN_AWAY) {
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
    EndCause why = session.cause().map(Causes::ofHolds).orElse(
        over == null ? EndCause.TAKEN_AWAY
            : over.kind() == ErrorKind.SESSION_SUPERSEDED ? EndCause.SUPERSEDED : EndCause.SESSION_ENDED);
    if (Causes.isLoss(why)) { // Otherwise this program ended the session meanwhile.
      lostBecause = over;
      lostUnheard = why;
    }
  }

  /** Says that whoever has it knows how it ended. */
  public void acknowledge() {
    told.set(true);
  }

  @Override
  public String toString() {
    return "Held[" + key + " token " + Long.toUnsignedString(token()) + (cause == null ? "" : " ended " + cause) + "]";
  }

  /** Returns the demand that this hold is still valid, for a write. */
  public Guard guard() {
    return Guard.newBuilder().setHeld(Wire.sequencer(sequencer)).build();
  }

  public SessionCore session() {
    return session;
  }

  public String fullKey() {
    return sequencer.key();
  }

  /** Says that a call is under way by which somebody else may hold the lock: until {@link #undoubt} it is not safe. */
  public void doubt() {
    doubts.incrementAndGet();
  }

  /** Says that such a call passed it on, or that nobody will know: that the cluster does not have it any more is no loss then. */
  public void mayBePassedOn() {
    passedOn = true;
  }

  /** Says that it is known what became of such a call; if it passed the hold on, that is noted, and the hold ended, before. */
  public void undoubt() {
    doubts.decrementAndGet();
  }

  public boolean hasEnded() {
    return cause != null;
  }

  /** Ends it, once. The loop calls it. */
  public void end(EndCause why) {
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
      session.returns.giveBack(Wire.sequencer(sequencer), owner, () -> maybeReleased = true).whenComplete((released, error) -> {
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
  HeldCore claim() {
    claims++;
    return this;
  }

  /** One who acquired it did not take it: it is released unless somebody else has it. Any thread may call it. */
  public void unclaim() {
    session.client.loop.run(() -> {
      if (--claims == 0) {
        releaseInner();
      }
    });
  }

  /** Returns the one Held that users have of it, which the first who asks makes. */
  public synchronized Held shown(Function<HeldCore, Held> make) {
    if (shown == null) {
      shown = make.apply(this);
    }
    return shown;
  }
}
