package io.tenure;

/** What went wrong. The kinds are the same in the clients of all languages. */
public enum ErrorKind {
  /** The session ended: its TTL ran out, or somebody destroyed it. */
  SESSION_EXPIRED,
  /** Another process took the session over; final. */
  SESSION_SUPERSEDED,
  /** The session was closed or exported in this process. */
  SESSION_CLOSED,
  /** The secret is wrong, or the caller may not do this. */
  AUTH_FAILED,
  /** There is no such key. */
  KEY_NOT_FOUND,
  /** Nobody holds, waits for, or ever held this lock. */
  LOCK_NOT_FOUND,
  /** There is no such session. */
  SESSION_NOT_FOUND,
  /** A revision, version, value or existence is not as demanded. */
  COMPARE_FAILED,
  /** The lock is held or waited for; of transactions. */
  LOCK_HELD,
  /** The lock is still delayed after its holder was lost; of transactions. */
  LOCK_DELAYED,
  /** The session does not hold the lock. */
  NOT_HELD,
  /** The proof of a lock is not valid any more. */
  STALE_TOKEN,
  /** The lock is in use in another mode or with another limit. */
  MODE_MISMATCH,
  /** The caller's time passed. */
  TIMEOUT,
  /** The caller gave up. */
  CANCELLED,
  /** The candidate that was named does not wait. */
  CANDIDATE_NOT_FOUND,
  /** An operator ended the wait. */
  WAIT_ENDED,
  /** The history asked for is forgotten. */
  COMPACTED,
  /** The revision is ahead of the cluster. */
  FUTURE_REVISION,
  /** The cluster was restored from a backup: token, revision or proof are of another history. */
  HISTORY_CHANGED,
  /** A watcher read too slowly, and history passed it. */
  TOO_SLOW,
  /** A text that was handed out is damaged, or for something else: a resume token, the token of a session, or the proof of a lock. */
  TOKEN_INVALID,
  /** No member answered, and nothing was applied. */
  UNAVAILABLE,
  /** The answer was lost, and nothing makes a retry safe. */
  OUTCOME_UNKNOWN,
  /** A limit of the cluster is reached. */
  LIMIT,
  /** An argument is not allowed. */
  INVALID_ARGUMENT,
  /** Grants are frozen after a restore. */
  FROZEN,
  /** The cluster does not serve this. */
  NOT_SUPPORTED,
  /** A fault of the service. */
  INTERNAL,
  /** The client was closed. */
  CLIENT_CLOSED
}
