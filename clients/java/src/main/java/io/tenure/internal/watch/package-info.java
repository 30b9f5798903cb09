/** What is told as it changes: the observers of an election, and how a local copy is filled. Not for users. */
package io.tenure.internal.watch;
