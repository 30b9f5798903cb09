package io.tenure;

import java.util.Objects;

/**
 * The proof of a lock that can be passed on to others, who check it with {@link Client#check} or {@link FenceGate}.
 *
 * @param key the full key, with its namespace
 * @param lockIndex number of the hold on this key
 * @param sessionId the session that holds
 * @param fencingToken grows with every grant in the cluster
 * @param historyId the line of revisions that the token belongs to; another one after a restore
 */
public record Sequencer(String key, long lockIndex, String sessionId, long fencingToken, String historyId) {
  /**
   * Checks that nothing is missing.
   *
   * @param key the full key, with the namespace
   * @param lockIndex the number of the hold on its key
   * @param sessionId the session that holds
   * @param fencingToken the fencing token
   * @param historyId the history that the token belongs to
   */
  public Sequencer {
    Objects.requireNonNull(key);
    Objects.requireNonNull(sessionId);
    Objects.requireNonNull(historyId);
  }

  static Sequencer of(io.tenure.v1.Sequencer s) {
    return new Sequencer(s.getKey(), s.getLockIndex(), s.getSessionId(), s.getFencingToken(), s.getHistoryId());
  }

  io.tenure.v1.Sequencer wire() {
    return io.tenure.v1.Sequencer.newBuilder()
        .setKey(key).setLockIndex(lockIndex).setSessionId(sessionId).setFencingToken(fencingToken)
        .setHistoryId(historyId).build();
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
   * @throws TenureException of kind TOKEN_INVALID when it is damaged
   */
  public static Sequencer parse(String text) {
    return SequencerText.parse(text);
  }
}
