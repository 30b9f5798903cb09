package io.tenure;

import java.nio.charset.StandardCharsets;

/**
 * Who leads.
 *
 * @param sequencer the leader's proof
 * @param value what the leader proclaimed; do not change it
 * @param candidates how many wait
 */
public record Leader(Sequencer sequencer, byte[] value, int candidates) {
  static Leader of(io.tenure.v1.Leader l) {
    return new Leader(Sequencer.of(l.getHold().getSequencer()), l.getValue().toByteArray(), l.getCandidates());
  }

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
