package io.tenure.internal.line;

import io.grpc.ConnectivityState;
import io.tenure.Applied;
import io.tenure.ConnectionString;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Loop;
import io.tenure.internal.Wire;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
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
  private static final long CONNECT_MIN_NANOS = 250_000_000L;
  private static final long CONNECT_MAX_NANOS = 3_000_000_000L;
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
  private final Duration ttl;
  private final LeaderLink leader;
  private final List<Listener> listeners = new ArrayList<>();
  private final Set<Connection> open = new HashSet<>();
  /** By member, why it did not answer the last time, until it does. */
  private final Map<String, Cause> causes = new HashMap<>();
  private Map<Runnable, Waiting> waiting = new LinkedHashMap<>();
  /** How often it tried to connect. */
  private long attempts;
  /** Whether a member was ever connected to. */
  private boolean reached;
  private List<String> members;
  /** The members that the user named. */
  private final List<String> named;
  private int next;
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

  /** Why a member did not answer, in which attempt, and whether a certificate is to blame, so that waiting does not help. */
  private record Cause(String text, boolean certificate, long attempt) {}

  /** What waits for a connection: since when, and what is told when certificates do not verify at any member. */
  private record Waiting(long attempts, Consumer<TenureException> failed) {}

  public Link(Loop loop, ConnectionString at, Random random, Door door) {
    this.loop = loop;
    this.door = door;
    this.ttl = at.ttl();
    this.leader = new LeaderLink(loop, this);
    this.random = random;
    this.named = List.copyOf(at.members());
    this.members = new ArrayList<>(new LinkedHashSet<>(named));
    Collections.shuffle(this.members, random);
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
    return List.copyOf(members);
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
      waiting.putIfAbsent(task, new Waiting(attempts, failed));
    }
  }

  /** Takes back what {@link #whenUp} was told. */
  public void forget(Runnable task) {
    waiting.remove(task);
  }

  /** Says that a member answered over the connection: it is worth returning to. */
  public void answered(Connection c) {
    c.answered();
    causes.remove(c.address());
    if (c == current) {
      failures = 0;
    }
  }

  /** Notes why a member did not answer, or could not do what it was asked. */
  void note(Connection c, String why) {
    note(c.address(), new Cause(why, false, c.attempt()));
  }

  /** Likewise, by the error of the first call. */
  private void note(Connection c, Throwable error) {
    note(c.address(), new Cause(Unreachable.why(error, door), Unreachable.certificate(error), c.attempt()));
  }

  private void note(String address, Cause cause) {
    if (members.contains(address)) {
      causes.put(address, cause);
      tellDistrusted();
    }
  }

  /** Tells those who wait in vain that certificates do not verify at any member, in attempts since they wait. */
  private void tellDistrusted() {
    if (reached || !members.stream().allMatch(m -> causes.containsKey(m) && causes.get(m).certificate())) {
      return;
    }
    long oldest = members.stream().mapToLong(m -> causes.get(m).attempt()).min().orElse(0);
    TenureException why =
        Exceptions.of(ErrorKind.TLS_FAILED, Applied.NO, "no member could be reached: " + tried());
    for (Map.Entry<Runnable, Waiting> w : List.copyOf(waiting.entrySet())) {
      if (oldest > w.getValue().attempts()) {
        waiting.remove(w.getKey());
        w.getValue().failed().accept(why);
      }
    }
  }

  /** Returns the members, each with why it did not answer the last time, for people. */
  public String tried() {
    return String.join(", ",
        members.stream().map(m -> causes.containsKey(m) ? m + " (" + causes.get(m).text() + ")" : m).toList());
  }

  /** Says that the connection is of no use; another member is tried. */
  public void broken(Connection c) {
    if (!closed && c != current) {
      leader.broken(c);
    }
    if (closed || c != current) {
      return;
    }
    drop(c);
    current = null;
    brief = System.nanoTime() - stoodAt < BRIEF_NANOS ? brief + 1 : 0;
    abandonMove();
    tell(l -> l.down(c));
    retry();
  }

  /** Takes the list of members as the cluster has it now. */
  public void update(List<String> now, double draw) {
    Set<String> wanted = new LinkedHashSet<>(now);
    if (closed || wanted.isEmpty() || wanted.equals(new HashSet<>(members))) {
      return;
    }
    List<String> before = members;
    List<String> after = new ArrayList<>(before);
    after.retainAll(wanted);
    List<String> fresh = new ArrayList<>(wanted);
    fresh.removeAll(after);
    Collections.shuffle(fresh, random);
    List<String> kept = List.copyOf(after);
    for (String member : fresh) {
      after.add(random.nextInt(after.size() + 1), member);
    }
    members = after;
    causes.keySet().retainAll(after);
    next = random.nextInt(after.size());
    if (current == null) {
      return;
    }
    switch (Rebalance.decide(before, after, current.address(), draw)) {
      case STAY -> abandonMove();
      case TO_NEW -> move(fresh, kept);
      case TO_OLD -> move(kept, fresh);
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
    waiting = new LinkedHashMap<>();
    for (Connection c : open) {
      c.close();
    }
    door.close();
  }

  /** Returns how much waits for a connection. */
  public int waiting() {
    return waiting.size();
  }

  public Set<Connection> opened() {
    return open;
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
    String address = pick();
    Connection c = open(address);
    if (c == null) {
      retry();
      return;
    }
    connecting = c;
    limit(failures, () -> {
      if (connecting == c) {
        note(c, Unreachable.LATE);
        failed(c);
      }
    });
    follow(c);
  }

  /**
   * Returns whom to try: all members that are known, and after each round of them, one that the user named. The cluster may have told addresses
   * that cannot be reached from here, or may have moved while this client was cut off.
   */
  private String pick() {
    boolean round = failures % (members.size() + 1) == members.size();
    if (round && !members.containsAll(named)) {
      return named.get(random.nextInt(named.size()));
    }
    return members.get(next++ % members.size());
  }

  private void failed(Connection c) {
    connecting = null;
    drop(c);
    retry();
  }

  /** Returns a new connection; null when nobody can connect to such an address, which a member advertised or a user wrote. */
  Connection open(String address) {
    attempts++;
    try {
      Connection c = new Connection(address, attempts, door, loop, this::doubt, this::broken);
      open.add(c);
      return c;
    } catch (TenureException e) {
      boolean file = e.kind() == ErrorKind.TLS_FAILED;
      note(address, new Cause((file ? Unreachable.TLS : "") + e.getMessage(), file, attempts));
      return null;
    } catch (RuntimeException e) {
      return null;
    }
  }

  private void doubt(Connection c) {
    if (!closed && c == current) {
      tell(l -> l.doubted(c));
    }
  }

  void drop(Connection c) {
    c.close();
    forget(c);
  }

  private void forget(Connection c) {
    open.removeIf(o -> o == c || o.isClosed());
  }

  /** Has it told when an attempt to connect takes too long, after so many that failed. */
  void limit(int failed, Runnable late) {
    loop.after(connectNanos(ttl, members.size(), failed), late);
  }

  /**
   * Returns how long an attempt to connect may take: all members are tried within a third of the TTL, and longer in each
   * later round. Else nobody would be reached who is far away, or busy.
   */
  public static long connectNanos(Duration ttl, int members, int failures) {
    long first = Math.max(CONNECT_MIN_NANOS, Wire.nanos(ttl) / (3L * members));
    return Math.min(CONNECT_MAX_NANOS, Math.min(CONNECT_MAX_NANOS, first) << Math.min(failures / members, 16));
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
        c.whyNot(t -> note(c, t));
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
    reached = true;
    stoodAt = System.nanoTime();
    tell(l -> l.up(c));
    Set<Runnable> tasks = waiting.keySet();
    waiting = new LinkedHashMap<>();
    tasks.forEach(Loop::guarded);
  }

  private void move(List<String> first, List<String> then) {
    abandonMove();
    List<String> order = new ArrayList<>(first);
    Collections.shuffle(order, random);
    List<String> rest = new ArrayList<>(then);
    Collections.shuffle(rest, random);
    order.addAll(rest);
    order.remove(current.address());
    candidates = order;
    tryCandidate();
  }

  private void tryCandidate() {
    if (candidates.isEmpty() || current == null) {
      return;
    }
    String address = candidates.get(0);
    candidates = candidates.subList(1, candidates.size());
    Connection c = open(address);
    if (c == null) {
      tryCandidate();
      return;
    }
    candidate = c;
    limit(failures, () -> {
      if (candidate == c) {
        candidateFailed(c);
      }
    });
    follow(c);
  }

  private void candidateFailed(Connection c) {
    candidate = null;
    drop(c);
    tryCandidate();
  }

  private void abandonMove() {
    candidates = List.of();
    if (candidate != null) {
      drop(candidate);
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
    loop.after(DRAIN_NANOS, () -> drop(old));
  }
}
