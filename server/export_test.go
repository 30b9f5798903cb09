package server

import (
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

// SealPage makes a page token as any client can, who learns a cluster's ids from every answer.
func SealPage(cluster, history [16]byte, list string, filters []string, after string) string {
	return call.PageQuery{List: list, Filters: filters}.Token(storage.Applied{ClusterID: cluster, HistoryID: history}, after)
}
