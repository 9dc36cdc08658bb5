import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type InputLine, readLines } from './explain-text.ts';

async function* chunked(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const size of sizes) {
    yield bytes.subarray(start, start + size);
    start += size;
  }
  yield bytes.subarray(start);
}

async function linesOf(source: AsyncIterable<Uint8Array>, limit?: number): Promise<InputLine[]> {
  const lines: InputLine[] = [];
  for await (const batch of readLines(source, limit)) lines.push(...batch);
  return lines;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe('reading lines', () => {
  it('gives the same lines however the input is cut into chunks', async () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).filter((line) => !line.includes('\n')));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat({ max: 5 })), async (expected, sizes) => {
        const bytes = bytesOf(expected.map((line) => `${line}\n`).join(''));
        const lines = await linesOf(chunked(bytes, sizes));
        assert.deepEqual(
          lines,
          expected.map((line, index) => ({ number: index + 1, text: line })),
        );
      }),
    );
  });

  it('counts a last line without a newline', async () => {
    assert.deepEqual(await linesOf(chunked(bytesOf('a\nb'), [])), [
      { number: 1, text: 'a' },
      { number: 2, text: 'b' },
    ]);
  });

  it('reports a line over the limit and goes on behind it', async () => {
    const input = chunked(bytesOf(`ok\n${'x'.repeat(50)}\nfine\n`), [5, 5, 30]);
    assert.deepEqual(await linesOf(input, 10), [
      { number: 1, text: 'ok' },
      { number: 2, problem: 'longer than 10 bytes' },
      { number: 3, text: 'fine' },
    ]);
  });

  it('reports a line that is no UTF-8 and goes on behind it', async () => {
    const bytes = Uint8Array.of(0xff, 0xfe, 0x0a, 0x61, 0x0a);
    assert.deepEqual(await linesOf(chunked(bytes, [])), [
      { number: 1, problem: 'not UTF-8' },
      { number: 2, text: 'a' },
    ]);
  });
});
