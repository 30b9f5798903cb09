package raftnode

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// raftLogger turns raft's lines into ours. Its information is for developers: what an operator would note is logged by
// the loop.
type raftLogger struct{ log *zap.Logger }

var _ raft.Logger = raftLogger{}

func (l raftLogger) write(level zapcore.Level, text func() string) {
	if ce := l.log.Check(level, "raft"); ce != nil {
		ce.Write(zap.String("text", text()))
	}
}

func (l raftLogger) print(level zapcore.Level, v []any) {
	l.write(level, func() string { return fmt.Sprint(v...) })
}

func (l raftLogger) printf(level zapcore.Level, format string, v []any) {
	l.write(level, func() string { return fmt.Sprintf(format, v...) })
}

// Debug logs at debug.
func (l raftLogger) Debug(v ...any) { l.print(zap.DebugLevel, v) }

// Debugf logs at debug.
func (l raftLogger) Debugf(format string, v ...any) { l.printf(zap.DebugLevel, format, v) }

// Info logs at debug: raft writes a line for each vote.
func (l raftLogger) Info(v ...any) { l.print(zap.DebugLevel, v) }

// Infof logs at debug: raft writes a line for each vote.
func (l raftLogger) Infof(format string, v ...any) { l.printf(zap.DebugLevel, format, v) }

// Warning logs at warn.
func (l raftLogger) Warning(v ...any) { l.print(zap.WarnLevel, v) }

// Warningf logs at warn.
func (l raftLogger) Warningf(format string, v ...any) { l.printf(zap.WarnLevel, format, v) }

// Error logs at error.
func (l raftLogger) Error(v ...any) { l.print(zap.ErrorLevel, v) }

// Errorf logs at error.
func (l raftLogger) Errorf(format string, v ...any) { l.printf(zap.ErrorLevel, format, v) }

// Fatal panics: raft found its own state impossible, and going on could lose data.
func (l raftLogger) Fatal(v ...any) { panic(fmt.Sprint(v...)) }

// Fatalf panics: raft found its own state impossible, and going on could lose data.
func (l raftLogger) Fatalf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }

// Panic panics: raft found its own state impossible, and going on could lose data.
func (l raftLogger) Panic(v ...any) { panic(fmt.Sprint(v...)) }

// Panicf panics: raft found its own state impossible, and going on could lose data.
func (l raftLogger) Panicf(format string, v ...any) { panic(fmt.Sprintf(format, v...)) }
