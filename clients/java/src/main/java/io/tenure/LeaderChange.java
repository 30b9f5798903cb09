package io.tenure;

import java.util.Optional;

/**
 * Who leads from now on.
 *
 * @param leader the leader; empty for nobody
 * @param gap whether changes before this one may have been missed
 */
public record LeaderChange(Optional<Leader> leader, boolean gap) {}
