package io.tenure;

import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.Hold;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.Place;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.Sequencer;
import io.tenure.v1.SessionServiceGrpc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * What one session holds, waits for, inherited, and is about to give back. Only the loop touches it.
 *
 * <p>A hold is named by key, lock index and token. It becomes a Held only while the lease is good, after the process before
 * cannot believe in it any more, and unless it was lost meanwhile.
 */
final class Holds {
  private static final long GIVE_BACK_AGAIN_NANOS = 1_000_000_000L;
  /** How long inherited places are kept for somebody to take them up, in a session without TTL. */
  private static final long PLACES_KEPT_NANOS = 10_000_000_000L;
  private static final int NAMES_MAX = 4096;

  private final SessionCore session;
  private final Set<Held> held = new HashSet<>();
  private final Set<Acquisition> acquisitions = new HashSet<>();
  /** By key and owner, the holds and places that the user gave up, or lost the belief in, while nobody could be told. */
  private final Set<String> abandoned = new HashSet<>();
  /** How many calls give back a hold or a place just now, by key and owner. Until they end, nobody else may take it up. */
  private final Map<String, Integer> leaving = new HashMap<>();
  /** What calls may have left under the name of somebody who goes on, until nobody does; by key and owner. */
  private final Map<String, Owed> owed = new HashMap<>();
  private final Set<Pending> pending = new HashSet<>();
  /** Holds whose loss was told before they were known here: the hint came before the grant. */
  private final Set<String> lostEarly = new LinkedHashSet<>();
  /** Holds that ended here or are given back: an answer that names one is older than that, and nobody may believe in it. */
  private final Set<String> ended = new LinkedHashSet<>();
  /** Places in queues that came with the session and that nobody here has taken up. */
  private final Map<String, Place> places = new HashMap<>();
  /** Whether the program asked for what was inherited, and so is told what became of the places. */
  private boolean asked;
  /** What was inherited and has ended here since. */
  private final Set<String> gone = new HashSet<>();
  /** From when on inherited holds can be believed: the end of the old process's lease, or NEVER. */
  private long inheritFrom = Long.MIN_VALUE;
  /** Grants up to here were made before anybody here asked for anything. */
  private long inheritRevision;
  /** Grants up to here may have been told to the process before: of later ones it is told no more, for it was superseded. */
  private long doubtRevision;

  Holds(SessionCore session) {
    this.session = session;
  }

  /** A grant that cannot be believed yet. */
  private static final class Pending {
    final Hold hold;
    boolean lost;

    Pending(Hold hold) {
      this.hold = hold;
    }
  }

  /** A place that may be there, or come by a request up to the last. */
  private record Owed(String fullKey, String owner, long last) {}

  private static String name(Sequencer s) {
    return s.getLockIndex() + ":" + Long.toUnsignedString(s.getFencingToken()) + ":" + s.getKey();
  }

  private static String place(String fullKey, String owner) {
    return owner + '\0' + fullKey;
  }

  // What is held.

  void add(Held h) {
    held.add(h);
  }

  void remove(Held h) {
    held.remove(h);
    remember(ended, name(h.sequencer().wire()));
    if (isInherited(h.token())) {
      gone.add(name(h.sequencer().wire()));
    }
    if (owed.containsKey(place(h.fullKey(), h.owner()))) {
      // Whoever ended it gives it back first, if it is to be.
      session.client.loop.execute(() -> settle(h.fullKey(), h.owner()));
    }
  }

  void add(Acquisition a) {
    acquisitions.add(a);
    takeUp(a.fullKey(), a.owner());
  }

  void remove(Acquisition a) {
    acquisitions.remove(a);
  }

  /** Says that somebody here wants the lock under this owner: a place of the process before is that one's now. */
  void takeUp(String fullKey, String owner) {
    places.remove(place(fullKey, owner));
  }

  /** Whether somebody else here has or waits for the lock under this owner. */
  boolean isUsed(String fullKey, String owner, Acquisition except) {
    return held.stream().anyMatch(h -> h.fullKey().equals(fullKey) && h.owner().equals(owner))
        || acquisitions.stream().anyMatch(a -> a != except && a.isFor(fullKey, owner));
  }

  /** Looks at the clock. */
  void look(long now) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.look(now);
    }
  }

  /** The lease ran out: what is held has ended, and is given back when a member answers again. */
  void ranOut() {
    for (Held h : List.copyOf(held)) {
      abandoned.add(place(h.fullKey(), h.owner()));
      h.end(EndCause.LEASE_RAN_OUT);
    }
  }

  /** The session is over. */
  void over(EndCause why) {
    for (Held h : List.copyOf(held)) {
      h.end(why);
    }
  }

  /** Ends the waits of a session that is over. */
  void fail(TenureException why) {
    for (Acquisition a : List.copyOf(acquisitions)) {
      a.fail(why);
    }
  }

  /** The cluster hints that a hold was lost. */
  void lost(Sequencer s) {
    for (Held h : List.copyOf(held)) {
      if (h.fullKey().equals(s.getKey()) && h.lockIndex() == s.getLockIndex()) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
    remember(lostEarly, name(s));
  }

  private static void remember(Set<String> names, String name) {
    names.add(name);
    if (names.size() > NAMES_MAX) {
      Iterator<String> oldest = names.iterator();
      oldest.next();
      oldest.remove();
    }
  }

  // What is granted.

  /**
   * Makes a Held of a grant once it can be believed; fails as NOT_HELD when it was lost before or never can be, or as the session
   * does. One that ended here before is on its way back, and has to be asked for anew. When it is not wanted any more by then,
   * nothing happens: whoever gave it up sees to the rest.
   */
  void believe(
      Hold hold, BooleanSupplier wanted, Consumer<Held> take, Runnable anew, Consumer<TenureException> fail) {
    if (isNeverBelieved(hold)) {
      fail.accept(neverBelieved());
      return;
    }
    Pending p = new Pending(hold);
    pending.add(p);
    session.whenSafe(isDoubted(hold) ? inheritFrom : Long.MIN_VALUE, () -> {
      pending.remove(p);
      if (p.lost || lostEarly.contains(name(hold.getSequencer()))) {
        fail.accept(TenureException.of(ErrorKind.NOT_HELD, Applied.YES, "lock "
            + session.client.namespace.strip(hold.getSequencer().getKey()) + " was lost while it was acquired"));
      } else if (!wanted.getAsBoolean()) {
        return;
      } else if (ended.contains(name(hold.getSequencer()))) {
        anew.run();
      } else {
        take.accept(adopt(hold));
      }
    }, () -> {
      pending.remove(p);
      fail.accept(session.overError(Applied.YES));
    });
  }

  /** Returns the Held of a hold, the one that there is or a new one, with one claim on it more. */
  private Held adopt(Hold h) {
    for (Held known : held) {
      if (known.fullKey().equals(h.getSequencer().getKey()) && known.lockIndex() == h.getSequencer().getLockIndex()) {
        return known.claim();
      }
    }
    return new Held(session, h).claim();
  }

  /** Brings what is held here in line with what the cluster says the session has. */
  void reconcile(Truth truth) {
    Set<String> alive = new HashSet<>();
    for (Hold h : truth.holds()) {
      alive.add(name(h.getSequencer()));
      if (abandoned.contains(place(h.getSequencer().getKey(), h.getOwner())) && !isHeld(h) && !isDoubted(h)) {
        giveBack(h.getSequencer(), h.getOwner());
      }
    }
    for (Place p : truth.places()) {
      if (abandoned.contains(place(p.getKey(), p.getOwner()))) {
        leave(p.getKey(), p.getOwner(), 0);
      }
    }
    abandoned.clear();
    List.copyOf(owed.values()).forEach(o -> settle(o.fullKey(), o.owner()));
    // What was granted after the answer was begun need not be in it.
    long shown = truth.since();
    for (Held h : List.copyOf(held)) {
      if (Long.compareUnsigned(h.token(), shown) <= 0 && !alive.contains(name(h.sequencer().wire()))) {
        h.end(EndCause.TAKEN_AWAY);
      }
    }
    for (Pending p : pending) {
      Sequencer s = p.hold.getSequencer();
      p.lost |= Long.compareUnsigned(s.getFencingToken(), shown) <= 0 && !alive.contains(name(s));
    }
  }

  private boolean isHeld(Hold h) {
    return held.stream().anyMatch(known -> known.fullKey().equals(h.getSequencer().getKey())
        && known.lockIndex() == h.getSequencer().getLockIndex());
  }

  // What is given back.

  /** Whether what this owner had of the lock is on its way back, so that it must not be taken up again before. */
  boolean isLeaving(String fullKey, String owner) {
    String name = place(fullKey, owner);
    return abandoned.contains(name) || leaving.containsKey(name);
  }

  /** Notes that a hold or place is on its way back until the call ends; waits of the same owner begin anew after it. */
  private <T> CompletableFuture<T> leaving(String fullKey, String owner, CompletableFuture<T> call) {
    String name = place(fullKey, owner);
    leaving.merge(name, 1, Integer::sum);
    for (Acquisition a : List.copyOf(acquisitions)) {
      if (a.isFor(fullKey, owner)) {
        a.restart();
      }
    }
    call.whenComplete((r, e) -> {
      leaving.computeIfPresent(name, (k, n) -> n == 1 ? null : n - 1);
      settle(fullKey, owner);
    });
    return call;
  }

  /** Has whatever this owner has of the lock given back when a member answers again. */
  void abandon(String fullKey, String owner) {
    abandoned.add(place(fullKey, owner));
    session.attachAgain();
  }

  /** Releases a hold, now or when a member answers; nobody here can have it any more. */
  CompletableFuture<Boolean> giveBack(Sequencer hold, String owner) {
    remember(ended, name(hold));
    CompletableFuture<Boolean> call =
        session.change(LockServiceGrpc.getReleaseLockMethod(), o -> ReleaseLockRequest.newBuilder()
            .setKey(hold.getKey()).setSessionId(session.id()).setLockIndex(hold.getLockIndex())
            .setOptions(o.setOwner(owner)).build()).thenApply(r -> r.getReleased());
    call.whenComplete((r, e) -> {
      if (e != null && session.state() != SessionState.CLOSED) {
        session.client.loop.after(GIVE_BACK_AGAIN_NANOS, () -> abandon(hold.getKey(), owner));
      }
    });
    return leaving(hold.getKey(), owner, call);
  }

  /** Gives up a place; returns the hold that it had become before. */
  CompletableFuture<Optional<Hold>> cancelWait(String fullKey, String owner) {
    return leaving(fullKey, owner,
        session.change(LockServiceGrpc.getCancelWaitMethod(), o -> CancelWaitRequest.newBuilder()
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
  CompletableFuture<Optional<Hold>> leaveUnlessUsed(String fullKey, String owner, long last, Acquisition except) {
    if (!isUsed(fullKey, owner, except)) {
      return leave(fullKey, owner, last);
    }
    owed.merge(place(fullKey, owner), new Owed(fullKey, owner, last), (a, b) -> a.last() < b.last() ? b : a);
    return CompletableFuture.completedFuture(Optional.empty());
  }

  /** Gives up what is owed under this name if nobody uses it any more, and nothing of it is on its way back. */
  void settle(String fullKey, String owner) {
    Owed o = owed.get(place(fullKey, owner));
    if (o != null && session.state() != SessionState.CLOSED && !isUsed(fullKey, owner, null) && !isLeaving(fullKey, owner)) {
      owed.remove(place(fullKey, owner));
      leave(fullKey, owner, o.last());
    }
  }

  private void leaveOnce(
      String fullKey, String owner, long last, Optional<Hold> before, CompletableFuture<Optional<Hold>> left) {
    if (session.state() == SessionState.CLOSED) {
      left.completeExceptionally(session.overError(Applied.UNKNOWN));
      return;
    }
    long mark = session.ids().doneBelow();
    cancelWait(fullKey, owner).whenComplete((hold, error) -> {
      if (error != null) {
        session.client.loop.after(GIVE_BACK_AGAIN_NANOS, () -> leaveOnce(fullKey, owner, last, before, left));
        return;
      }
      // One that was inherited stays so until it is known to be nobody else's.
      Optional<Hold> ours = hold.filter(h -> !isDoubted(h) && !isHeld(h));
      ours.ifPresent(h -> giveBack(h.getSequencer(), owner));
      Optional<Hold> first = before.or(() -> ours);
      if (mark > last) {
        left.complete(first);
      } else {
        session.ids().whenPast(last, () -> leaveOnce(fullKey, owner, last, first, left));
      }
    });
  }

  // What is inherited.

  /** Takes note of what the session had when it was taken over, and from when on that can be believed. */
  void inherit(Truth had, long from) {
    inheritFrom = from;
    inheritRevision = had.until();
    doubtRevision = had.since();
    had.places().forEach(p -> places.put(place(p.getKey(), p.getOwner()), p));
    long kept = session.ttl().isZero() ? PLACES_KEPT_NANOS : session.ttl().toNanos();
    session.whenSafe(session.client.clock.nanos() + kept, this::leavePlaces, () -> { });
  }

  private boolean isInherited(long token) {
    return Long.compareUnsigned(token, inheritRevision) <= 0;
  }

  /** Whether the process before may believe in the hold still: then nobody here may, and it must not be released either. */
  boolean isDoubted(Hold h) {
    return Long.compareUnsigned(h.getSequencer().getFencingToken(), doubtRevision) <= 0
        && session.client.clock.nanos() < inheritFrom;
  }

  /** Whether the process before may believe in the hold for as long as it runs, which nobody here can know the end of. */
  boolean isNeverBelieved(Hold h) {
    return inheritFrom == SessionCore.NEVER && isDoubted(h);
  }

  private static TenureException neverBelieved() {
    return TenureException.of(ErrorKind.NOT_HELD, Applied.NO,
        "what a session without TTL held is believed by the process before, which did not hand it over");
  }

  /**
   * Waits until inherited holds can be believed and tells them; fails as NOT_HELD when one never can be. Places that nobody took
   * up are given up, for there is nobody to be told of a grant; one that was granted before is among the holds.
   */
  CompletableFuture<List<Held>> inherited() {
    CompletableFuture<List<Held>> result = new CompletableFuture<>();
    if (inheritFrom != SessionCore.NEVER) {
      asked = true;
      inheritedWhenSafe(inheritFrom, result);
      return result;
    }
    askTruth(result, truth -> {
      if (truth.holds().stream().anyMatch(this::isNeverBelieved)) {
        result.completeExceptionally(neverBelieved());
      } else {
        asked = true;
        inheritedWhenSafe(Long.MIN_VALUE, result);
      }
    });
    return result;
  }

  private void askTruth(CompletableFuture<?> result, Consumer<Truth> then) {
    // Without a number: the order of attempts is the keeper's, and this call is sent again as it is.
    AttachSessionRequest first = session.attachRequest(0);
    Truth.ask(first, request -> session.read(
        SessionServiceGrpc.getAttachSessionMethod(), request)).whenComplete((truth, error) -> {
      if (error != null) {
        result.completeExceptionally(session.underSession(Futures.error(error)));
      } else {
        then.accept(truth);
      }
    });
  }

  /** Gives up the places that nobody took up or asked for, with what they became: nobody here would know of a grant. */
  void leavePlaces() {
    if (!asked) {
      for (Place p : List.copyOf(places.values())) {
        takeUp(p.getKey(), p.getOwner());
        leave(p);
      }
    }
  }

  private void leave(Place p) {
    if (session.state() == SessionState.CLOSED || isUsed(p.getKey(), p.getOwner(), null)) {
      return;
    }
    cancelWait(p.getKey(), p.getOwner()).whenComplete((hold, error) -> {
      if (error != null) {
        session.client.loop.after(GIVE_BACK_AGAIN_NANOS, () -> leave(p));
      } else if (!isUsed(p.getKey(), p.getOwner(), null)) {
        hold.filter(h -> !isDoubted(h)).ifPresent(h -> giveBack(h.getSequencer(), p.getOwner()));
      }
    });
  }

  private void inheritedWhenSafe(long notBefore, CompletableFuture<List<Held>> result) {
    session.whenSafe(notBefore, () -> settlePlaces(result),
        () -> result.completeExceptionally(session.overError(Applied.NO)));
  }

  private void settlePlaces(CompletableFuture<List<Held>> result) {
    if (result.isDone()) {
      return;
    }
    Set<String> granted = new HashSet<>();
    List<CompletableFuture<?>> ends = new ArrayList<>();
    for (Place p : List.copyOf(places.values())) {
      ends.add(cancelWait(p.getKey(), p.getOwner()).handle((hold, error) -> {
        if (error == null) {
          takeUp(p.getKey(), p.getOwner());
          hold.ifPresent(h -> granted.add(name(h.getSequencer())));
          return null;
        }
        throw Futures.rethrow(error);
      }));
    }
    CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new)).whenComplete((v, error) -> {
      if (error != null) {
        result.completeExceptionally(session.underSession(Futures.error(error)));
      } else {
        settleHolds(granted, result);
      }
    });
  }

  private void settleHolds(Set<String> granted, CompletableFuture<List<Held>> result) {
    askTruth(result, truth -> {
      if (!session.isBelieved()) {
        inheritedWhenSafe(Long.MIN_VALUE, result);
        return;
      }
      List<Held> all = new ArrayList<>();
      for (Hold h : truth.holds()) {
        String name = name(h.getSequencer());
        boolean ours = isInherited(h.getSequencer().getFencingToken()) || granted.contains(name);
        boolean over = gone.contains(name) || ended.contains(name) || lostEarly.contains(name)
            || isLeaving(h.getSequencer().getKey(), h.getOwner());
        if (ours && !over && !isDoubted(h)) {
          all.add(adopt(h));
        }
      }
      result.complete(List.copyOf(all));
    });
  }
}
