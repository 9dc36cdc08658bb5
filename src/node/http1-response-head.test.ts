import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { TransportError } from '../proxy/transport.ts';
import { parseHttp1ResponseHead } from './http1-response-head.ts';

const head = (...lines: readonly string[]): string => ['HTTP/1.1 200 OK', ...lines].join('\r\n');

describe('the head of an HTTP/1.1 answer', () => {
  test('keeps its lines in order, as they came, with repetitions and commas', () => {
    const lines = [
      'Warning: 299 - "a, b"',
      'warning: 299 - "c"',
      'Audit-Id:  x \t',
      'Empty:',
      'Content-Length: 7',
    ];
    const parsed = parseHttp1ResponseHead(head(...lines));
    assert.deepEqual(parsed.headers.slice(0, 8), [
      ...['Warning', '299 - "a, b"', 'warning', '299 - "c"'],
      ...['Audit-Id', 'x', 'Empty', ''],
    ]);
    assert.equal(parsed.bodyLength, 7);
    assert.equal(parsed.persistent, true);
  });

  test('names the framing of its body', () => {
    assert.equal(parseHttp1ResponseHead(head('Transfer-Encoding: Chunked')).bodyLength, 'chunked');
    assert.equal(parseHttp1ResponseHead(head()).bodyLength, 'until-close');
    assert.equal(parseHttp1ResponseHead(head('Connection: x, Close')).persistent, false);
    assert.equal(parseHttp1ResponseHead(head('Connection: closed')).persistent, true);
  });

  test('keeps the spaces beyond ASCII around a value, which are part of it', () => {
    assert.deepEqual(parseHttp1ResponseHead(head('A: \xa0x\xa0 ')).headers, ['A', '\xa0x\xa0']);
  });

  test('says the same whatever head came before it', () => {
    const name = fc.constantFrom('A', 'AB', 'a', 'Content-Length', 'content-length', 'Connection', 'Date');
    const lines = fc.array(fc.tuple(name, fc.constantFrom('', 'close', 'A: B', ': x')), { maxLength: 5 });
    fc.assert(
      fc.property(lines, fc.array(name, { maxLength: 5 }), (fields, before) => {
        const text = head(...fields.map(([key, value]) => `${key}:${key.length === 14 ? '7' : value}`));
        const alike = before.flatMap((key) => [key, 'x']);
        assert.deepEqual(outcome(text, alike), outcome(text, []));
      }),
    );
  });

  test('takes the names of the head before it where they are the same', () => {
    const first = parseHttp1ResponseHead(head('Audit-Id: 1', 'Content-Length: 7'));
    const second = parseHttp1ResponseHead(head('Audit-Id: 2', 'Content-Length: 8'), first.headers);
    assert.deepEqual(second.headers, ['Audit-Id', '2', 'Content-Length', '8']);
    assert.equal(second.bodyLength, 8);
  });

  for (const [fault, text] of [
    ['two lengths', head('Content-Length: 1', 'content-length: 1')],
    ['a list of lengths', head('Content-Length: 1, 1')],
    ['a length with a sign', head('Content-Length: +1')],
    ['a length and chunks', head('Content-Length: 1', 'Transfer-Encoding: chunked')],
    ['another coding', head('Transfer-Encoding: gzip, chunked')],
    ['chunked twice', head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['a space before the colon', head('Transfer-Encoding : chunked')],
    ['a folded line', head('A: b', ' Content-Length: 1')],
    ['a bare line feed', head('A: b\nContent-Length: 1')],
    ['a bare carriage return', head('A: b\rContent-Length: 1')],
    ['a carriage return at the end of a line', head('A: b\r', 'C: d')],
    ['a line feed at its end', head('A: b\n')],
    ['an empty line between others', head('A: b', '', 'Content-Length: 1')],
    ['an empty line at its end', head('A: b', '')],
    ['a NUL', head('A: b\0')],
    ['a DEL', head('A: b\x7f')],
    ['a character beyond a byte', head('A: \u0100')],
    ['a space in a name', head('A B: c')],
    ['a control character in a name', head('A\x01: b')],
    ['64 KB of lines and one fault behind them', head(...Array(16_384).fill('a:b'), 'fault')],
    ['one line of 64 KB and a fault behind it', head(`A: ${'a'.repeat(65_536)}`, 'fault')],
    ['a line without a colon', head('nothing')],
    ['a line without a name', head(': x')],
    ['HTTP/1.0', 'HTTP/1.0 200 OK'],
    ['a status of four digits', 'HTTP/1.1 2000 OK'],
    ['no status line', 'Content-Length: 1'],
  ] as const) {
    test(`attack: an answer with ${fault} is refused`, () => {
      assert.throws(
        () => parseHttp1ResponseHead(text),
        (error) => error instanceof TransportError && error.code === 'InvalidResponse',
      );
    });
  }
});

function outcome(text: string, alike: readonly string[]): unknown {
  try {
    return parseHttp1ResponseHead(text, alike);
  } catch (error) {
    assert.ok(error instanceof TransportError);
    return error.message;
  }
}
