import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** RFC 6455 section 1.3. */
const handshakeGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export function acceptKey(key: string): string {
  return createHash('sha1').update(`${key}${handshakeGuid}`).digest('base64');
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A client may not send more than this in one message, in bytes. */
const messageLimit = 16 * 1024 * 1024;

export interface WebSocketHandlers {
  readonly onMessage: (data: Buffer) => void;
  /** Once, however the connection ended. */
  readonly onClose: () => void;
}

/** The server's side of a WebSocket (RFC 6455) on a connection whose handshake is done. No extensions. */
export class ServerWebSocket {
  readonly #socket: Duplex;
  readonly #handlers: WebSocketHandlers;
  #received = Buffer.alloc(0);
  #fragments: Buffer[] = [];
  #closeSent = false;

  constructor(socket: Duplex, head: Buffer, handlers: WebSocketHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => handlers.onClose());
    if (head.length > 0) this.#receive(head);
  }

  sendBinary(data: Uint8Array): void {
    if (!this.#closeSent) this.#send(opcodes.binary, data);
  }

  sendText(text: string): void {
    if (!this.#closeSent) this.#send(opcodes.text, Buffer.from(text));
  }

  /** Says goodbye with a status code (RFC 6455 section 7.4.1); the client's own goodbye ends the connection. */
  close(code: number): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#send(opcodes.close, payload);
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (let frame = this.#takeFrame(); frame !== undefined; frame = this.#takeFrame()) this.#handle(frame);
  }

  #takeFrame(): Frame | undefined {
    const { frame, rest } = readFrame(this.#received);
    this.#received = rest;
    return frame;
  }

  #handle({ final, opcode, masked, payload }: Frame): void {
    const length = this.#fragments.reduce((sum, fragment) => sum + fragment.length, payload.length);
    // Clients must mask (RFC 6455 section 5.1).
    if (!masked || length > messageLimit) {
      this.close(masked ? 1009 : 1002);
      this.#socket.end();
      return;
    }
    switch (opcode) {
      case opcodes.close:
        this.close(1000);
        this.#socket.end();
        return;
      case opcodes.ping:
        this.#send(opcodes.pong, payload);
        return;
      case opcodes.continuation:
      case opcodes.text:
      case opcodes.binary: {
        this.#fragments.push(payload);
        if (!final) return;
        const message = Buffer.concat(this.#fragments);
        this.#fragments = [];
        this.#handlers.onMessage(message);
      }
    }
  }

  #send(opcode: number, payload: Uint8Array): void {
    if (this.#socket.writable)
      this.#socket.write(Buffer.concat([frameHead(opcode, payload.length), payload]));
  }
}

interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly masked: boolean;
  readonly payload: Buffer;
}

/** RFC 6455 section 5.2. */
function readFrame(bytes: Buffer): { readonly frame?: Frame; readonly rest: Buffer<ArrayBuffer> } {
  const rest = Buffer.from(bytes);
  if (rest.length < 2) return { rest };
  const first = rest.readUInt8(0);
  const second = rest.readUInt8(1);
  const masked = (second & 0x80) !== 0;
  const short = second & 0x7f;
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
  const headLength = 2 + extended + (masked ? 4 : 0);
  if (rest.length < headLength) return { rest };
  const length =
    extended === 2 ? rest.readUInt16BE(2) : extended === 8 ? Number(rest.readBigUInt64BE(2)) : short;
  if (rest.length < headLength + length) return { rest };
  const payload = Buffer.from(rest.subarray(headLength, headLength + length));
  if (masked) {
    const mask = rest.subarray(headLength - 4, headLength);
    for (let index = 0; index < payload.length; index++) {
      payload.writeUInt8(payload.readUInt8(index) ^ mask.readUInt8(index % 4), index);
    }
  }
  const frame = { final: (first & 0x80) !== 0, opcode: first & 0x0f, masked, payload };
  return { frame, rest: Buffer.from(rest.subarray(headLength + length)) };
}

/** A server does not mask. */
function frameHead(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode;
  if (length < 126) return Buffer.from([first, length]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head.writeUInt8(first, 0);
  head.writeUInt8(length < 65_536 ? 126 : 127, 1);
  if (length < 65_536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
