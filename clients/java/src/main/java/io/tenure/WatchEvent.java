package io.tenure;

import io.tenure.internal.Namespace;
import io.tenure.internal.Wire;
import io.tenure.v1.Event;
import io.tenure.v1.EventType;
import io.tenure.v1.HoldEndCause;
import io.tenure.v1.WaitEndCause;
import java.util.Optional;

/**
 * One change.
 *
 * @param type the kind of change
 * @param key key of the key or lock, without the namespace; empty for sessions and the catalog
 * @param revision revision of the change
 * @param index position within the revision, in which events that are not watched count too
 * @param keyValue the key after the change; of PUT and HOLDER events
 * @param previous the key before the change, if {@link WatchOptions#withPrevious} was set and the history still has it
 * @param session the id of the session that holds, held or waits, or that the event is about
 * @param owner the name of the hold or place within the session; of LOCK events
 * @param sequencer the hold; of LOCK_GRANTED, LOCK_RELEASED, LOCK_LOST and LOCK_DELAY events
 * @param item the node, service, check or prepared query; of events of the catalog. Of a deleted query it has only the id, the name and,
 *     if it was deleted with its session, the session
 * @param previousStatus the status before; of CHECK_STATUS events
 * @param cause why a hold, a wait or a session ended, such as EXPIRED; otherwise empty
 * @param reason the operator's reason; otherwise empty
 */
public record WatchEvent(
    WatchEventType type,
    String key,
    long revision,
    int index,
    Optional<KeyValue> keyValue,
    Optional<KeyValue> previous,
    Optional<String> session,
    Optional<String> owner,
    Optional<Sequencer> sequencer,
    Optional<CatalogItem> item,
    Optional<CheckStatus> previousStatus,
    String cause,
    String reason) {

  static WatchEvent of(Event e, Namespace ns) {
    String session = e.hasHold() ? e.getHold().getSequencer().getSessionId()
        : e.hasPlace() ? e.getPlace().getSessionId() : e.getSession().getSessionId();
    String owner = e.hasHold() ? e.getHold().getOwner() : e.getPlace().getOwner();
    return new WatchEvent(WatchEventType.of(e.getType()), ns.strip(e.getKey()), e.getRevision(), e.getIndex(),
        e.hasKv() ? Optional.of(KeyValue.of(e.getKv(), ns)) : Optional.empty(),
        e.hasPrevious() ? Optional.of(KeyValue.of(e.getPrevious(), ns)) : Optional.empty(),
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
}
