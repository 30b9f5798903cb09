package io.tenure;

/**
 * A session as the cluster reports it.
 *
 * @param id its id
 * @param live whether it is alive
 * @param name its name
 * @param epoch 1 for a new session; one more each time a process resumes it
 * @param holds the number of its holds, counted up to 1 000
 * @param endCause why it ended, such as EXPIRED; empty while it is alive
 */
public record SessionInfo(String id, boolean live, String name, long epoch, int holds, String endCause) {}
