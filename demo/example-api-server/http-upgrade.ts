import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Answer, failureAnswer } from './answer.ts';
import { badRequest } from './api-error.ts';
import type { ExampleUser } from './authentication.ts';
import { authorize } from './authorization.ts';
import { type HttpOptions, presentedCertificate, receivedRequest, recordOf } from './http-server.ts';
import { impersonated } from './impersonation.ts';
import { resourceRequest } from './request-handler.ts';
import { parseRequestTarget } from './request-target.ts';
import type { ServerContext } from './resource-request.ts';
import { type AgreedUpgrade, agreeOnUpgrade } from './streaming/upgrade.ts';

/** Answers a request to change protocols: with 101 and a stream, or with an ordinary failure. */
export function serveUpgrade(
  { context, authenticate, onRequest }: HttpOptions,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  socket.on('error', () => socket.destroy());
  const certificate = presentedCertificate(request.socket);
  const { rawHeaders } = request;
  let user: ExampleUser | undefined;
  let agreed: AgreedUpgrade | undefined;
  let refusal: Answer | undefined;
  try {
    user = impersonated(authenticate(rawHeaders, certificate), rawHeaders);
    agreed = agree(context, request, user);
  } catch (error) {
    refusal = failureAnswer(error);
  }
  onRequest?.(recordOf(request, { rawHeaders, certificate, user, body: noBody }));
  if (refusal !== undefined) socket.end(rawAnswer(refusal));
  if (agreed === undefined) return;
  socket.write(agreed.head);
  agreed.start(socket, head);
}

const noBody = new Uint8Array();

function agree(context: ServerContext, request: IncomingMessage, user: ExampleUser): AgreedUpgrade {
  const target = parseRequestTarget(request.method ?? '', request.url ?? '');
  authorize(user, target);
  if (target.resource === undefined) throw badRequest(`${target.path} is no stream`);
  const { headers } = request;
  return agreeOnUpgrade(resourceRequest(context, receivedRequest(request, user, noBody), target), {
    upgrade: headers.upgrade,
    origin: headers.origin,
    webSocketKey: headers['sec-websocket-key'],
    webSocketProtocol: headers['sec-websocket-protocol'],
  });
}

/** An answer as bytes on a connection that has left HTTP's hands. */
function rawAnswer(answer: Answer): Buffer {
  const body = answer.kind === 'whole' ? Buffer.from(answer.body) : Buffer.alloc(0);
  const headers = { ...answer.headers, 'content-length': String(body.length), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const start = `HTTP/1.1 ${answer.code} ${STATUS_CODES[answer.code] ?? ''}`;
  return Buffer.concat([Buffer.from(`${[start, ...lines].join('\r\n')}\r\n\r\n`), body]);
}
