/**
 * One API server of the experiment as a process of its own, so that it takes no time from the routers. Its store is in the process that started it. The first argument is its configuration as JSON.
 */
import { readFileSync } from 'node:fs';
import { frontProxyName } from '../../../demo/certificates.ts';
import { startExampleApiServer } from '../../../demo/example-api-server/index.ts';
import { RemoteStore } from './remote-store.ts';
import { type ServerProcessConfiguration, toggledGroupVersion } from './server-configuration.ts';

const configuration: ServerProcessConfiguration = JSON.parse(process.argv[2] ?? '');
const { version, name, port, certificates } = configuration;
const read = (path: string): string => readFileSync(path, 'utf8');
const store = new RemoteStore();
const server = await startExampleApiServer({
  version,
  name,
  port,
  store,
  tls: { cert: read(certificates.apiServer.certificate), key: read(certificates.apiServer.privateKey) },
  clientCa: read(certificates.clusterCa),
  requestHeaderCa: read(certificates.frontProxyCa),
  requestHeaderAllowedNames: [frontProxyName],
  bookmarkIntervalMilliseconds: configuration.bookmarkInterval,
});
process.stdout.write(`${server.url}\n`);
let toggledIsOn = true;
process.on('SIGUSR2', () => {
  toggledIsOn = !toggledIsOn;
  server.setGroupVersion(toggledGroupVersion, toggledIsOn);
});
process.once('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
