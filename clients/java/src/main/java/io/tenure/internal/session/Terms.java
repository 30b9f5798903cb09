package io.tenure.internal.session;

import io.tenure.LockMode;
import io.tenure.LockOptions;
import java.util.Optional;
import java.util.function.IntConsumer;

/** On what terms a lock is acquired; see {@link LockOptions}. */
public record Terms(LockMode mode, int permits, int limit, Optional<byte[]> value, Optional<IntConsumer> queued) {}
