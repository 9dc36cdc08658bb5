import { rememberingNames } from '../apimachinery/remembered-names.ts';
import { isNoRequestLine } from '../http2/fields/connection-headers.ts';
import { fieldValue, token } from '../http2/fields/field-syntax.ts';
import type { OutboundRequest } from '../proxy/transport.ts';

/**
 * What stands before the value of a line under this name, from the end of the line above; empty for what is left out,
 * `false` for what cannot be written. There is no body, whatever a line says of its length.
 */
const lineBeginning = rememberingNames((name) => {
  if (isNoRequestLine(name)) return '';
  return token.test(name) && name.toLowerCase() !== 'content-length' && `\r\n${name}: `;
});
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
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${authority}`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const beginning = lineBeginning(headers[index] as string);
    if (beginning === '') continue;
    const value = headers[index + 1] as string;
    // A line break in either would begin a request of the client's own making, under the router's certificate.
    if (beginning === false || !fieldValue.test(value)) return undefined;
    head += beginning + value;
  }
  return `${head}\r\n\r\n`;
}
