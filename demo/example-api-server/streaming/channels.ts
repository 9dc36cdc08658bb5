import type { Duplex } from 'node:stream';
import { ServerWebSocket } from './websocket.ts';

/** Channel numbers of `*.channel.k8s.io` (k8s.io/apimachinery pkg/util/remotecommand/constants.go). */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export interface StreamRequest {
  /** Text that is printed first. */
  readonly greeting: string;
  readonly hasStdin: boolean;
}

/**
 * Runs `exec` or `attach` over a WebSocket: prints the greeting, echoes stdin to stdout until it is closed, and
 * ends with a Success status on the error channel. Nothing is executed.
 *
 * Every message begins with the number of its channel. Version 5 can close one: number 255 and the channel.
 */
export function runRemoteCommand(socket: Duplex, head: Buffer, { greeting, hasStdin }: StreamRequest): void {
  const send = (channel: number, data: Uint8Array | string): void =>
    webSocket.sendBinary(Buffer.concat([Buffer.from([channel]), Buffer.from(data)]));
  const succeed = (): void => {
    send(channels.error, JSON.stringify({ metadata: {}, status: 'Success' }));
    webSocket.close(1000);
  };
  const webSocket = new ServerWebSocket(socket, head, {
    onMessage: (message) => {
      const channel = message[0];
      if (channel === channels.stdin) send(channels.stdout, message.subarray(1));
      if (channel === channels.close && message[1] === channels.stdin) succeed();
    },
    onClose: () => undefined,
  });
  send(channels.stdout, greeting);
  if (!hasStdin) succeed();
}

/**
 * Runs `portforward` over a WebSocket: two channels for each port, data and error, each opened by a message with
 * the port, low byte first; what arrives as data is sent back (kubelet pkg/cri/streaming/portforward).
 */
export function runPortForward(socket: Duplex, head: Buffer, ports: readonly number[]): void {
  const webSocket = new ServerWebSocket(socket, head, {
    onMessage: (message) => {
      const channel = message[0] ?? 0;
      if (channel % 2 === 0 && channel < ports.length * 2) webSocket.sendBinary(message);
    },
    onClose: () => undefined,
  });
  ports.forEach((port, index) => {
    for (const channel of [index * 2, index * 2 + 1]) {
      webSocket.sendBinary(Buffer.from([channel, port & 0xff, port >> 8]));
    }
  });
}
