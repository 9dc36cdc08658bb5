import { rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import type { AnswerSink } from '../../node/answer-sink.ts';

/**
 * Writes a web `Response` to a client, as fast as it is taken. Rejects when its body fails, and has the answer broken
 * off then; when the client goes away the body is cancelled.
 */
export async function writeResponse(response: Response, sink: AnswerSink): Promise<void> {
  const { status, statusText, headers, body } = response;
  const reader = body?.getReader();
  let room = Promise.withResolvers<void>();
  sink.attach(
    () => room.resolve(),
    () => {
      // Ends the read that is under way, too.
      reader?.cancel().catch(() => {});
      room.resolve();
    },
  );
  sink.start(status, statusText, rawHeadersOf(headers));
  if (reader === undefined) {
    sink.end();
    return;
  }
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        sink.end();
        return;
      }
      if (sink.write(value)) continue;
      await room.promise;
      room = Promise.withResolvers();
    }
  } catch (error) {
    sink.breakOff(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
}
