package io.tenure;

import java.util.Optional;

/**
 * A change of a session's state.
 *
 * @param from the state before; the same as {@code to} in the first change that a listener gets
 * @param to the state now
 * @param cause why it is CLOSED; empty in every other state
 */
public record SessionChange(SessionState from, SessionState to, Optional<CloseCause> cause) {}
