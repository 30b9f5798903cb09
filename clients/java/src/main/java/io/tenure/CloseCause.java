package io.tenure;

/** Why a session is CLOSED. */
public enum CloseCause {
  /** Its user closed it. */
  CLOSED,
  /** The cluster says that it ended: its TTL ran out, or somebody destroyed it. */
  EXPIRED,
  /** Its secret was refused. */
  AUTH_FAILED,
  /** Another process took it over. */
  SUPERSEDED,
  /** It was handed over to another process. */
  EXPORTED;

  /** Returns why holds end with a session that ends so. */
  EndCause ofHolds() {
    return switch (this) {
      case CLOSED -> EndCause.SESSION_CLOSED;
      case EXPIRED, AUTH_FAILED -> EndCause.SESSION_ENDED;
      case SUPERSEDED -> EndCause.SUPERSEDED;
      case EXPORTED -> EndCause.EXPORTED;
    };
  }
}
