import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { OpenStream, OpenStreams } from '../exchange/open-streams.ts';
import { answerHead, endAfterAnswer } from '../exchange/raw-answer.ts';

/**
 * Carries the answer of a destination that did not switch (a watch that was asked for with `Upgrade`, a refusal) to
 * the client, and ends both connections. What the client sends meanwhile is thrown away: the destination would take
 * it for requests of ours (CVE-2018-1002105).
 *
 * Neither side outlives the other: nobody but this function holds the destination's connection, and an answer that
 * goes on for ever would keep it, and with it a file descriptor, after its client has left.
 * @param headers header lines of the answer, without those that frame it.
 */
export async function relayDeclinedAnswer(
  client: Duplex,
  answer: IncomingMessage,
  headers: RawHeaders,
  openStreams: OpenStreams | undefined,
): Promise<void> {
  const opened: OpenStream = {
    // The end of its connection is the only end that such an answer has: there is no good moment for it.
    endSoon() {},
    cut() {
      answer.destroy();
      client.destroy();
    },
  };
  openStreams?.opened(opened);
  client.once('close', () => {
    openStreams?.closed(opened);
    answer.destroy();
  });
  // Read, or the end of its connection stays unseen behind what it sent.
  client.resume();
  client.write(answerHead(answer.statusCode ?? 0, answer.statusMessage ?? '', headers));
  try {
    for await (const chunk of answer) {
      if (!client.write(chunk)) await drained(client);
      if (client.destroyed) return;
    }
  } catch {
    // The body broke off: no clean end, or the client takes the part for the whole.
    client.destroy();
    return;
  } finally {
    answer.destroy();
  }
  endAfterAnswer(client);
}

function drained(client: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      client.off('drain', done).off('close', done);
      resolve();
    };
    if (client.destroyed) resolve();
    else client.on('drain', done).on('close', done);
  });
}
