import { rememberingNames } from '../apimachinery/remembered-names.ts';
import type { OutboundRequest } from '../proxy/transport.ts';
import { isNoRequestLine } from './connection-headers.ts';
import { fieldValue, token } from './field-syntax.ts';

/** There is no body, whatever a line says of its length. */
const isWritten = rememberingNames((name) => token.test(name) && name.toLowerCase() !== 'content-length');
/** Origin-form in visible ASCII: what `acceptRequestTarget` lets through, without the empty one. */
const originForm = /^\/[!-~]*$/;

/**
 * The head of a bodiless read as HTTP/1.1 carries it, a byte string; `undefined` when it cannot be carried so that
 * every parser reads the same, and must go another way.
 *
 * @param authority host and port of the destination: what the client called us stays here.
 */
export function http1RequestHead(outbound: OutboundRequest, authority: string): string | undefined {
  const { method, target, headers } = outbound;
  if (!originForm.test(target)) return undefined;
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (isNoRequestLine(name)) continue;
    const value = headers[index + 1] as string;
    // A line break in either would begin a request of the client's own making, under the router's certificate.
    if (!isWritten(name) || !fieldValue.test(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}
