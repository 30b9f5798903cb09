package io.tenure;

import java.util.Optional;

/**
 * A change of leader.
 *
 * @param leader the new leader; empty if there is none
 * @param gap whether changes before this one may have been missed
 */
public record LeaderChange(Optional<Leader> leader, boolean gap) {}
