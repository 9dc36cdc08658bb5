package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The clients: many watches in one process, each on a connection of its own or several sharing one.
type watchers struct {
	url      *url.URL
	tls      *tls.Config
	deadline time.Duration
	arrivals chan arrival
	ended    chan error
}

// When the server wrote an event, and when a watch had read it.
type arrival struct {
	sent, read time.Time
}

// runWatches opens the watches, tells `opened` once each has had its first event, and then, for every line
// `expect` on standard input, answers `ready`, waits for one event at each, and tells how long they took.
func runWatches(arguments []string) error {
	var files credentials
	var target string
	var count, perConnection, opening int
	var deadline time.Duration
	set := flag.NewFlagSet("watches", flag.ExitOnError)
	files.flags(set)
	set.StringVar(&target, "url", "", "what is watched")
	set.IntVar(&count, "watches", 1, "how many")
	set.IntVar(&perConnection, "per-connection", 0, "watches that share an HTTP/2 connection; 0: HTTP/1.1, one each")
	set.IntVar(&opening, "opening", 32, "connections that are opened at the same time")
	set.DurationVar(&deadline, "deadline", time.Minute, "for opening all, and for an event to reach all")
	set.Parse(arguments)
	configuration, err := files.clientConfiguration()
	if err != nil {
		return err
	}
	address, err := url.Parse(target)
	if err != nil {
		return err
	}
	w := &watchers{
		url:      address,
		tls:      configuration,
		deadline: deadline,
		arrivals: make(chan arrival, count),
		ended:    make(chan error, count),
	}
	w.open(count, max(perConnection, 1), opening, perConnection > 0)
	first, err := w.collect(count)
	if err != nil {
		return err
	}
	tell(map[string]any{"opened": len(first)})
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		tell(map[string]any{"ready": true})
		arrivals, err := w.collect(count)
		if err != nil {
			return err
		}
		tellArrivals(arrivals)
	}
	return commands.Err()
}

// tellArrivals: how long the event took, and how long it was from the server's first write to the last read.
func tellArrivals(arrivals []arrival) {
	latencies := make([]time.Duration, len(arrivals))
	first, last := arrivals[0].sent, arrivals[0].read
	for i, one := range arrivals {
		latencies[i] = one.read.Sub(one.sent)
		if one.sent.Before(first) {
			first = one.sent
		}
		if one.read.After(last) {
			last = one.read
		}
	}
	slices.Sort(latencies)
	milliseconds := func(duration time.Duration) float64 { return float64(duration.Microseconds()) / 1000 }
	quantile := func(q float64) float64 { return milliseconds(latencies[int(q*float64(len(latencies)-1))]) }
	tell(map[string]any{
		"received": len(arrivals),
		"p50":      quantile(0.5),
		"p99":      quantile(0.99),
		"max":      quantile(1),
		"all":      milliseconds(last.Sub(first)),
	})
}

// open starts all watches, a group of `size` for each connection, `opening` connections at a time.
func (w *watchers) open(count, size, opening int, overHTTP2 bool) {
	slots := make(chan struct{}, opening)
	go func() {
		for start := 0; start < count; start += size {
			slots <- struct{}{}
			go func() {
				client := w.client(start/size, overHTTP2)
				opened := sync.WaitGroup{}
				for range min(size, count-start) {
					opened.Add(1)
					go func() { w.ended <- w.watch(client, opened.Done) }()
				}
				opened.Wait()
				<-slots
			}()
		}
	}()
}

// client has one connection, from a source address that it shares with a few thousand others: a port range holds no
// more for one pair of addresses.
func (w *watchers) client(index int, overHTTP2 bool) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+index/4000))}}
	configuration := w.tls.Clone()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!overHTTP2)
	protocols.SetHTTP2(overHTTP2)
	return &http.Client{Transport: &http.Transport{
		DialContext:     dialer.DialContext,
		TLSClientConfig: configuration,
		Protocols:       protocols,
		MaxConnsPerHost: 1,
		ReadBufferSize:  2048,
		WriteBufferSize: 512,
	}}
}

var stampMark = []byte(`"sent":`)

// watch reads events until the answer ends, which it never should. It calls opened after the first, or when it fails.
func (w *watchers) watch(client *http.Client, opened func()) error {
	once := sync.OnceFunc(opened)
	defer once()
	answer, err := client.Get(w.url.String())
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("a watch was answered with %s", answer.Status)
	}
	lines := bufio.NewReaderSize(answer.Body, 1024)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("a watch ended: %w", err)
		}
		sent, err := stampOf(line)
		if err != nil {
			return err
		}
		w.arrivals <- arrival{sent: time.Unix(0, sent), read: time.Now()}
		once()
	}
}

func stampOf(line []byte) (int64, error) {
	_, after, found := bytes.Cut(line, stampMark)
	digits, _, closed := bytes.Cut(after, []byte(","))
	if !found || !closed {
		return 0, fmt.Errorf("not an event of the benchmark: %q", line)
	}
	return strconv.ParseInt(string(digits), 10, 64)
}

// collect waits for one event at each watch.
func (w *watchers) collect(count int) ([]arrival, error) {
	arrivals := make([]arrival, 0, count)
	deadline := time.After(w.deadline)
	for len(arrivals) < count {
		select {
		case one := <-w.arrivals:
			arrivals = append(arrivals, one)
		case err := <-w.ended:
			return nil, err
		case <-deadline:
			return nil, fmt.Errorf("%d of %d watches had their event within %s", len(arrivals), count, w.deadline)
		}
	}
	return arrivals, nil
}
