/**
 * The Java client of Tenure, a coordination service.
 *
 * <p>A {@link io.tenure.Client} finds the members of a cluster and stays connected to one of them. It opens {@link
 * io.tenure.Session}s; while a session lives it holds {@link io.tenure.Lock}s, leads {@link io.tenure.Election}s and owns
 * ephemeral keys. What is held ends, here, before the cluster can give it to somebody else: ask {@link io.tenure.Held#isSafe}.
 *
 * <p>Calls of sessions, locks, elections and keys have a blocking form and one that ends in {@code Async} and returns a {@link
 * java.util.concurrent.CompletableFuture}. Whatever fails does so with a {@link io.tenure.TenureException}; null for an argument is
 * a NullPointerException, unless its description allows it. All classes but {@link io.tenure.Txn} may be used from any thread.
 * Listeners and the stages of futures run on threads of the client's pool, the listeners of one object one after another, never on
 * the thread that does the network's work; so they may block, and may call the client.
 */
package io.tenure;
