package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.SessionState;
import io.tenure.internal.Wire;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.Hold;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.Sequencer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * What one session is about to give back: holds and places that nobody here has or wants any more. Under one name, a key and
 * an owner, the cluster gives a session one thing at most; as long as that is on its way back nobody here may take it up
 * again, for a late call would take away what is new. Only the loop touches it.
 */
public final class Returns {
  /** How long after a failure it is tried again. */
  static final long AGAIN_NANOS = 1_000_000_000L;

  private final SessionCore session;
  /**
   * What the user gave up, or lost the belief in, while nobody could be told, with its token; given back with the next truth that is
   * not older than it.
   */
  private final Map<String, Long> abandoned = new HashMap<>();
  /** How many calls give back a hold or a place just now. Until they end, nobody else may take it up. */
  private final Map<String, Integer> leaving = new HashMap<>();
  /** Places and holds that canceled calls may have left, by owner; kept until no other call uses the same owner. */
  private final Map<String, Owed> owed = new HashMap<>();

  Returns(SessionCore session) {
    this.session = session;
  }

  /** A place that may be there, or come by a request up to the last. */
  private record Owed(String fullKey, String owner, long last) {}

  private static String name(String fullKey, String owner) {
    return Holds.place(fullKey, owner);
  }

  /** Whether what this owner had of the lock is on its way back, so that it must not be taken up again before. */
  public boolean isLeaving(String fullKey, String owner) {
    String name = name(fullKey, owner);
    return abandoned.containsKey(name) || leaving.containsKey(name);
  }

  /** Whether anything is on its way back. */
  public boolean isLeaving() {
    return !abandoned.isEmpty() || !leaving.isEmpty();
  }

  /** Whether calls may have left something under this name that is to be given up. */
  boolean isOwed(String fullKey, String owner) {
    return owed.containsKey(name(fullKey, owner));
  }

  /** Has whatever this owner has of the lock given back as soon as a member answers. */
  public void abandon(HeldCore h) {
    abandonUntilTruth(h);
    session.attaching.again();
  }

  /** Likewise, when the truth about the session is asked for the next time. */
  void abandonUntilTruth(HeldCore h) {
    abandonUntilTruth(Wire.sequencer(h.sequencer()), h.owner());
  }

  private void abandonUntilTruth(Sequencer hold, String owner) {
    abandoned.merge(name(hold.getKey(), owner), hold.getFencingToken(),
        (a, b) -> Long.compareUnsigned(a, b) < 0 ? b : a);
  }

  private void askTruthLater() {
    session.client.loop.after(AGAIN_NANOS, () -> {
      if (!abandoned.isEmpty()) {
        session.attaching.again();
      }
    });
  }

  /** Gives back what was abandoned and is there still, by what the cluster says the session has. */
  void reconcile(Truth truth) {
    Map<String, Long> before = Map.copyOf(abandoned);
    // One that was asked for before the grant knows nothing of it.
    abandoned.values().removeIf(token -> Long.compareUnsigned(token, truth.since()) <= 0);
    for (Hold h : truth.holds()) {
      String name = name(h.getSequencer().getKey(), h.getOwner());
      abandoned.remove(name);
      if (before.containsKey(name)
          && !session.holds.isHeld(h) && !session.inheritance.isDoubted(h)) {
        giveBack(h.getSequencer(), h.getOwner());
      }
    }
    for (Place p : truth.places()) {
      String name = name(p.getKey(), p.getOwner());
      abandoned.remove(name);
      if (before.containsKey(name)) {
        leave(p.getKey(), p.getOwner(), 0);
      }
    }
    if (!abandoned.isEmpty()) {
      askTruthLater();
    }
    List.copyOf(owed.values()).forEach(o -> settle(o.fullKey(), o.owner()));
  }

  /** Notes that a hold or place is on its way back until the call ends; waits of the same owner begin anew after it. */
  private <T> CompletableFuture<T> leaving(String fullKey, String owner, CompletableFuture<T> call) {
    String name = name(fullKey, owner);
    leaving.merge(name, 1, Integer::sum);
    session.holds.restart(fullKey, owner);
    call.whenComplete((r, e) -> {
      leaving.computeIfPresent(name, (k, n) -> n == 1 ? null : n - 1);
      settle(fullKey, owner);
    });
    return call;
  }

  /**
   * Releases a hold; nobody here can have it any more. When that fails the future does, and the truth about the session, which
   * is asked for a little later, tells whether the hold is to be given back still.
   */
  CompletableFuture<Boolean> giveBack(Sequencer hold, String owner) {
    return giveBack(hold, owner, () -> { });
  }

  /** Likewise; {@code doubted} runs when an attempt failed that may have released it, and another one is to be made. */
  CompletableFuture<Boolean> giveBack(Sequencer hold, String owner, Runnable doubted) {
    session.holds.end(hold, owner);
    CompletableFuture<Boolean> released = new CompletableFuture<>();
    session.calls.change(LockServiceGrpc.getReleaseLockMethod(), o -> ReleaseLockRequest.newBuilder()
        .setKey(hold.getKey()).setSessionId(session.id()).setLockIndex(hold.getLockIndex())
        .setOptions(o.setOwner(owner)).build(), doubted).whenComplete((r, error) -> {
          if (error == null) {
            released.complete(r.getReleased());
            return;
          }
          if (session.state() != SessionState.CLOSED) {
            // Before the call is over: nobody may take up in between what is given back later.
            abandonUntilTruth(hold, owner);
            askTruthLater();
          }
          released.completeExceptionally(error);
        });
    return leaving(hold.getKey(), owner, released);
  }

  /** Gives up a place; returns the hold that it had become before. */
  CompletableFuture<Optional<Hold>> cancelWait(String fullKey, String owner) {
    return leaving(fullKey, owner,
        session.calls.change(LockServiceGrpc.getCancelWaitMethod(), o -> CancelWaitRequest.newBuilder()
            .setKey(fullKey).setSessionId(session.id()).setOptions(o.setOwner(owner)).build())
            .thenApply(r -> r.hasHold() ? Optional.of(r.getHold()) : Optional.empty()));
  }

  /**
   * Gives up a place, and the hold that it became, until none of the requests up to the last can make another one: once the
   * cluster knows that a request is done it refuses it, however late it comes. Returns the hold that came first.
   */
  CompletableFuture<Optional<Hold>> leave(String fullKey, String owner, long last) {
    CompletableFuture<Optional<Hold>> left = new CompletableFuture<>();
    leaveOnce(fullKey, owner, last, Optional.empty(), left);
    return leaving(fullKey, owner, left);
  }

  /** Likewise, unless somebody else here uses what there is under this name: then it is left once nobody does any more. */
  public CompletableFuture<Optional<Hold>> leaveUnlessUsed(String fullKey, String owner, long last, Acquisition except) {
    if (!session.holds.isUsed(fullKey, owner, except)) {
      return leave(fullKey, owner, last);
    }
    owed.merge(name(fullKey, owner), new Owed(fullKey, owner, last), (a, b) -> a.last() < b.last() ? b : a);
    return CompletableFuture.completedFuture(Optional.empty());
  }

  /** Gives up what is owed under this name if nobody uses it any more, and nothing of it is on its way back. */
  void settle(String fullKey, String owner) {
    Owed o = owed.get(name(fullKey, owner));
    if (o != null && session.state() != SessionState.CLOSED && !session.holds.isUsed(fullKey, owner, null)
        && !isLeaving(fullKey, owner)) {
      owed.remove(name(fullKey, owner));
      leave(fullKey, owner, o.last());
    }
  }

  private void leaveOnce(
      String fullKey, String owner, long last, Optional<Hold> before, CompletableFuture<Optional<Hold>> left) {
    if (session.state() == SessionState.CLOSED) {
      left.completeExceptionally(session.calls.overError(Applied.UNKNOWN));
      return;
    }
    long mark = session.calls.ids().doneBelow();
    cancelWait(fullKey, owner).whenComplete((hold, error) -> {
      if (error != null) {
        session.client.loop.after(AGAIN_NANOS, () -> leaveOnce(fullKey, owner, last, before, left));
        return;
      }
      // One that was inherited stays so until it is known to be nobody else's.
      Optional<Hold> ours = hold.filter(h -> !session.inheritance.isDoubted(h) && !session.holds.isHeld(h));
      ours.ifPresent(h -> giveBack(h.getSequencer(), owner));
      Optional<Hold> first = before.or(() -> ours);
      if (mark > last) {
        left.complete(first);
      } else {
        session.calls.ids().whenPast(last, () -> leaveOnce(fullKey, owner, last, first, left));
      }
    });
  }
}
