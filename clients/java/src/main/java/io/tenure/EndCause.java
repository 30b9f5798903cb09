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

  /** Whether the hold was lost, not given up. */
  boolean isLoss() {
    return switch (this) {
      case LEASE_RAN_OUT, TAKEN_AWAY, SESSION_ENDED, SUPERSEDED -> true;
      case RELEASED, SESSION_CLOSED, EXPORTED -> false;
    };
  }

  /** Returns why a lock is no longer held, as text. */
  String ofHeld() {
    return switch (this) {
      case RELEASED -> "it was released";
      case LEASE_RAN_OUT -> "the session was not renewed in time";
      case TAKEN_AWAY -> "it was taken away";
      case SESSION_CLOSED -> "its session was closed";
      case SESSION_ENDED -> "its session ended";
      case SUPERSEDED -> "another process took over its session";
      case EXPORTED -> "its session was handed over";
    };
  }
}
