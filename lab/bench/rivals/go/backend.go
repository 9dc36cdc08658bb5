package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Streams on a connection, as kube-apiserver allows them.
const streamsPerConnection = 100

// An event of a watch, filled up to about what a changed object takes.
const eventBytes = 512

// The server behind the proxies: answers of the size that the query asks for, and watches.
type backend struct {
	documents map[string][]byte
	mutex     sync.Mutex
	watches   map[chan struct{}]struct{}
}

// runBackend listens on two ports (the local server and the peer), tells them, and takes commands from standard
// input until it ends: `send` sends an event to every watch, `count` tells how many are open.
func runBackend(arguments []string) error {
	var files credentials
	set := flag.NewFlagSet("backend", flag.ExitOnError)
	files.flags(set)
	set.Parse(arguments)
	certificate, clients, err := files.load()
	if err != nil {
		return err
	}
	b := &backend{documents: map[string][]byte{}, watches: map[chan struct{}]struct{}{}}
	for _, size := range []int{1024, 64 * 1024, 10 * 1024 * 1024, 100 * 1024 * 1024} {
		b.documents["bytes="+strconv.Itoa(size)] = document(size)
	}
	b.documents[""] = b.documents["bytes=1024"]
	ports := []int{}
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
		server := &http.Server{
			Handler:  b,
			ErrorLog: log.New(io.Discard, "", 0),
			HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: streamsPerConnection},
			TLSConfig: &tls.Config{
				Certificates: []tls.Certificate{certificate},
				ClientAuth:   tls.RequireAndVerifyClientCert,
				ClientCAs:    clients,
			},
		}
		go func() { fail(server.ServeTLS(listener, "", "")) }()
	}
	tell(map[string]any{"ports": ports})
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		switch commands.Text() {
		case "send":
			b.send()
		case "count":
			b.mutex.Lock()
			open := len(b.watches)
			b.mutex.Unlock()
			tell(map[string]any{"open": open})
		}
	}
	return commands.Err()
}

// document is a list of the given length in bytes, as JSON.
func document(size int) []byte {
	head, tail := []byte(`{"kind":"List","apiVersion":"v1","items":["`), []byte(`"]}`)
	return bytes.Join([][]byte{head, bytes.Repeat([]byte("a"), size-len(head)-len(tail)), tail}, nil)
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		// Routers ask for it every few seconds.
		io.WriteString(w, "ok")
		return
	}
	if r.URL.RawQuery == "watch=true" {
		b.watch(w, r)
		return
	}
	if r.URL.RawQuery == "echo=identity" {
		// Asked once before a measurement: whether the proxy says who calls.
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"user": r.Header.Values("X-Remote-User"), "groups": r.Header.Values("X-Remote-Group")})
		return
	}
	document, known := b.documents[r.URL.RawQuery]
	// What a router asks of its own accord (discovery, OpenAPI) is not there either.
	if !known || !strings.Contains(r.URL.Path, "/namespaces/") {
		http.Error(w, "no such document", http.StatusNotFound)
		return
	}
	if r.Method == http.MethodPost {
		io.Copy(io.Discard, r.Body)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(document)))
	w.Write(document)
}

// watch holds the answer open and writes an event whenever it is told to.
func (b *backend) watch(w http.ResponseWriter, r *http.Request) {
	wake := make(chan struct{}, 1)
	b.mutex.Lock()
	b.watches[wake] = struct{}{}
	b.mutex.Unlock()
	defer func() {
		b.mutex.Lock()
		delete(b.watches, wake)
		b.mutex.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	controller := http.NewResponseController(w)
	for {
		if _, err := w.Write(event()); err != nil {
			return
		}
		if controller.Flush() != nil {
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// send wakes every watch; each stamps its own event at the moment that it writes it. It has one write before the next
// is woken: of thousands that are woken at once, a connection's events are stamped, and wait in this program until the
// goroutine that writes its frames has its turn, for up to half a second. One whose client no longer reads is passed
// over: it has been woken before.
func (b *backend) send() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for wake := range b.watches {
		select {
		case wake <- struct{}{}:
		default:
		}
		runtime.Gosched()
	}
}

func event() []byte {
	line := `{"type":"MODIFIED","sent":` + strconv.FormatInt(time.Now().UnixNano(), 10) + `,"object":"`
	return []byte(line + strings.Repeat("a", eventBytes-len(line)-3) + "\"}\n")
}
