import { toByteString } from '../apimachinery/raw-headers.ts';
import type { UserInfo } from '../request/user-info.ts';
import { CodedError } from '../runtime/errors.ts';

export type IdentityTextErrorCode =
  /** CR, LF, NUL or another control character: it would end the header line or be refused on the way. */
  | 'ControlCharacter'
  /** A space or tab at either end: the receiver would drop it and see another name. */
  | 'SurroundingWhitespace'
  /** A lone surrogate: there is no UTF-8 for it, and its replacement would be another name. */
  | 'IllFormedText';

/** Thrown for a user name, uid, group or extra value that no header line can carry unchanged. */
export class IdentityTextError extends CodedError<IdentityTextErrorCode> {
  override readonly name = 'IdentityTextError';
}

// RFC 9110 section 5.5: a field value holds no control character but the tab. Non-ASCII text goes as UTF-8 bytes.
const withoutControlCharacters = /^[\t\x20-\x7e\u0080-\uffff]*$/;
const surroundedByWhitespace = /^[\t ]|[\t ]$/;

/**
 * The header value that carries `text`, as a byte string.
 *
 * Refuses what would arrive as something else; cutting characters out instead could turn one user into another.
 * @param field what the text is, for the message: `user name`, `group`, …
 * @throws {IdentityTextError}
 */
export function identityHeaderValue(field: string, text: string): string {
  checkIdentityText(field, text);
  return toByteString(text);
}

/**
 * Checks that the whole identity can be stamped, so that one that cannot is refused before anything else is done.
 * @throws {IdentityTextError}
 */
export function checkIdentityIsExpressible(user: UserInfo): void {
  checkIdentityText('user name', user.name);
  checkIdentityText('user uid', user.uid);
  for (const group of user.groups) checkIdentityText('group', group);
  for (const [key, values] of user.extra) {
    // Control characters and spaces in a key are percent-coded; only text without any UTF-8 is lost.
    if (!key.isWellFormed()) throw illFormed('extra key');
    for (const value of values) checkIdentityText('extra value', value);
  }
}

function checkIdentityText(field: string, text: string): void {
  if (!withoutControlCharacters.test(text)) {
    throw new IdentityTextError(
      'ControlCharacter',
      `the ${field} holds a control character, which no header line can carry: correct it at its source`,
    );
  }
  // RFC 9110 section 5.5: whitespace around a field value is no part of it.
  if (surroundedByWhitespace.test(text)) {
    throw new IdentityTextError(
      'SurroundingWhitespace',
      `the ${field} begins or ends with whitespace, which a header line does not keep: correct it at its source`,
    );
  }
  if (!text.isWellFormed()) throw illFormed(field);
}

function illFormed(field: string): IdentityTextError {
  return new IdentityTextError(
    'IllFormedText',
    `the ${field} is not well-formed Unicode text: correct it at its source`,
  );
}
