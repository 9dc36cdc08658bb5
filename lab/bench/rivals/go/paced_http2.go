package main

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"
)

// Frame types and flags (RFC 9113 section 6).
const (
	frameData, frameHeaders, frameReset, frameSettings       = 0x0, 0x1, 0x3, 0x4
	framePing, frameGoAway, frameWindow                      = 0x6, 0x7, 0x8
	flagAck, flagEndStream, flagEndHeaders, frameHeaderBytes = 0x1, 0x1, 0x4, 9
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// A connection with several requests at a time. It reads frames itself: net/http's client would take more of the core
// that it shares with the server than a proxy takes of its own.
type pacedHTTP2 struct {
	pacer      *pacer
	connection *tls.Conn
	reader     *bufio.Reader

	mutex      sync.Mutex
	nextStream uint32
	// When the requests that are under way were due, by stream.
	due map[uint32]time.Time
	// Header blocks (RFC 7541): the first request's, and those of the others, which name what it put into the table.
	first, others []byte
}

func openPacedHTTP2(p *pacer, address *url.URL, configuration *tls.Config) (*pacedHTTP2, error) {
	configuration = configuration.Clone()
	configuration.NextProtos = []string{"h2"}
	connection, err := tls.Dial("tcp", address.Host, configuration)
	if err != nil {
		return nil, err
	}
	c := &pacedHTTP2{
		pacer:      p,
		connection: connection,
		reader:     bufio.NewReaderSize(connection, 64*1024),
		nextStream: 1,
		due:        map[uint32]time.Time{},
	}
	// :method GET and :scheme https are in the static table, names of :authority (1) and :path (4) too; both values
	// enter the dynamic table, where the last one is 62.
	c.first = append([]byte{0x82, 0x87, 0x41}, lengthAndText(address.Host)...)
	c.first = append(append(c.first, 0x44), lengthAndText(address.RequestURI())...)
	c.others = []byte{0x82, 0x87, 0x80 | 63, 0x80 | 62}
	greeting := append([]byte(preface), frame(frameSettings, 0, 0, nil)...)
	// The largest window there is: no answer waits for it.
	greeting = append(greeting, frame(frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<31-1-65535))...)
	if _, err := connection.Write(greeting); err != nil {
		return nil, err
	}
	if err := c.readSettings(); err != nil {
		return nil, err
	}
	go func() { p.ended <- c.read() }()
	return c, nil
}

// lengthAndText: a string without Huffman coding (RFC 7541 section 5.2), of up to 253 bytes.
func lengthAndText(text string) []byte {
	if len(text) < 127 {
		return append([]byte{byte(len(text))}, text...)
	}
	return append([]byte{127, byte(len(text) - 127)}, text...)
}

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// readSettings reads the server's first frame. A server that keeps less of a header table than is usual is refused: all
// requests but the first name what that one has put there.
func (c *pacedHTTP2) readSettings() error {
	kind, flags, _, payload, err := c.readFrame()
	if err != nil {
		return err
	}
	if kind != frameSettings || flags&flagAck != 0 {
		return fmt.Errorf("the server began with a frame of type %d", kind)
	}
	for ; len(payload) >= 6; payload = payload[6:] {
		const headerTableSize, usualSize = 0x1, 4096
		if binary.BigEndian.Uint16(payload) == headerTableSize && binary.BigEndian.Uint32(payload[2:]) < usualSize {
			return fmt.Errorf("the server keeps a header table of %d bytes only", binary.BigEndian.Uint32(payload[2:]))
		}
	}
	_, err = c.connection.Write(frame(frameSettings, flagAck, 0, nil))
	return err
}

func (c *pacedHTTP2) ask(due time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	block := c.others
	if c.nextStream == 1 {
		block = c.first
	}
	stream := c.nextStream
	c.nextStream += 2
	c.due[stream] = due
	_, err := c.connection.Write(frame(frameHeaders, flagEndHeaders|flagEndStream, stream, block))
	return err
}

// read returns when the connection ends, which it never should.
func (c *pacedHTTP2) read() error {
	for {
		kind, flags, stream, payload, err := c.readFrame()
		if err != nil {
			return fmt.Errorf("a connection ended: %w", err)
		}
		switch kind {
		case frameHeaders:
			if !beginsWithOK(payload) {
				return fmt.Errorf("a request was not answered with 200: %x", payload)
			}
		case frameReset, frameGoAway:
			return fmt.Errorf("frame of type %d: %x", kind, payload)
		case frameSettings, framePing:
			if flags&flagAck == 0 {
				err = c.acknowledge(kind, payload)
			}
		}
		if err == nil && (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0 {
			err = c.pacer.answered(c, c.dueOf(stream))
		}
		if err != nil {
			return err
		}
	}
}

func (c *pacedHTTP2) acknowledge(kind byte, payload []byte) error {
	if kind == frameSettings {
		payload = nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_, err := c.connection.Write(frame(kind, flagAck, 0, payload))
	return err
}

func (c *pacedHTTP2) dueOf(stream uint32) time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	due := c.due[stream]
	delete(c.due, stream)
	return due
}

// beginsWithOK reads past what changes the size of the table (RFC 7541 section 6.3) to the first line, which is the
// status: 200 is in the static table.
func beginsWithOK(block []byte) bool {
	const sizeUpdate, sizeUpdateMask, longSize, more, statusOK = 0x20, 0xe0, 0x1f, 0x80, 0x88
	for len(block) > 0 && block[0]&sizeUpdateMask == sizeUpdate {
		isLong := block[0]&longSize == longSize
		block = block[1:]
		for isLong && len(block) > 0 {
			isLong = block[0]&more != 0
			block = block[1:]
		}
	}
	return len(block) > 0 && block[0] == statusOK
}

// readFrame: the payload is the caller's until the next call.
func (c *pacedHTTP2) readFrame() (kind, flags byte, stream uint32, payload []byte, err error) {
	head := make([]byte, frameHeaderBytes)
	if _, err = io.ReadFull(c.reader, head); err != nil {
		return
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err = io.ReadFull(c.reader, payload)
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]) & (1<<31 - 1), payload, err
}
