package cli

import (
	"context"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go"
)

// EachPage gives the pages of a list to take, one after another. Token is the field of the request that says which page is asked for.
func EachPage[Service, Request any, Page interface{ GetNextPageToken() string }](
	ctx context.Context, c *tenure.Client, service func(grpc.ClientConnInterface) Service,
	list func(Service, context.Context, Request, ...grpc.CallOption) (Page, error), request Request, token *string, take func(Page),
) error {
	for {
		var page Page
		err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
			page, err = list(service(member), ctx, request)
			return err
		})
		if err != nil {
			return err
		}
		take(page)
		if *token = page.GetNextPageToken(); *token == "" {
			return nil
		}
	}
}
