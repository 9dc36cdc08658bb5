package main

import (
	"crypto/tls"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// runProxy forwards everything to one server, over mTLS, and says who calls as a front proxy does: the least that
// kube-apiserver's own peer proxy does for a request.
func runProxy(arguments []string) error {
	var files credentials
	var listen, target, serverName, clientAuthority, frontCertificate, frontKey string
	var overHTTP2 bool
	set := flag.NewFlagSet("proxy", flag.ExitOnError)
	files.flags(set)
	set.StringVar(&listen, "listen", "", "address to listen at")
	set.StringVar(&target, "target", "", "origin of the server")
	set.StringVar(&serverName, "server-name", "", "name in the server's certificate")
	set.StringVar(&clientAuthority, "client-authority", "", "authority of the callers' certificates, PEM")
	set.StringVar(&frontCertificate, "client-certificate", "", "certificate towards the server, PEM")
	set.StringVar(&frontKey, "client-key", "", "its private key, PEM")
	set.BoolVar(&overHTTP2, "http2", false, "speak HTTP/2 to the server")
	set.Parse(arguments)
	serving, servers, err := files.load()
	if err != nil {
		return err
	}
	callers, err := loadPool(clientAuthority)
	if err != nil {
		return err
	}
	front, err := tls.LoadX509KeyPair(frontCertificate, frontKey)
	if err != nil {
		return err
	}
	origin, err := url.Parse(target)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(origin)
			stamp(r)
		},
		// A watch must not wait for a buffer to fill.
		FlushInterval: -1,
		BufferPool:    &buffers{sync.Pool{New: func() any { return make([]byte, 32*1024) }}},
		ErrorLog:      log.New(io.Discard, "", 0),
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				Certificates: []tls.Certificate{front},
				RootCAs:      servers,
				ServerName:   serverName,
			},
			ForceAttemptHTTP2:   overHTTP2,
			MaxIdleConnsPerHost: 1024,
			DisableCompression:  true,
		},
	}
	server := &http.Server{
		Addr:    listen,
		Handler: proxy,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{serving},
			ClientAuth:   tls.VerifyClientCertIfGiven,
			ClientCAs:    callers,
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return server.ListenAndServeTLS("", "")
}

// stamp removes what the caller says about itself and says what its certificate proves.
func stamp(r *httputil.ProxyRequest) {
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "X-Remote-") {
			delete(r.Out.Header, name)
		}
	}
	if r.In.TLS == nil || len(r.In.TLS.PeerCertificates) == 0 {
		return
	}
	subject := r.In.TLS.PeerCertificates[0].Subject
	r.Out.Header["X-Remote-User"] = []string{subject.CommonName}
	r.Out.Header["X-Remote-Group"] = append(subject.Organization, "system:authenticated")
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte       { return b.pool.Get().([]byte) }
func (b *buffers) Put(buffer []byte) { b.pool.Put(buffer) }
