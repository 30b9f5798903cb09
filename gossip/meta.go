package gossip

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	// versionBytesMax is how long the version of a program may be, and nameBytesMax the name of a node.
	versionBytesMax, nameBytesMax = 64, 253
)

// errStranger means that what takes part is not of this program.
var errStranger = errors.New("its name or its description cannot be read")

// about is what a node says of itself.
type about struct {
	Name    string `json:"n"`
	Role    Role   `json:"r"`
	Version string `json:"v"`
	// SyncBoot is left out by older programs, and by members.
	SyncBoot uint64 `json:"s,omitempty"`
}

// memberName returns the name of one start of a node in memberlist: a new one for each start, because memberlist takes no
// news of a name from another address until it has forgotten it.
func memberName(id [16]byte, number uint64) string {
	return hex.EncodeToString(id[:]) + "/" + strconv.FormatUint(number, 10)
}

// nodeOf returns what memberlist knows of a start of a node that is alive or gone, and the number of the start.
func nodeOf(m *memberlist.Node, alive bool, now time.Time) (Node, uint64, error) {
	idText, numberText, _ := strings.Cut(m.Name, "/")
	id, err := hex.DecodeString(idText)
	number, bad := strconv.ParseUint(numberText, 10, 64)
	if err = errors.Join(err, bad); err != nil || len(id) != len(Key{}.ID) {
		return Node{}, 0, fmt.Errorf("%w: name %.80q", errStranger, m.Name)
	}
	var of about
	if err = json.Unmarshal(m.Meta, &of); err != nil || of.Name == "" || len(of.Name) > nameBytesMax || len(of.Version) > versionBytesMax ||
		of.Role != Member && of.Role != Agent {
		return Node{}, 0, fmt.Errorf("%w: %.80q", errStranger, m.Name)
	}
	n := Node{
		Key: KeyOf([16]byte(id), of.Name), Name: of.Name, Role: of.Role, Version: of.Version,
		Address: net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port))), SyncBoot: of.SyncBoot, Since: now,
	}
	n.State = Failed
	if alive {
		n.State = Alive
	}
	return n, number, nil
}

// leaving is what a node tells members before it goes on purpose: memberlist tells those that watch only that it is gone.
type leaving struct {
	ID   string `json:"id"`
	Name string `json:"n"`
	Boot uint64 `json:"b"`
}

// readLeaving reads what a node says that goes.
func readLeaving(raw []byte) (Key, uint64, error) {
	var of leaving
	if err := json.Unmarshal(raw, &of); err != nil {
		return Key{}, 0, errStranger
	}
	id, err := hex.DecodeString(of.ID)
	if err != nil || len(id) != len(Key{}.ID) {
		return Key{}, 0, errStranger
	}
	return KeyOf([16]byte(id), of.Name), of.Boot, nil
}
