import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FlagDefinition, RawOptions } from './flag.ts';
import { boolean, list, text } from './flag-types.ts';
import { FlagValues } from './flag-values.ts';
import { serveFlags } from './serve-flags.ts';

describe('the flags of a command', () => {
  for (const [command, flags] of [['serve', serveFlags]] as const) {
    it(`of ${command} need flags that it has, and are useless with flags that it has`, () => {
      const known = new Set<string>(flags.map(({ name }) => name));
      const named = flags.flatMap(({ needs = [], uselessWith = [] }: FlagDefinition) => [
        ...needs.flatMap(({ oneOf }) => oneOf),
        ...uselessWith,
      ]);
      assert.deepEqual(
        named.filter((name) => !known.has(name)),
        [],
      );
    });
  }
});

const paint = [
  { name: 'paint', value: boolean, description: 'Paint.' },
  { name: 'dry', value: boolean, default: 'true', description: 'Let it dry.', needs: [{ oneOf: ['paint'] }] },
  {
    name: 'colour',
    value: list('name'),
    description: 'With what.',
    needs: [{ oneOf: ['paint', 'print'], because: 'nothing else has a colour' }],
  },
  { name: 'print', value: text('file'), description: 'Print.' },
] as const satisfies readonly FlagDefinition[];

function issuesOf(raw: RawOptions<(typeof paint)[number]['name']>): readonly string[] {
  const flags = new FlagValues<(typeof paint)[number]>(paint, raw, () => '');
  flags.check();
  flags.value('paint');
  return flags.issues.map(({ message }) => message);
}

describe('a flag that does nothing without another one', () => {
  const needed = '--colour needs --paint or --print: nothing else has a colour';

  it('is refused without it, and taken with any of those that it needs', () => {
    assert.deepEqual(issuesOf({ colour: ['red'] }), [needed]);
    assert.deepEqual(issuesOf({ colour: ['red'], paint: ['true'] }), []);
    assert.deepEqual(issuesOf({ colour: ['red'], print: ['file'] }), []);
  });

  it('is refused with one that is off, and may itself be off where it is off anyway', () => {
    assert.deepEqual(issuesOf({ colour: ['red'], paint: ['false'] }), [needed]);
    assert.deepEqual(issuesOf({ dry: ['false'] }), ['--dry needs --paint']);
    assert.deepEqual(issuesOf({ paint: ['false'] }), []);
  });
});

describe('a flag that a call has no use for', () => {
  const call = [
    { name: 'list', value: boolean, description: 'List.', call: 'paints nothing' },
    { name: 'colour', value: text('name'), description: 'With what.', uselessWith: ['list'] },
  ] as const satisfies readonly FlagDefinition[];
  const flagsOf = (raw: RawOptions<'list' | 'colour'>) =>
    new FlagValues<(typeof call)[number]>(call, raw, () => '');

  it('is refused, with what the call does', () => {
    const flags = flagsOf({ list: ['true'], colour: ['red'] });
    flags.check();
    assert.deepEqual(flags.issues, [
      { flag: '--colour', message: '--colour has no use with --list, which paints nothing' },
    ]);
  });

  it('is known without being given, and is none in another call', () => {
    assert.deepEqual(flagsOf({ list: ['true'] }).useless(), ['colour']);
    assert.deepEqual(flagsOf({ list: ['false'] }).useless(), []);
  });
});

describe('an error', () => {
  it('is told once, however often the flag is read', () => {
    assert.deepEqual(issuesOf({ paint: ['maybe'] }), ['--paint must be true or false, not "maybe"']);
  });
});
