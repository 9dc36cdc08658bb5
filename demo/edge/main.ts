/**
 * `npm start -- edge`: the demo's cluster behind a router on workerd. With `--config edge.json` a router on a self-hosted
 * workerd instead, of a cluster of one's own (docs/guides/edge.md).
 */
import { installRuntimes } from '../../scripts/runtimes/install.ts';

if (!installRuntimes()) process.exitCode = 1;
else if (process.argv.some((argument) => argument.startsWith('--config'))) await import('./run-edge.ts');
else await import('./dev-edge.ts');
