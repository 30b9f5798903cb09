package io.tenure;

/** Why a session is CLOSED. */
public enum CloseCause {
  /** Its user closed it. */
  CLOSED,
  /** It ended in the cluster: its TTL elapsed, or another client destroyed it. */
  EXPIRED,
  /** Its secret was refused. */
  AUTH_FAILED,
  /** Another process took it over. */
  SUPERSEDED,
  /** It was handed over to another process. */
  EXPORTED;
}
