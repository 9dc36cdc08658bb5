import { rememberingNames } from '../fields/remembered-names.ts';

/** RFC 9113 section 8.2.1: a token (RFC 9110 section 5.6.2) in lower case. */
const fieldName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** RFC 9113 section 8.2.2: a message with one of them is malformed. */
const connectionSpecific: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Whether a line of a message that was received may have this name; pseudo-header fields are none. */
export const isFieldName = rememberingNames((name) => fieldName.test(name) && !connectionSpecific.has(name));

/** RFC 9110 section 5.5, as a byte string; empty, or without space at either end (RFC 9113 section 8.2.1). */
export const fieldValue = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
