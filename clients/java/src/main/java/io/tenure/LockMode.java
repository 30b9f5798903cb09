package io.tenure;

/** How a lock is shared. */
public enum LockMode {
  /** One holder. */
  EXCLUSIVE,
  /** Any number of holders, none of them exclusive. */
  SHARED,
  /** Holders acquire permits; the first holder sets their number. */
  SEMAPHORE;
}
