import type { TLSSocket } from 'node:tls';
import { allHeaders, firstHeader, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { requestIdHeader, type SeenRequest } from './record.ts';

/** The beginning of what is written down of a request. */
export function seenRequest(
  server: string,
  method: string,
  target: string,
  lines: RawHeaders,
  connection: TLSSocket,
): SeenRequest {
  const commonName = connection.getPeerCertificate().subject?.CN;
  return {
    server,
    requestId: firstHeader(lines, requestIdHeader) ?? '',
    protocol: connection.alpnProtocol === 'h2' ? 'h2' : 'http/1.1',
    method,
    target,
    users: allHeaders(lines, 'x-remote-user'),
    groups: allHeaders(lines, 'x-remote-group'),
    marks: allHeaders(lines, 'x-kubernetes-peer-proxied'),
    via: allHeaders(lines, 'via').flatMap((value) => value.split(',').map((member) => member.trim())),
    clientCertificate: typeof commonName === 'string' ? commonName : undefined,
    body: '',
    answer: { status: undefined, content: '', end: 'open', refused: false },
    isOver: false,
  };
}
