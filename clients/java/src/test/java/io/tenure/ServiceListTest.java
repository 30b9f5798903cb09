package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.InsecureServerCredentials;
import io.grpc.stub.StreamObserver;
import io.tenure.v1.CatalogServiceGrpc;
import io.tenure.v1.CheckStatus;
import io.tenure.v1.Event;
import io.tenure.v1.ListInstancesRequest;
import io.tenure.v1.ListInstancesResponse;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.Service;
import io.tenure.v1.ServiceInstance;
import io.tenure.v1.WatchEvents;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchStarted;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A service whose instances are more than one answer can tell. */
final class ServiceListTest extends WithFakeMember {
  private final BlockingQueue<StreamObserver<WatchResponse>> streams = new LinkedBlockingQueue<>();

  /** Answers in two pages, which have what was there at the first, and then in one: the instance on a is gone by then. */
  private static final class Catalog extends CatalogServiceGrpc.CatalogServiceImplBase {
    private final AtomicInteger asked = new AtomicInteger();

    @Override
    public void listInstances(ListInstancesRequest r, StreamObserver<ListInstancesResponse> o) {
      FakeMember.reply(o, switch (asked.getAndIncrement()) {
        case 0 -> page(5, "a").setNextPageToken("more").build();
        case 1 -> page(7, "b").build();
        default -> page(8, "b").build();
      });
    }

    private static ListInstancesResponse.Builder page(long revision, String node) {
      return ListInstancesResponse.newBuilder().setHeader(ResponseHeader.newBuilder().setRevision(revision))
          .addInstances(ServiceInstance.newBuilder().setService(service(node)).setStatus(CheckStatus.CHECK_STATUS_PASSING));
    }
  }

  private static Service.Builder service(String node) {
    return Service.newBuilder().setName("web").setNode(node).setServiceId(node);
  }

  @Override
  @BeforeEach
  void start() throws IOException {
    member = new FakeMember(InsecureServerCredentials.create(), new Catalog());
    member.watch = (r, o) -> streams.add(o);
    client = client(member.uri());
  }

  private static List<String> ids(ServiceList list) {
    return list.instances("web").stream().map(Instance::id).toList();
  }

  @Test
  void anEventBetweenTwoPagesHasTheServiceReadAgain() throws Exception {
    try (ServiceList list = client.serviceList("web")) {
      CompletableFuture<ServiceList> begun = list.beginAsync();
      StreamObserver<WatchResponse> stream = next(streams);
      stream.onNext(WatchResponse.newBuilder().setStarted(WatchStarted.newBuilder().setAfterRevision(1)).build());
      get(begun);
      assertEquals(List.of("a", "b"), ids(list));
      stream.onNext(WatchResponse.newBuilder().setEvents(WatchEvents.newBuilder().addEvents(
          Event.newBuilder().setRevision(6).setService(service("a")))).build());
      until(() -> ids(list).equals(List.of("b")));
    }
  }
}
