package io.tenure;

import io.tenure.internal.catalog.RegistrationCore;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * An instance of a service that stays registered until it is closed, with a check that the library keeps: see {@link Agent#register} and
 * {@link Client#register}. Any thread can use it.
 */
public final class Registration implements AutoCloseable {
  private final RegistrationCore core;

  Registration(RegistrationCore core) {
    this.core = core;
  }

  /** {@return the name of the node on which the instance is registered} */
  public String node() {
    return core.node();
  }

  /** {@return the id of the instance} */
  public String id() {
    return core.id();
  }

  /** {@return the id of the check, to which a session can be bound: see {@link SessionOptions#withChecks}} */
  public String checkId() {
    return core.checkId();
  }

  /** {@return why the last report failed; empty if it succeeded} The library continues to try. */
  public Optional<TenureException> failure() {
    return core.failure();
  }

  /**
   * Says how the instance is from now on, and reports it. If that fails, the library continues to try.
   *
   * @param now how the instance is
   * @throws TenureException of kind INVALID_ARGUMENT if {@link ServiceOptions#withHealth} says it
   */
  public void set(Health now) {
    core.set(now);
  }

  /**
   * Says how the instance is from now on; see {@link #set}.
   *
   * @param now how the instance is
   * @return a future that completes when it is reported
   */
  public CompletableFuture<Void> setAsync(Health now) {
    return core.setAsync(now);
  }

  /**
   * Stops reporting and deregisters the instance with its check, which ends the sessions that are bound to the check. It waits a few
   * seconds at most for the agent or the cluster. Closing it again does nothing.
   */
  @Override
  public void close() {
    core.close();
  }

  /**
   * Deregisters the instance; see {@link #close}.
   *
   * @return a future that completes when that is done
   */
  public CompletableFuture<Void> closeAsync() {
    return core.closeAsync();
  }
}
