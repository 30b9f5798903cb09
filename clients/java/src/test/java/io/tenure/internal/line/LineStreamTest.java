package io.tenure.internal.line;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Message;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.internal.Loop;
import io.tenure.v1.GetRequest;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineLimits;
import io.tenure.v1.LineRequest;
import io.tenure.v1.LineResponse;
import io.tenure.v1.LineStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One line, over a stream that does what a test says. */
@Timeout(240)
final class LineStreamTest {
  private final Loop loop = new Loop();
  private final AtomicLong clock = new AtomicLong(1);
  private final Stream stream = new Stream();
  private final Owner owner = new Owner();
  private final LineStream line = new LineStream(stream, loop, owner, clock::get);

  /** The stream of the line. */
  private static final class Stream extends ClientCall<LineRequest, LineResponse> {
    private final List<LineRequest> sent = new ArrayList<>();
    private boolean ready = true;
    private boolean closed;
    private String cancelled;

    @Override
    public void start(Listener<LineResponse> told, Metadata headers) {
      // The test tells the line itself.
    }

    @Override
    public void request(int messages) {
      // Likewise.
    }

    @Override
    public void cancel(String message, Throwable cause) {
      cancelled = message;
    }

    @Override
    public void halfClose() {
      closed = true;
    }

    @Override
    public void sendMessage(LineRequest message) {
      sent.add(message);
    }

    @Override
    public boolean isReady() {
      return ready;
    }
  }

  private static final class Owner implements LineStream.Owner {
    private StatusRuntimeException refused;

    @Override
    public void opened(LineStream line) {
      // Calls are sent before.
    }

    @Override
    public void left(LineStream line) {
      // There is but this one.
    }

    @Override
    public void refused(LineStream line, Status.Code code, StatusRuntimeException why) {
      refused = why;
    }
  }

  /** A call, and what it was told. */
  private static final class Get extends CarriedCall {
    private StatusRuntimeException failed;
    private boolean undone;
    private boolean answered;
    private final boolean lasts;

    Get() {
      this(false);
    }

    Get(boolean lasts) {
      super(SINGLE.get("Get"), GetRequest.getDefaultInstance(), "");
      this.lasts = lasts;
    }

    @Override
    boolean isLong() {
      return lasts;
    }

    @Override
    boolean isOver() {
      return false;
    }

    @Override
    void part(Message m) {
      throw new IllegalStateException("a part");
    }

    @Override
    void answer(LineAnswer a) {
      answered = true;
    }

    @Override
    void fail(StatusRuntimeException why) {
      failed = why;
    }

    @Override
    void undone(StatusRuntimeException why) {
      undone = true;
    }
  }

  /** Does something on the loop, and waits until what that gives the loop to do is done, too. */
  private void onLoop(Runnable task) throws Exception {
    for (Runnable r : List.of(task, () -> { })) {
      CompletableFuture<Void> done = new CompletableFuture<>();
      loop.execute(() -> {
        r.run();
        done.complete(null);
      });
      done.get(20, TimeUnit.SECONDS);
    }
  }

  private void passes(long nanos) throws Exception {
    clock.addAndGet(nanos);
    onLoop(line::look);
  }

  private void opens() throws Exception {
    onLoop(() -> line.onMessage(LineResponse.newBuilder()
        .setLimits(LineLimits.newBuilder().setCallsMax(10).setRequestBytesMax(1 << 20).setWaitsMax(10)).build()));
  }

  @AfterEach
  void stop() {
    loop.shutdown();
  }

  @Test
  void aLineThatIsBeingOpenedIsNotIdle() throws Exception {
    onLoop(line::open);
    passes(LineStream.OPEN_NANOS - 1);
    assertFalse(stream.closed);
    assertNull(stream.cancelled);
    opens();
    passes(LineStream.IDLE_NANOS - 1); // It was not idle before.
    assertFalse(stream.closed);
    passes(1);
    assertTrue(stream.closed);
    assertNull(stream.cancelled);
  }

  @Test
  void aLineThatDoesNotOpenIsGivenUp() throws Exception {
    onLoop(line::open);
    passes(LineStream.OPEN_NANOS);
    assertFalse(stream.closed);
    assertEquals("the member did not open the line in time", stream.cancelled);
    onLoop(() -> line.onClose(Status.CANCELLED.withDescription(stream.cancelled), new Metadata()));
    assertTrue(Errors.read(owner.refused).retry());
    assertEquals(Applied.NO, Errors.read(owner.refused).error().applied());
  }

  @Test
  void aLineIsIdleFromTheEndOfItsLastCall() throws Exception {
    onLoop(line::open);
    opens();
    Get call = new Get();
    onLoop(() -> assertTrue(line.add(call)));
    assertEquals(1, stream.sent.size());
    passes(10 * LineStream.IDLE_NANOS);
    assertFalse(stream.closed);
    onLoop(() -> line.onMessage(LineResponse.newBuilder().addAnswers(LineAnswer.newBuilder().setNumber(call.number)).build()));
    assertTrue(call.answered);
    passes(LineStream.IDLE_NANOS - 1);
    assertFalse(stream.closed);
    passes(1);
    assertTrue(stream.closed);
  }

  /** Returns what a member says whose line has no room for a call by that limit. */
  private static LineStatus noRoom(String limit) {
    ErrorInfo why = ErrorInfo.newBuilder().setDomain(Errors.DOMAIN).setReason("TOO_MANY_REQUESTS")
        .putMetadata("applied", "no").putMetadata("limit", limit).build();
    return LineStatus.newBuilder().setCode(Code.RESOURCE_EXHAUSTED_VALUE).setMessage("TOO_MANY_REQUESTS").addDetails(Any.pack(why)).build();
  }

  @Test
  void aLineWithoutRoomForItsOnlyWaitCarriesWaitsStill() throws Exception {
    onLoop(line::open);
    opens();
    Get wait = new Get(true);
    onLoop(() -> assertTrue(line.add(wait)));
    onLoop(() -> line.onMessage(LineResponse.newBuilder().addAnswers(
        LineAnswer.newBuilder().setNumber(wait.number).setStatus(noRoom("line_waits_max"))).build()));
    assertTrue(wait.undone);
    assertEquals(1, line.waitsMax());
    onLoop(() -> assertTrue(line.add(new Get(true))));
  }

  @Test
  void whatWasNeverSentOnALineThatBreaksIsSafeToSendAgain() throws Exception {
    unsentIsSafe(Status.UNAVAILABLE.withDescription("it broke"), "it broke");
  }

  @Test
  void whatWasNeverSentOnALineThatEndsAsWrongIsSafeToSendAgain() throws Exception {
    unsentIsSafe(Status.INVALID_ARGUMENT.withDescription("a wrong message"), "the line ended without an answer");
  }

  private void unsentIsSafe(Status end, String why) throws Exception {
    onLoop(line::open);
    opens();
    Get sent = new Get();
    Get unsent = new Get();
    onLoop(() -> assertTrue(line.add(sent)));
    stream.ready = false;
    onLoop(() -> assertTrue(line.add(unsent)));
    onLoop(() -> line.onClose(end, new Metadata()));
    Errors.Failure ofSent = Errors.read(sent.failed);
    assertTrue(ofSent.retry());
    assertEquals(Applied.UNKNOWN, ofSent.error().applied());
    assertFalse(unsent.undone, "it would be made by itself over the connection that may have broken");
    Errors.Failure ofUnsent = Errors.read(unsent.failed);
    assertTrue(ofUnsent.retry() && ofUnsent.network());
    assertEquals(ErrorKind.UNAVAILABLE, ofUnsent.error().kind());
    assertEquals(Applied.NO, ofUnsent.error().applied());
    assertTrue(ofUnsent.error().getMessage().contains(why));
  }
}
