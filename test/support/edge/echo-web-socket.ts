import { createHash } from 'node:crypto';
import type { SwitchProtocols } from '../api-server-double.ts';

/** RFC 6455 section 4.2.2; what comes masked goes back unmasked, payloads below 126 bytes. */
export const echoWebSocket: SwitchProtocols = (incoming, socket) => {
  const key = incoming.headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const protocol = incoming.headers['sec-websocket-protocol']?.split(',')[0]?.trim();
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\n` +
      `${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`,
  );
  socket.on('data', (frame: Buffer) => {
    const length = (frame[1] ?? 0) & 0x7f;
    const mask = frame.subarray(2, 6);
    const payload = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    socket.write(Buffer.concat([Buffer.from([frame[0] ?? 0, length]), payload]));
  });
};
