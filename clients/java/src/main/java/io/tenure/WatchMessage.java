package io.tenure;

import java.util.List;

/** One message of a watch. */
public sealed interface WatchMessage {
  /** {@return the revision that the watch has reached} */
  long revision();

  /**
   * The present state of what is watched, once and whole, if it was asked for.
   *
   * @param keys the keys, in byte order
   * @param revision the revision they are of
   */
  record Initial(List<KeyValue> keys, long revision) implements WatchMessage {}

  /**
   * Changes, in order, each once.
   *
   * @param events the changes, of one or more revisions
   * @param resumeToken where another watch with the same selectors goes on after them, in any process
   * @param revision the revision reached
   */
  record Events(List<WatchEvent> events, String resumeToken, long revision) implements WatchMessage {}

  /**
   * All that was committed up to a revision has been told, and a moment ago that was all there was. It comes every interval of
   * {@link WatchOptions#progressEvery}, also between changes, as long as the member can prove it.
   *
   * @param resumeToken where another watch with the same selectors goes on
   * @param revision the revision reached
   */
  record Progress(String resumeToken, long revision) implements WatchMessage {}
}
