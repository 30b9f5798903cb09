package io.tenure;

import java.util.Objects;
import java.util.stream.Stream;

/** Tells which tests are run in their long form, which `make soak` and CI ask for. */
final class LongForm {
  private LongForm() {}

  static boolean wanted() {
    return Stream.of("TENURE_SOAK", "TENURE_CI").map(System::getenv).anyMatch(value -> Objects.equals(value, "1"));
  }
}
