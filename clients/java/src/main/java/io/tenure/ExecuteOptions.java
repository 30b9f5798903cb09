package io.tenure;

import io.tenure.v1.ExecuteQueryRequest;

/** How a prepared query is run: see {@link Queries#execute(String, ExecuteOptions)}. Immutable. */
public final class ExecuteOptions {
  private final ExecuteQueryRequest request;

  private ExecuteOptions(ExecuteQueryRequest request) {
    this.request = request;
  }

  /** {@return the options of a plain run} */
  public static ExecuteOptions defaults() {
    return new ExecuteOptions(ExecuteQueryRequest.getDefaultInstance());
  }

  /**
   * Prefers instances near a node, in place of that of the query.
   *
   * @param node the name of the node; "_agent" means that of {@link #withCallerNode}
   * @return new options
   */
  public ExecuteOptions withNear(String node) {
    return new ExecuteOptions(request.toBuilder().setNear(node).build());
  }

  /**
   * Names the node of the caller, for which "_agent" stands. Without it, "_agent" has no effect.
   *
   * @param node the name of the node
   * @return new options
   */
  public ExecuteOptions withCallerNode(String node) {
    return new ExecuteOptions(request.toBuilder().setCallerNode(node).build());
  }

  /**
   * Limits how many instances are returned.
   *
   * @param instances 1 to 1 000; the default is 1 000
   * @return new options
   */
  public ExecuteOptions withLimit(int instances) {
    return new ExecuteOptions(request.toBuilder().setLimit(instances).build());
  }

  /**
   * Leaves out instances in warning, even if the query includes them.
   *
   * @return new options
   */
  public ExecuteOptions onlyPassing() {
    return new ExecuteOptions(request.toBuilder().setPassing(true).build());
  }

  /**
   * Lets a member answer from its own data, which may be old, even while it knows no leader. Without it the answer reflects every
   * change that was committed before.
   *
   * @return new options
   */
  public ExecuteOptions stale() {
    return new ExecuteOptions(request.toBuilder().setRead(request.getRead().toBuilder().setStale(true)).build());
  }

  /**
   * Demands that the answer shows this revision, or a later one. A member that is asked for its own data waits until it has it; without
   * {@link #stale}, a revision that the cluster has not reached is refused as FUTURE_REVISION.
   *
   * @param revision the revision
   * @return new options
   */
  public ExecuteOptions minRevision(long revision) {
    return new ExecuteOptions(request.toBuilder().setRead(request.getRead().toBuilder().setMinRevision(revision)).build());
  }

  ExecuteQueryRequest of(String idOrName) {
    return request.toBuilder().setIdOrName(idOrName).build();
  }
}
