package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// A connection with one request at a time.
type pacedHTTP1 struct {
	pacer      *pacer
	connection *tls.Conn
	request    []byte
	asked      chan time.Time
}

func openPacedHTTP1(p *pacer, address *url.URL, configuration *tls.Config) (*pacedHTTP1, error) {
	connection, err := tls.Dial("tcp", address.Host, configuration)
	if err != nil {
		return nil, err
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: paced\r\n\r\n", address.RequestURI(), address.Host)
	c := &pacedHTTP1{pacer: p, connection: connection, request: []byte(request), asked: make(chan time.Time, 1)}
	go func() { p.ended <- c.read() }()
	return c, nil
}

func (c *pacedHTTP1) ask(due time.Time) error {
	c.asked <- due
	_, err := c.connection.Write(c.request)
	return err
}

// read returns when the connection ends, which it never should.
func (c *pacedHTTP1) read() error {
	reader := bufio.NewReader(c.connection)
	for {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return fmt.Errorf("a connection ended: %w", err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return fmt.Errorf("an answer broke off: %w", err)
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("a request was answered with %s", answer.Status)
		}
		if err := c.pacer.answered(c, <-c.asked); err != nil {
			return err
		}
	}
}
