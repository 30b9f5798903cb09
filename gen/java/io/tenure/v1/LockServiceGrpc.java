package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
 * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LockServiceGrpc {

  private LockServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.LockService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.AcquireLockRequest,
      io.tenure.v1.AcquireLockResponse> getAcquireLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AcquireLock",
      requestType = io.tenure.v1.AcquireLockRequest.class,
      responseType = io.tenure.v1.AcquireLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.AcquireLockRequest,
      io.tenure.v1.AcquireLockResponse> getAcquireLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.AcquireLockRequest, io.tenure.v1.AcquireLockResponse> getAcquireLockMethod;
    if ((getAcquireLockMethod = LockServiceGrpc.getAcquireLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getAcquireLockMethod = LockServiceGrpc.getAcquireLockMethod) == null) {
          LockServiceGrpc.getAcquireLockMethod = getAcquireLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.AcquireLockRequest, io.tenure.v1.AcquireLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AcquireLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AcquireLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AcquireLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("AcquireLock"))
              .build();
        }
      }
    }
    return getAcquireLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.TryAcquireLockRequest,
      io.tenure.v1.TryAcquireLockResponse> getTryAcquireLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "TryAcquireLock",
      requestType = io.tenure.v1.TryAcquireLockRequest.class,
      responseType = io.tenure.v1.TryAcquireLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.TryAcquireLockRequest,
      io.tenure.v1.TryAcquireLockResponse> getTryAcquireLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.TryAcquireLockRequest, io.tenure.v1.TryAcquireLockResponse> getTryAcquireLockMethod;
    if ((getTryAcquireLockMethod = LockServiceGrpc.getTryAcquireLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getTryAcquireLockMethod = LockServiceGrpc.getTryAcquireLockMethod) == null) {
          LockServiceGrpc.getTryAcquireLockMethod = getTryAcquireLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.TryAcquireLockRequest, io.tenure.v1.TryAcquireLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "TryAcquireLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TryAcquireLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.TryAcquireLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("TryAcquireLock"))
              .build();
        }
      }
    }
    return getTryAcquireLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CancelWaitRequest,
      io.tenure.v1.CancelWaitResponse> getCancelWaitMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CancelWait",
      requestType = io.tenure.v1.CancelWaitRequest.class,
      responseType = io.tenure.v1.CancelWaitResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CancelWaitRequest,
      io.tenure.v1.CancelWaitResponse> getCancelWaitMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CancelWaitRequest, io.tenure.v1.CancelWaitResponse> getCancelWaitMethod;
    if ((getCancelWaitMethod = LockServiceGrpc.getCancelWaitMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getCancelWaitMethod = LockServiceGrpc.getCancelWaitMethod) == null) {
          LockServiceGrpc.getCancelWaitMethod = getCancelWaitMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CancelWaitRequest, io.tenure.v1.CancelWaitResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CancelWait"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CancelWaitRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CancelWaitResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("CancelWait"))
              .build();
        }
      }
    }
    return getCancelWaitMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ReleaseLockRequest,
      io.tenure.v1.ReleaseLockResponse> getReleaseLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReleaseLock",
      requestType = io.tenure.v1.ReleaseLockRequest.class,
      responseType = io.tenure.v1.ReleaseLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ReleaseLockRequest,
      io.tenure.v1.ReleaseLockResponse> getReleaseLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ReleaseLockRequest, io.tenure.v1.ReleaseLockResponse> getReleaseLockMethod;
    if ((getReleaseLockMethod = LockServiceGrpc.getReleaseLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getReleaseLockMethod = LockServiceGrpc.getReleaseLockMethod) == null) {
          LockServiceGrpc.getReleaseLockMethod = getReleaseLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ReleaseLockRequest, io.tenure.v1.ReleaseLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReleaseLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReleaseLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ReleaseLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ReleaseLock"))
              .build();
        }
      }
    }
    return getReleaseLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetLockRequest,
      io.tenure.v1.GetLockResponse> getGetLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLock",
      requestType = io.tenure.v1.GetLockRequest.class,
      responseType = io.tenure.v1.GetLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetLockRequest,
      io.tenure.v1.GetLockResponse> getGetLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetLockRequest, io.tenure.v1.GetLockResponse> getGetLockMethod;
    if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
          LockServiceGrpc.getGetLockMethod = getGetLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetLockRequest, io.tenure.v1.GetLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("GetLock"))
              .build();
        }
      }
    }
    return getGetLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListLocksRequest,
      io.tenure.v1.ListLocksResponse> getListLocksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListLocks",
      requestType = io.tenure.v1.ListLocksRequest.class,
      responseType = io.tenure.v1.ListLocksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListLocksRequest,
      io.tenure.v1.ListLocksResponse> getListLocksMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListLocksRequest, io.tenure.v1.ListLocksResponse> getListLocksMethod;
    if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
          LockServiceGrpc.getListLocksMethod = getListLocksMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListLocksRequest, io.tenure.v1.ListLocksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListLocks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListLocksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListLocksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListLocks"))
              .build();
        }
      }
    }
    return getListLocksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.BreakLockRequest,
      io.tenure.v1.BreakLockResponse> getBreakLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BreakLock",
      requestType = io.tenure.v1.BreakLockRequest.class,
      responseType = io.tenure.v1.BreakLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.BreakLockRequest,
      io.tenure.v1.BreakLockResponse> getBreakLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.BreakLockRequest, io.tenure.v1.BreakLockResponse> getBreakLockMethod;
    if ((getBreakLockMethod = LockServiceGrpc.getBreakLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getBreakLockMethod = LockServiceGrpc.getBreakLockMethod) == null) {
          LockServiceGrpc.getBreakLockMethod = getBreakLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.BreakLockRequest, io.tenure.v1.BreakLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BreakLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BreakLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.BreakLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("BreakLock"))
              .build();
        }
      }
    }
    return getBreakLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CheckSequencerRequest,
      io.tenure.v1.CheckSequencerResponse> getCheckSequencerMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CheckSequencer",
      requestType = io.tenure.v1.CheckSequencerRequest.class,
      responseType = io.tenure.v1.CheckSequencerResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CheckSequencerRequest,
      io.tenure.v1.CheckSequencerResponse> getCheckSequencerMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CheckSequencerRequest, io.tenure.v1.CheckSequencerResponse> getCheckSequencerMethod;
    if ((getCheckSequencerMethod = LockServiceGrpc.getCheckSequencerMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getCheckSequencerMethod = LockServiceGrpc.getCheckSequencerMethod) == null) {
          LockServiceGrpc.getCheckSequencerMethod = getCheckSequencerMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CheckSequencerRequest, io.tenure.v1.CheckSequencerResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CheckSequencer"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CheckSequencerRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CheckSequencerResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("CheckSequencer"))
              .build();
        }
      }
    }
    return getCheckSequencerMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LockServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceStub>() {
        @java.lang.Override
        public LockServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceStub(channel, callOptions);
        }
      };
    return LockServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static LockServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub>() {
        @java.lang.Override
        public LockServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return LockServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LockServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub>() {
        @java.lang.Override
        public LockServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingStub(channel, callOptions);
        }
      };
    return LockServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LockServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub>() {
        @java.lang.Override
        public LockServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceFutureStub(channel, callOptions);
        }
      };
    return LockServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * AcquireLock acquires a lock or waits in its queue. It streams queued, moved, then granted or rejected, and ends.
     * Unless leave_on_disconnect applies, a broken stream does not lose the place in the queue; to resume, call again
     * with the same session and owner. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, LOCK_MODE_MISMATCH, LIMIT_EXCEEDED, KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, and the errors of
     * guards.
     * </pre>
     */
    default void acquireLock(io.tenure.v1.AcquireLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AcquireLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquireLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * TryAcquireLock acquires a lock if it is free and no client waits; otherwise it returns the holders. With wait, it
     * queues for at most that time and responds once. Errors: those of AcquireLock.
     * </pre>
     */
    default void tryAcquireLock(io.tenure.v1.TryAcquireLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TryAcquireLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTryAcquireLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * CancelWait gives up a place in a queue. If the lock was granted first, the response contains the hold. Errors:
     * SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    default void cancelWait(io.tenure.v1.CancelWaitRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CancelWaitResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelWaitMethod(), responseObserver);
    }

    /**
     * <pre>
     * ReleaseLock releases a lock and grants it to the next waiters in the same step: to at most 256, and fewer if their
     * values and keys are large. Any others that can hold the lock get it right afterwards, in queue order, in revisions of
     * their own. Releasing a lock that is not held is not an error, nor is it for a session that has ended. Errors:
     * SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    default void releaseLock(io.tenure.v1.ReleaseLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReleaseLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleaseLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetLock returns a lock with its holders, waiters and delays.
     * Errors: LOCK_NOT_FOUND.
     * </pre>
     */
    default void getLock(io.tenure.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListLocks lists locks that are held, waited for or delayed, in byte order of their keys, in pages.
     * Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listLocks(io.tenure.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListLocksMethod(), responseObserver);
    }

    /**
     * <pre>
     * BreakLock takes a lock away from its holders; it is for operators. The lock-delay applies. If the lock has very many
     * holders, it takes several calls; see `remaining`. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    default void breakLock(io.tenure.v1.BreakLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BreakLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBreakLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * CheckSequencer reports whether a sequencer is still valid. It is linearizable and compares tokens. Errors:
     * SEQUENCER_INVALID, HISTORY_CHANGED.
     * </pre>
     */
    default void checkSequencer(io.tenure.v1.CheckSequencerRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CheckSequencerResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCheckSequencerMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LockService.
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public static abstract class LockServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LockServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LockService.
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public static final class LockServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LockServiceStub> {
    private LockServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * AcquireLock acquires a lock or waits in its queue. It streams queued, moved, then granted or rejected, and ends.
     * Unless leave_on_disconnect applies, a broken stream does not lose the place in the queue; to resume, call again
     * with the same session and owner. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, LOCK_MODE_MISMATCH, LIMIT_EXCEEDED, KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, and the errors of
     * guards.
     * </pre>
     */
    public void acquireLock(io.tenure.v1.AcquireLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AcquireLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getAcquireLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * TryAcquireLock acquires a lock if it is free and no client waits; otherwise it returns the holders. With wait, it
     * queues for at most that time and responds once. Errors: those of AcquireLock.
     * </pre>
     */
    public void tryAcquireLock(io.tenure.v1.TryAcquireLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.TryAcquireLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTryAcquireLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CancelWait gives up a place in a queue. If the lock was granted first, the response contains the hold. Errors:
     * SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public void cancelWait(io.tenure.v1.CancelWaitRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CancelWaitResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelWaitMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ReleaseLock releases a lock and grants it to the next waiters in the same step: to at most 256, and fewer if their
     * values and keys are large. Any others that can hold the lock get it right afterwards, in queue order, in revisions of
     * their own. Releasing a lock that is not held is not an error, nor is it for a session that has ended. Errors:
     * SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public void releaseLock(io.tenure.v1.ReleaseLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ReleaseLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleaseLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetLock returns a lock with its holders, waiters and delays.
     * Errors: LOCK_NOT_FOUND.
     * </pre>
     */
    public void getLock(io.tenure.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListLocks lists locks that are held, waited for or delayed, in byte order of their keys, in pages.
     * Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listLocks(io.tenure.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * BreakLock takes a lock away from its holders; it is for operators. The lock-delay applies. If the lock has very many
     * holders, it takes several calls; see `remaining`. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public void breakLock(io.tenure.v1.BreakLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.BreakLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBreakLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * CheckSequencer reports whether a sequencer is still valid. It is linearizable and compares tokens. Errors:
     * SEQUENCER_INVALID, HISTORY_CHANGED.
     * </pre>
     */
    public void checkSequencer(io.tenure.v1.CheckSequencerRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CheckSequencerResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCheckSequencerMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LockService.
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public static final class LockServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingV2Stub> {
    private LockServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * AcquireLock acquires a lock or waits in its queue. It streams queued, moved, then granted or rejected, and ends.
     * Unless leave_on_disconnect applies, a broken stream does not lose the place in the queue; to resume, call again
     * with the same session and owner. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, LOCK_MODE_MISMATCH, LIMIT_EXCEEDED, KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, and the errors of
     * guards.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.tenure.v1.AcquireLockResponse>
        acquireLock(io.tenure.v1.AcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getAcquireLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * TryAcquireLock acquires a lock if it is free and no client waits; otherwise it returns the holders. With wait, it
     * queues for at most that time and responds once. Errors: those of AcquireLock.
     * </pre>
     */
    public io.tenure.v1.TryAcquireLockResponse tryAcquireLock(io.tenure.v1.TryAcquireLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTryAcquireLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CancelWait gives up a place in a queue. If the lock was granted first, the response contains the hold. Errors:
     * SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.CancelWaitResponse cancelWait(io.tenure.v1.CancelWaitRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelWaitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReleaseLock releases a lock and grants it to the next waiters in the same step: to at most 256, and fewer if their
     * values and keys are large. Any others that can hold the lock get it right afterwards, in queue order, in revisions of
     * their own. Releasing a lock that is not held is not an error, nor is it for a session that has ended. Errors:
     * SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.ReleaseLockResponse releaseLock(io.tenure.v1.ReleaseLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReleaseLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLock returns a lock with its holders, waiters and delays.
     * Errors: LOCK_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetLockResponse getLock(io.tenure.v1.GetLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListLocks lists locks that are held, waited for or delayed, in byte order of their keys, in pages.
     * Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListLocksResponse listLocks(io.tenure.v1.ListLocksRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * BreakLock takes a lock away from its holders; it is for operators. The lock-delay applies. If the lock has very many
     * holders, it takes several calls; see `remaining`. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public io.tenure.v1.BreakLockResponse breakLock(io.tenure.v1.BreakLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBreakLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckSequencer reports whether a sequencer is still valid. It is linearizable and compares tokens. Errors:
     * SEQUENCER_INVALID, HISTORY_CHANGED.
     * </pre>
     */
    public io.tenure.v1.CheckSequencerResponse checkSequencer(io.tenure.v1.CheckSequencerRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCheckSequencerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service LockService.
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public static final class LockServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingStub> {
    private LockServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * AcquireLock acquires a lock or waits in its queue. It streams queued, moved, then granted or rejected, and ends.
     * Unless leave_on_disconnect applies, a broken stream does not lose the place in the queue; to resume, call again
     * with the same session and owner. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED,
     * SESSION_SECRET_WRONG, LOCK_MODE_MISMATCH, LIMIT_EXCEEDED, KEY_EMPTY, KEY_TOO_LONG, TOO_LARGE, and the errors of
     * guards.
     * </pre>
     */
    public java.util.Iterator<io.tenure.v1.AcquireLockResponse> acquireLock(
        io.tenure.v1.AcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getAcquireLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * TryAcquireLock acquires a lock if it is free and no client waits; otherwise it returns the holders. With wait, it
     * queues for at most that time and responds once. Errors: those of AcquireLock.
     * </pre>
     */
    public io.tenure.v1.TryAcquireLockResponse tryAcquireLock(io.tenure.v1.TryAcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTryAcquireLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CancelWait gives up a place in a queue. If the lock was granted first, the response contains the hold. Errors:
     * SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.CancelWaitResponse cancelWait(io.tenure.v1.CancelWaitRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelWaitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ReleaseLock releases a lock and grants it to the next waiters in the same step: to at most 256, and fewer if their
     * values and keys are large. Any others that can hold the lock get it right afterwards, in queue order, in revisions of
     * their own. Releasing a lock that is not held is not an error, nor is it for a session that has ended. Errors:
     * SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.ReleaseLockResponse releaseLock(io.tenure.v1.ReleaseLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleaseLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLock returns a lock with its holders, waiters and delays.
     * Errors: LOCK_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetLockResponse getLock(io.tenure.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListLocks lists locks that are held, waited for or delayed, in byte order of their keys, in pages.
     * Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListLocksResponse listLocks(io.tenure.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * BreakLock takes a lock away from its holders; it is for operators. The lock-delay applies. If the lock has very many
     * holders, it takes several calls; see `remaining`. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public io.tenure.v1.BreakLockResponse breakLock(io.tenure.v1.BreakLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBreakLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * CheckSequencer reports whether a sequencer is still valid. It is linearizable and compares tokens. Errors:
     * SEQUENCER_INVALID, HISTORY_CHANGED.
     * </pre>
     */
    public io.tenure.v1.CheckSequencerResponse checkSequencer(io.tenure.v1.CheckSequencerRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCheckSequencerMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LockService.
   * <pre>
   * LockService acquires and releases locks. A lock is a key. Besides its value, the key then has holders and a
   * replicated FIFO queue of waiters. Losing a race for a lock is a normal response, not an error.
   * </pre>
   */
  public static final class LockServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LockServiceFutureStub> {
    private LockServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * TryAcquireLock acquires a lock if it is free and no client waits; otherwise it returns the holders. With wait, it
     * queues for at most that time and responds once. Errors: those of AcquireLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.TryAcquireLockResponse> tryAcquireLock(
        io.tenure.v1.TryAcquireLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTryAcquireLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CancelWait gives up a place in a queue. If the lock was granted first, the response contains the hold. Errors:
     * SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CancelWaitResponse> cancelWait(
        io.tenure.v1.CancelWaitRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelWaitMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ReleaseLock releases a lock and grants it to the next waiters in the same step: to at most 256, and fewer if their
     * values and keys are large. Any others that can hold the lock get it right afterwards, in queue order, in revisions of
     * their own. Releasing a lock that is not held is not an error, nor is it for a session that has ended. Errors:
     * SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ReleaseLockResponse> releaseLock(
        io.tenure.v1.ReleaseLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleaseLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetLock returns a lock with its holders, waiters and delays.
     * Errors: LOCK_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetLockResponse> getLock(
        io.tenure.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListLocks lists locks that are held, waited for or delayed, in byte order of their keys, in pages.
     * Errors: PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListLocksResponse> listLocks(
        io.tenure.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * BreakLock takes a lock away from its holders; it is for operators. The lock-delay applies. If the lock has very many
     * holders, it takes several calls; see `remaining`. Errors: INVALID_ARGUMENT without reason.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.BreakLockResponse> breakLock(
        io.tenure.v1.BreakLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBreakLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * CheckSequencer reports whether a sequencer is still valid. It is linearizable and compares tokens. Errors:
     * SEQUENCER_INVALID, HISTORY_CHANGED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CheckSequencerResponse> checkSequencer(
        io.tenure.v1.CheckSequencerRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCheckSequencerMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE_LOCK = 0;
  private static final int METHODID_TRY_ACQUIRE_LOCK = 1;
  private static final int METHODID_CANCEL_WAIT = 2;
  private static final int METHODID_RELEASE_LOCK = 3;
  private static final int METHODID_GET_LOCK = 4;
  private static final int METHODID_LIST_LOCKS = 5;
  private static final int METHODID_BREAK_LOCK = 6;
  private static final int METHODID_CHECK_SEQUENCER = 7;

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
        case METHODID_ACQUIRE_LOCK:
          serviceImpl.acquireLock((io.tenure.v1.AcquireLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.AcquireLockResponse>) responseObserver);
          break;
        case METHODID_TRY_ACQUIRE_LOCK:
          serviceImpl.tryAcquireLock((io.tenure.v1.TryAcquireLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.TryAcquireLockResponse>) responseObserver);
          break;
        case METHODID_CANCEL_WAIT:
          serviceImpl.cancelWait((io.tenure.v1.CancelWaitRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CancelWaitResponse>) responseObserver);
          break;
        case METHODID_RELEASE_LOCK:
          serviceImpl.releaseLock((io.tenure.v1.ReleaseLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ReleaseLockResponse>) responseObserver);
          break;
        case METHODID_GET_LOCK:
          serviceImpl.getLock((io.tenure.v1.GetLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetLockResponse>) responseObserver);
          break;
        case METHODID_LIST_LOCKS:
          serviceImpl.listLocks((io.tenure.v1.ListLocksRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListLocksResponse>) responseObserver);
          break;
        case METHODID_BREAK_LOCK:
          serviceImpl.breakLock((io.tenure.v1.BreakLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.BreakLockResponse>) responseObserver);
          break;
        case METHODID_CHECK_SEQUENCER:
          serviceImpl.checkSequencer((io.tenure.v1.CheckSequencerRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CheckSequencerResponse>) responseObserver);
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
          getAcquireLockMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.tenure.v1.AcquireLockRequest,
              io.tenure.v1.AcquireLockResponse>(
                service, METHODID_ACQUIRE_LOCK)))
        .addMethod(
          getTryAcquireLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.TryAcquireLockRequest,
              io.tenure.v1.TryAcquireLockResponse>(
                service, METHODID_TRY_ACQUIRE_LOCK)))
        .addMethod(
          getCancelWaitMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CancelWaitRequest,
              io.tenure.v1.CancelWaitResponse>(
                service, METHODID_CANCEL_WAIT)))
        .addMethod(
          getReleaseLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ReleaseLockRequest,
              io.tenure.v1.ReleaseLockResponse>(
                service, METHODID_RELEASE_LOCK)))
        .addMethod(
          getGetLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetLockRequest,
              io.tenure.v1.GetLockResponse>(
                service, METHODID_GET_LOCK)))
        .addMethod(
          getListLocksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListLocksRequest,
              io.tenure.v1.ListLocksResponse>(
                service, METHODID_LIST_LOCKS)))
        .addMethod(
          getBreakLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.BreakLockRequest,
              io.tenure.v1.BreakLockResponse>(
                service, METHODID_BREAK_LOCK)))
        .addMethod(
          getCheckSequencerMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CheckSequencerRequest,
              io.tenure.v1.CheckSequencerResponse>(
                service, METHODID_CHECK_SEQUENCER)))
        .build();
  }

  private static abstract class LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LockServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.LockProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LockService");
    }
  }

  private static final class LockServiceFileDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier {
    LockServiceFileDescriptorSupplier() {}
  }

  private static final class LockServiceMethodDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LockServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (LockServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LockServiceFileDescriptorSupplier())
              .addMethod(getAcquireLockMethod())
              .addMethod(getTryAcquireLockMethod())
              .addMethod(getCancelWaitMethod())
              .addMethod(getReleaseLockMethod())
              .addMethod(getGetLockMethod())
              .addMethod(getListLocksMethod())
              .addMethod(getBreakLockMethod())
              .addMethod(getCheckSequencerMethod())
              .build();
        }
      }
    }
    return result;
  }
}
