package io.tenure;

/** Whether a call that failed changed anything. */
public enum Applied {
  /** Nothing was changed, and this call will not change anything later. */
  NO,
  /** The change was made. */
  YES,
  /** The change may have been made, or may still be made. */
  UNKNOWN
}
