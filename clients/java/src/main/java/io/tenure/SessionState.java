package io.tenure;

/** The state of a session, as far as this process knows. */
public enum SessionState {
  /** It is being opened or resumed. */
  CONNECTING,
  /** Its renewals are acknowledged. */
  CONNECTED,
  /** No member responds, but the lease is valid: locks are still held. */
  SUSPENDED,
  /** The lease has ended, and whether the session still exists is unknown. Every {@link Held} has ended. */
  JEOPARDY,
  /** It has ended; the cause says why. */
  CLOSED
}
