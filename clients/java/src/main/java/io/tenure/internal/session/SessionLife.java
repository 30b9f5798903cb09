package io.tenure.internal.session;

import io.tenure.CloseCause;
import io.tenure.SessionChange;
import io.tenure.SessionState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What this process may rely on of its session, as a value: what happened, and when, goes in, and what follows comes out.
 * It has no clock and starts nothing; {@link SessionCore} carries out the effects. Only the loop lets something happen;
 * any thread may ask.
 */
final class SessionLife {
  /** How long calls of a session wait for a member, at most. */
  static final Duration OUTAGE_CALLS_MAX = Duration.ofSeconds(45);

  private static final long AFTER_CLOSE_NANOS = 3_000_000_000L;

  private final Duration ttl;
  private final Lease lease = new Lease();
  private volatile SessionState state = SessionState.CONNECTING;
  private volatile CloseCause cause;
  private long changedAt;
  private boolean needsAttach;

  /**
   * What follows from an event.
   *
   * @param ranOut the lease ran out: nothing that was held may be relied on any longer, which comes first
   * @param changes the new states, in order
   * @param hurry a renewal, and before it the truth where that is needed, is wanted at once
   */
  record Effects(boolean ranOut, List<SessionChange> changes, boolean hurry) {}

  /** What a call under the session that waits for a member may still do. */
  enum Waiting {
    /** It goes on. */
    ON,
    /** The session is closed, and what it could still learn it has learned. */
    CLOSED,
    /** The lease ran out too long ago. */
    LEASE_OVER,
    /** There was no member for too long. */
    NO_MEMBER
  }

  SessionLife(Duration ttl) {
    this.ttl = ttl;
  }

  // What is asked.

  /** The state as the loop knows it. */
  SessionState state() {
    return state;
  }

  /** The state as the clock has it, which the loop may not have looked at yet. */
  SessionState state(long now) {
    SessionState known = state;
    return isRelied(known) && lease.isOver(now) ? SessionState.JEOPARDY : known;
  }

  /** Why it is CLOSED; null when it is not. */
  CloseCause cause() {
    return cause;
  }

  boolean isSafe(long now) {
    return lease.isSafe(now);
  }

  Duration safeFor(long now) {
    return lease.left(now);
  }

  /** Whether what is granted now can be relied on at once. */
  boolean isBelieved(long now) {
    return state == SessionState.CONNECTED && lease.isSafe(now);
  }

  /** Whether the truth has to be asked for before the next renewal. */
  boolean needsAttach() {
    return needsAttach;
  }

  /** Returns what a call or a wait that began then may still do. */
  Waiting waiting(long begun, long now) {
    if (state == SessionState.CLOSED && now - changedAt > AFTER_CLOSE_NANOS) {
      return Waiting.CLOSED;
    }
    if (state == SessionState.JEOPARDY && now - changedAt > Math.min(OUTAGE_CALLS_MAX.toNanos(), 2 * ttl.toNanos())) {
      return Waiting.LEASE_OVER;
    }
    // Without TTL no lease runs out; who begins later has as much time.
    if (ttl.isZero() && state == SessionState.SUSPENDED
        && now - Math.max(begun, changedAt) > OUTAGE_CALLS_MAX.toNanos()) {
      return Waiting.NO_MEMBER;
    }
    return Waiting.ON;
  }

  // What happens.

  /** The cluster made the session, on a request that was sent at that time. */
  Effects created(long sentAt, long now) {
    Changes changes = new Changes();
    if (state != SessionState.CLOSED) {
      lease.acknowledged(sentAt, ttl);
      changes.become(SessionState.CONNECTED, now);
    }
    return changes.effects();
  }

  /** A renewal was acknowledged that was sent at that time. */
  Effects renewed(long sentAt, long now) {
    Changes changes = new Changes();
    if (state == SessionState.CLOSED) {
      return changes.effects();
    }
    changes.look(now);
    lease.acknowledged(sentAt, ttl);
    // Somebody may have seen it run out between the two.
    changes.look(now);
    if (state == SessionState.JEOPARDY) {
      if (needsAttach) {
        // First what became of the holds, then the good news.
        changes.hurry = true;
        return changes.effects();
      }
      lease.again();
    }
    if (lease.isSafe(now)) {
      changes.become(SessionState.CONNECTED, now);
    }
    return changes.effects();
  }

  /** No member answers. */
  Effects linkDown(long now) {
    needsAttach = true;
    return denied(now);
  }

  /** Members answer, and refuse to renew it. */
  Effects denied(long now) {
    Changes changes = new Changes();
    changes.look(now); // If it ran out, it ran out first.
    if (state == SessionState.CONNECTED) {
      changes.become(SessionState.SUSPENDED, now);
    }
    return changes.effects();
  }

  /** Time passed. */
  Effects look(long now) {
    Changes changes = new Changes();
    changes.look(now);
    return changes.effects();
  }

  /** The session is over. Only the first cause counts. */
  Effects close(CloseCause why, long now) {
    Changes changes = new Changes();
    if (state != SessionState.CLOSED) {
      changes.look(now); // What ran out before ran out first.
      cause = why;
      lease.end();
      changes.become(SessionState.CLOSED, now);
    }
    return changes.effects();
  }

  /** The truth about the session has to be asked for. */
  void mustAttach() {
    needsAttach = true;
  }

  /** The truth about the session is known. */
  void attached() {
    needsAttach = false;
  }

  private static boolean isRelied(SessionState s) {
    return s == SessionState.CONNECTED || s == SessionState.SUSPENDED;
  }

  /** What an event does, while it is being found out. */
  private final class Changes {
    private boolean ranOut;
    private boolean hurry;
    private List<SessionChange> changes = List.of();

    void look(long now) {
      if (isRelied(state) && !lease.isSafe(now)) {
        needsAttach = true;
        ranOut = true;
        hurry = true;
        become(SessionState.JEOPARDY, now);
      }
    }

    void become(SessionState to, long now) {
      SessionState from = state;
      if (from == to || from == SessionState.CLOSED) {
        return;
      }
      state = to;
      changedAt = now;
      changes = new ArrayList<>(changes);
      changes.add(new SessionChange(from, to, Optional.ofNullable(cause)));
    }

    Effects effects() {
      return new Effects(ranOut, changes, hurry);
    }
  }
}
