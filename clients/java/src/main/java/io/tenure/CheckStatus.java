package io.tenure;

/** How a check of the catalog is. */
public enum CheckStatus {
  /** All is well. */
  PASSING,
  /** Something may be wrong. It ends no session. */
  WARNING,
  /** It does not work. Sessions that are bound to the check end. */
  CRITICAL;

  /** Returns a status as the API has it. One that this version does not know is taken for CRITICAL. */
  static CheckStatus of(io.tenure.v1.CheckStatus status) {
    return switch (status) {
      case CHECK_STATUS_PASSING -> PASSING;
      case CHECK_STATUS_WARNING -> WARNING;
      default -> CRITICAL;
    };
  }

  io.tenure.v1.CheckStatus wire() {
    return switch (this) {
      case PASSING -> io.tenure.v1.CheckStatus.CHECK_STATUS_PASSING;
      case WARNING -> io.tenure.v1.CheckStatus.CHECK_STATUS_WARNING;
      case CRITICAL -> io.tenure.v1.CheckStatus.CHECK_STATUS_CRITICAL;
    };
  }
}
