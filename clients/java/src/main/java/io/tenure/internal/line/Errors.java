package io.tenure.internal.line;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import io.tenure.v1.ErrorReason;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads what the cluster says when a call fails. */
public final class Errors {
  static final String DOMAIN = "tenure.io";
  /** How the network library begins to name the code with which the other side ended a connection or stream. */
  private static final String HTTP2 = "HTTP/2 error code: ";
  /**
   * Refusals of changes that only the state machine gives, after it has looked for an attempt before: they hold for all attempts. All
   * others may come from a member that has looked for none, such as for want of a right.
   */
  private static final Set<String> DECIDED = Set.of(
      "KEY_NOT_FOUND", "COMPARE_FAILED", "LOCK_HELD", "LOCK_DELAYED", "LOCK_NOT_HELD", "FENCING_TOKEN_STALE", "LOCK_MODE_MISMATCH",
      "CANDIDATE_NOT_FOUND", "FROZEN", "TOO_MANY_KEYS", "NODE_NOT_FOUND", "QUERY_NOT_FOUND", "QUERY_NAME_TAKEN", "CHECK_CRITICAL",
      "NODE_ID_CONFLICT", "SYNC_OUTDATED");

  private Errors() {}

  /**
   * One failed attempt.
   *
   * @param error what the user gets when nobody tries again
   * @param reason the cluster's reason; empty when the network failed
   * @param retry whether another attempt may end better
   * @param retryAfterNanos how long the cluster wants us to wait; 0 when it did not say
   */
  public record Failure(TenureException error, String reason, boolean retry, long retryAfterNanos) {
    /** Whether no member said anything. */
    public boolean network() {
      return reason.isEmpty();
    }
  }

  public static Failure read(Throwable t) {
    io.grpc.Status status = io.grpc.Status.fromThrowable(t);
    Optional<ErrorInfo> info = info(t);
    String message = status.getDescription() == null ? status.getCode().name() : status.getDescription();
    if (info.isEmpty()) {
      return network(status, message, t);
    }
    Map<String, String> details = info.get().getMetadataMap();
    Applied applied = switch (details.getOrDefault("applied", "")) {
      case "yes" -> Applied.YES;
      case "unknown" -> Applied.UNKNOWN;
      default -> Applied.NO;
    };
    String reason = info.get().getReason();
    boolean retry = switch (reason) {
      case "NO_LEADER", "NOT_LEADER", "STOPPING", "OUTCOME_UNKNOWN", "TOO_MANY_REQUESTS", "DEADLINE_EXCEEDED",
          Token.REPLACED -> true;
      default -> false;
    };
    long retryAfter = number(details.get("retry_after_ms")) * 1_000_000L;
    // Of those that may not do this, only a session with another secret is over.
    TenureException error = reason.equals("SESSION_SECRET_WRONG")
        ? Exceptions.sessionOver(kind(reason), applied, message, details, t)
        : Exceptions.of(kind(reason), applied, message, details, t);
    return new Failure(Exceptions.because(error, reason), reason, retry, retryAfter);
  }

  /** Returns the error of a verdict on a renewal. */
  public static TenureException verdict(ErrorReason refused) {
    String reason = refused.name().replaceFirst("^ERROR_REASON_", "");
    return Exceptions.because(Exceptions.of(kind(reason), Applied.NO, "the session was not renewed: " + reason), reason);
  }

  /** Returns the error of a call that was not sent, for it is safe to send it again, as it is after a connection was not made. */
  static StatusRuntimeException unsent(Throwable why) {
    io.grpc.Status status = io.grpc.Status.fromThrowable(why);
    String text = why instanceof StatusRuntimeException && status.getDescription() != null ? status.getDescription() : why.getMessage();
    return io.grpc.Status.UNAVAILABLE.withDescription(text).withCause(new Unsent(why)).asRuntimeException();
  }

  /** The cause of an error of a call that was not sent. */
  private static final class Unsent extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unsent(Throwable cause) {
      super(cause.getMessage(), cause);
    }
  }

  /** Returns the error of a call whose reader failed at a message. It would fail again. */
  static StatusRuntimeException unread(Throwable why) {
    StatusRuntimeException e = StatusProto.toStatusRuntimeException(Status.newBuilder()
        .setCode(io.grpc.Status.Code.UNKNOWN.value()).setMessage("what a member sent could not be read: " + why)
        .addDetails(Any.pack(ErrorInfo.newBuilder()
            .setDomain(DOMAIN).setReason("INTERNAL").putMetadata("applied", "unknown").build()))
        .build());
    return e.getStatus().withCause(why).asRuntimeException(e.getTrailers());
  }

  /** Reads a number that came with an error; a hint that is missing or cannot be read is 0. */
  public static long number(String text) {
    try {
      return text == null ? 0 : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /** Returns what the cluster said with the error, if it was the cluster that said it. */
  private static Optional<ErrorInfo> info(Throwable t) {
    Status status = StatusProto.fromThrowable(t);
    if (status == null) {
      return Optional.empty();
    }
    for (Any detail : status.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        try {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          if (info.getDomain().equals(DOMAIN)) {
            return Optional.of(info);
          }
        } catch (InvalidProtocolBufferException e) {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  private static Failure network(io.grpc.Status status, String message, Throwable t) {
    if (Unreachable.isNoApi(status)) {
      // No member of its own: another address may be one.
      return new Failure(Exceptions.of(ErrorKind.UNAVAILABLE, Applied.NO, Unreachable.NO_API, Map.of(), t), "", true, 0);
    }
    if (status.getCause() instanceof Unsent) {
      return new Failure(Exceptions.of(ErrorKind.UNAVAILABLE, Applied.NO, message, Map.of(), t), "", true, 0);
    }
    if (message.contains(HTTP2)) {
      // A connection that was ended, such as for too many pings. No member refused the call.
      return new Failure(Exceptions.of(ErrorKind.OUTCOME_UNKNOWN, Applied.UNKNOWN, message, Map.of(), t), "", true, 0);
    }
    return switch (status.getCode()) {
      case UNAVAILABLE, CANCELLED, DEADLINE_EXCEEDED, UNKNOWN, INTERNAL, ABORTED ->
          new Failure(
              Exceptions.of(ErrorKind.OUTCOME_UNKNOWN, Applied.UNKNOWN, message, Map.of(), t), "", true, 0);
      case UNIMPLEMENTED ->
          new Failure(Exceptions.of(ErrorKind.NOT_SUPPORTED, Applied.NO, message, Map.of(), t), "GRPC", false, 0);
      case UNAUTHENTICATED, PERMISSION_DENIED ->
          new Failure(Exceptions.of(ErrorKind.AUTH_FAILED, Applied.NO, message, Map.of(), t), "GRPC", false, 0);
      case RESOURCE_EXHAUSTED ->
          new Failure(Exceptions.of(ErrorKind.LIMIT, Applied.NO, message, Map.of(), t), "GRPC", false, 0);
      default ->
          new Failure(
              Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, message, Map.of(), t), "GRPC", false, 0);
    };
  }

  /** Whether a refusal of one attempt for this reason says that no attempt before was applied either. */
  static boolean isDecided(String reason) {
    return DECIDED.contains(reason);
  }

  /** Returns what a reason means for a user of this library. One of a later version is an argument that the cluster refuses. */
  static ErrorKind kind(String reason) {
    return known(reason).orElse(ErrorKind.INVALID_ARGUMENT);
  }

  /** Returns what a reason means; nothing for one that this version does not know. */
  public static Optional<ErrorKind> known(String reason) {
    return Optional.ofNullable(switch (reason) {
      case "SESSION_EXPIRED" -> ErrorKind.SESSION_EXPIRED;
      case "SESSION_NOT_FOUND" -> ErrorKind.SESSION_NOT_FOUND;
      case "SESSION_SUPERSEDED", "EPOCH_MISMATCH" -> ErrorKind.SESSION_SUPERSEDED;
      case "SESSION_SECRET_WRONG", "PERMISSION_DENIED", "UNAUTHENTICATED" -> ErrorKind.AUTH_FAILED;
      case "KEY_NOT_FOUND" -> ErrorKind.KEY_NOT_FOUND;
      case "LOCK_NOT_FOUND" -> ErrorKind.LOCK_NOT_FOUND;
      case "NODE_NOT_FOUND" -> ErrorKind.NODE_NOT_FOUND;
      case "SERVICE_NOT_FOUND" -> ErrorKind.SERVICE_NOT_FOUND;
      case "CHECK_NOT_FOUND" -> ErrorKind.CHECK_NOT_FOUND;
      case "CHECK_CRITICAL" -> ErrorKind.CHECK_CRITICAL;
      case "NODE_ID_CONFLICT" -> ErrorKind.NODE_ID_CONFLICT;
      case "QUERY_NOT_FOUND" -> ErrorKind.QUERY_NOT_FOUND;
      case "QUERY_NAME_TAKEN" -> ErrorKind.QUERY_NAME_TAKEN;
      case "COMPARE_FAILED" -> ErrorKind.COMPARE_FAILED;
      case "LOCK_HELD" -> ErrorKind.LOCK_HELD;
      case "LOCK_DELAYED" -> ErrorKind.LOCK_DELAYED;
      case "LOCK_NOT_HELD" -> ErrorKind.NOT_HELD;
      case "FENCING_TOKEN_STALE" -> ErrorKind.STALE_TOKEN;
      case "CANDIDATE_NOT_FOUND" -> ErrorKind.CANDIDATE_NOT_FOUND;
      case "LOCK_MODE_MISMATCH" -> ErrorKind.MODE_MISMATCH;
      case "REVISION_COMPACTED" -> ErrorKind.COMPACTED;
      case "REVISION_FUTURE" -> ErrorKind.FUTURE_REVISION;
      case "HISTORY_CHANGED" -> ErrorKind.HISTORY_CHANGED;
      case "WATCHER_TOO_SLOW" -> ErrorKind.TOO_SLOW;
      case "RESUME_TOKEN_INVALID", "SEQUENCER_INVALID" -> ErrorKind.TOKEN_INVALID;
      case "NO_LEADER", "NOT_LEADER", "STOPPING", "RIGHTS_CHANGED", "AUDIT_UNAVAILABLE", Token.REPLACED -> ErrorKind.UNAVAILABLE;
      case "OUTCOME_UNKNOWN", "REQUEST_ID_DONE" -> ErrorKind.OUTCOME_UNKNOWN;
      case "TOO_MANY_REQUESTS", "LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "TOO_LARGE", "TOO_MANY_KEYS",
          "REQUEST_WINDOW_FULL" -> ErrorKind.LIMIT;
      case "CANCELLED" -> ErrorKind.CANCELLED;
      case "DEADLINE_EXCEEDED" -> ErrorKind.TIMEOUT;
      case "FROZEN" -> ErrorKind.FROZEN;
      case "FEATURE_NOT_ENABLED", "METHOD_NOT_FOUND" -> ErrorKind.NOT_SUPPORTED;
      case "INTERNAL", "REQUEST_ID_REUSED" -> ErrorKind.INTERNAL;
      case "INVALID_ARGUMENT", "KEY_EMPTY", "KEY_TOO_LONG", "MALFORMED_REQUEST", "UNKNOWN_FIELD", "PAGE_TOKEN_INVALID",
          "TTL_OUT_OF_RANGE", "LOCK_DELAY_OUT_OF_RANGE", "SESSION_ID_INVALID", "MEMBER_NOT_FOUND",
          "MEMBERSHIP_REFUSED", "LIMIT_IN_USE", "ATTEMPT_OUTDATED", "SYNC_OUTDATED",
          "POLICY_NOT_FOUND", "TOKEN_NOT_FOUND",
          "AUTH_NOT_BOOTSTRAPPED", "AUTH_BOOTSTRAPPED", "AUTH_UNSAFE" -> ErrorKind.INVALID_ARGUMENT;
      default -> null;
    });
  }

  /**
   * Whether the cluster keeps as many results for the session as it may, and so did not apply the attempt. That its number is done
   * makes room, so it goes on under another one; unless an attempt before may be applied still, then it keeps its number.
   */
  public static boolean isWindowFull(Throwable error) {
    return error instanceof TenureException e && e.reason().equals("REQUEST_WINDOW_FULL");
  }
}
