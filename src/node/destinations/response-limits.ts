/**
 * Limits for the heads and trailers of a server's response, the same for HTTP/1.1 and HTTP/2. The head and all interim
 * heads (1xx) count together; trailers, which are dropped, count separately. Beyond a limit the client gets a 502, or a
 * response that breaks off after its head.
 */

/** Lines, status lines included. As many as a request may have. */
export const maximumResponseLines = 4_096;

/**
 * Bytes. kube-apiserver's own heads have less than 5 KiB, warnings included; the subresource `proxy` leads to other
 * servers. undici and Node allow 16 KiB, Envoy 60 KiB, Go 10 MiB. With 1 MiB of trailers of one byte each, 20 responses
 * blocked the event loop for five seconds.
 */
export const maximumResponseHeaderBytes = 64 * 1_024;
