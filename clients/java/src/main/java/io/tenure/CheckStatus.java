package io.tenure;

/** How a check of the catalog is. */
public enum CheckStatus {
  /** All is well. */
  PASSING,
  /** Something may be wrong. It ends no session. */
  WARNING,
  /** It does not work. Sessions that are bound to the check end. */
  CRITICAL;
}
