import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeEnd } from './node-inbound.ts';

test('the end of an exchange is told to everyone, in order, and once', () => {
  const told: string[] = [];
  const end = new ExchangeEnd();
  end.add(() => told.push('first'));
  end.add(() => told.push('second'));
  end.reached();
  end.reached();
  assert.deepEqual(told, ['first', 'second']);
});
