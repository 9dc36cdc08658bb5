import type { ConformanceRuntime } from '../runtime.ts';
import { fetchHost } from './fetch-host-process.ts';
import {
  dotSegmentsResolved,
  nobodyAsserts,
  noContentOfReads,
  notPossible,
  onlyHttp1,
  urlParsed,
} from './reservations.ts';

/** The Worker's fetch handler under `Bun.serve`, with signed assertions towards the servers. */
export const bun: ConformanceRuntime = {
  id: 'bun',
  title: 'Bun',
  description: 'The Worker’s fetch handler under `Bun.serve`, TLS in front; servers get signed assertions.',
  lacks: {
    assertions: nobodyAsserts,
    exactTarget: urlParsed,
    dotSegments: dotSegmentsResolved,
    contentOfReads: noContentOfReads,
    clientAddress: notPossible(
      'A fetch handler is told no address: its host has to hand it over (`inbound`).',
    ),
    http2: onlyHttp1,
    interimAnswers: notPossible(
      '`Bun.serve` sends no `100 Continue`: clients send their body after a wait of their own.',
    ),
    clientCertificates: notPossible(
      '`Bun.serve` asks for client certificates and does not say whose they are.',
    ),
    frontProxyIdentity: notPossible(
      'Bun’s `fetch` writes repeated header lines as one: groups would be joined. Servers get signed assertions.',
    ),
    repeatedHeaders: notPossible(
      '`Bun.serve` joins repeated lines before the handler is called: its host has to refuse impersonation headers with a comma, as that of these cases does.',
    ),
    websocket: notPossible(
      'Bun’s `fetch` passes no upgrade on, and would send an ordinary request: the host has to refuse it, as that of these cases does.',
    ),
    spdy: notPossible('Bun’s `fetch` passes no upgrade on: refused with a 400 Status.'),
  },
  exceptions: {
    'paths/raw-bytes': notPossible(
      '`Bun.serve` percent-encodes raw non-ASCII before the handler is called, and refuses control characters.',
    ),
    'streaming/head-at-once': notPossible(
      'Bun holds the head of a response back until its first byte: a quiet watch shows its head late.',
    ),
    'bodies/answer-length': notPossible('Bun frames a streamed response anew, without its length.'),
  },
  ...fetchHost({
    binary: '@oven/bun-linux-x64-baseline/bin/bun',
    args: () => ['run'],
    env: { DO_NOT_TRACK: '1' },
  }),
};
