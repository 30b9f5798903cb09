package io.tenure;

import io.tenure.v1.EventType;

/** What an event is about. */
public enum WatchEventType {
  /** A key got a value. */
  PUT,
  /** A key lost its value. */
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
  /** A lock was given back. */
  LOCK_RELEASED,
  /** A hold was lost by force. */
  LOCK_LOST,
  /** A lock-delay began. */
  LOCK_DELAY_BEGUN,
  /** A lock-delay ended. */
  LOCK_DELAY_ENDED,
  /** A session began. */
  SESSION_BEGUN,
  /** A session was taken over. */
  SESSION_TAKEN_OVER,
  /** A session ended. */
  SESSION_ENDED,
  /** A kind that this version of the library does not know. */
  OTHER;

  static WatchEventType of(EventType t) {
    String name = t.name().replaceFirst("^EVENT_TYPE_", "");
    for (WatchEventType known : values()) {
      if (known.name().equals(name)) {
        return known;
      }
    }
    return OTHER;
  }
}
