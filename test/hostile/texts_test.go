package hostile_test

import "strings"

// oddTexts are what stands in every place of a text, one after the other.
func oddTexts() map[string]string {
	return map[string]string{
		"empty":              "",
		"over a name":        strings.Repeat("n", 257),
		"over a key":         strings.Repeat("k", 1025),
		"over a value":       strings.Repeat("v", 512<<10+1),
		"1.4 MB":             strings.Repeat("m", 1_400_000),
		"control characters": strings.Repeat("\x00\x01\x7f\r\n\t\x1b\u2028", 32),
		"bad UTF-8":          "a\xff\xc3(\xed\xa0\x80",
	}
}

// plainTexts are as many texts as are odd, which are not.
func plainTexts() map[string]string {
	plain := map[string]string{}
	for kind := range oddTexts() {
		plain[kind] = "plain"
	}
	return plain
}

// fieldAttacks put every odd text into every field.
func fieldAttacks() []attack {
	return []attack{
		{entry: "S12", name: "odd texts in every field of REST", attack: oddREST, alike: plainREST, prepare: giveSession, pins: func(bool) int { return intakeMiB }},
		{entry: "S12", name: "odd texts in every field of gRPC", attack: oddCalls, prepare: giveSession, pins: func(bool) int { return intakeMiB }},
		{entry: "S12", name: "odd texts in every field of an agent's gRPC", attack: oddAgentCalls, flags: consulFlag, prepare: func(s *scene) {
			s.attackConsul(s.startAgent())
			s.given[agentGiven] = s.agent.Address
		}, after: func(s *scene) { s.agentIsInOrder() }},
		{entry: "S12", name: "odd texts in every field of an agent's REST", attack: oddAgentREST, flags: consulFlag, prepare: func(s *scene) {
			s.attackConsul(s.startAgent())
			s.given[agentGiven] = s.agent.HTTP
		}, after: func(s *scene) { s.agentIsInOrder() }, pins: func(bool) int { return intakeMiB }},
	}
}
