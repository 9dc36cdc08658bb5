import type { Worker } from 'node:cluster';
import type { ChannelMessage } from './channel.ts';

/** Sends a message to the other end. Never throws: what cannot be sent is told by the end of the channel. */
export function postMessage(worker: Worker, message: ChannelMessage): void {
  worker.send(message, () => {});
}
