// Calls a method of a Gitaly by its name.
//
// In:   rpc ADDRESS SERVICE/METHOD [MESSAGE...]: the messages of a stream from the client, as JSON, with bytes
//       in base64.
// Out:  each answer as a line of JSON; an error with its code and details, on standard error.
// Exit: 0 done; 1 an error.
//
// scripts/real-forge builds it once, within Gitaly's own module, whose messages it uses.

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	_ "gitlab.com/gitlab-org/gitaly/v16/proto/go/gitalypb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

func main() {
	if err := run(); err != nil {
		s, _ := status.FromError(err)
		fmt.Fprintf(os.Stderr, "error: %s: %s\n", s.Code(), s.Message())
		for _, d := range s.Details() {
			fmt.Fprintf(os.Stderr, "detail: %v\n", d)
		}
		os.Exit(1)
	}
}

func run() error {
	service, method, _ := strings.Cut(os.Args[2], "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("gitaly." + service))
	if err != nil {
		return err
	}
	md := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	if md == nil {
		return fmt.Errorf("no method %s", os.Args[2])
	}
	conn, err := grpc.Dial(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := conn.NewStream(context.Background(),
		&grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/gitaly."+service+"/"+method)
	if err != nil {
		return err
	}
	for _, text := range os.Args[3:] {
		in := dynamicpb.NewMessage(md.Input())
		if err := protojson.Unmarshal([]byte(text), in); err != nil {
			return err
		}
		if err := stream.SendMsg(in); err != nil && err != io.EOF {
			return err
		}
	}
	stream.CloseSend()
	for {
		out := dynamicpb.NewMessage(md.Output())
		if err := stream.RecvMsg(out); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		line, _ := protojson.Marshal(out)
		fmt.Println(string(line))
	}
}
