import * as v from 'valibot';
import { expected } from '../../snapshot/schema-parts.ts';
import type { FlagValueType } from '../flag-value-type.ts';

/**
 * What may stand under a key. Types only, as JSON has them: ranges and what goes with what are checked behind it,
 * by what reads the flags.
 */
export function valueSchema(type: FlagValueType): v.GenericSchema {
  switch (type.type) {
    case 'boolean':
      return v.boolean(expected('true or false'));
    case 'integer':
      return v.pipe(
        v.number(expected('a whole number')),
        v.integer(expected('a whole number')),
        v.minValue(0, expected('a whole number from 0 on')),
      );
    case 'number':
      return v.number(expected('a number'));
    case 'duration':
      return v.pipe(
        v.string(expected(durationText)),
        v.regex(/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/, expected(durationText)),
      );
    case 'choice':
      return v.picklist(type.choices, expected(`one of ${type.choices.join(', ')}`));
    case 'list':
    case 'files':
      return v.array(text, expected('a list'));
    case 'gates':
      return v.record(v.string(), v.boolean(expected('true or false')), expected('an object'));
    case 'text':
    case 'file':
    case 'directory':
      return text;
  }
}

const durationText = 'a duration such as 10s or 1m30s';
const text = v.pipe(v.string(expected('text')), v.minLength(1, 'must not be empty'));
