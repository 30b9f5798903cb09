package io.tenure;

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
    String reason) {}
