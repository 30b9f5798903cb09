package io.tenure;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.Backoff;
import io.tenure.internal.BootClock;
import io.tenure.internal.RequestIds;
import io.tenure.internal.line.Errors;
import io.tenure.internal.line.Opened;
import io.tenure.internal.line.Rebalance;
import io.tenure.internal.session.SessionToken;
import io.tenure.v1.ErrorReason;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The parts that need no member. */
final class PartsTest {
  @Test
  void aConnectionStringSaysAllOfIt() {
    ConnectionString c = ConnectionString.parse(
        "tenure://h1:7400,h2,[::1]:1/team/app?ttl=1m30s&lock_delay=500ms&name=my%20job");
    assertEquals(List.of("h1:7400", "h2:7400", "[::1]:1"), c.members());
    assertEquals("team/app", c.namespace());
    assertEquals(Duration.ofSeconds(90), c.ttl());
    assertEquals(Optional.of(Duration.ofMillis(500)), c.lockDelay());
    assertEquals(Optional.of("my job"), c.name());
    assertFalse(c.tls());
    assertTrue(ConnectionString.parse("tenures://h").tls());
    assertEquals("", ConnectionString.parse("tenure://h").namespace());
    assertEquals(List.of("h:1", "g:7400"), ConnectionString.parse("h:1,g/app?ttl=5s").members());
    assertEquals(Optional.empty(), ConnectionString.parse("h:1").scheme());
    assertEquals(Map.of("ca_file", "/a b", "insecure", "false"), ConnectionString.parse("h?ca_file=/a%20b&insecure=false").security());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "http://h", "://h", "http:h", "tenure://", "tenure://h:0", "tenure://h:99999", "tenure://h,",
      "tenure://h?x=1", "tenure://h?ttl=soon", "tenure://h?ttl=", "tenure://h?ttl=15", "tenure://h?ttl=1s&ttl=2s",
      "tenure://h?ttl=-1s", "tenure://u@h", "tenure://h/%zz", "tenure://h?ttl=999999999999h",
      "tenure://h?insecure=yes", "tenure://h?ca_file="})
  void aBadConnectionStringIsRefused(String text) {
    TenureException e = assertThrows(TenureException.class, () -> ConnectionString.parse(text));
    assertEquals(ErrorKind.INVALID_ARGUMENT, e.kind());
  }

  @Test
  void aConnectionStringThatIsMadeOfPartsIsCheckedToo() {
    ConnectionString c = new ConnectionString(
        List.of("h1", "h2:1"), "", false, Duration.ZERO, Optional.empty(), Optional.empty());
    assertEquals(List.of("h1:7400", "h2:1"), c.members());
    for (List<String> bad : List.of(List.<String>of(), List.of(":7400"), List.of("h:0"))) {
      TenureException e = assertThrows(TenureException.class, () -> new ConnectionString(
          bad, "", false, Duration.ZERO, Optional.empty(), Optional.empty()));
      assertEquals(ErrorKind.INVALID_ARGUMENT, e.kind());
    }
    Duration tooLong = Duration.ofDays(365L * 400);
    assertThrows(TenureException.class, () -> new ConnectionString(
        List.of("h1"), "", false, tooLong, Optional.empty(), Optional.empty()));
    assertThrows(TenureException.class, () -> new ConnectionString(
        List.of("h1"), "", false, Duration.ZERO, Optional.of(tooLong), Optional.empty()));
    assertThrows(TenureException.class, () -> new ConnectionString(
        List.of("h"), "", false, Duration.ofSeconds(-1), Optional.empty(), Optional.empty()));
  }

  @Test
  void aSemaphoreHasALimitAndTakesAtMostThatMany() {
    LockOptions one = LockOptions.semaphore(3);
    assertEquals(List.of(3, 1), List.of(one.terms().limit(), one.terms().permits()));
    LockOptions all = LockOptions.semaphore(3, 3).withOwner("a");
    assertEquals(List.of(3, 3), List.of(all.terms().limit(), all.terms().permits()));
    for (List<Integer> bad : List.of(List.of(0, 1), List.of(-1, 1), List.of(3, 0), List.of(3, -1), List.of(1, 3))) {
      TenureException e = assertThrows(TenureException.class, () -> LockOptions.semaphore(bad.get(0), bad.get(1)));
      assertEquals(List.of(ErrorKind.INVALID_ARGUMENT, Applied.NO), List.of(e.kind(), e.applied()));
    }
    assertThrows(TenureException.class, () -> LockOptions.semaphore(0));
  }

  @Test
  void theClockGoesOnWhileTheMachineSleeps() {
    long[] mono = {0};
    long[] wall = {1_000_000};
    BootClock c = new BootClock(() -> mono[0], () -> wall[0]);
    assertEquals(0, c.nanos());
    mono[0] += 5_000_000_000L;
    wall[0] += 5_000;
    assertEquals(5_000_000_000L, c.nanos());
    // Asleep for a minute: only the wall clock saw it.
    wall[0] += 60_000;
    assertEquals(65_000_000_000L, c.nanos());
    // Set back: time does not go back.
    wall[0] -= 600_000;
    assertEquals(65_000_000_000L, c.nanos());
    mono[0] += 1_000_000_000L;
    wall[0] += 1_000;
    assertEquals(66_000_000_000L, c.nanos());
  }

  @ParameterizedTest
  @EnumSource(value = ErrorReason.class, mode = EnumSource.Mode.EXCLUDE,
      names = {"ERROR_REASON_UNSPECIFIED", "UNRECOGNIZED"})
  void everyReasonOfTheClusterMeansSomething(ErrorReason reason) {
    String name = reason.name().replaceFirst("^ERROR_REASON_", "");
    assertTrue(Errors.known(name).isPresent(), name);
  }

  @Test
  void anAttemptToConnectMayTakeLongerInEachRoundOverTheMembers() {
    Duration ttl = Duration.ofSeconds(2);
    assertEquals(Duration.ofMillis(250), Duration.ofNanos(Opened.connectNanos(ttl, 3, 0)));
    assertEquals(Duration.ofMillis(250), Duration.ofNanos(Opened.connectNanos(ttl, 3, 2)));
    assertEquals(Duration.ofMillis(500), Duration.ofNanos(Opened.connectNanos(ttl, 3, 3)));
    assertEquals(Duration.ofSeconds(3), Duration.ofNanos(Opened.connectNanos(ttl, 3, 1_000_000)));
    assertEquals(Duration.ofSeconds(3), Duration.ofNanos(Opened.connectNanos(Duration.ofMinutes(1), 3, 0)));
    assertEquals(Duration.ofSeconds(3), Duration.ofNanos(Opened.connectNanos(Duration.ofHours(168), 1, 1_000_000)));
    assertEquals(Duration.ofSeconds(3), Duration.ofNanos(Opened.connectNanos(ChronoUnit.FOREVER.getDuration(), 1, 0)));
  }

  @Test
  void pausesAreDrawnFromAGrowingRange() {
    Random random = new Random(1);
    for (int n = 0; n < 20; n++) {
      long bound = Math.min(2_000_000_000L, 20_000_000L << Math.min(n, 30));
      long most = 0;
      for (int i = 0; i < 2_000; i++) {
        long p = Backoff.pauseNanos(n, random);
        assertTrue(p > 0 && p <= bound, n + ": " + p);
        most = Math.max(most, p);
      }
      assertTrue(most > bound * 9 / 10, n + ": the largest was " + most);
    }
  }

  @Test
  void clientsSpreadEvenlyWhenMembersComeAndGo() {
    List<String> three = List.of("a", "b", "c");
    List<String> five = List.of("a", "b", "c", "d", "e");
    assertEven(three, five, 0.4);
    assertEven(five, three, 0.4);
    assertEven(three, List.of("c", "d", "e"), 2.0 / 3);
    assertEven(three, three, 0);
  }

  private static void assertEven(List<String> before, List<String> after, double moving) {
    int clients = 30_000;
    Random random = new Random(7);
    Map<String, Integer> load = new HashMap<>();
    int moved = 0;
    for (int i = 0; i < clients; i++) {
      String at = before.get(i % before.size());
      List<String> fresh = after.stream().filter(m -> !before.contains(m)).toList();
      List<String> kept = after.stream().filter(before::contains).toList();
      String to = switch (Rebalance.decide(before, after, at, random.nextDouble())) {
        case STAY -> at;
        case TO_NEW -> fresh.get(random.nextInt(fresh.size()));
        case TO_OLD -> kept.get(random.nextInt(kept.size()));
      };
      moved += to.equals(at) ? 0 : 1;
      load.merge(to, 1, Integer::sum);
    }
    for (String m : after) {
      assertEquals(clients / (double) after.size(), load.get(m), clients / (double) after.size() / 10, m);
    }
    assertEquals(moving, moved / (double) clients, 0.02);
  }

  @Test
  void requestsAreNumberedAndTheMarkFollowsTheOldestOpenOne() {
    RequestIds ids = new RequestIds();
    assertEquals(1, ids.doneBelow());
    assertEquals(1, ids.draw(() -> { }));
    assertEquals(2, ids.draw(() -> { }));
    assertEquals(3, ids.draw(() -> { }));
    ids.done(2);
    assertEquals(1, ids.doneBelow());
    ids.done(1);
    assertEquals(3, ids.doneBelow());
    ids.done(3);
    assertEquals(4, ids.doneBelow());
    IntStream.range(0, RequestIds.OPEN_MAX).forEach(i -> assertTrue(ids.draw(() -> { }) > 0));
    List<String> later = new ArrayList<>();
    assertEquals(0, ids.draw(() -> later.add("now")));
    ids.done(4);
    assertEquals(List.of("now"), later);
  }

  @Test
  void aSessionTokenReadsBackAndShowsNoSecret() {
    byte[] secret = new byte[32];
    new Random(3).nextBytes(secret);
    SessionToken t = new SessionToken(
        "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11", secret, 7, Duration.ofSeconds(15), true);
    SessionToken back = SessionToken.parse(t.text());
    assertEquals(t.text(), back.text());
    assertArrayEquals(secret, back.secret());
    assertTrue(back.handedOver());
    assertFalse(t.toString().contains(t.text().split("\\.")[2]));
    for (String bad : List.of("", "ts1", t.text() + "x", t.text().replace("ts1", "ts2"), t.text().replace(".7.", ".0."),
        t.text().replace("5f0c", "5F0C"))) {
      assertThrows(TenureException.class, () -> SessionToken.parse(bad), bad);
    }
  }

  @Test
  void aSequencerHasOneText() {
    String text = "v1.YS9i.3.5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11.42.0123456789abcdef0123456789abcdef";
    Sequencer s = Sequencer.parse(text);
    assertEquals("a/b", s.key());
    assertEquals(42, s.fencingToken());
    assertEquals(text, s.text());
    for (String bad : List.of("", "v2" + text.substring(2), text + "0", text.replace(".42.", ".042."),
        text.replace(".42.", ".0."), text.replace(".42.", ".-1."), text.replace("YS9i", "YS9i="),
        text.replace("YS9i", ""), text.replace("5f0c", "5F0C"))) {
      assertThrows(TenureException.class, () -> Sequencer.parse(bad), bad);
    }
  }

  @Test
  void aGateLetsNobodyPassAfterALaterHolder() {
    FenceGate gate = new FenceGate();
    Sequencer first = new Sequencer("k", 1, "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11", 10, "");
    Sequencer second = new Sequencer("k", 2, "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11", 11, "");
    gate.check(first);
    gate.check(first);
    gate.check(second);
    assertThrows(TenureException.StaleToken.class, () -> gate.check(first));
    gate.check(new Sequencer("other", 1, "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11", 3, ""));
  }
}
