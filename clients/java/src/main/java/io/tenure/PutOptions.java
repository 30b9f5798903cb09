package io.tenure;

import java.util.Optional;
import java.util.OptionalLong;

/** How a key is to be written. Immutable. */
public final class PutOptions {
  private final long flags;
  private final Long ifRevision;
  private final boolean bound;
  private final boolean sequential;
  private final Held guard;

  private PutOptions(long flags, Long ifRevision, boolean bound, boolean sequential, Held guard) {
    this.flags = flags;
    this.ifRevision = ifRevision;
    this.bound = bound;
    this.sequential = sequential;
    this.guard = guard;
  }

  /** {@return the options of a plain put} */
  public static PutOptions defaults() {
    return new PutOptions(0, null, false, false, null);
  }

  /**
   * Stores a number for the user's own purposes beside the value.
   *
   * @param flags the number
   * @return new options
   */
  public PutOptions withFlags(long flags) {
    return new PutOptions(flags, ifRevision, bound, sequential, guard);
  }

  /**
   * Writes only if the key's mod_revision is this; 0: only if it does not exist. Else COMPARE_FAILED.
   *
   * @param revision the mod_revision
   * @return new options
   */
  public PutOptions ifRevision(long revision) {
    return new PutOptions(flags, revision, bound, sequential, guard);
  }

  /**
   * Has the key deleted when the session ends. Only of a session's {@link KV}.
   *
   * @return new options
   */
  public PutOptions ephemeral() {
    return new PutOptions(flags, ifRevision, true, sequential, guard);
  }

  /**
   * Appends digits that grow with every put to the key.
   *
   * @return new options
   */
  public PutOptions sequential() {
    return new PutOptions(flags, ifRevision, bound, true, guard);
  }

  /**
   * Writes only while this lock is held; the cluster sees to it. Else STALE_TOKEN.
   *
   * @param held the hold
   * @return new options
   */
  public PutOptions guardedBy(Held held) {
    return new PutOptions(flags, ifRevision, bound, sequential, held);
  }

  long flags() {
    return flags;
  }

  OptionalLong ifRevision() {
    return ifRevision == null ? OptionalLong.empty() : OptionalLong.of(ifRevision);
  }

  boolean bound() {
    return bound;
  }

  boolean isSequential() {
    return sequential;
  }

  Optional<Held> guard() {
    return Optional.ofNullable(guard);
  }
}
