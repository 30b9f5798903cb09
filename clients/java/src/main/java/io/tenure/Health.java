package io.tenure;

import java.util.Objects;

/**
 * How an instance of a service is, as its program says.
 *
 * @param status the status of its check
 * @param output what to show of it, for people
 */
public record Health(CheckStatus status, String output) {
  /**
   * Refuses what no check can be.
   *
   * @param status the status of its check
   * @param output what to show of it, for people
   */
  public Health {
    Objects.requireNonNull(status, "status");
    Objects.requireNonNull(output, "output");
  }

  /** {@return that all is well} */
  public static Health passing() {
    return new Health(CheckStatus.PASSING, "");
  }

  /**
   * {@return that something may be wrong}
   *
   * @param output what to show of it
   */
  public static Health warning(String output) {
    return new Health(CheckStatus.WARNING, output);
  }

  /**
   * {@return that it does not work}
   *
   * @param output what to show of it
   */
  public static Health critical(String output) {
    return new Health(CheckStatus.CRITICAL, output);
  }
}
