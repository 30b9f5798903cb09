package io.tenure;

import io.tenure.internal.SequencerText;
import java.util.Objects;

/**
 * The proof of a hold, which can be passed on to other processes. They check it with {@link Client#check} or {@link FenceGate}.
 *
 * @param key the full key, with its namespace
 * @param lockIndex the number of the hold among the holds of its key
 * @param sessionId the id of the session that holds the lock
 * @param fencingToken larger than that of every earlier hold in the cluster
 * @param historyId the history that the token belongs to; it changes when the cluster is restored from a backup
 */
public record Sequencer(String key, long lockIndex, String sessionId, long fencingToken, String historyId) {
  /**
   * Checks that no part is null.
   *
   * @param key the full key, with the namespace
   * @param lockIndex the number of the hold among the holds of its key
   * @param sessionId the id of the session that holds the lock
   * @param fencingToken the fencing token
   * @param historyId the history that the token belongs to
   */
  public Sequencer {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(sessionId, "sessionId");
    Objects.requireNonNull(historyId, "historyId");
  }

  /** {@return the text form, the same in all languages} */
  public String text() {
    return SequencerText.format(this);
  }

  /**
   * Reads the text form.
   *
   * @param text the text
   * @return the proof
   * @throws TenureException of kind TOKEN_INVALID if it is damaged
   */
  public static Sequencer parse(String text) {
    return SequencerText.parse(text);
  }
}
