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

const spdyRefusedByDeno = notPossible(
  '`Deno.serve` itself answers a SPDY upgrade with an empty 400, before the router sees it.',
);

/** The Worker's fetch handler under `Deno.serve`, with signed assertions towards the servers. */
export const deno: ConformanceRuntime = {
  id: 'deno',
  title: 'Deno',
  description: 'The Worker’s fetch handler under `Deno.serve`, TLS in front; servers get signed assertions.',
  lacks: {
    assertions: nobodyAsserts,
    exactTarget: urlParsed,
    dotSegments: dotSegmentsResolved,
    contentOfReads: noContentOfReads,
    clientAddress: notPossible(
      'A fetch handler is told no address: its host has to hand it over (`inbound`).',
    ),
    http2: onlyHttp1,
    clientCertificates: notPossible('`Deno.serve` cannot ask for client certificates.'),
    frontProxyIdentity: notPossible(
      'Deno’s `fetch` writes repeated header lines as one: groups would be joined. Servers get signed assertions.',
    ),
    repeatedHeaders: notPossible(
      '`Deno.serve` joins repeated lines before the router sees them. Impersonation headers with a comma are refused with a 400.',
    ),
    interimAnswers: notPossible(
      '`Deno.serve` sends no `100 Continue`: clients send their body after a wait of their own.',
    ),
    websocket: notPossible(
      '`Deno.serve` and `fetch` pass no upgrade on to a server: refused with a 400 Status.',
    ),
    spdy: spdyRefusedByDeno,
    spdyRefusal: spdyRefusedByDeno,
  },
  exceptions: {
    'headers/accept-encoding': notPossible(
      'Deno’s `fetch` decodes what it can: servers are asked for `identity`, so that nothing is decoded and mislabelled.',
    ),
  },
  ...fetchHost({
    binary: '@deno/linux-x64-glibc/deno',
    args: (directory) => [
      'run',
      '--no-prompt',
      '--no-remote',
      '--cached-only',
      `--allow-read=${directory}`,
      '--allow-net',
    ],
    env: { DENO_NO_UPDATE_CHECK: '1' },
  }),
};
