package io.tenure.internal.line;

import io.tenure.TenureException;
import io.tenure.internal.Loop;
import io.tenure.internal.Wire;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/** The connections that a client has opened, and not closed yet. Only the loop touches it. */
public final class Opened {
  private static final long CONNECT_MIN_NANOS = 250_000_000L;
  private static final long CONNECT_MAX_NANOS = 3_000_000_000L;

  private final Loop loop;
  private final Door door;
  private final Duration ttl;
  private final MemberList members;
  private final Causes causes;
  private final Consumer<Connection> doubted;
  private final Consumer<Connection> broken;
  private final Set<Connection> all = new HashSet<>();
  private long attempts;

  /** {@code doubted} and {@code broken} are told what {@link Connection} tells. */
  Opened(
      Loop loop, Door door, Duration ttl, MemberList members, Causes causes, Consumer<Connection> doubted, Consumer<Connection> broken) {
    this.loop = loop;
    this.door = door;
    this.ttl = ttl;
    this.members = members;
    this.causes = causes;
    this.doubted = doubted;
    this.broken = broken;
  }

  /** Returns how often it was tried to connect. */
  long attempts() {
    return attempts;
  }

  Set<Connection> all() {
    return all;
  }

  /** Returns a new connection; null if it is not possible to connect to such an address, which a member advertised or a user wrote. */
  Connection open(String address) {
    attempts++;
    try {
      Connection c = new Connection(address, attempts, door, loop, doubted, broken);
      all.add(c);
      return c;
    } catch (TenureException e) {
      causes.note(address, e, attempts);
      return null;
    } catch (RuntimeException e) {
      return null;
    }
  }

  void drop(Connection c) {
    c.close();
    all.removeIf(o -> o == c || o.isClosed());
  }

  void close() {
    for (Connection c : all) {
      c.close();
    }
  }

  /** Has it told when an attempt to connect takes too long, after so many that failed. */
  void limit(int failed, Runnable late) {
    loop.after(connectNanos(ttl, members.size(), failed), late);
  }

  /**
   * Returns how long an attempt to connect may take: all members are tried within a third of the TTL, and longer in each
   * later round. Else a member that is far away, or busy, would never be reached.
   */
  public static long connectNanos(Duration ttl, int members, int failures) {
    long first = Math.max(CONNECT_MIN_NANOS, Wire.nanos(ttl) / (3L * members));
    return Math.min(CONNECT_MAX_NANOS, Math.min(CONNECT_MAX_NANOS, first) << Math.min(failures / members, 16));
  }
}
