package io.tenure.internal.line;

import io.grpc.ConnectivityState;
import io.tenure.internal.Loop;
import java.util.concurrent.ScheduledFuture;

/**
 * The way to the leader, if that is not the client's own member: a connection for changes, which stands while there are some. Nothing
 * waits for it. Until it stands, and while it cannot be had, the own member passes changes on. Only the loop touches it.
 */
public final class LeaderLink {
  /** How long the connection may be unused before it is closed. */
  public static final long IDLE_NANOS = 30_000_000_000L;
  /** How often it is looked at: whether it is used, and whether calls on it get answers. */
  public static final long LOOK_NANOS = 250_000_000L;
  /** The bounds of the pause after it broke, or could not be made. */
  private static final long PAUSE_MIN_NANOS = 1_000_000_000L;
  private static final long PAUSE_MAX_NANOS = 60_000_000_000L;

  private final Loop loop;
  private final Link link;
  private final Opened opened;
  /** Empty: not known, or the own member leads. */
  private String address = "";
  private Connection connecting;
  private Connection current;
  private ScheduledFuture<?> looking;
  /** Not null while no attempt to connect is due. */
  private ScheduledFuture<?> resting;
  private long pauseNanos = PAUSE_MIN_NANOS;
  /** Since the last look. */
  private boolean used;
  private long unusedNanos;
  /** As of the last look. */
  private long answers;

  LeaderLink(Loop loop, Link link, Opened opened) {
    this.loop = loop;
    this.link = link;
    this.opened = opened;
  }

  /** Returns a connection to the leader; null if the client's own member leads, or there is none now. */
  Connection get() {
    if (address.isEmpty() || link.current() != null && link.current().address().equals(address)) {
      return null;
    }
    if (current == null) {
      connect();
      return null;
    }
    used = true;
    return current;
  }

  /** Notes who leads; empty if that is not known, or is the client's own member. */
  public void learn(String leader) {
    if (address.equals(leader)) {
      return;
    }
    address = leader;
    rest(0);
    Connection before = current;
    abandon();
    if (before != null) {
      leave(before);
    }
  }

  /** Says that the connection is of no use. Another one is ignored. */
  void broken(Connection c) {
    if (c != current && c != connecting) {
      return;
    }
    rewarded(c);
    abandon();
    opened.drop(c);
    pause();
    link.doubtLeader();
  }

  private void pause() {
    rest(pauseNanos);
    pauseNanos = Math.min(2 * pauseNanos, PAUSE_MAX_NANOS);
  }

  /** Looks whether the connection is used, and whether calls on it get answers. */
  public void look() {
    if (current == null) {
      return;
    }
    boolean waited = current.owes();
    if (waited && current.answers() == answers) {
      link.doubtLeader(); // It may have fallen silent.
    }
    answers = current.answers();
    unusedNanos = used || waited ? 0 : unusedNanos + LOOK_NANOS;
    used = false;
    if (unusedNanos >= IDLE_NANOS) {
      Connection before = current;
      abandon();
      leave(before);
    }
  }

  /** Makes no connection any more. */
  void close() {
    address = "";
    rest(0);
    abandon();
  }

  /** Sets when the next attempt to connect may be made at the earliest. */
  private void rest(long nanos) {
    if (resting != null) {
      resting.cancel(false);
    }
    resting = nanos == 0 ? null : loop.after(nanos, () -> resting = null);
  }

  /** Goes back to short pauses if a connection was a good one. */
  private void rewarded(Connection c) {
    if (c.answers() > 0) {
      pauseNanos = PAUSE_MIN_NANOS;
    }
  }

  private void connect() {
    if (connecting != null || resting != null) {
      return;
    }
    Connection c = opened.open(address);
    if (c == null) {
      pause(); // Such as for a file that cannot be read just now.
      return;
    }
    connecting = c;
    opened.limit(0, () -> {
      if (connecting == c) {
        broken(c);
      }
    });
    follow(c);
  }

  /** Watches over a connection until it is given up. */
  private void follow(Connection c) {
    if (c != connecting && c != current) {
      return;
    }
    ConnectivityState state = c.state();
    if (state == ConnectivityState.READY) {
      if (c == connecting) {
        stands(c);
      }
    } else if (c == current || state == ConnectivityState.TRANSIENT_FAILURE || state == ConnectivityState.SHUTDOWN) {
      broken(c);
      return;
    }
    c.onChange(state, () -> follow(c));
  }

  private void stands(Connection c) {
    connecting = null;
    current = c;
    used = false;
    unusedNanos = 0;
    answers = 0;
    looking = loop.every(LOOK_NANOS, this::look);
  }

  /** Uses the connection no more, and gives up one that is being made. */
  private void abandon() {
    if (looking != null) {
      looking.cancel(false);
      looking = null;
    }
    current = null;
    if (connecting != null) {
      opened.drop(connecting);
      connecting = null;
    }
  }

  /** Lets what is under way over a connection end, as long as anything gets an answer: a member that has lost the lead may have none. */
  private void leave(Connection c) {
    rewarded(c);
    c.drain();
    lookAtLeft(c, c.answers());
  }

  private void lookAtLeft(Connection c, long before) {
    loop.after(LOOK_NANOS, () -> {
      if (c.owes() && c.answers() != before) {
        lookAtLeft(c, c.answers());
      } else {
        opened.drop(c);
      }
    });
  }
}
