import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { openHttpsServer } from '../../../test/support/api-servers/https-server.ts';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { routerFiles } from '../../../test/support/routers/started-router.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { startRouter } from '../../node/process/start-router.ts';
import { readServeInput } from '../serve/serve-input.ts';
import { portInUse } from '../terminal/command-context.ts';
import { portFinding } from './server-findings.ts';

async function configured(context: TestContext): Promise<ServeConfig> {
  const { flags } = await routerFiles(context);
  const { context: command } = commandContext(new Map());
  const { config } = await readServeInput(
    { flags, issues: [] },
    { ...command, readFile: (file) => readFileSync(file, 'utf8') },
  );
  return config;
}

const at = ({ settings, ...config }: ServeConfig, port: number) => {
  const serving = { ...settings.serving, port };
  return portFinding({ ...config, settings: { ...settings, serving } }, { portInUse });
};

describe('the port, to doctor', () => {
  it('is well when it is free, and when the router itself is there', async (context) => {
    const config = await configured(context);
    assert.equal((await at(config, 0)).result, 'ok');
    const router = await startRouter(config, recordingLogger().logger);
    context.after(() => router.close(0));
    const port = Number(new URL(router.origin).port);
    assert.deepEqual(await at(config, port), {
      check: 'port',
      result: 'ok',
      message: `a router with this certificate listens on 127.0.0.1:${port}`,
    });
  });

  it('is not when another program has taken it, even an API server with the same certificate', async (context) => {
    const config = await configured(context);
    const plain = await listenOnLoopback(createServer((socket) => socket.end('220 ready\r\n')));
    context.after(() => plain.stop());
    const { certificate, privateKey } = config.serving;
    const apiServer = await openHttpsServer({ cert: certificate.pem, key: privateKey.pem }, (_, response) =>
      response.end('[+]ping ok\n[+]etcd ok\nreadyz check passed\n'),
    );
    context.after(() => apiServer.close());
    for (const { port } of [plain, apiServer]) {
      const { result, message } = await at(config, port);
      assert.equal(result, 'failed');
      assert.match(
        message,
        new RegExp(`^--secure-port: 127\\.0\\.0\\.1:${port} is in use: stop what listens`),
      );
    }
  });
});
