import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationJsonSchema } from '../../scripts/reference/configuration-schema.ts';
import { routerConfiguration } from '../../src/node/configuration/router-settings.ts';

test('an editor knows the range of a number, as the flag has it', () => {
  const { serving, limits } = JSON.parse(configurationJsonSchema(routerConfiguration)).properties;
  const { minimum, maximum } = serving.properties.port;
  assert.deepEqual([minimum, maximum], [0, 65_535]);
  const { goawayChance, requestsInFlight } = limits.properties;
  assert.deepEqual([requestsInFlight.minimum, requestsInFlight.maximum], [0, 1_000_000]);
  assert.deepEqual([goawayChance.minimum, goawayChance.maximum], [0, 0.02]);
});
