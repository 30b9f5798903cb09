package io.tenure.internal.line;

import io.tenure.internal.Loop;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Leaves a member that says nothing on a stream for too long, although it has to say something from time to time: it may answer other calls,
 * and be cut off from the other members. Time in which this process did not run does not count, as what the member said meanwhile may not
 * have been read yet: time is counted in looks, and those that were missed are not made up for. Only the loop touches it.
 */
public final class Silence {
  /** How long a member may say nothing, unless it was asked to say something less often. */
  public static final Duration MIN = Duration.ofSeconds(15);
  /** How often it looks, at most. */
  public static final long LOOK_NANOS = 250_000_000L;

  private final Link link;
  private final Set<Stream> streams = new HashSet<>();
  private long looks;

  /** A stream on which a member says something from time to time. */
  public interface Stream {
    /** The connection that is given up when the member is silent. */
    Connection connection();

    /** Returns whether the member has been silent for too long, by {@link Silence#nanos}. */
    boolean isSilent(long now);

    /** Asks the member for a sign, if it has nothing to say unless it is asked. It is called at each look, and asks now and then. */
    default void ask(long now) {
      // It says something by itself.
    }
  }

  public Silence(Loop loop, Link link) {
    this.link = link;
    loop.every(LOOK_NANOS, this::look);
  }

  /** Listens to a stream, until it is removed. */
  public void add(Stream s) {
    streams.add(s);
  }

  public void remove(Stream s) {
    streams.remove(s);
  }

  /** Returns how long this process has run. It is exact to one look, and never counts more than has passed. */
  public long nanos() {
    return looks * LOOK_NANOS;
  }

  public void look() {
    long now = nanos();
    for (Stream s : List.copyOf(streams)) {
      if (s.isSilent(now)) {
        link.note(s.connection(), "a watch or an observer got no message for too long");
        link.broken(s.connection());
      } else {
        s.ask(now);
      }
    }
    looks++; // Only now: what came since the last look is read before this time counts.
  }
}
