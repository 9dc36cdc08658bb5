import type { NodeInboundRequest } from '../../node/node-inbound.ts';

/** Methods that a web `Request` does not take (https://fetch.spec.whatwg.org/#forbidden-method). */
const forbiddenMethod = /^(?:connect|trace|track)$/i;

/**
 * A request as the fetch handler is given it. Its body is begun to be read when somebody reads it: whoever passes it on
 * takes it from the inbound request. The host is none of ours to know (`fetch-listener.ts`).
 * @throws {TypeError} for a target that is no part of a URL.
 */
export function webRequestOf(inbound: NodeInboundRequest): Request {
  const { method, target, headers } = inbound;
  if (!target.startsWith('/')) throw new TypeError('the target is no path');
  const lines = new Headers();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    lines.append(headers[index] as string, headers[index + 1] as string);
  }
  const mayHaveBody = inbound.hasBody && method !== 'GET' && method !== 'HEAD';
  const request = new Request(`https://localhost${target}`, {
    method: forbiddenMethod.test(method) ? 'OPTIONS' : method,
    headers: lines,
    signal: inbound.signal,
    ...(mayHaveBody ? { body: lazyBodyOf(inbound), duplex: 'half' } : {}),
  });
  // `Request` also spells some methods its own way.
  if (request.method !== method) Object.defineProperty(request, 'method', { value: method });
  return request;
}

function lazyBodyOf(inbound: NodeInboundRequest): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= inbound.body()?.getReader();
        const piece = await reader?.read();
        if (piece?.value === undefined) controller.close();
        else controller.enqueue(piece.value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    // Nothing is read ahead of whoever reads it.
    { highWaterMark: 0 },
  );
}
