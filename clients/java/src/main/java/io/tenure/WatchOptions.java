package io.tenure;

import io.tenure.v1.WatchRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What to watch, and from where. Selections of keys, prefixes, locks and sessions add up, to at most 128; without any, every key of the
 * namespace is watched. A watch starts with the changes from now on, unless {@link #withInitial}, {@link #after} or {@link #resume} says
 * otherwise: the last of them counts. Immutable.
 */
public final class WatchOptions {
  private final Selection selection;
  private final boolean initial;
  private final boolean previous;
  private final boolean keysOnly;
  private final long afterRevision;
  private final String resumeToken;
  private final Duration progress;

  private record Selection(
      List<String> keys, List<String> prefixes, List<String> locks, List<String> lockPrefixes, List<String> sessions,
      List<String> services) {
    boolean isEmpty() {
      return keys.isEmpty() && prefixes.isEmpty() && locks.isEmpty() && lockPrefixes.isEmpty() && sessions.isEmpty()
          && services.isEmpty();
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
    return new WatchOptions(new Selection(List.of(), List.of(), List.of(), List.of(), List.of(), List.of()), false, false,
        false, 0, "", Duration.ofSeconds(5));
  }

  /** Watches services of the catalog. */
  static WatchOptions services(List<String> names) {
    return all().with(new Selection(List.of(), List.of(), List.of(), List.of(), List.of(), names));
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
    return with(new Selection(more(selection.keys, key), selection.prefixes, selection.locks, selection.lockPrefixes,
        selection.sessions, selection.services));
  }

  /**
   * Also watches all keys with this prefix.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return new options
   */
  public WatchOptions andPrefix(String prefix) {
    return with(new Selection(selection.keys, more(selection.prefixes, prefix), selection.locks,
        selection.lockPrefixes, selection.sessions, selection.services));
  }

  /**
   * Also watches this lock.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public WatchOptions andLock(String key) {
    return with(new Selection(selection.keys, selection.prefixes, more(selection.locks, key), selection.lockPrefixes,
        selection.sessions, selection.services));
  }

  /**
   * Also watches all locks whose key has this prefix.
   *
   * @param prefix the prefix of the keys, without the namespace
   * @return new options
   */
  public WatchOptions andLockPrefix(String prefix) {
    return with(new Selection(selection.keys, selection.prefixes, selection.locks,
        more(selection.lockPrefixes, prefix), selection.sessions, selection.services));
  }

  /**
   * Also watches this session: its start, its takeovers and its end.
   *
   * @param id the id of the session
   * @return new options
   */
  public WatchOptions andSession(String id) {
    return with(new Selection(selection.keys, selection.prefixes, selection.locks, selection.lockPrefixes,
        more(selection.sessions, id), selection.services));
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
   * Sets how often {@link WatchMessage.Progress} comes, even between changes. The default is 5 s.
   *
   * @param d the interval, 200 ms to 10 min
   * @return new options
   */
  public WatchOptions progressEvery(Duration d) {
    return new WatchOptions(selection, initial, previous, keysOnly, afterRevision, resumeToken, Objects.requireNonNull(d, "d"));
  }

  /** Whether the current state comes first. */
  boolean wantsInitial() {
    return initial && resumeToken.isEmpty();
  }

  private WatchOptions with(Selection s) {
    return new WatchOptions(s, initial, previous, keysOnly, afterRevision, resumeToken, progress);
  }

  private static List<String> more(List<String> list, String one) {
    List<String> all = new ArrayList<>(list);
    all.add(one);
    return List.copyOf(all);
  }

  /** Returns the request, from the beginning or from where a broken stream stopped. */
  WatchRequest request(Namespace ns, String token) {
    WatchRequest.Builder r = WatchRequest.newBuilder().setPrevious(previous).setKeysOnly(keysOnly)
        .setProgressInterval(Wire.duration(progress));
    selection.keys.forEach(k -> r.addKeys(ns.full(k)));
    selection.prefixes.forEach(p -> r.addPrefixes(ns.full(p)));
    selection.locks.forEach(k -> r.addLocks(ns.full(k)));
    selection.lockPrefixes.forEach(p -> r.addLockPrefixes(ns.full(p)));
    selection.sessions.forEach(r::addSessionIds);
    selection.services.forEach(r::addServices);
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
