import type { Mutant } from './mutants.ts';

/**
 * Faults of the accounts of bytes that are held for others (`MemoryBudget`): not given back, counted twice, counted for somebody
 * else. `npm run lab -- mutate account`.
 */
type Break = readonly [what: string, from: string, to: string];

function inFile(file: string, tests: readonly string[], faults: readonly Break[]): readonly Mutant[] {
  return faults.map(([what, from, to]) => ({ name: `account: ${what}`, file, from, to, tests }));
}

function twice(what: string, line: string): Break {
  return [`${what} counts twice`, line, `${line} ${line}`];
}

function never(what: string, line: string): Break {
  return [`${what} is not given back`, line, ''];
}

const streams = ['packages/http2/server/held-for-requests.test.ts'];
const session = [...streams, 'packages/http2/server/server-session.test.ts'];
const http1 = ['src/node/serving/held-by-http1-bytes.test.ts', 'src/node/serving/http1-connection.test.ts'];
const body = ['src/node/exchange/request-body.test.ts'];
const kernel = ['src/node/serving/held-by-kernel.test.ts'];
const pushes = ['src/snapshot/receiving/snapshot-pushes.test.ts', 'test/security/pushed-snapshots.test.ts'];
const chains = ['test/security/certificate-chains.test.ts'];

export const accountMutants: readonly Mutant[] = [
  ...inFile(
    'packages/http2/sockets/held-bytes.ts',
    ['packages/http2/sockets/held-bytes.test.ts'],
    [
      never('what a connection held', '    this.#budget.count(-this.bytes, this.isVerified);'),
      [
        'what comes after the end of a connection counts',
        ' || this.account.isClosed || bytes === 0',
        ' || bytes === 0',
      ],
      never('what a holding has at its end', '    this.set(0);'),
      twice('a holding', '    this.account.held(bytes);'),
      twice('the head of a request', '    this.#requests += bytes;'),
      [
        'the share of the others has what is of verified callers',
        '    if (isVerified) this.#verified += bytes;',
        '    if (!isVerified) this.#verified += bytes;',
      ],
      [
        'connections of one owner are counted apart',
        'owners.get(account.ownerName) ?? new Owner(stalled)',
        'new Owner(stalled)',
      ],
      [
        'all connections have one owner',
        '    return this.#owner.name;',
        "    return this.#owner.name && 'one';",
      ],
      ['what stands still is nobody’s', 'return this.#still.bytes + ', 'return '],
    ],
  ),
  ...inFile('packages/http2/server/server-stream.ts', streams, [
    never('content that was read', '    this.#held.add(-read);'),
    never('content that nobody reads any more', '    this.#held.add(-this.#unread);'),
    never('a response that was taken', '      this.#held?.add(-sent);'),
    never('what a stream held', '    this.#held?.end();'),
    never('a head', '    this.#countHead(0);'),
    twice('content', '    this.#held.add(piece.length);'),
    twice('a response', '      this.held.add(piece.length - sent);'),
    twice('a head over HTTP/2', '    connection.account.add(options.headBytes);'),
  ]),
  ...inFile('packages/http2/server/server-session.ts', session, [
    never('an unfinished head', '    this.#unfinishedHead?.end();'),
    ['a head that is refused is admitted', 'if (!this.account.admits(headBytes))', 'if (headBytes < 0)'],
  ]),
  ...inFile('src/node/serving/held-by-http1.ts', http1, [
    never('the head of a request over HTTP/1.1', '    this.account.add(-this.#headBytes);'),
    never('the head of an upgrade', '    this.#account.add(-this.#headBytes);'),
    never('what was sent ahead', '    this.#ahead.end();'),
    never('content over HTTP/1.1', '    this.#content.end();'),
    never('what the parser keeps', '    this.#parser.end();'),
    twice('the head of an upgrade', '    account.add(headBytes);'),
    twice('the head of a request over HTTP/1.1', '    this.account.add(size);'),
  ]),
  ...inFile('src/node/serving/held-by-handshake.ts', chains, [
    ['a chain of certificates counts twice', '(bytes * keptForEach)', '(2 * bytes * keptForEach)'],
  ]),
  ...inFile('src/node/serving/held-by-kernel.ts', kernel, [
    never('what the kernel held', '      followed.end();'),
    ['what flows through the kernel is counted', 'this.#passed === before && ', ''],
  ]),
  ...inFile('src/node/exchange/request-body.ts', body, [
    never('a body that is kept', '    this.#keptBytes?.end();'),
    twice('what waits for a server', '    this.#source.held?.add(waiting - this.#counted);'),
  ]),
  ...inFile('src/snapshot/receiving/snapshot-pushes.ts', pushes, [
    never('a snapshot that was pushed', '    this.#add(-this.#bytes);'),
    twice('a snapshot that is pushed', '    this.#held?.add(bytes);'),
  ]),
  ...inFile('src/own-app.ts', pushes, [
    ['who is known waits for the pushes of others', 'queue: caller.kind', "queue: caller.kind && ''"],
  ]),
];
