package io.tenure;

import io.tenure.v1.WatchRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What to watch, and from where. What is selected adds up; without any selection every key is watched. Where it begins does not add
 * up: of {@link #withInitial}, {@link #after} and {@link #resume} the last one counts. Immutable.
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
      List<String> keys, List<String> prefixes, List<String> locks, List<String> lockPrefixes, List<String> sessions) {
    boolean isEmpty() {
      return keys.isEmpty() && prefixes.isEmpty() && locks.isEmpty() && lockPrefixes.isEmpty() && sessions.isEmpty();
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
    return new WatchOptions(new Selection(List.of(), List.of(), List.of(), List.of(), List.of()), false, false, false,
        0, "", Duration.ofSeconds(5));
  }

  /**
   * Watches this key.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public static WatchOptions key(String key) {
    return all().andKey(key);
  }

  /**
   * Watches all keys that begin so.
   *
   * @param prefix how the keys begin, without the namespace
   * @return new options
   */
  public static WatchOptions prefix(String prefix) {
    return all().andPrefix(prefix);
  }

  /**
   * Watches this lock: its queue, grants, releases, losses and delays.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public static WatchOptions lock(String key) {
    return all().andLock(key);
  }

  /**
   * Watches this key too.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public WatchOptions andKey(String key) {
    return with(new Selection(more(selection.keys, key), selection.prefixes, selection.locks, selection.lockPrefixes,
        selection.sessions));
  }

  /**
   * Watches all keys that begin so too.
   *
   * @param prefix how the keys begin, without the namespace
   * @return new options
   */
  public WatchOptions andPrefix(String prefix) {
    return with(new Selection(selection.keys, more(selection.prefixes, prefix), selection.locks,
        selection.lockPrefixes, selection.sessions));
  }

  /**
   * Watches this lock too.
   *
   * @param key the key, without the namespace
   * @return new options
   */
  public WatchOptions andLock(String key) {
    return with(new Selection(selection.keys, selection.prefixes, more(selection.locks, key), selection.lockPrefixes,
        selection.sessions));
  }

  /**
   * Watches all locks whose key begins so too.
   *
   * @param prefix how the keys begin, without the namespace
   * @return new options
   */
  public WatchOptions andLockPrefix(String prefix) {
    return with(new Selection(selection.keys, selection.prefixes, selection.locks,
        more(selection.lockPrefixes, prefix), selection.sessions));
  }

  /**
   * Watches this session too: its begin, takeover and end.
   *
   * @param id the id of the session
   * @return new options
   */
  public WatchOptions andSession(String id) {
    return with(new Selection(selection.keys, selection.prefixes, selection.locks, selection.lockPrefixes,
        more(selection.sessions, id)));
  }

  /**
   * Begins with the present state, and not where {@link #after} or {@link #resume} said before.
   *
   * @return new options
   */
  public WatchOptions withInitial() {
    return new WatchOptions(selection, true, previous, keysOnly, 0, "", progress);
  }

  /**
   * Begins after this revision, and not where {@link #withInitial} or {@link #resume} said before.
   *
   * @param revision the revision
   * @return new options
   */
  public WatchOptions after(long revision) {
    return new WatchOptions(selection, false, previous, keysOnly, revision, "", progress);
  }

  /**
   * Goes on where a watch with the same selection stopped, here or in another process, and not where {@link #withInitial} or
   * {@link #after} said before.
   *
   * @param token what came with its messages
   * @return new options
   */
  public WatchOptions resume(String token) {
    return new WatchOptions(selection, false, previous, keysOnly, 0, Objects.requireNonNull(token), progress);
  }

  /**
   * Asks for the value before each change.
   *
   * @return new options
   */
  public WatchOptions withPrevious() {
    return new WatchOptions(selection, initial, true, keysOnly, afterRevision, resumeToken, progress);
  }

  /**
   * Leaves values out.
   *
   * @return new options
   */
  public WatchOptions keysOnly() {
    return new WatchOptions(selection, initial, previous, true, afterRevision, resumeToken, progress);
  }

  /**
   * Asks how often progress is told, whether changes come or not: 200 ms to 10 min; 5 s otherwise.
   *
   * @param d the interval
   * @return new options
   */
  public WatchOptions progressEvery(Duration d) {
    return new WatchOptions(selection, initial, previous, keysOnly, afterRevision, resumeToken, Objects.requireNonNull(d));
  }

  /** Whether the present state comes first. */
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
