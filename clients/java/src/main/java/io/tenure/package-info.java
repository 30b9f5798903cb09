/**
 * The Java client of Tenure, a coordination service.
 *
 * <p>A {@link io.tenure.Client} finds the members of a cluster and stays connected to one of them. It opens {@link
 * io.tenure.Session}s. While a session lives, it can hold {@link io.tenure.Lock}s, lead {@link io.tenure.Election}s and own ephemeral
 * keys. A {@link io.tenure.Held} ends before an expiry can give its lock to another client: check {@link io.tenure.Held#isSafe}.
 *
 * <p>Calls of sessions, locks, elections and keys have a blocking form, and one that ends in {@code Async} and returns a {@link
 * java.util.concurrent.CompletableFuture}. All errors are {@link io.tenure.TenureException}s; a null argument is a
 * NullPointerException, unless its description allows it. Any thread can use all classes except {@link io.tenure.Txn}. Listeners and the
 * stages of futures run on threads of the client's pool, and can block and call the client. The listeners of one object are called one
 * after another.
 */
package io.tenure;
