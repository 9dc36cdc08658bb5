import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { rememberingNames } from '../../apimachinery/remembered-names.ts';
import { reasonPhrase } from '../answer-lines.ts';
import { fieldValue, token } from '../field-syntax.ts';
import { httpDate } from '../http-date.ts';

export interface PlainAnswerHead {
  readonly status: number;
  readonly statusMessage: string;
  /** Lines of the answer, without any that are about the connection; such are left out. */
  readonly headers: RawHeaders;
  /** Whether there is a body whose length no line names. */
  readonly isChunked: boolean;
  /** Whether the connection ends behind this answer. */
  readonly isLast: boolean;
  /** Seconds for which an idle connection is kept. */
  readonly keepAliveSeconds: number;
}

/**
 * What stands before the value of a line under this name, from the end of the line above; empty for what belongs to the
 * connection, which is this side's to say (RFC 9110 section 7.6.1); `false` for what is no name.
 */
const lineBeginning = rememberingNames((name) => {
  switch (name.toLowerCase()) {
    case 'connection':
    case 'keep-alive':
    case 'proxy-connection':
    case 'transfer-encoding':
    case 'upgrade':
      return '';
    default:
      return token.test(name) && `\r\n${name}: `;
  }
});

const plainLength = /^\d{1,15}$/;

/**
 * The head of an answer by HTTP/1.1 as a byte string, with the empty line at its end.
 * @throws {TypeError} when a line cannot be written: a line break in it would begin an answer of the server's own making.
 */
export function plainAnswerHead(answer: PlainAnswerHead): string {
  const { status, headers, isLast } = answer;
  let head = `HTTP/1.1 ${status} ${reasonPhrase(answer.statusMessage)}`;
  let hasDate = false;
  let hasLength = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const value = headers[index + 1] as string;
    const beginning = lineBeginning(name);
    if (beginning === '') continue;
    if (beginning === false || !fieldValue.test(value)) {
      throw new TypeError('a header line of the answer cannot be written: it is no valid HTTP');
    }
    if (name.length === 4 && name.toLowerCase() === 'date') hasDate = true;
    else if (name.length === 14 && name.toLowerCase() === 'content-length') {
      // Two of them, or one that is no number, and the next answer begins elsewhere for every reader.
      if (hasLength || !plainLength.test(value)) {
        throw new TypeError('the length of the answer cannot be written: it is no single number');
      }
      hasLength = true;
    }
    head += beginning + value;
  }
  // RFC 9110 section 6.6.1.
  if (!hasDate) head += `\r\nDate: ${httpDate()}`;
  // What a client needs to know so as not to ask on a connection that is being closed.
  head += isLast
    ? '\r\nConnection: close'
    : `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${answer.keepAliveSeconds}`;
  return `${head}${answer.isChunked ? '\r\nTransfer-Encoding: chunked' : ''}\r\n\r\n`;
}
