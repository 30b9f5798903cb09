package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The packages of the client: which may import which, and that users see nothing of the inside. */
final class LayersTest {
  private static final Path SOURCES = Path.of("src/main/java/io/tenure");
  private static final String INSIDE = "io.tenure.internal";
  private static final Pattern IMPORT = Pattern.compile("(?m)^import (io\\.tenure\\.internal(?:\\.[a-z]+)*)\\.[A-Z]");
  /** By layer, the layers that it may import. */
  private static final Map<String, Set<String>> LAYERS = Map.of(
      "", Set.of(),
      ".line", Set.of(""),
      ".session", Set.of("", ".line"),
      ".catalog", Set.of("", ".line", ".session"),
      ".watch", Set.of("", ".line", ".session"));

  private static List<Path> files(Path folder) {
    try (Stream<Path> all = Files.list(folder)) {
      return all.filter(f -> f.toString().endsWith(".java")).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aLayerImportsThoseBelowItAlone() throws Exception {
    Map<String, Set<String>> found = new TreeMap<>();
    try (Stream<Path> all = Files.walk(SOURCES.resolve("internal"))) {
      for (Path folder : all.filter(Files::isDirectory).toList()) {
        String layer = SOURCES.resolve("internal").relativize(folder).toString();
        found.put(layer.isEmpty() ? "" : "." + layer, new TreeSet<>());
        for (Path file : files(folder)) {
          Matcher m = IMPORT.matcher(Files.readString(file));
          while (m.find()) {
            found.get(layer.isEmpty() ? "" : "." + layer).add(m.group(1).substring(INSIDE.length()));
          }
        }
      }
    }
    assertEquals(new TreeMap<>(LAYERS).keySet(), found.keySet());
    found.forEach((layer, imports) -> {
      imports.removeAll(LAYERS.get(layer));
      imports.remove(layer);
      assertEquals(Set.of(), imports, "imported by io.tenure.internal" + layer);
    });
  }

  @Test
  void noMemberThatUsersSeeNamesTheInside() throws Exception {
    List<Class<?>> seen = new ArrayList<>();
    for (Path file : files(SOURCES)) {
      String name = file.getFileName().toString().replace(".java", "");
      if (!name.equals("package-info")) {
        addPublic(Class.forName("io.tenure." + name), seen);
      }
    }
    assertFalse(seen.size() < 60, "only " + seen);
    List<String> inside = new ArrayList<>();
    for (Class<?> c : seen) {
      List<String> shown = new ArrayList<>();
      shown.add(c.toGenericString() + c.getGenericSuperclass() + List.of(c.getGenericInterfaces()));
      for (Field f : c.getDeclaredFields()) {
        if (isSeen(f.getModifiers())) {
          shown.add(f.toGenericString());
        }
      }
      for (Constructor<?> made : c.getDeclaredConstructors()) {
        addSeen(made, shown);
      }
      for (Method m : c.getDeclaredMethods()) {
        addSeen(m, shown);
      }
      shown.stream().filter(s -> s.contains(INSIDE)).forEach(inside::add);
    }
    assertEquals(List.of(), inside);
  }

  private static void addPublic(Class<?> c, List<Class<?>> seen) {
    if (isSeen(c.getModifiers())) {
      seen.add(c);
      for (Class<?> nested : c.getDeclaredClasses()) {
        addPublic(nested, seen);
      }
    }
  }

  private static void addSeen(Executable e, List<String> shown) {
    if (isSeen(e.getModifiers())) {
      shown.add(e.toGenericString());
    }
  }

  private static boolean isSeen(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }
}
