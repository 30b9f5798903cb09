package io.tenure;

/** How a session is doing, as this process knows. */
public enum SessionState {
  /** It is being opened or resumed. */
  CONNECTING,
  /** A member acknowledges its renewals. */
  CONNECTED,
  /** The link is down, but the lease is good: what is held is still held. */
  SUSPENDED,
  /** The local lease is over, and nobody could say yet whether the session lives. What was held is believed no more. */
  JEOPARDY,
  /** It is over; the cause says why. */
  CLOSED
}
