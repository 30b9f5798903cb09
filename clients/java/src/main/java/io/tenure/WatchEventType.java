package io.tenure;

/** Kind of a {@link WatchEvent}. */
public enum WatchEventType {
  /** A key was written. */
  PUT,
  /** A key was deleted. */
  DELETED,
  /** A key's EXCLUSIVE lock was granted, its value unchanged. */
  HOLDER_GRANTED,
  /** A key's EXCLUSIVE lock was released, its value unchanged. */
  HOLDER_RELEASED,
  /** A key's EXCLUSIVE lock was lost, its value unchanged. */
  HOLDER_LOST,
  /** A waiter joined a lock's queue. */
  LOCK_QUEUED,
  /** A waiter left a lock's queue without a grant. */
  LOCK_LEFT,
  /** A lock was granted. */
  LOCK_GRANTED,
  /** A lock was released. */
  LOCK_RELEASED,
  /** A hold was lost: its session ended or was taken over, or an operator broke it. */
  LOCK_LOST,
  /** A lock-delay started. */
  LOCK_DELAY_BEGUN,
  /** A lock-delay ended. */
  LOCK_DELAY_ENDED,
  /** A session was opened. */
  SESSION_BEGUN,
  /** A session was taken over. */
  SESSION_TAKEN_OVER,
  /** A session ended. */
  SESSION_ENDED,
  /** A node was registered or changed. */
  NODE_PUT,
  /** A node was deregistered. */
  NODE_DELETED,
  /** An instance of a service was registered or changed. */
  SERVICE_PUT,
  /** An instance of a service was deregistered. */
  SERVICE_DELETED,
  /** A check was registered or changed, other than its status alone. */
  CHECK_PUT,
  /** The status of a check changed. */
  CHECK_STATUS,
  /** A check was deregistered. */
  CHECK_DELETED,
  /** A prepared query was created or changed. */
  QUERY_PUT,
  /** A prepared query was deleted, also with its session. */
  QUERY_DELETED,
  /** A kind that this version of the library does not know. */
  OTHER
}
