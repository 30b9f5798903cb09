/** What is told as it changes: watches, waits for keys, and the observers of an election. Not for users. */
package io.tenure.internal.watch;
