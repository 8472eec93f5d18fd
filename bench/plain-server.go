// The least that a server on Go's net/http can do, on one core: the same answer to whatever is asked.
//
// In: the path of its socket, a body.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
)

func main() {
	runtime.GOMAXPROCS(1)
	body := []byte(os.Args[2])
	length := strconv.Itoa(len(body))
	os.Remove(os.Args[1])
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		headers := response.Header()
		headers.Set("Content-Type", "application/json")
		headers.Set("Content-Length", length)
		headers.Set("X-Softquota-Decision", "allowed")
		response.Write(body)
	})))
}
