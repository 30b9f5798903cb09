/**
 * The inside of the client, not for its users: it has no documentation, and changes without notice. The API is {@link io.tenure}.
 *
 * <p>This package has what all layers need: the loop, futures, clocks and names. On it stand {@code line}, the way to the members; {@code
 * session}, what a client and its sessions are; and beside each other {@code catalog} and {@code watch}. A layer imports those below it, and
 * the values of the API.
 */
package io.tenure.internal;
