import { statusResponse } from '../../apimachinery/status.ts';
import { readText } from '../../runtime/bytes.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import type { DurableObjectState, SqlStorage } from '../platform/bindings.ts';

/**
 * Characters of one row. A value of SQLite in a Durable Object takes 2 MB (developers.cloudflare.com/durable-objects
 * /platform/limits); emulators take more, so that it has to be held to here. All of it is ASCII.
 */
const rowLength = 1024 * 1024;

/**
 * The text that a Durable Object keeps, whose requests are handled one at a time. It knows nothing of snapshots: isolates check
 * what they store and what they read.
 *
 * `GET` gives the text under an entity tag, 304 to who holds it already, 404 while there is none. `PUT` with `If-Match`
 * replaces the text under that tag, with `If-None-Match: *` the first one; 412 says that somebody else was quicker.
 */
export class StoredText {
  readonly #state: DurableObjectState;
  readonly #sql: SqlStorage;

  constructor(state: DurableObjectState) {
    this.#state = state;
    this.#sql = state.storage.sql;
    this.#sql.exec(
      'CREATE TABLE IF NOT EXISTS part (number INTEGER PRIMARY KEY, tag TEXT NOT NULL, text TEXT NOT NULL)',
    );
  }

  async respond(request: Request): Promise<Response> {
    if (request.method === 'GET') return this.#get(request.headers.get('if-none-match'));
    if (request.method === 'PUT') return this.#put(request);
    return statusResponse('MethodNotAllowed', 'the snapshot can be read and replaced: GET or PUT');
  }

  #get(knownTag: string | null): Response {
    const tag = this.#tag();
    if (tag === undefined) return statusResponse('NotFound', 'there has been no snapshot yet');
    if (tag === knownTag) return new Response(null, { status: 304, headers: { etag: tag } });
    let text = '';
    for (const row of this.#sql.exec('SELECT text FROM part ORDER BY number')) text += String(row['text']);
    return new Response(text, { headers: { etag: tag } });
  }

  async #put(request: Request): Promise<Response> {
    const text = request.body === null ? '' : await readText(request.body, sealedSnapshotLimit);
    if (text === undefined) {
      return statusResponse(
        'RequestEntityTooLarge',
        `a stored snapshot has at most ${sealedSnapshotLimit} characters`,
      );
    }
    // No await from here on: nothing can come between the comparison and the write.
    const tag = this.#tag();
    const { headers } = request;
    const isExpected =
      tag === undefined ? headers.get('if-none-match') === '*' : headers.get('if-match') === tag;
    if (!isExpected) return new Response(null, { status: 412 });
    const next = `"${crypto.randomUUID()}"`;
    this.#state.storage.transactionSync(() => {
      this.#sql.exec('DELETE FROM part');
      for (let number = 0; number * rowLength < text.length; number++) {
        const part = text.slice(number * rowLength, (number + 1) * rowLength);
        this.#sql.exec('INSERT INTO part (number, tag, text) VALUES (?, ?, ?)', number, next, part);
      }
    });
    return new Response(null, { status: 204, headers: { etag: next } });
  }

  #tag(): string | undefined {
    for (const { tag } of this.#sql.exec('SELECT tag FROM part WHERE number = 0')) return String(tag);
    return undefined;
  }
}
