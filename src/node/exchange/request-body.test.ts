import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { BodySource, BodyStream, maximumKept } from './request-body.ts';

const whole = (): boolean => false;

/** A stream into which `text` has come, and whose end has, too. */
function arrived(text: string): PassThrough {
  const stream = new PassThrough();
  stream.end(text);
  return stream;
}

describe('a short body that has arrived', () => {
  test('is taken in one piece, and its stream goes on to its end', async () => {
    const stream = arrived('{"kind":"Pod"}');
    const source = new BodySource(() => stream, whole, 14);
    assert.equal(String(source.takeWhole()), '{"kind":"Pod"}');
    assert.equal(source.opened, true);
    await new Promise((resolve) => stream.once('end', resolve));
    assert.equal(source.takeWhole(), undefined, 'once');
  });

  test('is taken in one piece also where it came in several', () => {
    const stream = new PassThrough();
    for (const piece of ['{"kind"', ':', '"Pod"}']) stream.write(piece);
    const source = new BodySource(() => stream, whole, 14);
    assert.equal(String(source.takeWhole()), '{"kind":"Pod"}');
  });

  test('is taken from its stream in one piece, as long as nobody has read that', () => {
    const stream = arrived('body');
    const body = new BodyStream(new BodySource(() => stream, whole, 4), () => {});
    assert.equal(String(body.takeWhole()), 'body');
    assert.equal(body.takeWhole(), undefined, 'once');
    const read = new BodyStream(new BodySource(() => arrived('body'), whole, 4), () => {});
    read.read();
    assert.equal(read.takeWhole(), undefined);
  });

  test('is awaited as long as a part of it is missing', () => {
    const stream = new PassThrough();
    const source = new BodySource(() => stream, whole, 4);
    stream.write('bo');
    assert.equal(source.isAwaited, true);
    stream.write('dy');
    assert.equal(source.isAwaited, false);
    assert.equal(source.opened, false, 'asking takes nothing');
  });
});

describe('a body is left to be streamed, untouched,', () => {
  const cases: readonly (readonly [string, string, number | undefined])[] = [
    ['whose length is not announced', 'body', undefined],
    ['of which a part is missing', 'bo', 4],
    ['of which more came than was announced', 'body and more', 4],
    ['that is longer than one frame of HTTP/2', 'x'.repeat(16_385), 16_385],
    ['that is empty', '', 0],
  ];
  for (const [what, text, length] of cases) {
    test(what, async () => {
      const stream = new PassThrough({ highWaterMark: 1024 * 1024 });
      stream.write(text);
      const source = new BodySource(() => stream, whole, length);
      const body = new BodyStream(source, () => {});
      assert.equal(body.takeWhole(), undefined);
      assert.equal(source.opened, false);
      stream.end();
      assert.equal(String(await buffer(body)), text);
    });
  }

  test('that its client has taken back', () => {
    const stream = arrived('body');
    const source = new BodySource(
      () => stream,
      () => true,
      4,
    );
    assert.equal(source.takeWhole(), undefined);
    assert.equal(source.opened, false);
  });

  test('that somebody reads already', async () => {
    const stream = arrived('body');
    const source = new BodySource(() => stream, whole, 4);
    const body = new BodyStream(source, () => {});
    const streamed = buffer(body);
    await setImmediate();
    assert.equal(body.takeWhole(), undefined);
    assert.equal(String(await streamed), 'body');
  });
});

/** Reads `source` to its end, as a destination over a stream does. */
const readAll = (source: BodySource): Promise<Buffer> => buffer(new BodyStream(source, () => {}));

/** A budget, and what a client that presented a certificate holds of it. */
function holding(maximum: number) {
  const budget = new MemoryBudget(maximum);
  const connection = { giveUp: () => assert.fail('the connection ends') };
  const account = budget.account({ name: 'a client', isVerified: true, connection });
  return { budget, account, held: account.content({ giveUp: () => assert.fail('the request ends') }) };
}

test('what waits for the destination is counted until it is taken, or dropped', async () => {
  const { budget, held } = holding(10_000_000);
  const read = (): BodyStream => {
    const stream = new PassThrough();
    stream.write('x'.repeat(3_000));
    const body = new BodyStream(new BodySource(() => stream, whole, undefined, held), () => {});
    body.read(0);
    return body;
  };
  const taken = read();
  const dropped = read();
  await setImmediate();
  assert.equal(budget.bytes, 6_000);
  assert.equal(String(taken.read()).length, 3_000);
  assert.equal(budget.bytes, 3_000);
  dropped.destroy();
  assert.equal(budget.bytes, 0);
});

describe('a body that is kept', () => {
  test('is given a second time from its first byte on, in one piece where it came so', () => {
    const source = new BodySource(() => arrived('{"kind":"Pod"}'), whole, 14);
    source.keep();
    assert.equal(String(source.takeWhole()), '{"kind":"Pod"}');
    assert.equal(source.rewind(), true);
    assert.equal(source.opened, false);
    assert.equal(source.isAwaited, false);
    assert.equal(String(source.takeWhole()), '{"kind":"Pod"}');
  });

  test('is given a second time as a stream, whatever its length', async () => {
    for (const length of [20_000, undefined]) {
      const source = new BodySource(() => arrived('x'.repeat(20_000)), whole, length);
      source.keep();
      assert.equal((await readAll(source)).length, 20_000);
      assert.equal(source.rewind(), true);
      assert.equal((await readAll(source)).length, 20_000);
    }
  });

  test('goes on where a destination that had read a part of it answered too early', async () => {
    const stream = new PassThrough();
    const source = new BodySource(() => stream, whole);
    source.keep();
    const first = new BodyStream(source, () => {});
    stream.write('first ');
    first.resume();
    await new Promise((resolve) => first.once('data', resolve));
    assert.equal(source.rewind(), true);
    const second = readAll(source);
    // The first reader's end from now on concerns that reader alone.
    first.destroy();
    stream.end('second');
    assert.equal(String(await second), 'first second');
  });

  test('is kept up to its limit only, and until it is forgotten', async () => {
    const cases = [
      ['larger', 'x'.repeat(maximumKept + 1), false],
      ['as large', 'x'.repeat(maximumKept), true],
    ] as const;
    for (const [what, text, isKept] of cases) {
      const source = new BodySource(() => arrived(text), whole);
      source.keep();
      await readAll(source);
      assert.equal(source.rewind(), isKept, what);
    }
    const forgotten = new BodySource(() => arrived('body'), whole);
    forgotten.keep();
    await readAll(forgotten);
    forgotten.forget();
    assert.equal(forgotten.rewind(), false);
  });

  test('counts against the memory for others, until it is forgotten', async () => {
    const { budget, held } = holding(320);
    const keepOne = async (): Promise<BodySource> => {
      const source = new BodySource(() => arrived('x'.repeat(10)), whole, undefined, held);
      source.keep();
      await readAll(source);
      return source;
    };
    const sources: BodySource[] = [];
    for (let made = 0; made < 20; made++) sources.push(await keepOne());
    assert.equal(budget.bytes, 170);
    // A piece may take a sixteenth of what is left.
    assert.equal((await keepOne()).rewind(), false);
    for (const source of sources) source.forget();
    assert.equal(budget.bytes, 0);
    assert.equal((await keepOne()).rewind(), true);
  });

  test('goes where memory is short, before anything ends for that, and its request goes on', async () => {
    const { budget, account, held } = holding(1_000);
    // Nobody takes this, and it is older.
    held.add(20);
    const source = new BodySource(() => arrived('x'.repeat(30)), whole, undefined, held);
    source.keep();
    await readAll(source);
    account.add(850);
    await setImmediate();
    assert.equal(budget.bytes, 870);
    assert.equal(source.rewind(), false);
  });

  test('goes only once its next reader has it, where memory gets short between two attempts', async () => {
    const pieces: readonly (readonly [string, string])[] = [
      ['x'.repeat(10), 'y'.repeat(10)],
      ['x'.repeat(20), ''],
    ];
    for (const [before, after] of pieces) {
      const { budget, held } = holding(1_000);
      const others = () =>
        budget.account({ name: 'another', isVerified: true, connection: { giveUp: () => {} } });
      const stream = new PassThrough();
      const source = new BodySource(() => stream, whole, undefined, held);
      source.keep();
      const first = new BodyStream(source, () => {});
      stream.write(before);
      if (after === '') stream.end();
      first.resume();
      await setImmediate();
      assert.equal(source.rewind(), true);
      first.destroy();
      others().add(900);
      await setImmediate();
      const second = readAll(source);
      stream.end(after);
      assert.equal(String(await second), before + after);
      others().add(980);
      await setImmediate();
      assert.equal(budget.bytes, 0);
      assert.equal(source.rewind(), false);
    }
  });

  test('flows on for the next reader where nothing of it had arrived for the first one', async () => {
    const stream = new PassThrough();
    const source = new BodySource(() => stream, whole);
    source.keep();
    const first = new BodyStream(source, () => {});
    first.resume();
    await setImmediate();
    assert.equal(source.rewind(), true);
    first.destroy();
    const second = readAll(source);
    stream.end('late');
    assert.equal(String(await second), 'late');
  });

  test('is given as often as it is needed, and kept all the while', async () => {
    const { budget, held } = holding(1_000);
    const source = new BodySource(() => arrived('x'.repeat(10)), whole, undefined, held);
    source.keep();
    for (let attempt = 0; attempt < 3; attempt++) {
      assert.equal((await readAll(source)).length, 10);
      assert.equal(source.rewind(), true);
    }
    assert.equal(budget.bytes, 10);
    source.forget();
    assert.equal(budget.bytes, 0);
  });

  test('that nobody has read yet needs no keeping', () => {
    assert.equal(new BodySource(() => arrived('body'), whole).rewind(), true);
  });
});
