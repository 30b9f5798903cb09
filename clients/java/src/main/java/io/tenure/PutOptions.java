package io.tenure;

import java.util.Optional;
import java.util.OptionalLong;

/** Conditions and properties of a put. Immutable. */
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
   * Stores a number of your own with the value.
   *
   * @param flags the number
   * @return new options
   */
  public PutOptions withFlags(long flags) {
    return new PutOptions(flags, ifRevision, bound, sequential, guard);
  }

  /**
   * Writes only if the key has this mod_revision; 0: only if the key does not exist. Otherwise the put fails as {@link
   * TenureException.CompareFailed}.
   *
   * @param revision the mod_revision
   * @return new options
   */
  public PutOptions ifRevision(long revision) {
    return new PutOptions(flags, revision, bound, sequential, guard);
  }

  /**
   * Deletes the key when the session ends. Only for {@link Session#kv}.
   *
   * @return new options
   */
  public PutOptions ephemeral() {
    return new PutOptions(flags, ifRevision, true, sequential, guard);
  }

  /**
   * Appends 23 digits to the key, which grow with every put; {@link PutResult#key} is the resulting key.
   *
   * @return new options
   */
  public PutOptions sequential() {
    return new PutOptions(flags, ifRevision, bound, true, guard);
  }

  /**
   * Writes only if this lock is held, which the cluster checks. Otherwise the put fails as {@link TenureException.StaleToken}.
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
