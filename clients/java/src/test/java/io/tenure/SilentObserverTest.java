package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.rpc.Code;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.ObserveRequest;
import io.tenure.v1.ObserveResponse;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A member tells an observer who leads, and then says nothing: either nothing changes, or it is cut off from the others. */
final class SilentObserverTest extends WithFakeMember {
  private final BlockingQueue<StreamObserver<ObserveResponse>> streams = new LinkedBlockingQueue<>();
  private final BlockingQueue<LeaderChange> told = new LinkedBlockingQueue<>();

  @BeforeEach
  void begin() {
    member.observe = begun(streams);
  }

  private static BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> begun(BlockingQueue<StreamObserver<ObserveResponse>> streams) {
    return (r, o) -> {
      o.onNext(ObserveResponse.getDefaultInstance());
      streams.add(o);
    };
  }

  private void observe() throws Exception {
    client.election("e").observe().subscribe(new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription s) {
        s.request(Long.MAX_VALUE);
      }

      @Override
      public void onNext(LeaderChange c) {
        told.add(c);
      }

      @Override
      public void onError(Throwable t) {
        // The test sees that nothing more is told.
      }

      @Override
      public void onComplete() {
        // Likewise.
      }
    });
    next(told);
  }

  /** Lets so much time pass in which the observer is told nothing. What the client asks meanwhile is answered. */
  private void nothingFor(long seconds) throws Exception {
    for (long i = 0; i < seconds; i++) {
      silentFor(1);
      until(() -> client.core().link.current() == null || !client.core().link.current().owes());
    }
  }

  @Test
  void oneThatIsCutOffIsLeft() throws Exception {
    try (FakeMember second = new FakeMember()) {
      BlockingQueue<StreamObserver<ObserveResponse>> more = new LinkedBlockingQueue<>();
      second.observe = begun(more);
      FakeMember here = connectAmong(second).get(0);
      here.getLeader = (r, o) -> o.onError(FakeMember.refusal(Code.UNAVAILABLE_VALUE, "NO_LEADER"));
      observe();
      nothingFor(20);
      next(here == member ? more : streams);
      assertTrue(next(told).gap());
    }
  }

  @Test
  void oneThatHasNothingToTellIsNotLeft() throws Exception {
    observe();
    next(streams);
    nothingFor(60);
    assertEquals(0, streams.size());
    assertEquals(0, told.size());
  }

  @Test
  void oneThatRefusesTheQuestionIsNotLeft() throws Exception {
    member.getLeader = (r, o) -> o.onError(FakeMember.refusal(Code.PERMISSION_DENIED_VALUE, "PERMISSION_DENIED"));
    observe();
    next(streams);
    nothingFor(30);
    assertEquals(0, streams.size());
  }
}
