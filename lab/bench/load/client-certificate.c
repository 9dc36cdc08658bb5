/*
 * Gives a client certificate to load generators that have no option for one (wrk, h2load): preloaded, it adds the
 * pair named by BENCH_CLIENT_CERTIFICATE and BENCH_CLIENT_KEY (PEM files) to every TLS context that they make. And it
 * takes the session from what wrk connects with again, so that each of its connections is a full handshake.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct ssl_st SSL;
typedef struct ssl_session_st SSL_SESSION;
/* SSL_FILETYPE_PEM of openssl/ssl.h, whose package need not be installed. */
enum { pem = 1 };

typedef SSL_CTX *(*new_context)(const SSL_METHOD *);
typedef int (*use_chain)(SSL_CTX *, const char *);
typedef int (*use_key)(SSL_CTX *, const char *, int);

SSL_CTX *SSL_CTX_new(const SSL_METHOD *method) {
  new_context create = (new_context)dlsym(RTLD_NEXT, "SSL_CTX_new");
  use_chain certificate = (use_chain)dlsym(RTLD_NEXT, "SSL_CTX_use_certificate_chain_file");
  use_key key = (use_key)dlsym(RTLD_NEXT, "SSL_CTX_use_PrivateKey_file");
  SSL_CTX *context = create == NULL ? NULL : create(method);
  const char *certificate_file = getenv("BENCH_CLIENT_CERTIFICATE");
  const char *key_file = getenv("BENCH_CLIENT_KEY");
  if (context == NULL || certificate_file == NULL || key_file == NULL) return context;
  if (certificate == NULL || key == NULL || certificate(context, certificate_file) != 1 ||
      key(context, key_file, pem) != 1) {
    fprintf(stderr, "the client certificate could not be used\n");
    exit(1);
  }
  return context;
}

int SSL_clear(SSL *connection) {
  int (*clear)(SSL *) = (int (*)(SSL *))dlsym(RTLD_NEXT, "SSL_clear");
  int (*set_session)(SSL *, SSL_SESSION *) = (int (*)(SSL *, SSL_SESSION *))dlsym(RTLD_NEXT, "SSL_set_session");
  if (clear == NULL || set_session == NULL || clear(connection) != 1) return 0;
  return set_session(connection, NULL);
}
