package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class KVServiceGrpc {

  private KVServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.KVService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetRequest,
      io.tenure.v1.GetResponse> getGetMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Get",
      requestType = io.tenure.v1.GetRequest.class,
      responseType = io.tenure.v1.GetResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetRequest,
      io.tenure.v1.GetResponse> getGetMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetRequest, io.tenure.v1.GetResponse> getGetMethod;
    if ((getGetMethod = KVServiceGrpc.getGetMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getGetMethod = KVServiceGrpc.getGetMethod) == null) {
          KVServiceGrpc.getGetMethod = getGetMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetRequest, io.tenure.v1.GetResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Get"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("Get"))
              .build();
        }
      }
    }
    return getGetMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListRequest,
      io.tenure.v1.ListResponse> getListMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "List",
      requestType = io.tenure.v1.ListRequest.class,
      responseType = io.tenure.v1.ListResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListRequest,
      io.tenure.v1.ListResponse> getListMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListRequest, io.tenure.v1.ListResponse> getListMethod;
    if ((getListMethod = KVServiceGrpc.getListMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getListMethod = KVServiceGrpc.getListMethod) == null) {
          KVServiceGrpc.getListMethod = getListMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListRequest, io.tenure.v1.ListResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "List"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("List"))
              .build();
        }
      }
    }
    return getListMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.PutRequest,
      io.tenure.v1.PutResponse> getPutMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Put",
      requestType = io.tenure.v1.PutRequest.class,
      responseType = io.tenure.v1.PutResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.PutRequest,
      io.tenure.v1.PutResponse> getPutMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.PutRequest, io.tenure.v1.PutResponse> getPutMethod;
    if ((getPutMethod = KVServiceGrpc.getPutMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getPutMethod = KVServiceGrpc.getPutMethod) == null) {
          KVServiceGrpc.getPutMethod = getPutMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.PutRequest, io.tenure.v1.PutResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Put"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.PutResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("Put"))
              .build();
        }
      }
    }
    return getPutMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeleteRequest,
      io.tenure.v1.DeleteResponse> getDeleteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Delete",
      requestType = io.tenure.v1.DeleteRequest.class,
      responseType = io.tenure.v1.DeleteResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeleteRequest,
      io.tenure.v1.DeleteResponse> getDeleteMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeleteRequest, io.tenure.v1.DeleteResponse> getDeleteMethod;
    if ((getDeleteMethod = KVServiceGrpc.getDeleteMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getDeleteMethod = KVServiceGrpc.getDeleteMethod) == null) {
          KVServiceGrpc.getDeleteMethod = getDeleteMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeleteRequest, io.tenure.v1.DeleteResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Delete"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeleteResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("Delete"))
              .build();
        }
      }
    }
    return getDeleteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DeletePrefixRequest,
      io.tenure.v1.DeletePrefixResponse> getDeletePrefixMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeletePrefix",
      requestType = io.tenure.v1.DeletePrefixRequest.class,
      responseType = io.tenure.v1.DeletePrefixResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DeletePrefixRequest,
      io.tenure.v1.DeletePrefixResponse> getDeletePrefixMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DeletePrefixRequest, io.tenure.v1.DeletePrefixResponse> getDeletePrefixMethod;
    if ((getDeletePrefixMethod = KVServiceGrpc.getDeletePrefixMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getDeletePrefixMethod = KVServiceGrpc.getDeletePrefixMethod) == null) {
          KVServiceGrpc.getDeletePrefixMethod = getDeletePrefixMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DeletePrefixRequest, io.tenure.v1.DeletePrefixResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeletePrefix"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeletePrefixRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DeletePrefixResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("DeletePrefix"))
              .build();
        }
      }
    }
    return getDeletePrefixMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.TxnRequest,
      io.tenure.v1.TxnResponse> getTxnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Txn",
      requestType = io.tenure.v1.TxnRequest.class,
      responseType = io.tenure.v1.TxnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.TxnRequest,
      io.tenure.v1.TxnResponse> getTxnMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.TxnRequest, io.tenure.v1.TxnResponse> getTxnMethod;
    if ((getTxnMethod = KVServiceGrpc.getTxnMethod) == null) {
      synchronized (KVServiceGrpc.class) {
        if ((getTxnMethod = KVServiceGrpc.getTxnMethod) == null) {
          KVServiceGrpc.getTxnMethod = getTxnMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.TxnRequest, io.tenure.v1.TxnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Txn"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TxnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TxnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new KVServiceMethodDescriptorSupplier("Txn"))
              .build();
        }
      }
    }
    return getTxnMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static KVServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<KVServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<KVServiceStub>() {
        @java.lang.Override
        public KVServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new KVServiceStub(channel, callOptions);
        }
      };
    return KVServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static KVServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<KVServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<KVServiceBlockingV2Stub>() {
        @java.lang.Override
        public KVServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new KVServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return KVServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static KVServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<KVServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<KVServiceBlockingStub>() {
        @java.lang.Override
        public KVServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new KVServiceBlockingStub(channel, callOptions);
        }
      };
    return KVServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static KVServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<KVServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<KVServiceFutureStub>() {
        @java.lang.Override
        public KVServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new KVServiceFutureStub(channel, callOptions);
        }
      };
    return KVServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Get returns one key.
     * Errors: KEY_NOT_FOUND, KEY_EMPTY, KEY_TOO_LONG.
     * </pre>
     */
    default void get(io.tenure.v1.GetRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetMethod(), responseObserver);
    }

    /**
     * <pre>
     * List returns keys with a prefix, in byte order, in pages of at most 1 000 keys or 1 MiB. All keys of a page are of
     * the same revision. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void list(io.tenure.v1.ListRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListMethod(), responseObserver);
    }

    /**
     * <pre>
     * Put writes one key. Writing the same value again is a change. With acquire or release, it also acquires or releases
     * the key's lock. If that is not possible, nothing is written; this is a normal response, not an error. Errors:
     * KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, COMPARE_FAILED, SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    default void put(io.tenure.v1.PutRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutMethod(), responseObserver);
    }

    /**
     * <pre>
     * Delete deletes one key and its value; its lock remains. A missing key is not an error. Errors: COMPARE_FAILED, and
     * the errors of guards.
     * </pre>
     */
    default void delete(io.tenure.v1.DeleteRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteMethod(), responseObserver);
    }

    /**
     * <pre>
     * DeletePrefix deletes all keys with a prefix and their values; their locks remain. If there are more than 10 000
     * keys (in a transaction: for all its prefixes together), none is deleted. None is deleted
     * either if that would read and write more than one command may (Limits: command_rows_max, command_bytes_max).
     * Errors: TOO_MANY_KEYS, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    default void deletePrefix(io.tenure.v1.DeletePrefixRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeletePrefixResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeletePrefixMethod(), responseObserver);
    }

    /**
     * <pre>
     * Txn evaluates compares, then runs one of two lists of operations, completely or not at all. Compares see the state
     * before the transaction. Each operation sees the effects of earlier ones. Acquiring a lock does not wait. If an
     * operation does not succeed, the whole transaction fails, and the error names every failing operation. The
     * transaction is refused if it would read and write more than one command may (Limits: command_rows_max,
     * command_bytes_max).
     * The result is at most 1 MiB, or 64 KiB if there is a writing operation in either list, whichever list runs (before
     * cluster version 3: in the list that runs). Read larger values with Get, or in a transaction that only reads.
     * A transaction without a writing operation in either list is a linearizable read. It shows one state that includes
     * every change acknowledged before the call, and header.revision is the revision of that state. The member that
     * received the call answers from its own data once the leader has confirmed how current the data must be, and nothing
     * enters the log. Compares, guards and limits apply as in any other transaction. The session of a request id must
     * exist, at its epoch. Neither the request id nor an idempotency key is remembered, so a repeated call reads again
     * and may get a newer state.
     * Errors: TOO_LARGE, COMPARE_FAILED, LOCK_HELD, LOCK_DELAYED, LOCK_NOT_HELD, FENCING_TOKEN_STALE, and the errors of
     * Put.
     * </pre>
     */
    default void txn(io.tenure.v1.TxnRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TxnResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTxnMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service KVService.
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public static abstract class KVServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return KVServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service KVService.
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public static final class KVServiceStub
      extends io.grpc.stub.AbstractAsyncStub<KVServiceStub> {
    private KVServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected KVServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new KVServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Get returns one key.
     * Errors: KEY_NOT_FOUND, KEY_EMPTY, KEY_TOO_LONG.
     * </pre>
     */
    public void get(io.tenure.v1.GetRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * List returns keys with a prefix, in byte order, in pages of at most 1 000 keys or 1 MiB. All keys of a page are of
     * the same revision. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void list(io.tenure.v1.ListRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Put writes one key. Writing the same value again is a change. With acquire or release, it also acquires or releases
     * the key's lock. If that is not possible, nothing is written; this is a normal response, not an error. Errors:
     * KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, COMPARE_FAILED, SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public void put(io.tenure.v1.PutRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.PutResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Delete deletes one key and its value; its lock remains. A missing key is not an error. Errors: COMPARE_FAILED, and
     * the errors of guards.
     * </pre>
     */
    public void delete(io.tenure.v1.DeleteRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeleteResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DeletePrefix deletes all keys with a prefix and their values; their locks remain. If there are more than 10 000
     * keys (in a transaction: for all its prefixes together), none is deleted. None is deleted
     * either if that would read and write more than one command may (Limits: command_rows_max, command_bytes_max).
     * Errors: TOO_MANY_KEYS, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public void deletePrefix(io.tenure.v1.DeletePrefixRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DeletePrefixResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeletePrefixMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Txn evaluates compares, then runs one of two lists of operations, completely or not at all. Compares see the state
     * before the transaction. Each operation sees the effects of earlier ones. Acquiring a lock does not wait. If an
     * operation does not succeed, the whole transaction fails, and the error names every failing operation. The
     * transaction is refused if it would read and write more than one command may (Limits: command_rows_max,
     * command_bytes_max).
     * The result is at most 1 MiB, or 64 KiB if there is a writing operation in either list, whichever list runs (before
     * cluster version 3: in the list that runs). Read larger values with Get, or in a transaction that only reads.
     * A transaction without a writing operation in either list is a linearizable read. It shows one state that includes
     * every change acknowledged before the call, and header.revision is the revision of that state. The member that
     * received the call answers from its own data once the leader has confirmed how current the data must be, and nothing
     * enters the log. Compares, guards and limits apply as in any other transaction. The session of a request id must
     * exist, at its epoch. Neither the request id nor an idempotency key is remembered, so a repeated call reads again
     * and may get a newer state.
     * Errors: TOO_LARGE, COMPARE_FAILED, LOCK_HELD, LOCK_DELAYED, LOCK_NOT_HELD, FENCING_TOKEN_STALE, and the errors of
     * Put.
     * </pre>
     */
    public void txn(io.tenure.v1.TxnRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TxnResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTxnMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service KVService.
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public static final class KVServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<KVServiceBlockingV2Stub> {
    private KVServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected KVServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new KVServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Get returns one key.
     * Errors: KEY_NOT_FOUND, KEY_EMPTY, KEY_TOO_LONG.
     * </pre>
     */
    public io.tenure.v1.GetResponse get(io.tenure.v1.GetRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * List returns keys with a prefix, in byte order, in pages of at most 1 000 keys or 1 MiB. All keys of a page are of
     * the same revision. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListResponse list(io.tenure.v1.ListRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Put writes one key. Writing the same value again is a change. With acquire or release, it also acquires or releases
     * the key's lock. If that is not possible, nothing is written; this is a normal response, not an error. Errors:
     * KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, COMPARE_FAILED, SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.PutResponse put(io.tenure.v1.PutRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Delete deletes one key and its value; its lock remains. A missing key is not an error. Errors: COMPARE_FAILED, and
     * the errors of guards.
     * </pre>
     */
    public io.tenure.v1.DeleteResponse delete(io.tenure.v1.DeleteRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeletePrefix deletes all keys with a prefix and their values; their locks remain. If there are more than 10 000
     * keys (in a transaction: for all its prefixes together), none is deleted. None is deleted
     * either if that would read and write more than one command may (Limits: command_rows_max, command_bytes_max).
     * Errors: TOO_MANY_KEYS, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.DeletePrefixResponse deletePrefix(io.tenure.v1.DeletePrefixRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeletePrefixMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Txn evaluates compares, then runs one of two lists of operations, completely or not at all. Compares see the state
     * before the transaction. Each operation sees the effects of earlier ones. Acquiring a lock does not wait. If an
     * operation does not succeed, the whole transaction fails, and the error names every failing operation. The
     * transaction is refused if it would read and write more than one command may (Limits: command_rows_max,
     * command_bytes_max).
     * The result is at most 1 MiB, or 64 KiB if there is a writing operation in either list, whichever list runs (before
     * cluster version 3: in the list that runs). Read larger values with Get, or in a transaction that only reads.
     * A transaction without a writing operation in either list is a linearizable read. It shows one state that includes
     * every change acknowledged before the call, and header.revision is the revision of that state. The member that
     * received the call answers from its own data once the leader has confirmed how current the data must be, and nothing
     * enters the log. Compares, guards and limits apply as in any other transaction. The session of a request id must
     * exist, at its epoch. Neither the request id nor an idempotency key is remembered, so a repeated call reads again
     * and may get a newer state.
     * Errors: TOO_LARGE, COMPARE_FAILED, LOCK_HELD, LOCK_DELAYED, LOCK_NOT_HELD, FENCING_TOKEN_STALE, and the errors of
     * Put.
     * </pre>
     */
    public io.tenure.v1.TxnResponse txn(io.tenure.v1.TxnRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTxnMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service KVService.
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public static final class KVServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<KVServiceBlockingStub> {
    private KVServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected KVServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new KVServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Get returns one key.
     * Errors: KEY_NOT_FOUND, KEY_EMPTY, KEY_TOO_LONG.
     * </pre>
     */
    public io.tenure.v1.GetResponse get(io.tenure.v1.GetRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * List returns keys with a prefix, in byte order, in pages of at most 1 000 keys or 1 MiB. All keys of a page are of
     * the same revision. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListResponse list(io.tenure.v1.ListRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Put writes one key. Writing the same value again is a change. With acquire or release, it also acquires or releases
     * the key's lock. If that is not possible, nothing is written; this is a normal response, not an error. Errors:
     * KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, COMPARE_FAILED, SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.PutResponse put(io.tenure.v1.PutRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Delete deletes one key and its value; its lock remains. A missing key is not an error. Errors: COMPARE_FAILED, and
     * the errors of guards.
     * </pre>
     */
    public io.tenure.v1.DeleteResponse delete(io.tenure.v1.DeleteRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DeletePrefix deletes all keys with a prefix and their values; their locks remain. If there are more than 10 000
     * keys (in a transaction: for all its prefixes together), none is deleted. None is deleted
     * either if that would read and write more than one command may (Limits: command_rows_max, command_bytes_max).
     * Errors: TOO_MANY_KEYS, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.DeletePrefixResponse deletePrefix(io.tenure.v1.DeletePrefixRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeletePrefixMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Txn evaluates compares, then runs one of two lists of operations, completely or not at all. Compares see the state
     * before the transaction. Each operation sees the effects of earlier ones. Acquiring a lock does not wait. If an
     * operation does not succeed, the whole transaction fails, and the error names every failing operation. The
     * transaction is refused if it would read and write more than one command may (Limits: command_rows_max,
     * command_bytes_max).
     * The result is at most 1 MiB, or 64 KiB if there is a writing operation in either list, whichever list runs (before
     * cluster version 3: in the list that runs). Read larger values with Get, or in a transaction that only reads.
     * A transaction without a writing operation in either list is a linearizable read. It shows one state that includes
     * every change acknowledged before the call, and header.revision is the revision of that state. The member that
     * received the call answers from its own data once the leader has confirmed how current the data must be, and nothing
     * enters the log. Compares, guards and limits apply as in any other transaction. The session of a request id must
     * exist, at its epoch. Neither the request id nor an idempotency key is remembered, so a repeated call reads again
     * and may get a newer state.
     * Errors: TOO_LARGE, COMPARE_FAILED, LOCK_HELD, LOCK_DELAYED, LOCK_NOT_HELD, FENCING_TOKEN_STALE, and the errors of
     * Put.
     * </pre>
     */
    public io.tenure.v1.TxnResponse txn(io.tenure.v1.TxnRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTxnMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service KVService.
   * <pre>
   * KVService reads and writes keys. Locks are also keys: Put with acquire or release locks in the style of Consul.
   * </pre>
   */
  public static final class KVServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<KVServiceFutureStub> {
    private KVServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected KVServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new KVServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Get returns one key.
     * Errors: KEY_NOT_FOUND, KEY_EMPTY, KEY_TOO_LONG.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetResponse> get(
        io.tenure.v1.GetRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * List returns keys with a prefix, in byte order, in pages of at most 1 000 keys or 1 MiB. All keys of a page are of
     * the same revision. Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListResponse> list(
        io.tenure.v1.ListRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Put writes one key. Writing the same value again is a change. With acquire or release, it also acquires or releases
     * the key's lock. If that is not possible, nothing is written; this is a normal response, not an error. Errors:
     * KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, COMPARE_FAILED, SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.PutResponse> put(
        io.tenure.v1.PutRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Delete deletes one key and its value; its lock remains. A missing key is not an error. Errors: COMPARE_FAILED, and
     * the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeleteResponse> delete(
        io.tenure.v1.DeleteRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DeletePrefix deletes all keys with a prefix and their values; their locks remain. If there are more than 10 000
     * keys (in a transaction: for all its prefixes together), none is deleted. None is deleted
     * either if that would read and write more than one command may (Limits: command_rows_max, command_bytes_max).
     * Errors: TOO_MANY_KEYS, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DeletePrefixResponse> deletePrefix(
        io.tenure.v1.DeletePrefixRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeletePrefixMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Txn evaluates compares, then runs one of two lists of operations, completely or not at all. Compares see the state
     * before the transaction. Each operation sees the effects of earlier ones. Acquiring a lock does not wait. If an
     * operation does not succeed, the whole transaction fails, and the error names every failing operation. The
     * transaction is refused if it would read and write more than one command may (Limits: command_rows_max,
     * command_bytes_max).
     * The result is at most 1 MiB, or 64 KiB if there is a writing operation in either list, whichever list runs (before
     * cluster version 3: in the list that runs). Read larger values with Get, or in a transaction that only reads.
     * A transaction without a writing operation in either list is a linearizable read. It shows one state that includes
     * every change acknowledged before the call, and header.revision is the revision of that state. The member that
     * received the call answers from its own data once the leader has confirmed how current the data must be, and nothing
     * enters the log. Compares, guards and limits apply as in any other transaction. The session of a request id must
     * exist, at its epoch. Neither the request id nor an idempotency key is remembered, so a repeated call reads again
     * and may get a newer state.
     * Errors: TOO_LARGE, COMPARE_FAILED, LOCK_HELD, LOCK_DELAYED, LOCK_NOT_HELD, FENCING_TOKEN_STALE, and the errors of
     * Put.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.TxnResponse> txn(
        io.tenure.v1.TxnRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTxnMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET = 0;
  private static final int METHODID_LIST = 1;
  private static final int METHODID_PUT = 2;
  private static final int METHODID_DELETE = 3;
  private static final int METHODID_DELETE_PREFIX = 4;
  private static final int METHODID_TXN = 5;

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
        case METHODID_GET:
          serviceImpl.get((io.tenure.v1.GetRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetResponse>) responseObserver);
          break;
        case METHODID_LIST:
          serviceImpl.list((io.tenure.v1.ListRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListResponse>) responseObserver);
          break;
        case METHODID_PUT:
          serviceImpl.put((io.tenure.v1.PutRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.PutResponse>) responseObserver);
          break;
        case METHODID_DELETE:
          serviceImpl.delete((io.tenure.v1.DeleteRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeleteResponse>) responseObserver);
          break;
        case METHODID_DELETE_PREFIX:
          serviceImpl.deletePrefix((io.tenure.v1.DeletePrefixRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DeletePrefixResponse>) responseObserver);
          break;
        case METHODID_TXN:
          serviceImpl.txn((io.tenure.v1.TxnRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.TxnResponse>) responseObserver);
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
          getGetMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetRequest,
              io.tenure.v1.GetResponse>(
                service, METHODID_GET)))
        .addMethod(
          getListMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListRequest,
              io.tenure.v1.ListResponse>(
                service, METHODID_LIST)))
        .addMethod(
          getPutMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.PutRequest,
              io.tenure.v1.PutResponse>(
                service, METHODID_PUT)))
        .addMethod(
          getDeleteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeleteRequest,
              io.tenure.v1.DeleteResponse>(
                service, METHODID_DELETE)))
        .addMethod(
          getDeletePrefixMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DeletePrefixRequest,
              io.tenure.v1.DeletePrefixResponse>(
                service, METHODID_DELETE_PREFIX)))
        .addMethod(
          getTxnMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.TxnRequest,
              io.tenure.v1.TxnResponse>(
                service, METHODID_TXN)))
        .build();
  }

  private static abstract class KVServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    KVServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.KvProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("KVService");
    }
  }

  private static final class KVServiceFileDescriptorSupplier
      extends KVServiceBaseDescriptorSupplier {
    KVServiceFileDescriptorSupplier() {}
  }

  private static final class KVServiceMethodDescriptorSupplier
      extends KVServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    KVServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (KVServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new KVServiceFileDescriptorSupplier())
              .addMethod(getGetMethod())
              .addMethod(getListMethod())
              .addMethod(getPutMethod())
              .addMethod(getDeleteMethod())
              .addMethod(getDeletePrefixMethod())
              .addMethod(getTxnMethod())
              .build();
        }
      }
    }
    return result;
  }
}
