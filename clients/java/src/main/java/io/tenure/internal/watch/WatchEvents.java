package io.tenure.internal.watch;

import io.tenure.WatchEvent;
import io.tenure.WatchEventType;
import io.tenure.internal.Namespace;
import io.tenure.internal.Wire;
import io.tenure.v1.Event;
import io.tenure.v1.EventType;
import io.tenure.v1.HoldEndCause;
import io.tenure.v1.WaitEndCause;
import java.util.Optional;

/** Reads events of the API from messages. */
final class WatchEvents {
  private WatchEvents() {}

  static WatchEvent of(Event e, Namespace ns) {
    String session = e.hasHold() ? e.getHold().getSequencer().getSessionId()
        : e.hasPlace() ? e.getPlace().getSessionId() : e.getSession().getSessionId();
    String owner = e.hasHold() ? e.getHold().getOwner() : e.getPlace().getOwner();
    return new WatchEvent(type(e.getType()), ns.strip(e.getKey()), e.getRevision(), e.getIndex(),
        e.hasKv() ? Optional.of(Wire.keyValue(e.getKv(), ns)) : Optional.empty(),
        e.hasPrevious() ? Optional.of(Wire.keyValue(e.getPrevious(), ns)) : Optional.empty(),
        session.isEmpty() ? Optional.empty() : Optional.of(session),
        e.hasHold() || e.hasPlace() ? Optional.of(owner) : Optional.empty(),
        e.hasHold() ? Optional.of(Wire.sequencer(e.getHold().getSequencer())) : Optional.empty(),
        CatalogItems.of(e), e.getType() == EventType.EVENT_TYPE_CHECK_STATUS
            ? Optional.of(Wire.status(e.getPreviousStatus())) : Optional.empty(),
        cause(e), e.getReason());
  }

  private static String cause(Event e) {
    if (e.getHoldEndCause() != HoldEndCause.HOLD_END_CAUSE_UNSPECIFIED) {
      return e.getHoldEndCause().name().replaceFirst("^HOLD_END_CAUSE_", "");
    }
    if (e.getWaitEndCause() != WaitEndCause.WAIT_END_CAUSE_UNSPECIFIED) {
      return e.getWaitEndCause().name().replaceFirst("^WAIT_END_CAUSE_", "");
    }
    return e.getSession().hasEnd()
        ? e.getSession().getEnd().getCause().name().replaceFirst("^SESSION_END_CAUSE_", "") : "";
  }

  private static WatchEventType type(EventType t) {
    String name = t.name().replaceFirst("^EVENT_TYPE_", "");
    for (WatchEventType known : WatchEventType.values()) {
      if (known.name().equals(name)) {
        return known;
      }
    }
    return WatchEventType.OTHER;
  }
}
