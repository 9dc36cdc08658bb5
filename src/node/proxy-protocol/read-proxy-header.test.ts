import assert from 'node:assert/strict';
import { SocketAddress } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addresses4, addresses6, proxyHeader2 } from '../../../test/support/proxy-header.ts';
import { readProxyHeader } from './read-proxy-header.ts';

const read = (text: string) => readProxyHeader(Buffer.from(text, 'latin1'));
const issue = (name: string) => ({ kind: 'issue', issue: name });

describe('a PROXY header of version 1', () => {
  it('says the address of the client, of IPv4 and IPv6', () => {
    const ipv4 = 'PROXY TCP4 192.0.2.7 10.0.0.1 56324 6443\r\n';
    assert.deepEqual(read(`${ipv4}more`), {
      kind: 'header',
      length: ipv4.length,
      client: { address: '192.0.2.7', port: 56_324 },
    });
    const ipv6 = 'PROXY TCP6 2001:DB8:0:0:0:0:0:1 ::1 65535 0\r\n';
    assert.deepEqual(read(ipv6), {
      kind: 'header',
      length: ipv6.length,
      client: { address: '2001:db8::1', port: 65_535 },
    });
  });

  it('says nothing with UNKNOWN, whatever follows', () => {
    for (const text of ['PROXY UNKNOWN\r\n', 'PROXY UNKNOWN \0 ffff::1 x 99999 6443\r\n']) {
      assert.deepEqual(read(text), { kind: 'header', length: text.length, client: undefined });
    }
  });

  it('may have 107 bytes, and no more', () => {
    const longest = `PROXY UNKNOWN ${'f'.repeat(91)}\r\n`;
    assert.equal(longest.length, 107);
    assert.equal(read(longest).kind, 'header');
    assert.deepEqual(read(`PROXY UNKNOWN ${'f'.repeat(92)}\r\n`), issue('too_long'));
    assert.deepEqual(read(longest.slice(0, 106)), { kind: 'partial' });
  });

  it('is refused unless it is written exactly so', () => {
    for (const text of [
      'PROXY TCP4 192.0.2.7 10.0.0.1 56324\r\n',
      'PROXY TCP4 192.0.2.7 10.0.0.1 56324 6443 \r\n',
      'PROXY TCP4  192.0.2.7 10.0.0.1 56324 6443\r\n',
      'PROXY TCP4 192.0.2.07 10.0.0.1 56324 6443\r\n',
      'PROXY TCP4 192.0.2.7 ::1 56324 6443\r\n',
      'PROXY TCP4 192.0.2.7 10.0.0.1 056324 6443\r\n',
      'PROXY TCP4 192.0.2.7 10.0.0.1 65536 6443\r\n',
      'PROXY TCP4 192.0.2.7 10.0.0.1 -1 6443\r\n',
      'PROXY TCP6 fe80::1%eth0 ::1 1 6443\r\n',
      'PROXY TCP6 192.0.2.7 ::1 1 6443\r\n',
      'PROXY TCP5 192.0.2.7 10.0.0.1 1 6443\r\n',
      'PROXY constructor a b c d\r\n',
      'PROXY \r\n',
    ]) {
      assert.deepEqual(read(text), issue('malformed'), text);
    }
    assert.deepEqual(read('proxy TCP4'), issue('no_header'));
    assert.deepEqual(read('GET / HTTP/1.1\r\n'), issue('no_header'));
    assert.deepEqual(read('\x16\x03\x01'), issue('no_header'));
  });
});

describe('a PROXY header of version 2', () => {
  const of = (header: Parameters<typeof proxyHeader2>[0]) => readProxyHeader(proxyHeader2(header));

  it('says the address of the client, and what follows the addresses is skipped', () => {
    const more = Buffer.from([0x04, 0, 1, 0xff]);
    assert.deepEqual(of({ family: 1, addresses: Buffer.concat([addresses4('192.0.2.7', 4711), more]) }), {
      kind: 'header',
      length: 16 + 12 + 4,
      client: { address: '192.0.2.7', port: 4711 },
    });
    assert.deepEqual(of({ family: 2, addresses: addresses6('2001:db8::7', 4711) }), {
      kind: 'header',
      length: 16 + 36,
      client: { address: '2001:db8::7', port: 4711 },
    });
    const mapped = of({ family: 2, addresses: addresses6('::ffff:192.0.2.7', 1) });
    assert.deepEqual(mapped.kind === 'header' && mapped.client?.address, '192.0.2.7');
  });

  it('says nothing with LOCAL, without a family, and of local sockets', () => {
    for (const header of [
      { command: 0, family: 1, addresses: addresses4('192.0.2.7', 4711) },
      { command: 0, family: 1, addresses: Buffer.alloc(0) },
      { family: 0, addresses: Buffer.alloc(0) },
      { family: 0, addresses: Buffer.from('anything') },
      { family: 3, addresses: Buffer.alloc(216, 'a') },
    ]) {
      const reading = of(header);
      assert.deepEqual(reading, { kind: 'header', length: 16 + header.addresses.length, client: undefined });
    }
  });

  it('is refused with another version, command, family or transport, and with addresses that are cut off', () => {
    const addresses = addresses4('192.0.2.7', 4711);
    for (const header of [
      { version: 1, family: 1, addresses },
      { version: 3, family: 1, addresses },
      { command: 2, family: 1, addresses },
      { family: 4, addresses: Buffer.alloc(300) },
      { family: 1, transport: 3, addresses },
      { family: 1, addresses: addresses.subarray(1) },
      { family: 2, addresses },
      { family: 3, addresses: Buffer.alloc(215) },
    ]) {
      assert.deepEqual(of(header), issue('malformed'), JSON.stringify(header));
    }
  });

  it('is refused at once when it announces more than 4,096 bytes', () => {
    const announced = (size: number) => {
      const bytes = proxyHeader2({ family: 1, addresses: Buffer.alloc(0) });
      bytes.writeUInt16BE(size, 14);
      return readProxyHeader(bytes);
    };
    assert.deepEqual(announced(4_096), { kind: 'partial' });
    assert.deepEqual(announced(4_097), issue('too_long'));
  });
});

const port = fc.integer({ min: 0, max: 65_535 });
const header = fc.oneof(
  fc
    .record({ source: fc.ipV4(), destination: fc.ipV4(), from: port, to: port })
    .map(({ source, destination, from, to }) => ({
      bytes: Buffer.from(`PROXY TCP4 ${source} ${destination} ${from} ${to}\r\n`),
      client: { address: source, port: from },
    })),
  fc
    .record({ source: fc.ipV4(), from: port, more: fc.uint8Array({ maxLength: 500 }) })
    .map(({ source, from, more }) => ({
      bytes: proxyHeader2({ family: 1, addresses: Buffer.concat([addresses4(source, from), more]) }),
      client: { address: source, port: from },
    })),
  fc.record({ source: fc.ipV6(), from: port }).map(({ source, from }) => {
    const { address } = new SocketAddress({ address: source, family: 'ipv6' });
    return {
      bytes: proxyHeader2({ family: 2, addresses: addresses6(source, from) }),
      client: { address: address.replace(/^::ffff:(?=\d+\.)/, ''), port: from },
    };
  }),
);

describe('any PROXY header', () => {
  it('is partial until its last byte, and then the same whatever follows', () => {
    fc.assert(
      fc.property(header, fc.uint8Array({ maxLength: 50 }), ({ bytes, client }, rest) => {
        for (let length = 0; length < bytes.length; length += 1) {
          assert.deepEqual(readProxyHeader(bytes.subarray(0, length)), { kind: 'partial' });
        }
        const whole = { kind: 'header', length: bytes.length, client };
        assert.deepEqual(readProxyHeader(Buffer.concat([bytes, rest])), whole);
      }),
      { numRuns: 50 },
    );
  });

  it('never throws, never waits for more than it may have, and never becomes another one as bytes come', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.tuple(header, fc.nat(), fc.nat({ max: 255 })).map(([{ bytes }, at, value]) => {
        const changed = Buffer.from(bytes);
        changed[at % changed.length] = value;
        return changed;
      }),
    );
    fc.assert(
      fc.property(noise, (given) => {
        const bytes = Buffer.from(given);
        let settled: unknown;
        for (let length = 0; length <= bytes.length; length += 1) {
          const reading = readProxyHeader(bytes.subarray(0, length));
          if (settled !== undefined) assert.deepEqual(reading, settled);
          else if (reading.kind !== 'partial') settled = reading;
          if (reading.kind === 'header') assert.ok(reading.length <= length);
        }
        const filled = Buffer.concat([bytes, Buffer.alloc(4_112)]);
        assert.notEqual(readProxyHeader(filled).kind, 'partial');
      }),
      { numRuns: 300 },
    );
  });
});
