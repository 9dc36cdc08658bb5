package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
)

// One connection of the generator.
type pacedConnection interface {
	// ask sends a request whose answer is told to pacer.answered, with the moment at which it was due.
	ask(due time.Time) error
}

// The generator: requests that are due at even distances, whatever becomes of those before them. One that finds every
// connection at work waits, and its time runs from when it was due.
type pacer struct {
	interval time.Duration
	// Only requests that were due between the two count, each in the window that it was due in.
	begin, end time.Time
	window     time.Duration

	mutex   sync.Mutex
	idle    []pacedConnection
	waiting []time.Time
	windows [][]time.Duration
	// Answers that were read between begin and end, and those to requests that count.
	answeredInTime, answeredAtAll int

	ended chan error
}

// How long is waited for the last answers: those of a proxy that does a fifth of the rate come twelve seconds behind a
// pass of three.
const patience = 15 * time.Second

// runPaced opens the connections, tells `begin` when the warm-up is over and `end` when the measured time is, and then
// how long the answers took, window by window: from the moment a request was due until its answer had been read whole.
func runPaced(arguments []string) error {
	var files credentials
	var target string
	var rate float64
	var connections, streams int
	var warmUp, measured, window time.Duration
	set := flag.NewFlagSet("paced", flag.ExitOnError)
	files.flags(set)
	set.StringVar(&target, "url", "", "what is asked for")
	set.Float64Var(&rate, "rate", 0, "requests a second, over all connections")
	set.IntVar(&connections, "connections", 1, "how many")
	set.IntVar(&streams, "streams", 0, "requests in flight on each HTTP/2 connection; 0: HTTP/1.1, one at a time")
	set.DurationVar(&warmUp, "warm-up", time.Second, "before anything counts")
	set.DurationVar(&measured, "duration", time.Second, "of what counts")
	set.DurationVar(&window, "window", time.Second, "how much of it goes into one quantile")
	set.Parse(arguments)
	address, err := url.Parse(target)
	if err != nil {
		return err
	}
	if rate <= 0 || window <= 0 {
		return fmt.Errorf("rate and window must be more than nothing")
	}
	configuration, err := files.clientConfiguration()
	if err != nil {
		return err
	}
	p := &pacer{
		interval: time.Duration(float64(time.Second) / rate),
		window:   window,
		windows:  make([][]time.Duration, (measured+window-1)/window),
		ended:    make(chan error, connections),
	}
	if err := p.open(address, configuration, connections, streams); err != nil {
		return err
	}
	return p.run(warmUp, measured)
}

func (p *pacer) open(address *url.URL, configuration *tls.Config, connections, streams int) error {
	for range connections {
		if streams == 0 {
			connection, err := openPacedHTTP1(p, address, configuration)
			if err != nil {
				return err
			}
			p.idle = append(p.idle, connection)
			continue
		}
		connection, err := openPacedHTTP2(p, address, configuration)
		if err != nil {
			return err
		}
		// Once for each request that it may have in flight.
		for range streams {
			p.idle = append(p.idle, connection)
		}
	}
	return nil
}

// run sends what is due until the measured time is over, and waits for the last answers.
func (p *pacer) run(warmUp, measured time.Duration) error {
	// One thread sleeps for the next request, the others read; and no collection of its own garbage, of which there
	// are a few megabytes, stands in an answer's way.
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	sleepPrecisely()
	start := time.Now()
	p.begin, p.end = start.Add(warmUp), start.Add(warmUp+measured)
	for i := range p.windows {
		p.windows[i] = make([]time.Duration, 0, int(p.window/p.interval)+1)
	}
	sent, begun := 0, false
	for due := start; due.Before(p.end); due = due.Add(p.interval) {
		sleepUntil(due)
		if !begun && !due.Before(p.begin) {
			begun = true
			tell(map[string]any{"phase": "begin"})
		}
		if err := p.ask(due); err != nil {
			return err
		}
		if begun {
			sent++
		}
		select {
		case err := <-p.ended:
			return err
		default:
		}
	}
	tell(map[string]any{"phase": "end"})
	return p.tellLatencies(sent)
}

func (p *pacer) ask(due time.Time) error {
	p.mutex.Lock()
	if len(p.idle) == 0 {
		p.waiting = append(p.waiting, due)
		p.mutex.Unlock()
		return nil
	}
	connection := p.idle[0]
	p.idle = p.idle[1:]
	p.mutex.Unlock()
	return connection.ask(due)
}

// answered takes the time of an answer that has been read whole, and gives its connection the request that has waited
// longest.
func (p *pacer) answered(connection pacedConnection, due time.Time) error {
	now := time.Now()
	p.mutex.Lock()
	if !now.Before(p.begin) && now.Before(p.end) {
		p.answeredInTime++
	}
	if !due.Before(p.begin) && due.Before(p.end) {
		p.answeredAtAll++
		window := &p.windows[due.Sub(p.begin)/p.window]
		*window = append(*window, now.Sub(due))
	}
	if len(p.waiting) == 0 {
		p.idle = append(p.idle, connection)
		p.mutex.Unlock()
		return nil
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.mutex.Unlock()
	return connection.ask(next)
}

// tellLatencies: an answer that does not come at all counts as failed.
func (p *pacer) tellLatencies(sent int) error {
	p.mutex.Lock()
	for until := time.Now().Add(patience); p.answeredAtAll < sent && time.Now().Before(until); {
		p.mutex.Unlock()
		select {
		case err := <-p.ended:
			return err
		case <-time.After(time.Millisecond):
		}
		p.mutex.Lock()
	}
	defer p.mutex.Unlock()
	quantiles := []map[string]float64{}
	for _, window := range p.windows {
		if len(window) == 0 {
			return fmt.Errorf("no request of a window of %s was answered", p.window)
		}
		slices.Sort(window)
		quantile := func(q float64) float64 {
			return float64(window[int(q*float64(len(window)-1))].Nanoseconds()) / 1e6
		}
		quantiles = append(quantiles, map[string]float64{"p50": quantile(0.5), "p99": quantile(0.99)})
	}
	tell(map[string]any{"requests": p.answeredInTime, "failed": sent - p.answeredAtAll, "windows": quantiles})
	return nil
}

// sleepPrecisely has the kernel wake this thread when it asked for, not up to 50 µs later (prctl(2), PR_SET_TIMERSLACK).
func sleepPrecisely() {
	const setTimerSlack = 29
	if _, _, problem := syscall.Syscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0); problem != 0 {
		fmt.Fprintln(os.Stderr, "timer slack:", problem)
	}
}

// sleepUntil asks the kernel: time.Sleep wakes a program that has nothing else to do at whole milliseconds.
func sleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		duration := syscall.NsecToTimespec(left.Nanoseconds())
		syscall.Nanosleep(&duration, nil)
	}
}
