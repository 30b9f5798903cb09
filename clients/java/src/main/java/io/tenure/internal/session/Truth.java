package io.tenure.internal.session;

import io.tenure.internal.Futures;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * What a session has, as the cluster told it on one page or on many, each of its own revision.
 *
 * @param holds what it holds
 * @param places where it queues
 * @param since the revision of the first page; what was granted after it may be missing
 * @param until the revision of the last page
 */
record Truth(List<Hold> holds, List<Place> places, long since, long until) {

  /** Asks for the truth page by page. It fails as the first page does that fails. */
  static CompletableFuture<Truth> ask(
      AttachSessionRequest request, Function<AttachSessionRequest, CompletableFuture<AttachSessionResponse>> send) {
    return send.apply(request).thenCompose(first -> rest(first, request, send));
  }

  /** Adds to a first page what did not fit into it; the request is the one for the later pages. */
  static CompletableFuture<Truth> rest(AttachSessionResponse first, AttachSessionRequest request,
      Function<AttachSessionRequest, CompletableFuture<AttachSessionResponse>> send) {
    List<AttachSessionResponse> pages = new ArrayList<>(List.of(first));
    if (first.getNextPageToken().isEmpty()) {
      return CompletableFuture.completedFuture(of(pages));
    }
    return Futures.map(Futures.pages(first.getNextPageToken(),
        token -> send.apply(request.toBuilder().setPageToken(token).build()), page -> {
          pages.add(page);
          return page.getNextPageToken();
        }), v -> of(pages));
  }

  private static Truth of(List<AttachSessionResponse> pages) {
    List<Hold> holds = new ArrayList<>();
    List<Place> places = new ArrayList<>();
    for (AttachSessionResponse page : pages) {
      holds.addAll(page.getHoldsList());
      places.addAll(page.getPlacesList());
    }
    return new Truth(holds, places, pages.get(0).getHeader().getRevision(),
        pages.get(pages.size() - 1).getHeader().getRevision());
  }
}
