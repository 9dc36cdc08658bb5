import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logOfRouter } from '../../demo/log-file.ts';
import { recordingLogger } from '../support/recording-logger.ts';

test('each line in the log of the demo names the router that wrote it', () => {
  const { logger, lines } = recordingLogger();
  for (const router of ['control-plane-1.25', 'control-plane-1.36']) {
    const log = logOfRouter(logger, router);
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({ server: 'a' }, 'Told');
  }
  assert.deepEqual(
    lines.map(({ level, fields }) => `${level} ${fields['router']} ${fields['server']}`),
    ['control-plane-1.25', 'control-plane-1.36'].flatMap((router) =>
      ['debug', 'info', 'warn', 'error'].map((level) => `${level} ${router} a`),
    ),
  );
});
