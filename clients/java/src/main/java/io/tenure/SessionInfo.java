package io.tenure;

/**
 * What the cluster knows of a session.
 *
 * @param id its id
 * @param live whether it lives
 * @param name its name, for people
 * @param epoch how often it was taken over, from 1
 * @param holds how many locks it holds, at most 1 000 counted
 * @param endCause why it ended, as the API names it, without prefix; empty while it lives
 */
public record SessionInfo(String id, boolean live, String name, long epoch, int holds, String endCause) {}
