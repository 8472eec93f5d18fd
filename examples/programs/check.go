package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

var gate = http.Client{
	Timeout: 2 * time.Second,
	Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", "/run/softquota/gate.sock")
		},
	},
}

// mayStore tells whether the upload may start, and what to tell the person.
func mayStore(owner, subject, size string) (bool, string) {
	query := url.Values{"owner": {owner}, "subject": {subject}, "size": {size}}
	request, err := http.NewRequest("GET", "http://localhost/v1/check?"+query.Encode(), nil)
	if err != nil {
		return false, err.Error()
	}
	request.Header.Set("Accept", "text/plain")
	answer, err := gate.Do(request)
	if err == nil {
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, 65536))
		decision := answer.Header.Get("X-Softquota-Decision")
		if err == nil && decision != "" {
			return decision == "allowed", string(text)
		}
	}
	return true, "The quota could not be checked." // false denies
}

func main() {
	allowed, message := mayStore(os.Args[1], os.Args[2], os.Args[3])
	fmt.Fprint(os.Stderr, message)
	if !allowed {
		os.Exit(1)
	}
}
