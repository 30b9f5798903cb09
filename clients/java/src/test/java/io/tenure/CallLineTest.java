package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.InsecureServerCredentials;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.GetResponse;
import io.tenure.v1.KeyValue;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LineDrain;
import io.tenure.v1.LineLimits;
import io.tenure.v1.LineRequest;
import io.tenure.v1.LineResponse;
import io.tenure.v1.LineServiceGrpc;
import io.tenure.v1.LineStatus;
import io.tenure.v1.PutResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls that share a line, at a member that serves it as a test says. */
@Timeout(240)
final class CallLineTest {
  /** Serves one line. */
  private interface Serving {
    void take(LineRequest message, StreamObserver<LineResponse> out);
  }

  private final BlockingQueue<Serving> lines = new LinkedBlockingQueue<>();
  private final BlockingQueue<LineCall> calls = new LinkedBlockingQueue<>();
  private FakeMember member;
  private Client client;

  /** Each line is served by the next of those that there are; without one it is refused. */
  private final class Lines extends LineServiceGrpc.LineServiceImplBase {
    @Override
    public StreamObserver<LineRequest> line(StreamObserver<LineResponse> out) {
      Serving serving = lines.poll();
      if (serving == null) {
        out.onError(Status.RESOURCE_EXHAUSTED.withDescription("no room").asRuntimeException());
        return new Ignored();
      }
      out.onNext(LineResponse.newBuilder().setLimits(
          LineLimits.newBuilder().setCallsMax(1000).setRequestBytesMax(1 << 20)).build());
      return new Ignored() {
        @Override
        public void onNext(LineRequest message) {
          calls.addAll(message.getCallsList());
          serving.take(message, out);
        }

        @Override
        public void onCompleted() {
          out.onCompleted();
        }
      };
    }
  }

  private static class Ignored implements StreamObserver<LineRequest> {
    @Override
    public void onNext(LineRequest message) {
      // The line is over.
    }

    @Override
    public void onError(Throwable t) {
      // It broke.
    }

    @Override
    public void onCompleted() {
      // Likewise.
    }
  }

  @BeforeEach
  void start() throws IOException {
    member = new FakeMember(InsecureServerCredentials.create(), new Lines());
    client = WithFakeMember.client(member.uri(), System::nanoTime);
  }

  @AfterEach
  void stop() throws InterruptedException {
    client.close();
    member.close();
  }

  /** Answers all calls: a Get with its key, under the token with which it came. */
  private static Serving echo() {
    Map<Integer, String> tokens = new HashMap<>();
    return (message, out) -> {
      message.getCredentialsList().forEach(c -> tokens.put(c.getNumber(), c.getToken()));
      LineResponse.Builder r = LineResponse.newBuilder();
      for (LineCall c : message.getCallsList()) {
        LineAnswer.Builder a = r.addAnswersBuilder().setNumber(c.getNumber());
        if (c.hasPut()) {
          a.setPut(PutResponse.getDefaultInstance());
        } else {
          a.setGet(GetResponse.newBuilder().setKv(KeyValue.newBuilder().setKey(c.getGet().getKey())
              .setSessionId(tokens.getOrDefault(c.getCredential(), ""))));
        }
      }
      out.onNext(r.build());
    };
  }

  private LineCall next() throws InterruptedException {
    LineCall c = calls.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
    assertTrue(c != null);
    return c;
  }

  private static byte[] value() {
    return "v".getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void manyCallsShareALine() throws Exception {
    lines.add(echo());
    List<CompletableFuture<?>> all = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      all.add(client.kv().putAsync("k" + i, value()));
    }
    for (CompletableFuture<?> f : all) {
      WithFakeMember.get(f);
    }
    long last = 0;
    for (int i = 0; i < 200; i++) {
      LineCall c = next();
      assertTrue(c.getNumber() > last && c.hasRemainingTime());
      last = c.getNumber();
    }
    assertFalse(member.seen().stream().anyMatch(o -> o instanceof io.tenure.v1.PutRequest));
  }

  @Test
  void aCallOnALineHasItsToken() throws Exception {
    lines.add(echo());
    try (Client mine = Client.builder(member.uri()).token("secret").connect()) {
      assertEquals(Optional.of("secret"), mine.kv().get("k").session());
      assertEquals(1, next().getCredential());
    }
  }

  @Test
  void aCallThatTheMemberDoesNotKnowOnLinesIsMadeByItself() throws Exception {
    lines.add((message, out) -> {
      LineResponse.Builder r = LineResponse.newBuilder();
      message.getCallsList().forEach(c -> r.addAnswersBuilder().setNumber(c.getNumber())
          .setStatus(LineStatus.newBuilder().setCode(Status.Code.UNIMPLEMENTED.value())));
      out.onNext(r.build());
    });
    client.kv().put("k", value());
    assertEquals(1, next().getNumber());
    member.next(io.tenure.v1.PutRequest.class);
  }

  /** Returns what a member says whose line has no room for a call by that limit. */
  static LineStatus noRoom(String limit) {
    com.google.rpc.Status why =
        StatusProto.fromThrowable(FakeMember.refusal(Code.RESOURCE_EXHAUSTED_VALUE, "TOO_MANY_REQUESTS", "limit", limit));
    return LineStatus.newBuilder().setCode(why.getCode()).setMessage(why.getMessage()).addAllDetails(why.getDetailsList()).build();
  }

  @Test
  void aCallForWhichTheLineHasNoRoomIsMadeByItself() throws Exception {
    lines.add((message, out) -> {
      LineResponse.Builder r = LineResponse.newBuilder();
      message.getCallsList().forEach(c -> r.addAnswersBuilder().setNumber(c.getNumber()).setStatus(noRoom("line_calls_max")));
      out.onNext(r.build());
    });
    client.kv().put("k", value());
    client.kv().put("k", value());
    member.next(io.tenure.v1.PutRequest.class);
    member.next(io.tenure.v1.PutRequest.class);
    assertEquals(1, next().getNumber());
    assertTrue(calls.isEmpty(), "the line was asked again");
  }

  @Test
  void atAMemberWithoutRoomForALineCallsAreMadeByThemselves() throws Exception {
    client.kv().put("k", value());
    client.kv().put("k", value());
    assertTrue(calls.isEmpty());
    member.next(io.tenure.v1.PutRequest.class);
    member.next(io.tenure.v1.PutRequest.class);
  }

  @Test
  void whatWasSentOnALineThatBreaksIsSentAgainUnderTheSameKey() throws Exception {
    lines.add((message, out) -> out.onError(Status.UNAVAILABLE.withDescription("broke").asRuntimeException()));
    lines.add(echo());
    client.kv().put("k", value());
    LineCall first = next();
    LineCall second = next();
    assertFalse(first.getPut().getOptions().getIdempotencyKey().isEmpty());
    assertEquals(first.getPut(), second.getPut());
    assertEquals(1, second.getNumber());
  }

  @Test
  void whatAMemberThatStopsHasNotStartedIsMadeAgain() throws Exception {
    lines.add((message, out) -> {
      out.onNext(LineResponse.newBuilder().setDrain(LineDrain.newBuilder()
          .setStatus(LineStatus.newBuilder().setCode(Status.Code.UNAVAILABLE.value()).setMessage("stopping"))).build());
      out.onCompleted();
    });
    lines.add(echo());
    client.kv().put("k", value());
    assertEquals(next().getPut(), next().getPut());
  }
}
