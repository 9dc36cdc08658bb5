import { once } from 'node:events';

/** Milliseconds in which nothing moves: windows and the sockets' buffers are full by then. */
const stall = 500;

/**
 * Waits until `stream` takes more, or ends.
 *
 * @param onStalled called when it has taken nothing for a while
 */
export async function drained(stream: NodeJS.EventEmitter, onStalled: () => void): Promise<void> {
  const timer = setTimeout(onStalled, stall);
  await once(stream, 'drain').catch(() => {});
  clearTimeout(timer);
}
