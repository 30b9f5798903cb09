package io.tenure;

/** How a lock is shared. */
public enum LockMode {
  /** One holder. */
  EXCLUSIVE(io.tenure.v1.LockMode.LOCK_MODE_EXCLUSIVE),
  /** Any number of holders, none of them exclusive. */
  SHARED(io.tenure.v1.LockMode.LOCK_MODE_SHARED),
  /** Holders acquire permits; the first holder sets their number. */
  SEMAPHORE(io.tenure.v1.LockMode.LOCK_MODE_SEMAPHORE);

  private final io.tenure.v1.LockMode wire;

  LockMode(io.tenure.v1.LockMode wire) {
    this.wire = wire;
  }

  io.tenure.v1.LockMode wire() {
    return wire;
  }
}
