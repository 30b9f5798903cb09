package io.tenure;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Leaves a member that says nothing on a stream for too long, although it has to say something from time to time: it may answer other calls,
 * and be cut off from the other members. Only the loop touches it.
 */
final class Silence {
  private static final long LOOK_NANOS = 250_000_000L;

  private final Link link;
  private final BootClock clock;
  private final Set<Stream> streams = new HashSet<>();

  /** A stream on which a member says something from time to time. */
  interface Stream {
    /** The connection that is given up when the member is silent. */
    Connection connection();

    /** Returns whether the member has been silent for too long. */
    boolean isSilent(long now);
  }

  Silence(Loop loop, Link link, BootClock clock) {
    this.link = link;
    this.clock = clock;
    loop.every(LOOK_NANOS, this::look);
  }

  /** Listens to a stream, until it is removed. */
  void add(Stream s) {
    streams.add(s);
  }

  void remove(Stream s) {
    streams.remove(s);
  }

  private void look() {
    long now = clock.nanos();
    for (Stream s : List.copyOf(streams)) {
      if (s.isSilent(now)) {
        link.note(s.connection(), "a watch got no message for too long");
        link.broken(s.connection());
      }
    }
  }
}
