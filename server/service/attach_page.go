package service

import (
	"cmp"
	"encoding/binary"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

// objectPlace is where one of a session's holds or places stands in what an attach tells: holds come first, each kind by
// key and owner. A session has no two of a kind with the same key and owner.
type objectPlace struct {
	waits      bool
	key, owner string
}

// after tells whether the object comes after another.
func (p objectPlace) after(other objectPlace) bool {
	if p.waits != other.waits {
		return p.waits
	}
	return cmp.Or(strings.Compare(p.key, other.key), strings.Compare(p.owner, other.owner)) > 0
}

// text returns the place for a page token.
func (p objectPlace) text() string {
	kind := byte('h')
	if p.waits {
		kind = 'w'
	}
	return string(binary.AppendUvarint([]byte{kind}, uint64(len(p.key)))) + p.key + p.owner
}

// parseObjectPlace reads what text has written; ok is false for anything else, which clients can seal as well.
func parseObjectPlace(text string) (p objectPlace, ok bool) {
	if text == "" || text[0] != 'h' && text[0] != 'w' {
		return objectPlace{}, false
	}
	length, n := binary.Uvarint([]byte(text[1:]))
	if n <= 0 || length > uint64(len(text)-1-n) {
		return objectPlace{}, false
	}
	rest := text[1+n:]
	return objectPlace{waits: text[0] == 'w', key: rest[:length], owner: rest[length:]}, true
}

// objectsPage is one page of what a live session holds and where it queues.
type objectsPage struct {
	holds  []*tenurev1.Hold
	places []*tenurev1.Place
	next   string // the token of the next page; empty after the last
}

// objectsQuery asks for such a page.
type objectsQuery struct {
	list     string // which listing it is
	session  storage.SessionID
	name     string // the session's
	token    string
	itemsMax int // 0 is no limit
}

// objectsAt returns one page of what a live session has.
func (a *Sessions) objectsAt(s *call.Snapshot, q objectsQuery) (*objectsPage, error) {
	query := call.PageQuery{List: q.list, Filters: []string{q.session.String()}}
	text, err := query.After(s.At, q.token)
	if err != nil {
		return nil, err
	}
	var from objectPlace
	if text != "" {
		var ok bool
		if from, ok = parseObjectPlace(text); !ok {
			return nil, call.PageTokenInvalid()
		}
	}
	objects, err := s.SessionObjects(q.session)
	if err != nil {
		return nil, err
	}
	page, bytes, last := &objectsPage{}, 0, from
	full := func(p objectPlace) bool {
		if items := len(page.holds) + len(page.places); bytes >= call.PageBytesMax || q.itemsMax > 0 && items >= q.itemsMax {
			page.next = query.Token(s.At, last.text())
			return true
		}
		last = p
		return false
	}
	for _, h := range objects.Holds {
		at := objectPlace{key: h.GetKey(), owner: h.GetOwner()}
		if !at.after(from) {
			continue
		}
		if full(at) {
			return page, nil
		}
		hold := call.HoldToProto(h, s.At.HistoryID, a.Timers)
		bytes += proto.Size(hold)
		page.holds = append(page.holds, hold)
	}
	for _, w := range objects.Places {
		at := objectPlace{waits: true, key: w.Key, owner: w.Record.GetOwner()}
		if !at.after(from) {
			continue
		}
		if full(at) {
			return page, nil
		}
		position, err := s.Position(w.Key, w.Place)
		if err != nil {
			return nil, err
		}
		place := placeToProto(w, position)
		place.SessionName = q.name
		bytes += proto.Size(place)
		page.places = append(page.places, place)
	}
	return page, nil
}

// addObjects fills one page of what an attach tells.
func (a *Sessions) addObjects(
	s *call.Snapshot, id storage.SessionID, token string, page *tenurev1.AttachSessionResponse,
) error {
	objects, err := a.objectsAt(s, objectsQuery{list: "attach", session: id, name: page.GetSession().GetName(), token: token})
	if err != nil {
		return err
	}
	page.Holds, page.Places, page.NextPageToken = objects.holds, objects.places, objects.next
	return nil
}
