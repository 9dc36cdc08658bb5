import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routerSettings } from '../../node/configuration/router-settings.ts';
import { type SectionSchema, settingsOf } from '../../node/configuration/setting.ts';
import { boolean, list, section, setting, text } from '../../node/configuration/setting-types.ts';
import { syncFlags } from '../sync/sync-settings.ts';
import { givenByFlags, type RawFlags, Settings } from './read-settings.ts';

describe('the settings of a command', () => {
  for (const [command, root] of [
    ['serve', routerSettings],
    ['sync', syncFlags],
  ] as const) {
    it(`of ${command} have flags of their own, and need flags that there are`, () => {
      const flags = settingsOf(root).map(({ flag }) => flag);
      assert.deepEqual(flags, [...new Set(flags)]);
      const named = settingsOf(root).flatMap(({ about: { needs = [], uselessWith = [] } }) => [
        ...needs.flatMap(({ oneOf }) => oneOf),
        ...uselessWith,
      ]);
      assert.deepEqual(
        named.filter((flag) => !flags.includes(flag)),
        [],
      );
    });
  }
});

function read<Root extends SectionSchema>(root: Root, raw: RawFlags): Settings<Root> {
  const settings = new Settings(root, [givenByFlags(root, raw)], () => '');
  settings.check();
  return settings;
}

const messagesOf = (root: SectionSchema, raw: RawFlags) =>
  read(root, raw).issues.map(({ message }) => message);

const paint = section('Paint flags:', {
  paint: setting('paint', boolean, { description: 'Paint.' }),
  dry: setting('dry', boolean, {
    default: true,
    description: 'Let it dry.',
    needs: [{ oneOf: ['paint'] }],
  }),
  colour: setting('colour', list('name'), {
    description: 'With what.',
    needs: [{ oneOf: ['paint', 'print'], because: 'nothing else has a colour' }],
  }),
  print: setting('print', text('file'), { description: 'Print.' }),
});

describe('a setting that does nothing without another one', () => {
  const needed = '--colour needs --paint or --print: nothing else has a colour';

  it('is refused without it, and taken with any of those that it needs', () => {
    assert.deepEqual(messagesOf(paint, { colour: ['red'] }), [needed]);
    assert.deepEqual(messagesOf(paint, { colour: ['red'], paint: ['true'] }), []);
    assert.deepEqual(messagesOf(paint, { colour: ['red'], print: ['file'] }), []);
  });

  it('is refused with one that is off, and may itself be off where it is off anyway', () => {
    assert.deepEqual(messagesOf(paint, { colour: ['red'], paint: ['false'] }), [needed]);
    assert.deepEqual(messagesOf(paint, { dry: ['false'] }), ['--dry needs --paint']);
    assert.deepEqual(messagesOf(paint, { paint: ['false'] }), []);
  });
});

describe('a setting that a call has no use for', () => {
  const call = section('Flags:', {
    list: setting('list', boolean, { description: 'List.', call: 'paints nothing' }),
    colour: setting('colour', text('name'), { description: 'With what.', uselessWith: ['list'] }),
  });

  it('is refused, with what the call does', () => {
    assert.deepEqual(messagesOf(call, { list: ['true'], colour: ['red'] }), [
      '--colour has no use with --list, which paints nothing',
    ]);
  });

  it('is known without being given, and is none in another call', () => {
    assert.deepEqual(read(call, { list: ['true'] }).useless(), ['colour']);
    assert.deepEqual(read(call, { list: ['false'] }).useless(), []);
  });
});

describe('the values of settings', () => {
  it('are those of the first layer that has them, else the defaults', () => {
    const file = givenByFlags(paint, { colour: ['red', 'blue'], print: ['a'] });
    const settings = new Settings(paint, [givenByFlags(paint, { print: ['b'] }), file], () => '');
    assert.deepEqual(settings.values, { dry: true, colour: ['red', 'blue'], print: 'b' });
  });

  it('are the defaults where what is given cannot be read, which is told once', () => {
    const settings = read(paint, { dry: ['maybe'], paint: ['true'] });
    assert.deepEqual(settings.values, { dry: true, paint: true });
    assert.deepEqual(
      settings.issues.map(({ message }) => message),
      ['--dry must be true or false, not "maybe"'],
    );
  });
});
