import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { watchEventBoundary } from './watch-event-boundary.ts';

const encoder = new TextEncoder();
const protobuf = 'application/vnd.kubernetes.protobuf;stream=watch';

const asLine = (event: string): Uint8Array => encoder.encode(`${JSON.stringify({ event })}\n`);
function asFrame(event: string): Uint8Array {
  const body = encoder.encode(event);
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, 4);
  return frame;
}

for (const [contentType, encode] of [
  ['application/json', asLine],
  ['application/json;as=Table;v=v1;g=meta.k8s.io', asLine],
  [protobuf, asFrame],
] as const) {
  test(`${contentType}: however a watch is cut into pieces, the ends of its events are found`, () => {
    const event = fc.string({ maxLength: 40 });
    const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), cuts, (events, wanted) => {
        const encoded = events.map(encode);
        const ends = new Set([0]);
        let length = 0;
        for (const bytes of encoded) {
          length += bytes.length;
          ends.add(length);
        }
        const stream = new Uint8Array(length);
        let filled = 0;
        for (const bytes of encoded) {
          stream.set(bytes, filled);
          filled += bytes.length;
        }

        const boundary = watchEventBoundary(contentType, undefined);
        assert.ok(boundary);
        assert.ok(boundary.isAtEnd, 'a watch without an event yet can be ended');
        const places = [0, ...wanted.filter((cut) => cut < length).sort((a, b) => a - b), length];
        for (const [index, start] of places.slice(0, -1).entries()) {
          const end = places[index + 1] ?? length;
          const found = boundary.follow(stream.subarray(start, end));
          const inside = [...ends].filter((place) => place > start && place <= end);
          assert.equal(found, inside.length === 0 ? 0 : Math.max(...inside) - start);
          assert.equal(boundary.isAtEnd, ends.has(end));
        }
      }),
    );
  });
}

test('a frame may be longer than 2³¹ bytes without its length being misread', () => {
  const boundary = watchEventBoundary(protobuf, undefined);
  boundary?.follow(new Uint8Array([0xff, 0xff, 0xff, 0xff, 0]));
  assert.equal(boundary?.isAtEnd, false);
  assert.equal(boundary?.follow(new Uint8Array(1_000)), 0);
});

test('where the end of an event cannot be seen there is no boundary', () => {
  for (const [contentType, contentEncoding] of [
    ['application/json', 'gzip'],
    ['application/cbor-seq', undefined],
    ['text/plain', undefined],
    [undefined, undefined],
  ] as const) {
    assert.equal(watchEventBoundary(contentType, contentEncoding), undefined);
  }
  assert.ok(watchEventBoundary('Application/JSON; charset=utf-8', 'identity'));
});
