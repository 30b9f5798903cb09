package io.tenure;

import java.nio.charset.StandardCharsets;

/**
 * The leader of an election.
 *
 * @param sequencer the proof of its hold
 * @param value the leader's value; do not change the array
 * @param candidates the number of candidates that wait
 */
public record Leader(Sequencer sequencer, byte[] value, int candidates) {
  /** {@return the value as UTF-8 text} */
  public String text() {
    return new String(value, StandardCharsets.UTF_8);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Leader l && sequencer.equals(l.sequencer) && java.util.Arrays.equals(value, l.value)
        && candidates == l.candidates;
  }

  @Override
  public int hashCode() {
    return sequencer.hashCode();
  }
}
