package io.tenure.internal;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.Sequencer;
import io.tenure.TenureException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * The text form of a sequencer: {@code v1.<key>.<lock_index>.<session>.<token>.<history>}. Every sequencer has exactly one
 * text, and anything else is refused.
 */
public final class SequencerText {
  private static final int TEXT_MAX = 2048;
  private static final int KEY_BYTES_MAX = 1024;
  private static final Pattern HISTORY = Pattern.compile("([0-9a-f]{32})?");

  private SequencerText() {}

  public static String format(Sequencer s) {
    return String.join(".", "v1",
        Base64.getUrlEncoder().withoutPadding().encodeToString(s.key().getBytes(StandardCharsets.UTF_8)),
        Long.toUnsignedString(s.lockIndex()), s.sessionId(), Long.toUnsignedString(s.fencingToken()), s.historyId());
  }

  public static Sequencer parse(String text) {
    String[] parts = text.length() > TEXT_MAX ? new String[0] : text.split("\\.", -1);
    if (parts.length != 6 || !parts[0].equals("v1")) {
      throw damaged("it must have six parts and start with v1");
    }
    try {
      byte[] raw = Base64.getUrlDecoder().decode(parts[1]);
      String key = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(raw)).toString();
      Sequencer s = new Sequencer(key, Long.parseUnsignedLong(parts[2]), UUID.fromString(parts[3]).toString(),
          Long.parseUnsignedLong(parts[4]), parts[5]);
      boolean whole = raw.length > 0 && raw.length <= KEY_BYTES_MAX && s.lockIndex() != 0 && s.fencingToken() != 0
          && HISTORY.matcher(parts[5]).matches();
      // The decoders forgive more than the format does.
      if (!whole || !format(s).equals(text)) {
        throw damaged("a part of it is not as written by Tenure");
      }
      return s;
    } catch (IllegalArgumentException | CharacterCodingException e) {
      throw damaged("a part of it is not as written by Tenure");
    }
  }

  private static TenureException damaged(String why) {
    return Exceptions.of(ErrorKind.TOKEN_INVALID, Applied.NO, "sequencer: " + why);
  }
}
