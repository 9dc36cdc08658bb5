/**
 * Limits of what a server may send beside the content of its answer, the same on every way out. The head and every
 * interim head in front of it (1xx) count together; the trailers, which go no further, count for themselves. Beyond a
 * limit there is no answer: 502 in front of the final head, and broken off behind it.
 */

/** Lines; a status line is one of them. As many as a request may have. */
export const maximumAnswerLines = 4_096;

/**
 * Bytes. kube-apiserver's own heads have less than 5 KiB, its warnings included; behind it are the servers that the
 * subresource `proxy` leads to. undici and Node take 16 KiB, Envoy 60 KiB, Go 10 MiB. At 1 MiB of trailers
 * of one byte each, 20 answers stopped the event loop for five seconds.
 */
export const maximumAnswerHeaderBytes = 64 * 1_024;
