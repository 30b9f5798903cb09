package io.tenure.internal.line;

import io.grpc.ConnectivityState;
import io.tenure.ConnectionString;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.Loop;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/**
 * Keeps a client connected to one member of those it knows: a random one first, then round robin, with full jitter. When
 * the members change it moves by ZooKeeper's rule, and the new connection stands before the old one is dropped. Only the
 * loop touches it.
 */
public final class Link {
  private static final long DRAIN_NANOS = 2_000_000_000L;
  /** A connection that stood for less did not show that its member is worth returning to at once. */
  private static final long BRIEF_NANOS = 1_000_000_000L;

  /** Is told about connections, on the loop. */
  public interface Listener {
    /** A connection stands. */
    void up(Connection c);

    /** The connection broke. */
    void down(Connection c);

    /** A stream over the connection broke; whether its member still answers is not known. */
    void doubted(Connection c);

    /** The client moved: the old connection still works, for a moment. */
    void moved(Connection from, Connection to);

    /** Perhaps another member leads by now. */
    default void leaderDoubted() {
      // Only one has to find out.
    }
  }

  private final Loop loop;
  private final Door door;
  private final Random random;
  private final LeaderLink leader;
  private final List<Listener> listeners = new ArrayList<>();
  private final MemberList members;
  private final Pending pending = new Pending();
  private final Causes causes;
  private final Opened opened;
  private int failures;
  /** How many connections in a row broke soon after they stood, whatever was answered over them. */
  private int brief;
  private long stoodAt;
  private Connection current;
  private Connection connecting;
  private Connection candidate;
  private List<String> candidates = List.of();
  private ScheduledFuture<?> timer;
  private boolean closed;

  public Link(Loop loop, ConnectionString at, Random random, Door door) {
    this.loop = loop;
    this.door = door;
    this.random = random;
    this.members = new MemberList(at.members(), random);
    this.causes = new Causes(members, pending, door);
    this.opened = new Opened(loop, door, at.ttl(), members, causes, this::doubt, this::broken);
    this.leader = new LeaderLink(loop, this, opened);
  }

  public Door door() {
    return door;
  }

  public void listen(Listener l) {
    listeners.add(l);
  }

  /** Begins to connect. */
  public void start() {
    connectNext();
  }

  /** Returns the connection that stands, or null. */
  public Connection current() {
    return current;
  }

  /** Returns the way to the leader, beside that to the client's own member. */
  public LeaderLink leader() {
    return leader;
  }

  void doubtLeader() {
    tell(Listener::leaderDoubted);
  }

  /** Tells all listeners. One that fails keeps neither the others nor the link from what they do. */
  private void tell(Consumer<Listener> what) {
    for (Listener l : List.copyOf(listeners)) {
      Loop.guarded(() -> what.accept(l));
    }
  }

  public List<String> members() {
    return members.all();
  }

  /** Runs the task once a connection stands, at once if one does, unless it is forgotten before. */
  public void whenUp(Runnable task) {
    whenUp(task, why -> { });
  }

  /** Likewise. As long as no member was ever connected to, {@code failed} is told if TLS fails at every member for a certificate. */
  public void whenUp(Runnable task, Consumer<TenureException> failed) {
    if (current != null) {
      task.run();
    } else {
      pending.add(task, opened.attempts(), failed);
    }
  }

  /** Takes back what {@link #whenUp} was told. */
  public void forget(Runnable task) {
    pending.remove(task);
  }

  /** Says that a member answered over the connection: it is worth returning to. */
  public void answered(Connection c) {
    c.answered();
    causes.answered(c.address());
    if (c == current) {
      failures = 0;
    }
  }

  /** Notes why a member did not answer, or could not do what it was asked. */
  void note(Connection c, String why) {
    causes.note(c, why);
  }

  /** Returns the members, each with why it did not answer the last time, for people. */
  public String tried() {
    return causes.tried();
  }

  /** Says that the connection is of no use; another member is tried. */
  public void broken(Connection c) {
    if (!closed && c != current) {
      leader.broken(c);
    }
    if (closed || c != current) {
      return;
    }
    opened.drop(c);
    current = null;
    brief = System.nanoTime() - stoodAt < BRIEF_NANOS ? brief + 1 : 0;
    abandonMove();
    tell(l -> l.down(c));
    retry();
  }

  /** Takes the list of members as the cluster has it now. */
  public void update(List<String> now, double draw) {
    MemberList.Update changed = closed ? null : members.update(now);
    if (changed == null) {
      return;
    }
    causes.prune();
    if (current == null) {
      return;
    }
    switch (Rebalance.decide(changed.before(), changed.after(), current.address(), draw)) {
      case STAY -> abandonMove();
      case TO_NEW -> move(changed.fresh(), changed.kept());
      case TO_OLD -> move(changed.kept(), changed.fresh());
    }
  }

  public void close() {
    closed = true;
    leader.close();
    if (timer != null) {
      timer.cancel(false);
    }
    current = null;
    connecting = null;
    candidate = null;
    pending.clear();
    opened.close();
    door.close();
  }

  /** Returns how much waits for a connection. */
  public int waiting() {
    return pending.size();
  }

  public Set<Connection> opened() {
    return opened.all();
  }

  private void retry() {
    int n = Math.max(failures++, brief - 1);
    if (n <= 0) {
      connectNext();
      return;
    }
    timer = loop.after(Backoff.pauseNanos(n - 1, random), this::connectNext);
  }

  private void connectNext() {
    if (closed || current != null || connecting != null) {
      return;
    }
    Connection c = opened.open(members.pick(failures));
    if (c == null) {
      retry();
      return;
    }
    connecting = c;
    opened.limit(failures, () -> {
      if (connecting == c) {
        causes.note(c, Unreachable.LATE);
        failed(c);
      }
    });
    follow(c);
  }

  private void failed(Connection c) {
    connecting = null;
    opened.drop(c);
    retry();
  }

  private void doubt(Connection c) {
    if (!closed && c == current) {
      tell(l -> l.doubted(c));
    }
  }

  /** Watches over a connection from its beginning to its end. */
  private void follow(Connection c) {
    if (closed || c.isClosed()) {
      return;
    }
    ConnectivityState state = c.state();
    boolean down = state == ConnectivityState.TRANSIENT_FAILURE || state == ConnectivityState.SHUTDOWN;
    if (c == connecting) {
      if (state == ConnectivityState.READY) {
        connecting = null;
        stands(c);
      } else if (down) {
        c.whyNot(t -> causes.note(c, t));
        failed(c);
        return;
      }
    } else if (c == candidate) {
      if (state == ConnectivityState.READY) {
        switchTo(c);
      } else if (down) {
        candidateFailed(c);
        return;
      }
    } else if (c == current && state != ConnectivityState.READY) {
      broken(c);
      return;
    }
    c.onChange(state, () -> follow(c));
  }

  private void stands(Connection c) {
    current = c;
    causes.reached();
    stoodAt = System.nanoTime();
    tell(l -> l.up(c));
    pending.run();
  }

  private void move(List<String> first, List<String> then) {
    abandonMove();
    candidates = members.shuffled(first, then, current.address());
    tryCandidate();
  }

  private void tryCandidate() {
    if (candidates.isEmpty() || current == null) {
      return;
    }
    String address = candidates.get(0);
    candidates = candidates.subList(1, candidates.size());
    Connection c = opened.open(address);
    if (c == null) {
      tryCandidate();
      return;
    }
    candidate = c;
    opened.limit(failures, () -> {
      if (candidate == c) {
        candidateFailed(c);
      }
    });
    follow(c);
  }

  private void candidateFailed(Connection c) {
    candidate = null;
    opened.drop(c);
    tryCandidate();
  }

  private void abandonMove() {
    candidates = List.of();
    if (candidate != null) {
      opened.drop(candidate);
      candidate = null;
    }
  }

  private void switchTo(Connection c) {
    candidate = null;
    candidates = List.of();
    Connection old = current;
    current = c;
    stoodAt = System.nanoTime();
    tell(l -> l.moved(old, c));
    old.drain();
    loop.after(DRAIN_NANOS, () -> opened.drop(old));
  }
}
