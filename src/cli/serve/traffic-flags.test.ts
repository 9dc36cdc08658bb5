import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

describe('time-out, overload and shutdown flags', () => {
  it('have defaults that hold without a word from the operator', async () => {
    const { timeouts, settings } = await check.config();
    assert.deepEqual(timeouts, { request: 60_000, responseHeader: 45_000 });
    assert.deepEqual(settings.limits, {
      requestsInFlight: 4_000,
      mutatingRequestsInFlight: 2_000,
      longRunningRequests: 20_000,
      goawayChance: 0,
    });
    assert.deepEqual(settings.shutdown, { delay: 0, watchTerminationGracePeriod: 10_000 });
  });

  it('are read as Go writes durations and numbers', async () => {
    const { timeouts, settings } = await check.config({
      'request-timeout': ['1m30s'],
      'response-header-timeout': ['30s'],
      'max-requests-inflight': ['0'],
      'goaway-chance': ['0.001'],
      'shutdown-delay-duration': ['15s'],
      'shutdown-watch-termination-grace-period': ['0s'],
    });
    assert.equal(timeouts.request, 90_000);
    assert.equal(timeouts.responseHeader, 30_000);
    assert.equal(settings.limits.requestsInFlight, 0);
    assert.equal(settings.limits.goawayChance, 0.001);
    assert.deepEqual(settings.shutdown, { delay: 15_000, watchTerminationGracePeriod: 0 });
  });

  it('are all reported at once when they are wrong', async () => {
    assert.deepEqual(
      await check.issues({
        'request-timeout': ['0s'],
        'response-header-timeout': ['-1s'],
        'max-requests-inflight': ['-1'],
        'max-mutating-requests-inflight': ['1e3'],
        'max-long-running-requests': [''],
        'goaway-chance': ['0.5'],
        'shutdown-delay-duration': ['90'],
        'shutdown-watch-termination-grace-period': ['2h'],
      }),
      [
        '--request-timeout',
        '--response-header-timeout',
        '--max-requests-inflight',
        '--max-mutating-requests-inflight',
        '--max-long-running-requests',
        '--goaway-chance',
        '--shutdown-delay-duration',
        '--shutdown-watch-termination-grace-period',
      ],
    );
  });

  it('say what a value should have been', async () => {
    const messages = await check.messages({ 'request-timeout': ['60'], 'goaway-chance': ['1'] });
    assert.match(messages, /--request-timeout must be a duration from 1s to 24h, such as 10s, not "60"/);
    assert.match(messages, /--goaway-chance must be a number from 0 to 0\.02, not 1/);
  });

  it('warn of a wait that never ends by itself', async () => {
    const warnings = await check.warnings({ 'response-header-timeout': ['60s'] });
    assert.ok(warnings.some((warning) => warning.includes('--response-header-timeout is not shorter')));
  });
});
