package io.tenure.internal.session;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import java.time.Duration;
import java.util.Base64;
import java.util.UUID;

/**
 * What another process needs to go on with a session: {@code ts1.<id>.<secret>.<epoch>.<ttl in ms>.<h or k>}. Whoever has
 * it can act as the session.
 */
public record SessionToken(String sessionId, byte[] secret, long epoch, Duration ttl, boolean handedOver) {
  private static final int SECRET_BYTES = 32;

  public static SessionToken parse(String text) {
    String[] parts = text.split("\\.", -1);
    if (parts.length != 6 || !parts[0].equals("ts1")) {
      throw invalid("it must have six parts and start with ts1");
    }
    try {
      String id = UUID.fromString(parts[1]).toString();
      byte[] secret = Base64.getUrlDecoder().decode(parts[2]);
      long epoch = Long.parseUnsignedLong(parts[3]);
      long ttl = Long.parseLong(parts[4]);
      boolean known = parts[5].equals("h") || parts[5].equals("k");
      if (!id.equals(parts[1]) || (secret.length != SECRET_BYTES && secret.length != 0) || epoch == 0 || ttl < 0
          || !known) {
        throw invalid("a part of it is damaged");
      }
      return new SessionToken(id, secret, epoch, Duration.ofMillis(ttl), parts[5].equals("h"));
    } catch (IllegalArgumentException e) {
      throw invalid("a part of it is damaged");
    }
  }

  public String text() {
    return String.join(".", "ts1", sessionId, Base64.getUrlEncoder().withoutPadding().encodeToString(secret),
        Long.toUnsignedString(epoch), Long.toString(ttl.toMillis()), handedOver ? "h" : "k");
  }

  @Override
  public String toString() {
    // Never the secret.
    return "SessionToken[" + sessionId + "]";
  }

  private static TenureException invalid(String why) {
    return Exceptions.of(ErrorKind.TOKEN_INVALID, Applied.NO, "session token: " + why);
  }
}
