package io.tenure;

import java.util.Optional;
import java.util.function.IntConsumer;

/** On what terms a lock is acquired; see {@link LockOptions}. */
record Terms(LockMode mode, int permits, int limit, Optional<byte[]> value, Optional<IntConsumer> queued) {}
