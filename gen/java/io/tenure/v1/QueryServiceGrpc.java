package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
 * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
 * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
 * queries. All methods that write need the cluster version that knows queries; before, they fail with
 * FEATURE_NOT_ENABLED.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class QueryServiceGrpc {

  private QueryServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.QueryService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CreateQueryRequest,
      io.tenure.v1.CreateQueryResponse> getCreateQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateQuery",
      requestType = io.tenure.v1.CreateQueryRequest.class,
      responseType = io.tenure.v1.CreateQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CreateQueryRequest,
      io.tenure.v1.CreateQueryResponse> getCreateQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CreateQueryRequest, io.tenure.v1.CreateQueryResponse> getCreateQueryMethod;
    if ((getCreateQueryMethod = QueryServiceGrpc.getCreateQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getCreateQueryMethod = QueryServiceGrpc.getCreateQueryMethod) == null) {
          QueryServiceGrpc.getCreateQueryMethod = getCreateQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CreateQueryRequest, io.tenure.v1.CreateQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("CreateQuery"))
              .build();
        }
      }
    }
    return getCreateQueryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.UpdateQueryRequest,
      io.tenure.v1.UpdateQueryResponse> getUpdateQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateQuery",
      requestType = io.tenure.v1.UpdateQueryRequest.class,
      responseType = io.tenure.v1.UpdateQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.UpdateQueryRequest,
      io.tenure.v1.UpdateQueryResponse> getUpdateQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.UpdateQueryRequest, io.tenure.v1.UpdateQueryResponse> getUpdateQueryMethod;
    if ((getUpdateQueryMethod = QueryServiceGrpc.getUpdateQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getUpdateQueryMethod = QueryServiceGrpc.getUpdateQueryMethod) == null) {
          QueryServiceGrpc.getUpdateQueryMethod = getUpdateQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.UpdateQueryRequest, io.tenure.v1.UpdateQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.UpdateQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.UpdateQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("UpdateQuery"))
              .build();
        }
      }
    }
    return getUpdateQueryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetQueryRequest,
      io.tenure.v1.GetQueryResponse> getGetQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetQuery",
      requestType = io.tenure.v1.GetQueryRequest.class,
      responseType = io.tenure.v1.GetQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetQueryRequest,
      io.tenure.v1.GetQueryResponse> getGetQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetQueryRequest, io.tenure.v1.GetQueryResponse> getGetQueryMethod;
    if ((getGetQueryMethod = QueryServiceGrpc.getGetQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getGetQueryMethod = QueryServiceGrpc.getGetQueryMethod) == null) {
          QueryServiceGrpc.getGetQueryMethod = getGetQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetQueryRequest, io.tenure.v1.GetQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("GetQuery"))
              .build();
        }
      }
    }
    return getGetQueryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListQueriesRequest,
      io.tenure.v1.ListQueriesResponse> getListQueriesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListQueries",
      requestType = io.tenure.v1.ListQueriesRequest.class,
      responseType = io.tenure.v1.ListQueriesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListQueriesRequest,
      io.tenure.v1.ListQueriesResponse> getListQueriesMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListQueriesRequest, io.tenure.v1.ListQueriesResponse> getListQueriesMethod;
    if ((getListQueriesMethod = QueryServiceGrpc.getListQueriesMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getListQueriesMethod = QueryServiceGrpc.getListQueriesMethod) == null) {
          QueryServiceGrpc.getListQueriesMethod = getListQueriesMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListQueriesRequest, io.tenure.v1.ListQueriesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListQueries"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListQueriesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListQueriesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("ListQueries"))
              .build();
        }
      }
    }
    return getListQueriesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeleteQueryRequest,
      io.tenure.v1.DeleteQueryResponse> getDeleteQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteQuery",
      requestType = io.tenure.v1.DeleteQueryRequest.class,
      responseType = io.tenure.v1.DeleteQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeleteQueryRequest,
      io.tenure.v1.DeleteQueryResponse> getDeleteQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeleteQueryRequest, io.tenure.v1.DeleteQueryResponse> getDeleteQueryMethod;
    if ((getDeleteQueryMethod = QueryServiceGrpc.getDeleteQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getDeleteQueryMethod = QueryServiceGrpc.getDeleteQueryMethod) == null) {
          QueryServiceGrpc.getDeleteQueryMethod = getDeleteQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeleteQueryRequest, io.tenure.v1.DeleteQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("DeleteQuery"))
              .build();
        }
      }
    }
    return getDeleteQueryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ExecuteQueryRequest,
      io.tenure.v1.ExecuteQueryResponse> getExecuteQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExecuteQuery",
      requestType = io.tenure.v1.ExecuteQueryRequest.class,
      responseType = io.tenure.v1.ExecuteQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ExecuteQueryRequest,
      io.tenure.v1.ExecuteQueryResponse> getExecuteQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ExecuteQueryRequest, io.tenure.v1.ExecuteQueryResponse> getExecuteQueryMethod;
    if ((getExecuteQueryMethod = QueryServiceGrpc.getExecuteQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getExecuteQueryMethod = QueryServiceGrpc.getExecuteQueryMethod) == null) {
          QueryServiceGrpc.getExecuteQueryMethod = getExecuteQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ExecuteQueryRequest, io.tenure.v1.ExecuteQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExecuteQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ExecuteQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ExecuteQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("ExecuteQuery"))
              .build();
        }
      }
    }
    return getExecuteQueryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ExplainQueryRequest,
      io.tenure.v1.ExplainQueryResponse> getExplainQueryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExplainQuery",
      requestType = io.tenure.v1.ExplainQueryRequest.class,
      responseType = io.tenure.v1.ExplainQueryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ExplainQueryRequest,
      io.tenure.v1.ExplainQueryResponse> getExplainQueryMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ExplainQueryRequest, io.tenure.v1.ExplainQueryResponse> getExplainQueryMethod;
    if ((getExplainQueryMethod = QueryServiceGrpc.getExplainQueryMethod) == null) {
      synchronized (QueryServiceGrpc.class) {
        if ((getExplainQueryMethod = QueryServiceGrpc.getExplainQueryMethod) == null) {
          QueryServiceGrpc.getExplainQueryMethod = getExplainQueryMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ExplainQueryRequest, io.tenure.v1.ExplainQueryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExplainQuery"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ExplainQueryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ExplainQueryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new QueryServiceMethodDescriptorSupplier("ExplainQuery"))
              .build();
        }
      }
    }
    return getExplainQueryMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static QueryServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<QueryServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<QueryServiceStub>() {
        @java.lang.Override
        public QueryServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new QueryServiceStub(channel, callOptions);
        }
      };
    return QueryServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static QueryServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<QueryServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<QueryServiceBlockingV2Stub>() {
        @java.lang.Override
        public QueryServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new QueryServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return QueryServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static QueryServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<QueryServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<QueryServiceBlockingStub>() {
        @java.lang.Override
        public QueryServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new QueryServiceBlockingStub(channel, callOptions);
        }
      };
    return QueryServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static QueryServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<QueryServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<QueryServiceFutureStub>() {
        @java.lang.Override
        public QueryServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new QueryServiceFutureStub(channel, callOptions);
        }
      };
    return QueryServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * CreateQuery stores a new query. Errors: INVALID_ARGUMENT, QUERY_NAME_TAKEN, SESSION_NOT_FOUND, SESSION_EXPIRED,
     * SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    default void createQuery(io.tenure.v1.CreateQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateQueryMethod(), responseObserver);
    }

    /**
     * <pre>
     * UpdateQuery replaces a query; fields that are left out get their zero values. A query that is already so does not
     * change. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND, QUERY_NAME_TAKEN, COMPARE_FAILED, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    default void updateQuery(io.tenure.v1.UpdateQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.UpdateQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateQueryMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetQuery returns a query as it is stored. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    default void getQuery(io.tenure.v1.GetQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetQueryMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListQueries lists queries, ordered by id, in pages. Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listQueries(io.tenure.v1.ListQueriesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListQueriesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListQueriesMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeleteQuery deletes a query. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    default void deleteQuery(io.tenure.v1.DeleteQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteQueryMethod(), responseObserver);
    }

    /**
     * <pre>
     * ExecuteQuery returns the instances that a query selects now. None is not an error. Errors: INVALID_ARGUMENT,
     * QUERY_NOT_FOUND.
     * </pre>
     */
    default void executeQuery(io.tenure.v1.ExecuteQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ExecuteQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExecuteQueryMethod(), responseObserver);
    }

    /**
     * <pre>
     * ExplainQuery returns the query that ExecuteQuery would run for a name, with all texts filled in. Errors:
     * INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    default void explainQuery(io.tenure.v1.ExplainQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ExplainQueryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExplainQueryMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service QueryService.
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static abstract class QueryServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return QueryServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service QueryService.
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class QueryServiceStub
      extends io.grpc.stub.AbstractAsyncStub<QueryServiceStub> {
    private QueryServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected QueryServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new QueryServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateQuery stores a new query. Errors: INVALID_ARGUMENT, QUERY_NAME_TAKEN, SESSION_NOT_FOUND, SESSION_EXPIRED,
     * SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public void createQuery(io.tenure.v1.CreateQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateQueryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * UpdateQuery replaces a query; fields that are left out get their zero values. A query that is already so does not
     * change. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND, QUERY_NAME_TAKEN, COMPARE_FAILED, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public void updateQuery(io.tenure.v1.UpdateQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.UpdateQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateQueryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetQuery returns a query as it is stored. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public void getQuery(io.tenure.v1.GetQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetQueryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListQueries lists queries, ordered by id, in pages. Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listQueries(io.tenure.v1.ListQueriesRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListQueriesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListQueriesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeleteQuery deletes a query. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public void deleteQuery(io.tenure.v1.DeleteQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteQueryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ExecuteQuery returns the instances that a query selects now. None is not an error. Errors: INVALID_ARGUMENT,
     * QUERY_NOT_FOUND.
     * </pre>
     */
    public void executeQuery(io.tenure.v1.ExecuteQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ExecuteQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExecuteQueryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ExplainQuery returns the query that ExecuteQuery would run for a name, with all texts filled in. Errors:
     * INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public void explainQuery(io.tenure.v1.ExplainQueryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ExplainQueryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExplainQueryMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service QueryService.
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class QueryServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<QueryServiceBlockingV2Stub> {
    private QueryServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected QueryServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new QueryServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateQuery stores a new query. Errors: INVALID_ARGUMENT, QUERY_NAME_TAKEN, SESSION_NOT_FOUND, SESSION_EXPIRED,
     * SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.CreateQueryResponse createQuery(io.tenure.v1.CreateQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * UpdateQuery replaces a query; fields that are left out get their zero values. A query that is already so does not
     * change. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND, QUERY_NAME_TAKEN, COMPARE_FAILED, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.UpdateQueryResponse updateQuery(io.tenure.v1.UpdateQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetQuery returns a query as it is stored. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetQueryResponse getQuery(io.tenure.v1.GetQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListQueries lists queries, ordered by id, in pages. Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListQueriesResponse listQueries(io.tenure.v1.ListQueriesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListQueriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteQuery deletes a query. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeleteQueryResponse deleteQuery(io.tenure.v1.DeleteQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExecuteQuery returns the instances that a query selects now. None is not an error. Errors: INVALID_ARGUMENT,
     * QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.ExecuteQueryResponse executeQuery(io.tenure.v1.ExecuteQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExecuteQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExplainQuery returns the query that ExecuteQuery would run for a name, with all texts filled in. Errors:
     * INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.ExplainQueryResponse explainQuery(io.tenure.v1.ExplainQueryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExplainQueryMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service QueryService.
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class QueryServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<QueryServiceBlockingStub> {
    private QueryServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected QueryServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new QueryServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateQuery stores a new query. Errors: INVALID_ARGUMENT, QUERY_NAME_TAKEN, SESSION_NOT_FOUND, SESSION_EXPIRED,
     * SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.CreateQueryResponse createQuery(io.tenure.v1.CreateQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * UpdateQuery replaces a query; fields that are left out get their zero values. A query that is already so does not
     * change. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND, QUERY_NAME_TAKEN, COMPARE_FAILED, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public io.tenure.v1.UpdateQueryResponse updateQuery(io.tenure.v1.UpdateQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetQuery returns a query as it is stored. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetQueryResponse getQuery(io.tenure.v1.GetQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListQueries lists queries, ordered by id, in pages. Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListQueriesResponse listQueries(io.tenure.v1.ListQueriesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListQueriesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeleteQuery deletes a query. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public io.tenure.v1.DeleteQueryResponse deleteQuery(io.tenure.v1.DeleteQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExecuteQuery returns the instances that a query selects now. None is not an error. Errors: INVALID_ARGUMENT,
     * QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.ExecuteQueryResponse executeQuery(io.tenure.v1.ExecuteQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExecuteQueryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ExplainQuery returns the query that ExecuteQuery would run for a name, with all texts filled in. Errors:
     * INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.ExplainQueryResponse explainQuery(io.tenure.v1.ExplainQueryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExplainQueryMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service QueryService.
   * <pre>
   * QueryService keeps prepared queries: stored questions to the catalog, such as "instances of web that pass, near to me,
   * or else those of web in another zone". Programs run a query by its name, and operators change what it means.
   * A query can be bound to a session: it is deleted in the revision in which the session ends. There are at most 10 000
   * queries. All methods that write need the cluster version that knows queries; before, they fail with
   * FEATURE_NOT_ENABLED.
   * </pre>
   */
  public static final class QueryServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<QueryServiceFutureStub> {
    private QueryServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected QueryServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new QueryServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateQuery stores a new query. Errors: INVALID_ARGUMENT, QUERY_NAME_TAKEN, SESSION_NOT_FOUND, SESSION_EXPIRED,
     * SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CreateQueryResponse> createQuery(
        io.tenure.v1.CreateQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateQueryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * UpdateQuery replaces a query; fields that are left out get their zero values. A query that is already so does not
     * change. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND, QUERY_NAME_TAKEN, COMPARE_FAILED, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, LIMIT_EXCEEDED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.UpdateQueryResponse> updateQuery(
        io.tenure.v1.UpdateQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateQueryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetQuery returns a query as it is stored. Errors: INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetQueryResponse> getQuery(
        io.tenure.v1.GetQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetQueryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListQueries lists queries, ordered by id, in pages. Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListQueriesResponse> listQueries(
        io.tenure.v1.ListQueriesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListQueriesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeleteQuery deletes a query. A missing one is not an error. Errors: INVALID_ARGUMENT.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeleteQueryResponse> deleteQuery(
        io.tenure.v1.DeleteQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteQueryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ExecuteQuery returns the instances that a query selects now. None is not an error. Errors: INVALID_ARGUMENT,
     * QUERY_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ExecuteQueryResponse> executeQuery(
        io.tenure.v1.ExecuteQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExecuteQueryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ExplainQuery returns the query that ExecuteQuery would run for a name, with all texts filled in. Errors:
     * INVALID_ARGUMENT, QUERY_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ExplainQueryResponse> explainQuery(
        io.tenure.v1.ExplainQueryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExplainQueryMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_QUERY = 0;
  private static final int METHODID_UPDATE_QUERY = 1;
  private static final int METHODID_GET_QUERY = 2;
  private static final int METHODID_LIST_QUERIES = 3;
  private static final int METHODID_DELETE_QUERY = 4;
  private static final int METHODID_EXECUTE_QUERY = 5;
  private static final int METHODID_EXPLAIN_QUERY = 6;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_CREATE_QUERY:
          serviceImpl.createQuery((io.tenure.v1.CreateQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CreateQueryResponse>) responseObserver);
          break;
        case METHODID_UPDATE_QUERY:
          serviceImpl.updateQuery((io.tenure.v1.UpdateQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.UpdateQueryResponse>) responseObserver);
          break;
        case METHODID_GET_QUERY:
          serviceImpl.getQuery((io.tenure.v1.GetQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetQueryResponse>) responseObserver);
          break;
        case METHODID_LIST_QUERIES:
          serviceImpl.listQueries((io.tenure.v1.ListQueriesRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListQueriesResponse>) responseObserver);
          break;
        case METHODID_DELETE_QUERY:
          serviceImpl.deleteQuery((io.tenure.v1.DeleteQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeleteQueryResponse>) responseObserver);
          break;
        case METHODID_EXECUTE_QUERY:
          serviceImpl.executeQuery((io.tenure.v1.ExecuteQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ExecuteQueryResponse>) responseObserver);
          break;
        case METHODID_EXPLAIN_QUERY:
          serviceImpl.explainQuery((io.tenure.v1.ExplainQueryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ExplainQueryResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCreateQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CreateQueryRequest,
              io.tenure.v1.CreateQueryResponse>(
                service, METHODID_CREATE_QUERY)))
        .addMethod(
          getUpdateQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.UpdateQueryRequest,
              io.tenure.v1.UpdateQueryResponse>(
                service, METHODID_UPDATE_QUERY)))
        .addMethod(
          getGetQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetQueryRequest,
              io.tenure.v1.GetQueryResponse>(
                service, METHODID_GET_QUERY)))
        .addMethod(
          getListQueriesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListQueriesRequest,
              io.tenure.v1.ListQueriesResponse>(
                service, METHODID_LIST_QUERIES)))
        .addMethod(
          getDeleteQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeleteQueryRequest,
              io.tenure.v1.DeleteQueryResponse>(
                service, METHODID_DELETE_QUERY)))
        .addMethod(
          getExecuteQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ExecuteQueryRequest,
              io.tenure.v1.ExecuteQueryResponse>(
                service, METHODID_EXECUTE_QUERY)))
        .addMethod(
          getExplainQueryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ExplainQueryRequest,
              io.tenure.v1.ExplainQueryResponse>(
                service, METHODID_EXPLAIN_QUERY)))
        .build();
  }

  private static abstract class QueryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    QueryServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.QueryProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("QueryService");
    }
  }

  private static final class QueryServiceFileDescriptorSupplier
      extends QueryServiceBaseDescriptorSupplier {
    QueryServiceFileDescriptorSupplier() {}
  }

  private static final class QueryServiceMethodDescriptorSupplier
      extends QueryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    QueryServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (QueryServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new QueryServiceFileDescriptorSupplier())
              .addMethod(getCreateQueryMethod())
              .addMethod(getUpdateQueryMethod())
              .addMethod(getGetQueryMethod())
              .addMethod(getListQueriesMethod())
              .addMethod(getDeleteQueryMethod())
              .addMethod(getExecuteQueryMethod())
              .addMethod(getExplainQueryMethod())
              .build();
        }
      }
    }
    return result;
  }
}
