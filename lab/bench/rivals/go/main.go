// Command bench holds the programs of the benchmark for which Go is the right tool: the server behind every proxy,
// the proxy that kube-apiserver's own peer proxy is made of, the clients that hold thousands of watches, and the load at
// a fixed rate.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// Paths of PEM files, the same three for each program: its own pair and whom it believes.
type credentials struct {
	certificate, key, authority string
}

func (c *credentials) flags(set *flag.FlagSet) {
	set.StringVar(&c.certificate, "certificate", "", "certificate, PEM")
	set.StringVar(&c.key, "key", "", "private key of the certificate, PEM")
	set.StringVar(&c.authority, "authority", "", "authority of the other side's certificate, PEM")
}

func (c *credentials) load() (tls.Certificate, *x509.CertPool, error) {
	pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pool, err := loadPool(c.authority)
	return pair, pool, err
}

// clientConfiguration: without a certificate of its own where there is no file for it.
func (c *credentials) clientConfiguration() (*tls.Config, error) {
	if c.certificate == "" {
		authority, err := loadPool(c.authority)
		return &tls.Config{RootCAs: authority}, err
	}
	certificate, authority, err := c.load()
	return &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authority}, err
}

func loadPool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}

// tell writes one JSON line for the program that started this one.
func tell(message any) {
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	programs := map[string]func([]string) error{
		"backend": runBackend,
		"paced":   runPaced,
		"proxy":   runProxy,
		"watches": runWatches,
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fail(fmt.Errorf("usage: bench backend|paced|proxy|watches [flags]"))
	}
	if err := programs[os.Args[1]](os.Args[2:]); err != nil {
		fail(err)
	}
}
