/**
 * What a client and its sessions are: how they are opened, kept and ended, and what a session holds, waits for and gives back. Not for
 * users.
 */
package io.tenure.internal.session;
