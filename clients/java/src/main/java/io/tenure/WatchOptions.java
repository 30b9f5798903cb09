package io.tenure;

import io.tenure.internal.Namespace;
import io.tenure.internal.Wire;
import io.tenure.internal.line.Silence;
import io.tenure.internal.watch.WatchPlan;
import io.tenure.v1.WatchRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What to watch, and from where. Selections of keys, prefixes, locks, sessions, nodes and services add up, to at most 128; without any,
 * every key of the namespace is watched. No namespace is added to the names of nodes, services and prepared queries. A watch starts with the changes from now on, unless {@link #withInitial}, {@link #after} or {@link #resume} says
 * otherwise: the last of them counts. Immutable.
 */
public final class WatchOptions {
  /** What a member allows; it refuses more. */
  private static final Duration PROGRESS_MAX = Duration.ofMinutes(10);

  private final Selection selection;
  private final boolean initial;
  private final boolean previous;
  private final boolean keysOnly;
  private final long afterRevision;
  private final String resumeToken;
  private final Duration progress;

  /** What can be named. */
  private enum Kind { KEY, PREFIX, LOCK, LOCK_PREFIX, SESSION, NODE, SERVICE }

  private record Name(Kind kind, String name) {}

  private record Selection(List<Name> names, boolean everySession, boolean everyQuery) {
    static final Selection NOTHING = new Selection(List.of(), false, false);

    Selection and(Kind kind, String name) {
      List<Name> all = new ArrayList<>(names);
      all.add(new Name(kind, Objects.requireNonNull(name, "name")));
      return new Selection(List.copyOf(all), everySession, everyQuery);
    }

    boolean isEmpty() {
      return names.isEmpty() && !everySession && !everyQuery;
    }
  }

  private WatchOptions(Selection selection, boolean initial, boolean previous, boolean keysOnly, long afterRevision,
      String resumeToken, Duration progress) {
    this.selection = selection;
    this.initial = initial;
    this.previous = previous;
    this.keysOnly = keysOnly;
    this.afterRevision = afterRevision;
    this.resumeToken = resumeToken;
    this.progress = progress;
  }

  /** {@return the options of a watch of every key, from now on} */
  public static WatchOptions all() {
    return new WatchOptions(Selection.NOTHING, false, false, false, 0, "", Duration.ofSeconds(5));
  }

  /** Watches services of the catalog. */
  static WatchOptions services(List<String> names) {
    WatchOptions o = all();
    for (String name : names) {
      o = o.andService(name);
    }
    return o;
  }

  /**
   * Watches one key.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public static WatchOptions key(String key) {
    return all().andKey(key);
  }

  /**
   * Watches all keys with a prefix.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return new options
   */
  public static WatchOptions prefix(String prefix) {
    return all().andPrefix(prefix);
  }

  /**
   * Watches one lock: its queue, grants, releases, losses and delays.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public static WatchOptions lock(String key) {
    return all().andLock(key);
  }

  /**
   * Also watches this key.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public WatchOptions andKey(String key) {
    return with(selection.and(Kind.KEY, key));
  }

  /**
   * Also watches all keys with this prefix.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return new options
   */
  public WatchOptions andPrefix(String prefix) {
    return with(selection.and(Kind.PREFIX, prefix));
  }

  /**
   * Also watches this lock.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public WatchOptions andLock(String key) {
    return with(selection.and(Kind.LOCK, key));
  }

  /**
   * Also watches all locks whose key has this prefix.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return new options
   */
  public WatchOptions andLockPrefix(String prefix) {
    return with(selection.and(Kind.LOCK_PREFIX, prefix));
  }

  /**
   * Also watches this session: its start, its takeovers and its end.
   *
   * @param id the id of the session
   * @return new options
   */
  public WatchOptions andSession(String id) {
    return with(selection.and(Kind.SESSION, id));
  }

  /**
   * Also watches every session.
   *
   * @return new options
   */
  public WatchOptions andEverySession() {
    return with(new Selection(selection.names, true, selection.everyQuery));
  }

  /**
   * Also watches this node of the catalog, its services and its checks; see {@link WatchEvent#item}.
   *
   * @param name the name of the node
   * @return new options
   */
  public WatchOptions andNode(String name) {
    return with(selection.and(Kind.NODE, name));
  }

  /**
   * Also watches the instances of this service, and every check that counts for one; see {@link WatchEvent#item}.
   *
   * @param name the name of the service
   * @return new options
   */
  public WatchOptions andService(String name) {
    return with(selection.and(Kind.SERVICE, name));
  }

  /**
   * Also watches every prepared query; see {@link WatchEvent#item}.
   *
   * @return new options
   */
  public WatchOptions andEveryQuery() {
    return with(new Selection(selection.names, selection.everySession, true));
  }

  /**
   * Starts with the current state. This replaces {@link #after} and {@link #resume}.
   *
   * @return new options
   */
  public WatchOptions withInitial() {
    return new WatchOptions(selection, true, previous, keysOnly, 0, "", progress);
  }

  /**
   * Starts with the changes after this revision. This replaces {@link #withInitial} and {@link #resume}.
   *
   * @param revision the revision; 0 is now
   * @return new options
   */
  public WatchOptions after(long revision) {
    return new WatchOptions(selection, false, previous, keysOnly, revision, "", progress);
  }

  /**
   * Starts where a watch with the same selection stopped, in this or another process. This replaces {@link #withInitial} and {@link
   * #after}.
   *
   * @param token the resume token of the last message that was processed
   * @return new options
   */
  public WatchOptions resume(String token) {
    return new WatchOptions(selection, false, previous, keysOnly, 0, Objects.requireNonNull(token, "token"), progress);
  }

  /**
   * Adds the key before each change.
   *
   * @return new options
   */
  public WatchOptions withPrevious() {
    return new WatchOptions(selection, initial, true, keysOnly, afterRevision, resumeToken, progress);
  }

  /**
   * Leaves out all values.
   *
   * @return new options
   */
  public WatchOptions keysOnly() {
    return new WatchOptions(selection, initial, previous, true, afterRevision, resumeToken, progress);
  }

  /**
   * Sets how often {@link WatchMessage.Progress} comes, even between changes. The default is 5 s. A member from which nothing comes for 15 s,
   * or for three intervals if that is longer, is left for another one.
   *
   * @param d the interval, 200 ms to 10 min
   * @return new options
   */
  public WatchOptions progressEvery(Duration d) {
    return new WatchOptions(selection, initial, previous, keysOnly, afterRevision, resumeToken, Objects.requireNonNull(d, "d"));
  }

  WatchPlan plan() {
    return new WatchPlan(initial && resumeToken.isEmpty(), silenceMax(), this::request);
  }

  private Duration silenceMax() {
    long nanos = 3 * Math.min(PROGRESS_MAX.toNanos(), Wire.nanos(progress));
    return Duration.ofNanos(Math.max(Silence.MIN.toNanos(), nanos));
  }

  private WatchOptions with(Selection s) {
    return new WatchOptions(s, initial, previous, keysOnly, afterRevision, resumeToken, progress);
  }

  private WatchRequest request(Namespace ns, String token) {
    WatchRequest.Builder r = WatchRequest.newBuilder().setPrevious(previous).setKeysOnly(keysOnly)
        .setProgressInterval(Wire.duration(progress));
    r.setAllSessions(selection.everySession).setAllQueries(selection.everyQuery);
    for (Name n : selection.names) {
      switch (n.kind()) {
        case KEY -> r.addKeys(ns.full(n.name()));
        case PREFIX -> r.addPrefixes(ns.full(n.name()));
        case LOCK -> r.addLocks(ns.full(n.name()));
        case LOCK_PREFIX -> r.addLockPrefixes(ns.full(n.name()));
        case SESSION -> r.addSessionIds(n.name());
        case NODE -> r.addNodes(n.name());
        case SERVICE -> r.addServices(n.name());
      }
    }
    if (selection.isEmpty()) {
      r.addPrefixes(ns.prefix());
    }
    String from = token.isEmpty() ? resumeToken : token;
    if (!from.isEmpty()) {
      return r.setResumeToken(from).build();
    }
    return r.setInitial(initial).setAfterRevision(afterRevision).build();
  }
}
