import {
  errorCodeName,
  type FrameRule,
  frameKinds,
  frameTargets,
  smallData,
} from '../../packages/http2/frames/frame.ts';

import type { Tolerance } from '../../packages/http2/frames/leaky-bucket.ts';
import {
  addressTolerance,
  bytesForUpdate,
  clientFrameRules,
  connectionTolerances,
  resetsInCrowd,
  updatesForData,
  verifiedResets,
} from '../../packages/http2/server/client-budgets.ts';

/** packages/http2/frames.md, from the tables that the code goes by. */
export function http2FramesPage(): string {
  return `${[...introduction, ...frameTable(), ...budgets()].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# What HTTP/2 clients may send',
  '',
  '<!-- Written by `npm run generate` from server/client-budgets.ts. Change those, not this page. -->',
  '',
  'What each frame of an HTTP/2 client does, by its type and the state of its stream ([RFC 9113 section 5.1](https://www.rfc-editor.org/rfc/rfc9113#section-5.1)), and which budget limits it. The code uses the same table; `packages/http2/server/client-budgets.test.ts` tries every cell. Memory: [limits](../../docs/reference/limits.md).',
  '',
];

function frameTable(): string[] {
  return [
    '## Frame by frame',
    '',
    `| frame | ${frameTargets.join(' | ')} |`,
    `|---|${frameTargets.map(() => '---').join('|')}|`,
    ...frameKinds.map(
      (kind) =>
        `| ${kind} | ${frameTargets.map((state) => cell(clientFrameRules[kind][state])).join(' | ')} |`,
    ),
    '',
    `- An empty cell is the connection error ${commonError}; *stream* and a code a stream error. *taken*: it takes effect. *ignored*: its header lines are still decoded, and its content counts for the window of the connection. **Bold** is the budget that counts it.`,
    '- *connection*: stream 0. *closed by us*: reset, refused or answered early; the client may not know yet. *closed*: ended by the client too. *after our GOAWAY*: above its last stream. The other states are those of RFC 9113.',
    `- DATA *with little content*: less than ${smallData} bytes, and not the last. Padding is not content.`,
    '- On a stream closed by us, content is ignored up to the granted window. The latest 256 such streams are remembered.',
    '- A wrong length, a WINDOW_UPDATE of 0 or past 2³¹−1, or a malformed head is the error of RFC 9113; stream errors count as resets.',
    '- Empty CONTINUATION frames are idle frames; a block has at most 128. The first SETTINGS is free.',
    '',
  ];
}

/** The text of most cells. */
const commonError = 'PROTOCOL_ERROR';

function cell(rule: FrameRule): string {
  switch (rule.action) {
    case 'take':
      return rule.counts === undefined ? 'taken' : `taken, **${rule.counts}**`;
    case 'ignore':
      return rule.counts === undefined ? 'ignored' : `ignored, **${rule.counts}**`;
    case 'stream error':
      return `stream ${errorCodeName(rule.code)}, **${rule.counts}**`;
    case 'connection error':
      return errorCodeName(rule.code) === commonError ? '' : errorCodeName(rule.code);
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
    'Each is a leaky bucket: a burst, and a rate. Beyond it the connection ends with ENHANCE_YOUR_CALM. *Earned* frames are used first.',
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
    'Requests beyond the limit of streams: 100 at once, one a second.',
    '',
    '### By address',
    '',
    `Resets also count by client address, over all its connections: ${count(addressTolerance.burst)} at once, ${count(addressTolerance.perSecond)} a second. Beyond that, a connection from there ends after more than ${resetsInCrowd} recent resets of its own, once it has reset half of its requests. Reconnecting gains an attacker ${resetsInCrowd} requests for each TLS handshake, which costs more.`,
    '',
    '- Behind a load balancer or NAT all clients have one address. Clients with few or no resets are not affected by others.',
    '- Clients with a verified certificate do not count.',
    '- An IPv6 address counts as its /64. The latest 4,096 addresses are remembered.',
    '',
    '### Why ordinary clients stay below',
    '',
    `- *Resets.* 100 streams may be open: ${count(resets.burst)} are all of them, twice. A proxy or peer, which carries many users, has a certificate.`,
    `- *Idle frames.* client-go sends a PING after 30 idle seconds, others one or two a second. Priorities, and resets that cross the end of a response, come at most once a request, which earns them.`,
    `- *Window updates.* Go's client widens stream and connection after each 4 KiB: 50,000 updates for a list of 100 MB, which earns 110,000. An attacker can keep at most ${count(updates.earnedAtMost)}, some 60 ms of work.`,
    '',
  ];
}

function count(number = 0): string {
  return number.toLocaleString('en-US');
}
