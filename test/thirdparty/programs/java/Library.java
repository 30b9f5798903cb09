/** What a library made for Consul does, for {@link Contend}. */
interface Library {
  /** Makes a session of 10 s, with a lock-delay of 1 s, and returns its ID. */
  String create();

  void renew(String session);

  boolean acquire(String key, String session);

  boolean release(String key, String session);

  /** Waits until no session holds a key, or for some seconds. */
  void await(String key);

  /** Makes each call once, below a prefix, and fails if an answer is wrong. */
  void tour(String prefix) throws Exception;

  /** Fails if something is not so. */
  static void check(boolean so, Object what) {
    if (!so) {
      throw new IllegalStateException(String.valueOf(what));
    }
  }
}
