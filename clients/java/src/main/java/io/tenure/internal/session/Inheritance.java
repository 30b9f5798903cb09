package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.SessionState;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.Hold;
import io.tenure.v1.Place;
import io.tenure.v1.Sequencer;
import io.tenure.v1.SessionServiceGrpc;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * What a session had when this process took it over, and when that can be believed: not before the process that had it cannot
 * believe in it any more. Of a place in a queue that nobody here takes up nobody would know that it was granted; so the program is
 * told what became of it, or it is given up after a while. Only the loop touches it.
 */
public final class Inheritance {
  /** How long places are kept for somebody to take them up, in a session without TTL. */
  private static final long PLACES_KEPT_NANOS = 10_000_000_000L;

  private final SessionCore session;
  /** Places that nobody here has taken up, by key and owner. */
  private final Map<String, Place> places = new HashMap<>();
  /** What places had become when they were given up for the program to be told, by name. */
  private final Map<String, Hold> granted = new HashMap<>();
  /** What was inherited and has ended here since, by name. */
  private final Set<String> gone = new HashSet<>();
  /** How many calls are under way that tell the program what was inherited. */
  private int asking;
  /** Whether the program was told what became of the places. */
  private boolean told;
  /** Whether the time has passed for which places are kept. */
  private boolean due;
  /** From when on inherited holds can be believed: the end of the old process's lease, or NEVER. */
  private long inheritFrom = Long.MIN_VALUE;
  /** Grants up to here were made before anybody here asked for anything. */
  private long inheritRevision;
  /** Grants up to here may have been told to the process before: of later ones it is told no more, for it was superseded. */
  private long doubtRevision;

  Inheritance(SessionCore session) {
    this.session = session;
  }

  /** Takes note of what the session had when it was taken over, and from when on that can be believed. */
  void begin(Truth had, long from) {
    inheritFrom = from;
    inheritRevision = had.until();
    doubtRevision = had.since();
    had.places().forEach(p -> places.put(Holds.place(p.getKey(), p.getOwner()), p));
    long kept = session.ttl().isZero() ? PLACES_KEPT_NANOS : session.ttl().toNanos();
    session.waits.whenSafe(session.client.clock.nanos() + kept, () -> {
      due = true;
      giveUpUntold();
    }, () -> { });
  }

  /** Says that somebody here wants the lock under this owner: a place of the process before is that one's now. */
  public void takeUp(String fullKey, String owner) {
    places.remove(Holds.place(fullKey, owner));
  }

  /** Says that a hold ended here, is given back or was lost: who asks again is not told of it. */
  void ended(Sequencer hold) {
    String name = Holds.name(hold);
    if (isInherited(name, hold.getFencingToken())) {
      gone.add(name);
    }
  }

  /** Whether a hold of before has ended here, is on its way back, or was lost as the cluster hints. */
  private boolean isOver(Hold h) {
    return gone.contains(Holds.name(h.getSequencer()))
        || session.returns.isLeaving(h.getSequencer().getKey(), h.getOwner());
  }

  private boolean isInherited(String name, long token) {
    return Long.compareUnsigned(token, inheritRevision) <= 0 || granted.containsKey(name);
  }

  /** Whether the process before may believe in the hold still: then nobody here may, and it must not be released either. */
  public boolean isDoubted(Hold h) {
    return Long.compareUnsigned(h.getSequencer().getFencingToken(), doubtRevision) <= 0 && isDoubted();
  }

  /** Whether the process before may believe in the hold for as long as it runs, which nobody here can know the end of. */
  public boolean isNeverBelieved(Hold h) {
    return inheritFrom == SessionCore.NEVER && isDoubted(h);
  }

  /** Returns from when on the hold can be believed here. */
  long believedFrom(Hold h) {
    return isDoubted(h) ? inheritFrom : Long.MIN_VALUE;
  }

  /** Whether the process before may believe in what the session held then. */
  public boolean isDoubted() {
    return session.client.clock.nanos() < inheritFrom;
  }

  static TenureException neverBelieved() {
    return Exceptions.of(ErrorKind.NOT_HELD, Applied.NO,
        "the previous process may still rely on what the session without TTL held, because it did not hand it over");
  }

  // The program asks.

  /**
   * Waits until inherited holds can be believed and tells them; fails as NOT_HELD when one never can be. Places that nobody took
   * up are given up, for there is nobody to be told of a grant; one that was granted before is among the holds.
   */
  public CompletableFuture<List<HeldCore>> tell() {
    CompletableFuture<List<HeldCore>> result = new CompletableFuture<>();
    asking++;
    result.whenComplete((all, error) -> session.client.loop.run(() -> {
      asking--;
      told |= error == null;
      giveUpUntold();
    }));
    if (inheritFrom != SessionCore.NEVER) {
      tellWhenSafe(inheritFrom, result);
      return result;
    }
    askTruth(result, truth -> {
      if (truth.holds().stream().anyMatch(this::isNeverBelieved)) {
        result.completeExceptionally(neverBelieved());
      } else {
        tellWhenSafe(Long.MIN_VALUE, result);
      }
    });
    return result;
  }

  private void askTruth(CompletableFuture<?> result, Consumer<Truth> then) {
    // Without a number: the order of attempts is the keeper's, and this call is sent again as it is.
    AttachSessionRequest first = session.attaching.request(0);
    Truth.ask(first, request -> session.calls.read(
        SessionServiceGrpc.getAttachSessionMethod(), request)).whenComplete((truth, error) -> {
      if (error != null) {
        result.completeExceptionally(session.calls.underSession(Futures.error(error)));
      } else if (!result.isDone()) {
        then.accept(truth);
      }
    });
  }

  private void tellWhenSafe(long notBefore, CompletableFuture<List<HeldCore>> result) {
    session.waits.whenSafe(notBefore, () -> tellPlaces(result),
        () -> result.completeExceptionally(session.calls.overError(Applied.NO)));
  }

  private void tellPlaces(CompletableFuture<List<HeldCore>> result) {
    if (result.isDone()) {
      return;
    }
    List<CompletableFuture<?>> ends = new ArrayList<>();
    for (Place p : List.copyOf(places.values())) {
      ends.add(session.returns.cancelWait(p.getKey(), p.getOwner()).thenAccept(hold -> {
        takeUp(p.getKey(), p.getOwner());
        hold.ifPresent(h -> granted.put(Holds.name(h.getSequencer()), h));
        giveUpUntold(); // If who asked went away meanwhile.
      }));
    }
    CompletableFuture.allOf(ends.toArray(CompletableFuture[]::new)).whenComplete((v, error) -> {
      if (error != null) {
        result.completeExceptionally(session.calls.underSession(Futures.error(error)));
      } else {
        tellHolds(result);
      }
    });
  }

  private void tellHolds(CompletableFuture<List<HeldCore>> result) {
    askTruth(result, truth -> {
      if (!session.waits.isBelieved()) {
        tellWhenSafe(Long.MIN_VALUE, result);
        return;
      }
      List<HeldCore> all = new ArrayList<>();
      for (Hold h : truth.holds()) {
        String name = Holds.name(h.getSequencer());
        if (isInherited(name, h.getSequencer().getFencingToken()) && !isOver(h) && !isDoubted(h)) {
          all.add(session.holds.adopt(h));
        }
      }
      result.complete(List.copyOf(all));
    });
  }

  // Nobody asks.

  /** Once it is time, gives up the places that nobody took up, with what they became, unless the program was or is being told. */
  private void giveUpUntold() {
    if (!due || told || asking > 0) {
      return;
    }
    for (Place p : List.copyOf(places.values())) {
      takeUp(p.getKey(), p.getOwner());
      giveUp(p);
    }
    for (Hold h : List.copyOf(granted.values())) {
      if (!isUsed(h.getSequencer().getKey(), h.getOwner()) && !isOver(h) && !isDoubted(h)) {
        session.returns.giveBack(h.getSequencer(), h.getOwner());
      }
    }
  }

  private void giveUp(Place p) {
    if (isUsed(p.getKey(), p.getOwner())) {
      return;
    }
    session.returns.cancelWait(p.getKey(), p.getOwner()).whenComplete((hold, error) -> {
      if (error != null) {
        session.client.loop.after(Returns.AGAIN_NANOS, () -> giveUp(p));
      } else if (!isUsed(p.getKey(), p.getOwner())) {
        hold.filter(h -> !isDoubted(h)).ifPresent(h -> session.returns.giveBack(h.getSequencer(), p.getOwner()));
      }
    });
  }

  /** Whether that is somebody's by now, or the session is over, which frees all. */
  private boolean isUsed(String fullKey, String owner) {
    return session.state() == SessionState.CLOSED || session.holds.isUsed(fullKey, owner, null);
  }
}
