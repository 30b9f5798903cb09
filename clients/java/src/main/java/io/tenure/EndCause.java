package io.tenure;

/** Why a hold ended. */
public enum EndCause {
  /** Its user released it. */
  RELEASED,
  /** The lease ended before a renewal was acknowledged. */
  LEASE_RAN_OUT,
  /** An operator broke it, or another user of the same owner released it. */
  TAKEN_AWAY,
  /** Its session was closed. */
  SESSION_CLOSED,
  /** Its session ended in the cluster: its TTL elapsed, or another client destroyed it. */
  SESSION_ENDED,
  /** Its session was taken over by another process. */
  SUPERSEDED,
  /** Its session was handed over to another process. */
  EXPORTED;
}
