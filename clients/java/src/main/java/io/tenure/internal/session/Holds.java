package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.EndCause;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Wire;
import io.tenure.v1.Hold;
import io.tenure.v1.Sequencer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * What one session holds and waits for. {@link Inheritance} has what came with it from another process, {@link Returns} what is
 * on its way back. Only the loop touches it.
 *
 * <p>A hold is named by key, lock index and token. It becomes a HeldCore only while the lease is good, after the process before
 * cannot believe in it any more, and unless it was lost meanwhile.
 */
public final class Holds {
  private final SessionCore session;
  private final Set<HeldCore> held = new HashSet<>();
  private final Set<Acquisition> acquisitions = new HashSet<>();
  private final Set<Pending> pending = new HashSet<>();
  public final LateAnswers late = new LateAnswers();

  Holds(SessionCore session) {
    this.session = session;
  }

  /** A grant that cannot be believed yet. */
  private static final class Pending {
    final Hold hold;
    final BooleanSupplier wanted;
    final Consumer<TenureException> fail;
    boolean lost;

    Pending(Hold hold, BooleanSupplier wanted, Consumer<TenureException> fail) {
      this.hold = hold;
      this.wanted = wanted;
      this.fail = fail;
    }
  }

  /** Returns what names a hold, for good. */
  static String name(Sequencer s) {
    return s.getLockIndex() + ":" + Long.toUnsignedString(s.getFencingToken()) + ":" + s.getKey();
  }

  /** Returns what names what there is of a lock within the session. */
  static String place(String fullKey, String owner) {
    return owner + '\0' + fullKey;
  }

  // What is held.

  void add(HeldCore h) {
    held.add(h);
  }

  void remove(HeldCore h) {
    held.remove(h);
    end(Wire.sequencer(h.sequencer()), h.owner());
    if (session.returns.isOwed(h.fullKey(), h.owner())) {
      // Whoever ended it gives it back first, if it is to be.
      session.client.loop.execute(() -> session.returns.settle(h.fullKey(), h.owner()));
    }
  }

  void add(Acquisition a) {
    acquisitions.add(a);
    late.ask(a.fullKey(), a.owner());
    session.inheritance.takeUp(a.fullKey(), a.owner());
  }

  void remove(Acquisition a) {
    if (acquisitions.remove(a)) {
      late.asked(a.fullKey(), a.owner());
    }
  }

  /** Whether somebody else here has or waits for the lock under this owner. */
  boolean isUsed(String fullKey, String owner, Acquisition except) {
    return held.stream().anyMatch(h -> h.fullKey().equals(fullKey) && h.owner().equals(owner))
        || acquisitions.stream().anyMatch(a -> a != except && a.isFor(fullKey, owner));
  }

  /** Has the waits of this owner begin anew: what it had of the lock is on its way back. */
  void restart(String fullKey, String owner) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      if (a.isFor(fullKey, owner)) {
        a.restart();
      }
    }
  }

  /** Looks at the clock. */
  void look(long now) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.look(now);
    }
  }

  /** The lease ran out: what is held has ended, and is given back when a member answers again. */
  void ranOut() {
    for (HeldCore h : List.copyOf(held)) {
      session.returns.abandonUntilTruth(h);
      h.end(EndCause.LEASE_RAN_OUT);
    }
  }

  /** The session is over. */
  void over(EndCause why) {
    for (HeldCore h : List.copyOf(held)) {
      h.end(why);
    }
  }

  /** Ends the waits of a session that is over. */
  void fail(TenureException why) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.fail(why);
    }
  }

  /** Gives up all places, what they became, and what cannot be believed yet: nobody waits any more. */
  void leaveQueues(TenureException why) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.giveUp(why);
    }
    for (Pending p : List.copyOf(pending)) {
      giveUp(p, why);
    }
  }

  /** Gives back a grant that cannot be believed yet, unless it came in the meantime or whoever gave it up sees to that. */
  private void giveUp(Pending p, TenureException why) {
    if (!pending.contains(p) || !p.wanted.getAsBoolean()) {
      return;
    }
    pending.remove(p);
    p.fail.accept(Exceptions.with(why, Applied.YES));
    if (!isUsed(p.hold.getSequencer().getKey(), p.hold.getOwner(), null)) {
      session.returns.giveBack(p.hold.getSequencer(), p.hold.getOwner());
    }
  }

  /** Whether a call is under way that may be told of a hold. */
  boolean isAsking() {
    return !late.isEmpty();
  }

  /** The cluster hints that a hold was lost. */
  void lost(Hold lost) {
    Sequencer s = lost.getSequencer();
    for (HeldCore h : List.copyOf(held)) {
      if (isSame(h, s)) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
    late.lost(s, lost.getOwner());
    session.inheritance.ended(s);
  }

  /** Says that a hold ended here or is given back: an answer that names it is believed no more. */
  void end(Sequencer hold, String owner) {
    late.ended(hold, owner);
    session.inheritance.ended(hold);
  }

  // What is granted.

  /**
   * Makes a Held of a grant once it can be believed; fails as NOT_HELD when it was lost before or never can be, or as the session
   * does. One that ended here before is on its way back, and has to be asked for anew. When it is not wanted any more by then,
   * nothing happens: whoever gave it up sees to the rest.
   */
  public void believe(
      Hold hold, BooleanSupplier wanted, Consumer<HeldCore> take, Runnable anew, Consumer<TenureException> fail) {
    if (session.inheritance.isNeverBelieved(hold)) {
      fail.accept(Inheritance.neverBelieved());
      return;
    }
    Pending p = new Pending(hold, wanted, fail);
    pending.add(p);
    session.waits.whenSafe(session.inheritance.believedFrom(hold), () -> {
      if (!pending.remove(p)) {
        return; // It was given back.
      }
      if (p.lost || late.isLost(hold)) {
        fail.accept(Exceptions.of(ErrorKind.NOT_HELD, Applied.YES, "lock "
            + session.client.namespace.strip(hold.getSequencer().getKey()) + " was lost while it was acquired"));
      } else if (!wanted.getAsBoolean()) {
        return;
      } else if (late.isEnded(hold)) {
        anew.run();
      } else {
        take.accept(adopt(hold));
      }
    }, () -> {
      if (pending.remove(p)) {
        fail.accept(session.calls.overError(Applied.YES));
      }
    });
    TenureException none = session.end.noLocks();
    if (none != null) {
      giveUp(p, none); // It would not be waited for.
    }
  }

  /** Returns the Held of a hold, the one that there is or a new one, with one claim on it more. */
  HeldCore adopt(Hold h) {
    for (HeldCore known : held) {
      if (isSame(known, h.getSequencer())) {
        return known.claim();
      }
    }
    return new HeldCore(session, h).claim();
  }

  /** Brings what is held here, and what is on its way back, in line with what the cluster says the session has. */
  void reconcile(Truth truth) {
    session.returns.reconcile(truth);
    endLost(truth);
  }

  /** Ends what is held here and, by what the cluster says, is not held any more. */
  void endLost(Truth truth) {
    late.shown(truth);
    Set<String> alive = new HashSet<>();
    for (Hold h : truth.holds()) {
      alive.add(name(h.getSequencer()));
    }
    // What was granted after the answer was begun need not be in it.
    long shown = truth.since();
    for (HeldCore h : List.copyOf(held)) {
      if (Long.compareUnsigned(h.token(), shown) <= 0 && !alive.contains(name(Wire.sequencer(h.sequencer())))) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
    for (Pending p : pending) {
      Sequencer s = p.hold.getSequencer();
      p.lost |= Long.compareUnsigned(s.getFencingToken(), shown) <= 0 && !alive.contains(name(s));
    }
  }

  /** Whether something may have been lost unheard: what is held here, or was granted to a call that does not believe it yet. */
  boolean isLosable() {
    return !held.isEmpty() || !pending.isEmpty() || !acquisitions.isEmpty();
  }

  boolean isHeld(Hold h) {
    return held.stream().anyMatch(known -> isSame(known, h.getSequencer()));
  }

  /** Whether a sequencer is that of a hold. A lock_index comes again when a lock was forgotten, a token never. */
  private static boolean isSame(HeldCore h, Sequencer s) {
    return h.fullKey().equals(s.getKey()) && h.token() == s.getFencingToken();
  }
}
