package io.tenure;

/** Why something that was held ended. */
public enum EndCause {
  /** Its user released it. */
  RELEASED,
  /** The local lease ran out before a renewal was acknowledged. */
  LEASE_RAN_OUT,
  /** An operator broke or released it. */
  TAKEN_AWAY,
  /** Its session was closed. */
  SESSION_CLOSED,
  /** Its session ended. */
  SESSION_ENDED,
  /** Its session was taken over by another process. */
  SUPERSEDED,
  /** Its session was handed over to another process. */
  EXPORTED
}
