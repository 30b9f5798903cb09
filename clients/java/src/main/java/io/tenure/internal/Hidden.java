package io.tenure.internal;

import java.lang.invoke.MethodHandles;
import java.util.function.Function;

/**
 * A constructor of the API that its users do not see. The class that has it gives it as soon as it is loaded, so that what makes its objects
 * need not be in its package.
 */
public final class Hidden<T, R> {
  private final Class<R> owner;
  private volatile Function<? super T, ? extends R> constructor;

  /** The constructor of that class. */
  public Hidden(Class<R> owner) {
    this.owner = owner;
  }

  /** Takes the constructor. Only the first one counts. */
  public synchronized void give(Function<? super T, ? extends R> given) {
    if (constructor == null) {
      constructor = given;
    }
  }

  /** Returns a new object. */
  public R make(T from) {
    if (constructor == null) {
      try {
        MethodHandles.lookup().ensureInitialized(owner);
      } catch (IllegalAccessException e) {
        throw new LinkageError(owner + " is not public", e);
      }
    }
    return constructor.apply(from);
  }
}
