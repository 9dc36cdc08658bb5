import { isIPv4 } from 'node:net';
import { parseIPv6 } from '../../src/snapshot/addresses/ip-address.ts';

/** What a load balancer sends before TLS; version 2 of HAProxy's proxy-protocol.txt. */
export function proxyHeader2({
  version = 2,
  command = 1,
  family,
  transport = 1,
  addresses,
}: {
  readonly version?: number;
  /** 0: LOCAL, 1: PROXY. Default 1. */
  readonly command?: number;
  /** 1: IPv4, 2: IPv6, 3: local sockets. */
  readonly family: number;
  readonly transport?: number;
  readonly addresses: Buffer;
}): Buffer {
  const head = Buffer.from('\r\n\r\n\0\r\nQUIT\n\0\0\0\0', 'latin1');
  head[12] = (version << 4) | command;
  head[13] = (family << 4) | transport;
  head.writeUInt16BE(addresses.length, 14);
  return Buffer.concat([head, addresses]);
}

/** From this client to somewhere. */
export function addresses4(source: string, port: number): Buffer {
  const bytes = Buffer.from([...source.split('.').map(Number), 10, 0, 0, 1, 0, 0, 0x19, 0x2b]);
  bytes.writeUInt16BE(port, 8);
  return bytes;
}

export function addresses6(source: string, port: number): Buffer {
  const dotted = source.slice(source.lastIndexOf(':') + 1);
  const plain = isIPv4(dotted) ? source.slice(0, -dotted.length) + groupsOf(dotted) : source;
  const { bits = 0n } = parseIPv6(plain) ?? {};
  const bytes = Buffer.alloc(36);
  for (let index = 0; index < 16; index += 1) {
    bytes[index] = Number((bits >> BigInt(8 * (15 - index))) & 0xffn);
  }
  bytes.writeUInt16BE(port, 32);
  bytes.writeUInt16BE(6443, 34);
  return bytes;
}

function groupsOf(ipv4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
