package io.tenure;

import java.util.List;

/** One message of a watch. */
public sealed interface WatchMessage {
  /** {@return the revision that the watch has reached} */
  long revision();

  /**
   * The current state of the watched keys and parts of the catalog, complete, if {@link WatchOptions#withInitial} was set.
   *
   * @param keys the keys, in byte order
   * @param items nodes, services, checks and prepared queries
   * @param revision the revision that they are of
   */
  record Initial(List<KeyValue> keys, List<CatalogItem> items, long revision) implements WatchMessage {}

  /**
   * Changes, in order, each once.
   *
   * @param events the changes, of one or more revisions
   * @param resumeToken starts another watch with the same selection after them, in any process
   * @param revision the revision that the watch has reached
   */
  record Events(List<WatchEvent> events, String resumeToken, long revision) implements WatchMessage {}

  /**
   * Every change up to a revision has been delivered, and a moment ago there was no other. It comes at the interval of {@link
   * WatchOptions#progressEvery}, as long as the member can prove that it is current.
   *
   * @param resumeToken starts another watch with the same selection after this
   * @param revision the revision that the watch has reached
   */
  record Progress(String resumeToken, long revision) implements WatchMessage {}
}
