package io.tenure.internal.session;

import io.tenure.v1.Hold;
import io.tenure.v1.Sequencer;
import java.util.HashMap;
import java.util.Map;

/**
 * Which answers come too late to be believed: they name a hold that ended while they were on their way. Under one name, a key and
 * an owner, the cluster gives a session one thing at most, and each hold there has a larger token than the one before; so for each
 * name one number says which holds are gone. It is kept while a call is under way that may be told of one, and no longer: a request
 * that is made later finds what the cluster has then. Only the loop touches it.
 */
public final class LateAnswers {
  private final Map<String, Name> names = new HashMap<>();

  /** What is known under one name; tokens up to those numbers are gone. */
  private static final class Name {
    int asking;
    long ended;
    long lost;
    /** Up to which token the cluster has said what there was, and of which hold: zero for none. */
    long shown;
    long alive;
  }

  /** Says that a call may be told of a hold from now on. */
  public void ask(String fullKey, String owner) {
    names.computeIfAbsent(Holds.place(fullKey, owner), n -> new Name()).asking++;
  }

  /** Says that it cannot any more. */
  public void asked(String fullKey, String owner) {
    names.computeIfPresent(Holds.place(fullKey, owner), (name, n) -> --n.asking == 0 ? null : n);
  }

  /** Says that a hold ended here or is given back. */
  void ended(Sequencer hold, String owner) {
    Name n = names.get(Holds.place(hold.getKey(), owner));
    if (n != null) {
      n.ended = later(n.ended, hold.getFencingToken());
    }
  }

  /** Says that a hold was lost, perhaps before its grant came. */
  void lost(Sequencer hold, String owner) {
    Name n = names.get(Holds.place(hold.getKey(), owner));
    if (n != null) {
      n.ended = later(n.ended, hold.getFencingToken() - 1);
      n.lost = later(n.lost, hold.getFencingToken());
    }
  }

  /** Takes what the cluster says the session has: what was granted before and is not in it was lost, perhaps before its grant came. */
  void shown(Truth truth) {
    Map<String, Long> alive = new HashMap<>();
    for (Hold h : truth.holds()) {
      alive.put(Holds.place(h.getSequencer().getKey(), h.getOwner()), h.getSequencer().getFencingToken());
    }
    names.forEach((place, n) -> {
      if (Long.compareUnsigned(truth.since(), n.shown) >= 0) {
        n.shown = truth.since();
        n.alive = alive.getOrDefault(place, 0L);
      }
    });
  }

  /** Whether a hold, or one that came after it, ended here, is given back, or was lost. */
  boolean isEnded(Hold hold) {
    Name n = names.get(Holds.place(hold.getSequencer().getKey(), hold.getOwner()));
    return n != null && Long.compareUnsigned(hold.getSequencer().getFencingToken(), n.ended) <= 0;
  }

  /** Whether a hold did not end here and was lost: the cluster hinted so, or had it no more when it was asked. */
  boolean isLost(Hold hold) {
    Name n = names.get(Holds.place(hold.getSequencer().getKey(), hold.getOwner()));
    long token = hold.getSequencer().getFencingToken();
    return n != null && (n.lost != 0 && token == n.lost
        || Long.compareUnsigned(token, n.ended) > 0 && Long.compareUnsigned(token, n.shown) <= 0 && token != n.alive);
  }

  private static long later(long a, long b) {
    return Long.compareUnsigned(a, b) < 0 ? b : a;
  }

  /** Whether nothing is known of any name. */
  boolean isEmpty() {
    return names.isEmpty();
  }
}
