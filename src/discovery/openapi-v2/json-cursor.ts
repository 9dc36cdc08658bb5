import { DiscoveryDocumentError } from '../forms/parse-document.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Walks JSON (RFC 8259) as bytes, to find where members begin and end without building the values in between:
 * a document of some megabytes becomes many times its size once it is parsed, in one piece and in one go.
 *
 * What is skipped is not checked beyond its end; `parse` does that, a piece at a time.
 */
export class JsonCursor {
  position = 0;
  /** Where the name that `nextName` gave begins, its quote included. */
  nameStart = 0;
  readonly #json: Uint8Array;
  /** Nothing has been read of the object yet. */
  #atFirstMember = false;

  constructor(json: Uint8Array) {
    this.#json = json;
  }

  /** Steps into the object at the cursor. @throws {DiscoveryDocumentError} when there is none */
  enterObject(): void {
    this.#skipWhitespace();
    this.#expect(openBrace);
    this.#atFirstMember = true;
  }

  /**
   * Steps over the next member's name, up to its value, which the caller must step over (`skipValue`) or into
   * (`enterObject`).
   * @returns `undefined` at the end of the object, which is left then
   * @throws {DiscoveryDocumentError}
   */
  nextName(): string | undefined {
    const isFirst = this.#atFirstMember;
    this.#atFirstMember = false;
    this.#skipWhitespace();
    if (this.#json[this.position] === closeBrace) {
      this.position++;
      return undefined;
    }
    if (!isFirst) {
      this.#expect(comma);
      this.#skipWhitespace();
    }
    this.nameStart = this.position;
    if (this.#json[this.position] !== quote) throw this.#broken();
    this.#skipString();
    const name = this.parse(this.nameStart, this.position);
    this.#skipWhitespace();
    this.#expect(colon);
    this.#skipWhitespace();
    return String(name);
  }

  /** Steps over the value at the cursor. @throws {DiscoveryDocumentError} when it has no end */
  skipValue(): void {
    const first = this.#json[this.position];
    if (first === quote) this.#skipString();
    else if (first === openBrace || first === openBracket) this.#skipNested();
    else this.#skipScalar();
  }

  /** Whether nothing but white space is left. */
  isAtEnd(): boolean {
    this.#skipWhitespace();
    return this.position === this.#json.byteLength;
  }

  /** What lies between two positions. @throws {DiscoveryDocumentError} when it is no JSON value */
  parse(start: number, end: number): unknown {
    try {
      return JSON.parse(strictUtf8.decode(this.#json.subarray(start, end)));
    } catch {
      throw this.#broken(start);
    }
  }

  #skipNested(): void {
    let depth = 0;
    while (this.position < this.#json.byteLength) {
      const byte = this.#json[this.position];
      if (byte === quote) {
        this.#skipString();
        continue;
      }
      this.position++;
      if (byte === openBrace || byte === openBracket) depth++;
      else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return;
    }
    throw this.#broken();
  }

  #skipString(): void {
    let end = this.position;
    for (;;) {
      end = this.#json.indexOf(quote, end + 1);
      if (end === -1) throw this.#broken();
      // A quote after an odd number of backslashes is part of the string.
      let before = end;
      while (this.#json[before - 1] === backslash) before--;
      if ((end - before) % 2 === 0) break;
    }
    this.position = end + 1;
  }

  #skipScalar(): void {
    const start = this.position;
    while (this.position < this.#json.byteLength && !isDelimiter(this.#json[this.position])) this.position++;
    if (this.position === start) throw this.#broken();
  }

  #skipWhitespace(): void {
    while (isWhitespace(this.#json[this.position])) this.position++;
  }

  #expect(byte: number): void {
    if (this.#json[this.position] !== byte) throw this.#broken();
    this.position++;
  }

  #broken(at = this.position): DiscoveryDocumentError {
    return new DiscoveryDocumentError('InvalidDocument', `This is no whole JSON: it breaks at byte ${at}.`);
  }
}

function isWhitespace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isWhitespace(byte);
}
