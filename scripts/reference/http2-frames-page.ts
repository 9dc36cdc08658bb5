import { type FrameRule, frameKinds, smallData, streamStates } from '../../src/http2/frames/frame-rules.ts';
import { errorCodeName } from '../../src/http2/frames/http2-error.ts';
import type { Tolerance } from '../../src/http2/frames/leaky-bucket.ts';
import { addressTolerance, resetsInCrowd } from '../../src/http2/server/address-conduct.ts';
import {
  bytesForUpdate,
  connectionTolerances,
  updatesForData,
  verifiedResets,
} from '../../src/http2/server/client-conduct.ts';
import { clientFrameRules } from '../../src/http2/server/client-frame-rules.ts';

/** docs/explanation/http2-frames.md, from the tables that the code goes by. */
export function http2FramesPage(): string {
  return `${[...introduction, ...frameTable(), ...budgets()].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# What HTTP/2 clients may send',
  '',
  '<!-- Written by `npm run docs:reference` from src/http2/server/client-frame-rules.ts and client-conduct.ts. Change those, not this page. -->',
  '',
  'Each frame of a client is looked up in this table by its type and by the state of its stream ([RFC 9113 section 5.1](https://www.rfc-editor.org/rfc/rfc9113#section-5.1)); the code goes by the same table, and `src/http2/server/client-frame-rules.test.ts` tries every cell over a connection. What memory clients can take is in [limits.md](../reference/limits.md).',
  '',
];

function frameTable(): string[] {
  return [
    '## Frame by frame',
    '',
    `| frame | ${streamStates.join(' | ')} |`,
    `|---|${streamStates.map(() => '---').join('|')}|`,
    ...frameKinds.map(
      (kind) =>
        `| ${kind} | ${streamStates.map((state) => cell(clientFrameRules[kind][state])).join(' | ')} |`,
    ),
    '',
    '- *connection*: no stream, identifier 0. *idle*: never opened. *open*: more of the request may come. *half-closed*: the request is here, its answer is not out. *closed by us*: reset, refused, or answered before its end, while the client may not know it yet. *closed*: ended by the client too. *behind our GOAWAY*: above the last stream that it names.',
    '- *taken*: it does what it says. *ignored*: its header lines are still read, for the table of HPACK, and its content counts for the window of the connection. **Bold** is the budget that counts it.',
    `- DATA *with little content*: less than ${smallData} bytes, and not the last. Padding is no content: a frame that is padding alone counts as empty.`,
    '- On a stream that we have closed, content is ignored as far as the stream had granted it, and finds the stream closed from there on. The latest 256 such streams are remembered; later, they are closed like all others.',
    '- Whatever the cell says, a frame of a wrong length, a WINDOW_UPDATE of 0 or past 2³¹−1, or a malformed head is the error that RFC 9113 has for it; errors of streams count as resets.',
    '- A CONTINUATION belongs to its HEADERS; empty ones are idle frames, and 128 make no block any more. The first SETTINGS is free.',
    '',
  ];
}

function cell(rule: FrameRule): string {
  switch (rule.action) {
    case 'take':
      return rule.counts === undefined ? 'taken' : `taken, **${rule.counts}**`;
    case 'ignore':
      return rule.counts === undefined ? 'ignored' : `ignored, **${rule.counts}**`;
    case 'stream error':
      return `stream error ${errorCodeName(rule.code)}, **${rule.counts}**`;
    case 'connection error':
      return `connection error ${errorCodeName(rule.code)}`;
  }
}

function budgets(): string[] {
  const {
    resets,
    'idle frames': idleFrames,
    'small data': small,
    'window updates': updates,
  } = connectionTolerances;
  const row = (name: string, { burst, perSecond }: Tolerance, earned: string): string =>
    `| ${name} | ${count(burst)} | ${count(perSecond)} | ${earned} |`;
  return [
    '## Budgets',
    '',
    'Each is a leaky bucket: so many at once, and so many more each second. Beyond it the connection ends with ENHANCE_YOUR_CALM. What is *earned* is used first, and kept up to a limit.',
    '',
    '| budget of a connection | at once | a second | earned |',
    '|---|---:|---:|---|',
    row('resets', resets, ''),
    row('resets, with a verified client certificate', verifiedResets, ''),
    row('idle frames', idleFrames, `1 for each request, ${count(idleFrames.earnedAtMost)} at the most`),
    row('small data', small, ''),
    row(
      'window updates',
      updates,
      `1 for each request, ${updatesForData} for each frame of DATA that we send and 1 for each ${count(bytesForUpdate)} bytes in it, ${count(updates.earnedAtMost)} at the most`,
    ),
    '',
    'Requests beyond the limit of streams have one of their own: 100 at once, one a second.',
    '',
    '### By address',
    '',
    `Resets are counted by the client's address as well, of all its connections together: ${count(addressTolerance.burst)} at once, ${count(addressTolerance.perSecond)} a second. Beyond that, a connection from there ends when it has itself more than ${resetsInCrowd} behind it that are not forgotten yet. So connecting anew gains an attacker ${resetsInCrowd} requests in vain for each TLS handshake, which costs more than they do.`,
    '',
    '- Behind a load balancer, or a NAT, all clients have one address. Nothing happens to those who reset no stream, nor to those who reset one now and then, whatever another client does.',
    '- Clients with a verified certificate are neither counted nor held to it.',
    '- Only resets: what else the table counts costs less than the handshake of a new connection.',
    '- An IPv6 address stands for its network of 64 bits. 4,096 addresses are remembered, the latest. Each of [several routers on one port](../guides/reuse-port.md) counts for itself.',
    '',
    '### Why nobody who behaves is near them',
    '',
    `- *Resets.* A client gives up requests when its user does. 100 streams may be open: ${count(resets.burst)} are all of them, twice. The connection of a proxy or of a peer, which has a certificate, carries the requests of many users.`,
    `- *Idle frames.* client-go sends a PING when nothing came for 30 seconds, whatever the number of streams; others send one or two a second. SETTINGS come once, with one acknowledgement of ours. Clients that still send priorities send one with each request, which earns it. A reset that crosses the end of its answer: one a request at the most.`,
    `- *Window updates.* They are answers to what we have sent: no client can read more than that. Go's client, with which kubectl and all controllers are built, widens stream and connection each time that 4 KiB have been read: 50,000 for a list of 100 MB, which earns 110,000; many libraries do so once for each frame, and watches send each event in a frame of its own; most others wait for half of the window. An attacker earns them by reading, and keeps ${count(updates.earnedAtMost)} at the most, some 60 milliseconds of work.`,
    `- *Small data.* Kubernetes' own requests come in large frames. Messages of a stream through the API server's \`proxy\` may be small; ${count(small.perSecond)} a second may be.`,
    '',
  ];
}

function count(number = 0): string {
  return number.toLocaleString('en-US');
}
