package io.tenure;

/** What went wrong. The kinds are the same in the clients of all languages. */
public enum ErrorKind {
  /** The session has ended: its TTL elapsed, or another client destroyed it. */
  SESSION_EXPIRED,
  /** Another process took the session over. This is final. */
  SESSION_SUPERSEDED,
  /** The session was closed or exported in this process. */
  SESSION_CLOSED,
  /** The secret is wrong, or the caller may not do this. */
  AUTH_FAILED,
  /** The key does not exist. */
  KEY_NOT_FOUND,
  /** No session holds this lock or waits for it. None ever held it, or the cluster has forgotten that. */
  LOCK_NOT_FOUND,
  /** The session does not exist. */
  SESSION_NOT_FOUND,
  /** The catalog has no such node. */
  NODE_NOT_FOUND,
  /** The node has no such instance of a service. */
  SERVICE_NOT_FOUND,
  /** The node has no such check. */
  CHECK_NOT_FOUND,
  /** The check to which a session was to be bound is critical. */
  CHECK_CRITICAL,
  /** Another machine has the name of the node. */
  NODE_ID_CONFLICT,
  /** No prepared query has this id or name. */
  QUERY_NOT_FOUND,
  /** Another prepared query has this name. */
  QUERY_NAME_TAKEN,
  /** A key or prepared query does not have the expected revision, version or value, or a key exists when it must not, or the reverse. */
  COMPARE_FAILED,
  /** The lock is held, or another session waits for it; in transactions. */
  LOCK_HELD,
  /** The lock is in its lock-delay, because its last holder lost it; in transactions. */
  LOCK_DELAYED,
  /** The session does not hold the lock. */
  NOT_HELD,
  /** The sequencer, which is the proof of a hold, is no longer valid. */
  STALE_TOKEN,
  /** The lock is in use in another mode or with another limit. */
  MODE_MISMATCH,
  /** The caller's timeout elapsed. */
  TIMEOUT,
  /** The caller cancelled the call, or its thread was interrupted. */
  CANCELLED,
  /** The named candidate is not waiting. */
  CANDIDATE_NOT_FOUND,
  /** An operator ended the wait. */
  WAIT_ENDED,
  /** The cluster no longer has this part of the history. */
  COMPACTED,
  /** The cluster has not reached this revision yet. */
  FUTURE_REVISION,
  /** A token, revision or sequencer belongs to another history: the cluster was restored from a backup since. */
  HISTORY_CHANGED,
  /** A watcher read so slowly that the cluster no longer has the events it needs next. */
  TOO_SLOW,
  /** A resume token, the token of a session or a sequencer is damaged, or belongs to something else. */
  TOKEN_INVALID,
  /** No member answered, and nothing was applied. */
  UNAVAILABLE,
  /**
   * No member could be reached from the first, because certificates do not verify: the members' or the client's. Or a file of TLS
   * cannot be used. The message says which, and what to do. Once connected, a client takes such a member for one that is down.
   */
  TLS_FAILED,
  /** The response was lost: whether the change was made is unknown. */
  OUTCOME_UNKNOWN,
  /** A limit of the cluster was reached. */
  LIMIT,
  /** An argument is not allowed. */
  INVALID_ARGUMENT,
  /** The cluster was restored from a backup recently, and grants no locks yet. */
  FROZEN,
  /** This feature is not available in the cluster. */
  NOT_SUPPORTED,
  /** A fault of the service; the member's log has the cause. */
  INTERNAL,
  /** The client was closed. */
  CLIENT_CLOSED
}
