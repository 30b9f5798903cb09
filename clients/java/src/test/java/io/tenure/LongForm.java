package io.tenure;

import java.util.Objects;
import java.util.stream.Stream;

/** Tells which tests are run in their long form, which `make soak` and CI ask for. */
final class LongForm {
  private LongForm() {}

  static boolean wanted() {
    return Stream.of("TENURE_SOAK", "TENURE_CI").map(System::getenv).anyMatch(value -> Objects.equals(value, "1"));
  }

  /** Whether the form is wanted that is too long for CI, which only `make soak` asks for. */
  static boolean soak() {
    return Objects.equals(System.getenv("TENURE_SOAK"), "1");
  }
}
