/**
 * The inside of the client, not for its users: it has no documentation, and changes without notice. The API is {@link io.tenure}.
 *
 * <p>This package has what all layers need: the loop, futures, clocks and names. {@code line} is the way to the members, {@code session} what a
 * client and its sessions are. A layer imports those before it and the values of the API, never the objects of the API.
 */
package io.tenure.internal;
